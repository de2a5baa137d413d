"""The configuration: read once, checked as a whole, in narrow slices.

A new key is a field of a table here, a line with a comment in stream/example.toml, and `make
reference`; tests/stream/config/test_config.py and tests/ops/test_reference.py miss any of them.
"""
