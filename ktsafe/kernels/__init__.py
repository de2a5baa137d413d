"""Compiler of kernels, and the cache of what it made.

Nothing is computed here, since judges and searchers share it
(tests/ktsafe/kernels/test_kernels.py).
"""
