"""One module per command of the `ktsafe` program.

A command stands in `command_registry.SECTIONS` under the name of its function. What it needs of
numpy, kernels, Kafka or the store is imported inside functions
(tests/stream/commands/test_imports.py).
"""
