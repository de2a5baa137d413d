"""Tolerant releases: protection sets within t and epsilon, as wide as the definition allows."""
