"""The true graph and the ledger of releases, durable in RocksDB."""
