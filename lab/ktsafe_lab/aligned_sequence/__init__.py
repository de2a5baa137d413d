"""Sequences safe for w = all at any radius, by permanent groups."""

from ktsafe_lab.aligned_sequence.aligned_sequence import AlignedReleased, AlignedSequence
from ktsafe_lab.aligned_sequence.symmetry import AlignedAuditor, AlignedRelease

__all__ = ["AlignedAuditor", "AlignedRelease", "AlignedReleased", "AlignedSequence"]
