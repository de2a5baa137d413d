"""The graph under construction: originals first, inserted vertices after them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph, edge_keys
from ktsafe.neighborhoods import QuasiIdentifierSpace, joint_histograms
from ktsafe.working import _graph_core as core


class WorkingGraph:
    """Grows by inserted vertices and edges while degrees and closed histograms stay exact.

    Kernels work on `arrays`; before each of them the owner reserves what it may use, because a
    kernel cannot grow an array and numba does not notice a write past its end.

    Parameters
    ----------
    graph, space:
        The true graph and its quasi-identifiers.

    Attributes
    ----------
    arrays:
        What kernels see; another object after each method that makes room.
    n_original:
        Vertices of the true graph, which come first.
    n_columns:
        Columns of a histogram row.
    target_space, target_columns:
        In what targets count, and which columns of a histogram row that is.
    original_edges, deleted_edges:
        int32, shape (m, 2) each: true edges that are kept, and others.
    cohort:
        int64, shape (n,): the cohort that each vertex was given last (`ktsafe.cohorts.choose`), or
        -1.
    n_cohorts:
        Numbers of cohorts that were given so far.
    stood:
        int64, shape (n,): the rounds for which what each vertex was given stands by now.
    """

    def __init__(self, graph: AttributedGraph, space: QuasiIdentifierSpace) -> None:
        n = graph.n_vertices
        self.n_original = n
        self.space = space
        self.target_space, self.target_columns, columns = _target_space(space)
        self.n_columns = int(columns.max(initial=-1)) + 1
        self.original_edges = graph.edges
        self.deleted_edges = np.zeros((0, 2), dtype=np.int32)
        self.cohort = np.full(n, -1, dtype=np.int64)
        self.n_cohorts = 0
        self.stood = np.zeros(n, dtype=np.int64)
        self.arrays = core.Working(
            size=np.array([n, 0, 0], dtype=np.int64),
            columns=columns,
            cls=graph.qi_classes.copy(),
            is_sensitive=graph.is_sensitive.copy(),
            degree=np.zeros(n, dtype=np.int32),
            hist=_own_histograms(graph.qi_classes, columns, self.n_columns),
            edge_slots=np.full(_slots_for(graph.n_edges), core.EMPTY, dtype=np.int64),
            inserted=np.zeros((0, 2), dtype=np.int32),
        )
        core.load(self.arrays, graph.edges)

    @property
    def n(self) -> int:
        """Number of vertices, inserted ones included."""
        return int(self.arrays.size[core.N])

    @property
    def n_inserted_edges(self) -> int:
        """Number of inserted edges."""
        return int(self.arrays.size[core.INSERTED])

    @property
    def inserted_edges(self) -> NDArray[np.int32]:
        """The inserted edges, shape (n_inserted_edges, 2); a view."""
        return self.arrays.inserted[: self.n_inserted_edges]

    @property
    def cost(self) -> int:
        """Inserted vertices plus inserted and deleted edges."""
        return self.n - self.n_original + self.n_inserted_edges + len(self.deleted_edges)

    def joint_histograms(self, vertices: NDArray[np.int32]) -> NDArray[np.int32]:
        """Count the neighbours of the given vertices by quasi-identifier tuple."""
        edges = (self.original_edges, self.inserted_edges)
        return joint_histograms(vertices, self.arrays.cls, self.space.n_classes, edges)

    def add_vertices(self, classes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Append one isolated non-sensitive vertex per given class; return their positions."""
        first, more = self.n, len(classes)
        g = self.arrays
        self.arrays = g._replace(
            cls=np.concatenate((g.cls[:first], classes.astype(np.int32))),
            is_sensitive=np.concatenate((g.is_sensitive[:first], np.zeros(more, dtype=np.bool_))),
            degree=np.concatenate((g.degree[:first], np.zeros(more, dtype=np.int32))),
            hist=np.concatenate(
                (g.hist[:first], _own_histograms(classes, g.columns, self.n_columns))
            ),
        )
        self.cohort = np.concatenate((self.cohort, np.full(more, -1, dtype=np.int64)))
        self.stood = np.concatenate((self.stood, np.zeros(more, dtype=np.int64)))
        g.size[core.N] += more
        return np.arange(first, first + more, dtype=np.int32)

    def remove_vertices(self, is_removed: NDArray[np.bool_]) -> None:
        """Remove isolated inserted vertices; later ones move up. Tables of it become stale."""
        if not is_removed.any():
            return
        g, keep = self.arrays, ~is_removed
        position = (np.cumsum(keep) - 1).astype(np.int32)
        g.inserted[: self.n_inserted_edges] = position[self.inserted_edges]
        g.size[core.N] = int(keep.sum())
        self.cohort, self.stood = self.cohort[keep], self.stood[keep]
        g.size[core.SLOTS_USED] = 0
        self.arrays = g._replace(
            cls=g.cls[: len(keep)][keep],
            is_sensitive=g.is_sensitive[: len(keep)][keep],
            degree=g.degree[: len(keep)][keep],
            hist=g.hist[: len(keep)][keep],
            edge_slots=np.full_like(g.edge_slots, core.EMPTY),
        )
        for edges in (self.original_edges, self.inserted_edges):
            core.remember_keys(self.arrays, edge_keys(edges))

    def rewire(
        self,
        original: NDArray[np.int32],
        deleted: NDArray[np.int32],
        inserted: NDArray[np.int32],
    ) -> None:
        """Replace all edges; degrees and histograms are counted anew. Tables become stale.

        Parameters
        ----------
        original, deleted, inserted:
            int32, shape (m, 2) each: original edges that are kept, original edges that are not,
            and others; no two of them equal.
        """
        g, n = self.arrays, self.n
        self.original_edges, self.deleted_edges = original, deleted
        slots = _slots_for(len(original) + len(inserted))
        self.arrays = g._replace(
            degree=np.zeros(n, dtype=np.int32),
            hist=_own_histograms(g.cls[:n], g.columns, self.n_columns),
            edge_slots=np.full(slots, core.EMPTY, dtype=np.int64),
            inserted=np.array(inserted, dtype=np.int32).reshape(-1, 2),
        )
        g.size[core.INSERTED], g.size[core.SLOTS_USED] = len(inserted), 0
        core.load(self.arrays, original)
        core.load(self.arrays, self.inserted_edges)

    def reserve_edges(self, more: int) -> None:
        """Make room for `more` further inserted edges."""
        g = self.arrays
        needed = self.n_inserted_edges + more
        if needed > len(g.inserted):
            room = np.zeros((max(needed, 2 * len(g.inserted)), 2), dtype=np.int32)
            room[: self.n_inserted_edges] = self.inserted_edges
            g = g._replace(inserted=room)
        used = int(g.size[core.SLOTS_USED])
        if 2 * (used + more) > len(g.edge_slots):
            keys = g.edge_slots[g.edge_slots >= 0]
            slots = np.full(_slots_for(len(keys) + more), core.EMPTY, dtype=np.int64)
            g = g._replace(edge_slots=slots)
            g.size[core.SLOTS_USED] = 0
            core.remember_keys(g, keys)
        self.arrays = g

    def insert_edges(self, edges: NDArray[np.int32]) -> None:
        """Insert absent edges, shape (m, 2)."""
        self.reserve_edges(len(edges))
        core.insert_edges(self.arrays, np.ascontiguousarray(edges))

    def target_hist(self, vertices: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the closed histograms of vertices in the columns in which targets are chosen."""
        return np.ascontiguousarray(self.arrays.hist[vertices, self.target_columns])


def _target_space(
    space: QuasiIdentifierSpace,
) -> tuple[QuasiIdentifierSpace, slice, NDArray[np.int64]]:
    """Choose between values and whole tuples as what targets count.

    Neighbourhoods within t by tuples are within t for each attribute. Tuples are the stricter
    count, but where they are few, few combinations of values exist, and wants for single values
    would hardly ever name one that does. Returns the space for targets, its columns in a histogram
    row, and for each class all columns in which it counts: the attributes', which the definition
    judges, first.
    """
    few = 1 < space.n_classes <= space.n_columns
    if space.is_joint or not few:
        return space, slice(0, space.n_columns), space.columns
    classes = np.arange(space.n_classes, dtype=np.int64).reshape(-1, 1)
    bounds = np.array([0, space.n_classes], dtype=np.int64)
    joint = QuasiIdentifierSpace(space.tuples, bounds, classes)
    both = np.hstack((space.columns, space.n_columns + classes))
    return joint, slice(space.n_columns, space.n_columns + space.n_classes), both


def _own_histograms(
    classes: NDArray[np.int32], columns: NDArray[np.int64], n_columns: int
) -> NDArray[np.int32]:
    """Return histograms that count each vertex alone."""
    hist = np.zeros((len(classes), n_columns), dtype=np.int32)
    rows = np.arange(len(classes))
    for j in range(columns.shape[1]):
        hist[rows, columns[classes, j]] = 1
    return hist


def _slots_for(edges: int) -> int:
    """Return a power of two that keeps an open-addressing set of `edges` at most half full."""
    return 1 << max(4, (2 * edges + 1).bit_length())
