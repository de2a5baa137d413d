"""The true graph as a sequence remembers it: what the next changes are relative to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph, Schema
from ktsafe.sequence.memory.edge_tables import TRUE
from ktsafe.sequence.memory.state import State


def truth_of(state: State, schema: Schema) -> tuple[AttributedGraph, NDArray[np.int64]]:
    """Return the true graph and the key of each vertex, ascending; a whole scan.

    True ties are the released edges that are true, between the owners of their places, and those
    that are held back.
    """
    rows = state.people.used()
    rows = rows[np.argsort(state.people.key[rows])]
    position = np.full(state.people.n + 1, -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    edges = state.edges.used()
    shown = state.edges.pairs(edges[state.edges.is_true[edges] == TRUE])
    held = state.held.pairs(state.held.used())
    ends = np.concatenate((state.places.owner[shown], held))
    codes = state.codes.table(state.people.cls[rows], state.people.sensitive[rows])
    graph = AttributedGraph.from_codes(schema, state.codes.categories, codes, position[ends])
    return graph, state.people.key[rows]
