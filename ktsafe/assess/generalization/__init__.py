"""Generalization of quasi-identifiers: hierarchies, and a search among settings."""
