"""Sequences safe for w = all at any radius, by permanent groups."""

from ktsafe.sequence.aligned.aligned_sequence import AlignedSequence

__all__ = ["AlignedSequence"]
