"""The running service.

Its loop, how it is put together, and how it is spoken to.
"""
