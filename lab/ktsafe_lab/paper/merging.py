"""Merging of anonymized subgraphs, as unsafe as the text.

Algorithm merge_subgraphs.

A vertex has one version in its own subgraph, and one in each subgraph whose halo it is in. Two
versions become one where neither neighbourhood was changed; otherwise both are kept. As pairs of
subgraphs are merged one after another this leaves, whatever the order, one vertex for all unchanged
versions and one for each changed version.

Five things go wrong, each checked by a test: protection sets of two safe subgraphs unite to one
with too many sensitive members; an unchanged vertex that merges gains as neighbours both versions
of a changed one; halo versions, which count as members inside a subgraph, see more after merging;
a person who is kept twice counts twice; and an edge whose ends both changed joins each of them to
the other's second version, and not the two, so it is lost though the text deletes nothing.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe_lab.paper.subgraph import AnonymizedSubgraph


@dataclasses.dataclass(frozen=True, eq=False)
class MergedGraph:
    """The graph G' that the subgraphs merge into.

    Attributes
    ----------
    inserted:
        int32, shape (i,): class of each vertex beyond the originals.
    copied_from:
        int32, shape (i,): the original vertex that an inserted one is a second version of, with
        all its attributes; -1 for fake vertices, which are non-sensitive.
    edges:
        int32, shape (m, 2): all edges.
    n_versions:
        int64, shape (n,): the subgraphs in which each original vertex was.
    merging_cost:
        int64, shape (n,): additional versions of each original vertex that were kept, and their
        edges (u'.C_mer).
    """

    inserted: NDArray[np.int32]
    copied_from: NDArray[np.int32]
    edges: NDArray[np.int32]
    n_versions: NDArray[np.int64]
    merging_cost: NDArray[np.int64]


def merge_subgraphs(graph: AttributedGraph, parts: list[AnonymizedSubgraph]) -> MergedGraph:
    """Merge anonymized subgraphs back to one graph.

    Parameters
    ----------
    graph:
        The original graph.
    parts:
        Its anonymized subgraphs; every vertex is owned by one of them.

    *Source*: Algorithm 3 (merge_subgraphs). *Reading*: which version is "the original" matters for
    accounts only: the one in the vertex's own subgraph.
    """
    n = graph.n_vertices
    n_versions = np.zeros(n, dtype=np.int64)
    for part in parts:
        n_versions[part.origin] += 1
    # Where a vertex's own version changed, the unchanged ones of its halos merge into one more.
    merged_as = np.arange(n, dtype=np.int64)
    inserted, copied_from = [], []
    count = n

    def insert(classes: NDArray[np.int32], origins: NDArray[np.int32]) -> NDArray[np.int64]:
        nonlocal count
        inserted.append(classes.astype(np.int32))
        copied_from.append(origins.astype(np.int32))
        count += len(classes)
        return np.arange(count - len(classes), count, dtype=np.int64)

    own_changed = np.zeros(n, dtype=np.bool_)
    has_unchanged_halo = np.zeros(n, dtype=np.bool_)
    for part in parts:
        own = part.origin[: part.n_owned]
        own_changed[own] = part.is_changed[: part.n_owned]
        has_unchanged_halo[part.origin[part.n_owned :][~part.is_changed[part.n_owned :]]] = True
    twice = np.flatnonzero(own_changed & has_unchanged_halo).astype(np.int32)
    merged_as[twice] = insert(graph.qi_classes[twice], twice)

    pieces = []
    for part in parts:
        own, halo = part.origin[: part.n_owned], part.origin[part.n_owned :]
        halo_changed = part.is_changed[part.n_owned :]
        number = np.empty(len(part.origin) + len(part.inserted), dtype=np.int64)
        number[: part.n_owned] = own
        beyond = merged_as[halo]
        kept = halo[halo_changed]
        beyond[halo_changed] = insert(graph.qi_classes[kept], kept)
        number[part.n_owned : len(part.origin)] = beyond
        fakes = np.full(len(part.inserted), -1, dtype=np.int32)
        number[len(part.origin) :] = insert(part.inserted, fakes)
        pieces += [number[part.edges], number[part.inserted_edges]]
    edges = _distinct(np.concatenate(pieces) if pieces else np.zeros((0, 2), dtype=np.int64))
    every = np.concatenate([np.zeros(0, dtype=np.int32), *inserted])
    behind = np.concatenate([np.zeros(0, dtype=np.int32), *copied_from])
    degrees = np.bincount(edges.reshape(-1), minlength=count)[n:]
    second = behind >= 0
    merging_cost = np.bincount(behind[second], 1 + degrees[second], minlength=n)
    return MergedGraph(every, behind, edges, n_versions, merging_cost.astype(np.int64))


def _distinct(edges: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return each edge once, ascending: versions that merged share their edges."""
    edges = edges.reshape(-1, 2)
    if not len(edges):
        return edges.astype(np.int32)
    low, high = edges.min(axis=1), edges.max(axis=1)
    width = int(high.max()) + 1
    keys = np.unique(low * width + high)
    return np.column_stack((keys // width, keys % width)).astype(np.int32)
