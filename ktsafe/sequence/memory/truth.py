"""The true graph as a sequence remembers it: what the next changes are relative to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph, Schema
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State


def truth_of(state: State, schema: Schema) -> tuple[AttributedGraph, NDArray[np.int64]]:
    """Return the true graph and the key of each vertex, ascending; a whole scan.

    True ties are the released edges that are true, between the owners of their places, and those
    that are held back.
    """
    rows = state.people.used()
    rows = rows[np.argsort(state.people.rows[rows, st.KEY])]
    people = state.people.rows[rows]
    position = np.full(state.people.n + 1, -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    edges = state.edges.rows[state.edges.used()]
    shown = edges[edges[:, st.IS_TRUE] == st.TRUE][:, : st.HIGH + 1]
    held = state.held.rows[state.held.used()][:, : st.SECOND + 1]
    ends = np.concatenate((state.places.rows[shown, st.OWNER], held))
    classes = np.array(state.classes, dtype=np.int32).reshape(-1, len(state.categories) - 1)
    codes = np.empty((len(rows), len(state.categories)), dtype=np.int32)
    codes[:, :-1] = classes[people[:, st.TRUE_CLS]]
    codes[:, -1] = people[:, st.TRUE_SENSITIVE]
    graph = AttributedGraph.from_codes(schema, state.categories, codes, position[ends])
    return graph, people[:, st.KEY].copy()
