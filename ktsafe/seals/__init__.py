"""Seals of releases: digests, signatures, and the log of a sequence."""
