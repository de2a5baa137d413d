"""The true graph and the ledger of releases, durable in RocksDB.

What it writes stays readable: layouts are drawn in `keys`, and another one needs a new `FORMAT` and
lab/convert. It imports `ktsafe` only; Kafka, metrics and logs are refused here
(tests/test_layers.py).
"""
