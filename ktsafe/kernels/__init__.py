"""Compiler of kernels, and the cache of what it made."""
