"""Sequences of releases that are safe for w = all: sticky cohorts, moved as a whole."""

from ktsafe.sequence.gate.figures import Figures
from ktsafe.sequence.memory.changes import Changes, changes_between
from ktsafe.sequence.memory.options import SequenceOptions
from ktsafe.sequence.memory.pages import SequenceCorrupted
from ktsafe.sequence.sequence import Released, Sequence, Step

__all__ = [
    "Changes",
    "Figures",
    "Released",
    "Sequence",
    "SequenceCorrupted",
    "SequenceOptions",
    "Step",
    "changes_between",
]
