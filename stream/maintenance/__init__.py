"""Care for the state: erasure, backup, import, dead letters."""
