"""Files of whole networks.

What each format says is read, or the file is refused by its name.
"""
