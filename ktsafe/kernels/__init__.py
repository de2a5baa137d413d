"""Compiler of kernels, and the cache of what it made.

How kernels are compiled and kept may be changed; nothing is computed here, since judges and
searchers share it (tests/ktsafe/kernels/test_kernels.py).
"""
