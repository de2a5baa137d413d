"""Inserted edges that appear in a release exchange ends until they look like ties.

Only new edges may, within their pair of classes, before anybody sees them: rows stay as planned,
and whole cohorts change alike. Edges that were shown before stay, also those that return after
their pair was cleared: otherwise true ties would return, and inserted edges would not.
"""

from __future__ import annotations

import numpy as np

from ktsafe.exact.rewiring import exchanged
from ktsafe.graph import edge_keys
from ktsafe.options import Effort
from ktsafe.sequence.memory.column_table import among
from ktsafe.sequence.memory.sequence_tables import TRUE
from ktsafe.sequence.people.step_context import StepContext
from ktsafe.sequence.ties.pairs import hide, show


def rewire_new_edges(context: StepContext, effort: Effort) -> None:
    """Let the inserted edges that are new in this release exchange ends."""
    state, rng, executor = context.state, context.rng, context.executor
    edges, current = state.edges, state.current
    gained = current.gained.array()
    returned = np.array(sorted(current.returned), dtype=np.int64).reshape(-1, 2)
    gained = gained[~among(edge_keys(gained), edge_keys(returned))]
    new = edges.rows_of(gained)
    new = new[edges.is_true[new] != TRUE]
    if not len(new):
        return
    used = edges.used()
    is_true = edges.is_true[used] == TRUE
    staying = np.setdiff1d(used[~is_true], new, assume_unique=True)
    before, shown, others = (
        edges.pairs(rows).astype(np.int32) for rows in (new, used[is_true], staying)
    )
    classes = state.places.cls.astype(np.int32)
    after = exchanged(classes, shown, before, others, rng=rng, effort=effort, executor=executor)
    moved = (after != before).any(axis=1)
    hide(state, before[moved].astype(np.int64))
    show(state, after[moved].astype(np.int64))
