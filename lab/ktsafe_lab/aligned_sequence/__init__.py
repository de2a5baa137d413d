"""Sequences safe for w = all at any radius, by permanent groups."""

from ktsafe_lab.aligned_sequence.aligned_sequence import AlignedSequence

__all__ = ["AlignedSequence"]
