"""Sequences of releases that are safe for w = all.

Cohorts stay together for ever and move as a whole. Policies may be changed here if the gate stays
as strict; a running sequence goes on with the code of today, from the pages of its state
(`memory.state`). tests/ktsafe/sequence/naive.py judges by the definition.
"""

from typing import TYPE_CHECKING

from ktsafe import loads

if TYPE_CHECKING:
    from ktsafe.sequence.cost_figures import Figures
    from ktsafe.sequence.memory.graph_changes import Changes, changes_between
    from ktsafe.sequence.memory.sequence_options import SequenceOptions
    from ktsafe.sequence.memory.state import SequenceCorrupted
    from ktsafe.sequence.sequence import PlannedPair, Released, SequenceEngine
    from ktsafe.sequence.step import Step

__all__ = [
    "Changes",
    "Figures",
    "PlannedPair",
    "Released",
    "SequenceCorrupted",
    "SequenceEngine",
    "SequenceOptions",
    "Step",
    "changes_between",
]

__getattr__ = loads(
    globals(),
    {
        "ktsafe.sequence.cost_figures": ("Figures",),
        "ktsafe.sequence.memory.graph_changes": ("Changes", "changes_between"),
        "ktsafe.sequence.memory.state": ("SequenceCorrupted",),
        "ktsafe.sequence.memory.sequence_options": ("SequenceOptions",),
        "ktsafe.sequence.sequence": ("PlannedPair", "Released", "SequenceEngine"),
        "ktsafe.sequence.step": ("Step",),
    },
)
