"""Sequences of releases that are safe for w = all at any radius: permanent groups, one shift."""

from ktsafe.sequence.aligned.aligned_sequence import AlignedSequence

__all__ = ["AlignedSequence"]
