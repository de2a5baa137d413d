"""Read files of whole networks by their formats.

All that a format defines is read, or the file is refused by name.
"""
