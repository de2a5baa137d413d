"""Subgraphs for Algorithm 1, in turn or side by side."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph


@dataclasses.dataclass(frozen=True, eq=False)
class ExpandedSubgraph:
    """A part with its halo: duplicates of border vertices' neighbours.

    Attributes
    ----------
    origin:
        int32, shape (v,): the vertex of the whole graph behind each local one; owned ones first,
        both ascending.
    n_owned:
        Number of owned vertices; the others are halo vertices.
    edges:
        int32, shape (e, 2), local: the edges with an owned end.
    """

    origin: NDArray[np.int32]
    n_owned: int
    edges: NDArray[np.int32]

    @classmethod
    def whole(cls, graph: AttributedGraph) -> ExpandedSubgraph:
        """Return the graph as its only part."""
        return cls(np.arange(graph.n_vertices, dtype=np.int32), graph.n_vertices, graph.edges)


@dataclasses.dataclass(frozen=True, eq=False)
class AnonymizedSubgraph:
    """A kt-safe subgraph g' of an expanded subgraph g.

    Attributes
    ----------
    origin, n_owned, edges:
        As in `ExpandedSubgraph`, for the vertices and edges of g.
    inserted:
        int32, shape (i,): class of each fake vertex; they are numbered after those of g.
    inserted_edges:
        int32, shape (e', 2), local.
    spent:
        int64, shape (v,): vertices and edges inserted while each vertex was made safe.
    """

    origin: NDArray[np.int32]
    n_owned: int
    edges: NDArray[np.int32]
    inserted: NDArray[np.int32]
    inserted_edges: NDArray[np.int32]
    spent: NDArray[np.int64]

    @property
    def cost(self) -> int:
        """Inserted vertices and edges."""
        return len(self.inserted) + len(self.inserted_edges)

    @cached_property
    def is_changed(self) -> NDArray[np.bool_]:
        """Whether HN(v, 1) differs from g's, bool, by vertex of g."""
        changed = np.zeros(len(self.origin) + len(self.inserted), dtype=np.bool_)
        changed[self.inserted_edges.reshape(-1)] = True
        return changed[: len(self.origin)]
