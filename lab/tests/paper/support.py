"""Shared by the tests of the paper's strategies."""

from __future__ import annotations

import numpy as np

from ktsafe import AttributedGraph
from ktsafe_lab.paper.merging import MergedGraph
from ktsafe_lab.paper.subgraph import AnonymizedSubgraph, ExpandedSubgraph
from tests.graphs import attributed, regular, union
from tests.naive import Small


def small_outcome(graph: AttributedGraph, part: AnonymizedSubgraph) -> Small:
    """Return the anonymized subgraph g' by itself, as plain Python."""
    vertices = part.origin.tolist()
    first = np.unique(graph.qi_classes, return_index=True)[1]
    qi = [tuple(graph.codes[v, :-1].tolist()) for v in [*vertices, *first[part.inserted].tolist()]]
    sensitive = [bool(graph.is_sensitive[v]) for v in vertices] + [False] * len(part.inserted)
    edges = [*map(tuple, part.edges.tolist()), *map(tuple, part.inserted_edges.tolist())]
    return Small(qi, sensitive, edges)


def small_merged(graph: AttributedGraph, merged: MergedGraph) -> Small:
    """Return the merged graph as plain Python."""
    first = np.unique(graph.qi_classes, return_index=True)[1]
    behind = [*range(graph.n_vertices), *first[merged.inserted].tolist()]
    qi = [tuple(graph.codes[v, :-1].tolist()) for v in behind]
    sensitive = [bool(flag) for flag in graph.is_sensitive]
    sensitive += [bool(v >= 0 and graph.is_sensitive[v]) for v in merged.copied_from]
    return Small(qi, sensitive, [(int(u), int(v)) for u, v in merged.edges])


def part_of(
    origin: list[int],
    n_owned: int,
    edges: list[tuple[int, int]],
    inserted: list[int] | None = None,
    inserted_edges: list[tuple[int, int]] | None = None,
) -> AnonymizedSubgraph:
    """Return an anonymized subgraph that somebody made by hand."""
    return AnonymizedSubgraph(
        np.array(origin, dtype=np.int32),
        n_owned,
        np.array(edges, dtype=np.int32).reshape(-1, 2),
        np.array(inserted or [], dtype=np.int32),
        np.array(inserted_edges or [], dtype=np.int32).reshape(-1, 2),
        np.zeros(len(origin), dtype=np.int64),
    )


def whole(graph: Small) -> tuple[AttributedGraph, ExpandedSubgraph]:
    """Return the graph and, in one piece, its only part."""
    made = attributed(graph)
    return made, ExpandedSubgraph.whole(made)


def uneven_circles() -> Small:
    """Return circles of degree 2 (half sensitive), 3 (all sensitive) and 4 (none), six each."""
    return union(regular(6, 2, sensitive=3), regular(6, 3, sensitive=6), regular(6, 4))


def ten_hubs() -> Small:
    """Return ten hubs 0..9 of QI 1 with three leaves of QI 0 each."""
    edges = [(h, 10 + 3 * h + i) for h in range(10) for i in range(3)]
    return Small([*[(1,)] * 10, *[(0,)] * 30], [False] * 40, edges)


def stars_behind_a_border() -> Small:
    """Return x = 0 joined to c = 1, and c to 2..5, each of which has five leaves."""
    edges = [(0, 1), *[(1, h) for h in range(2, 6)]]
    edges += [(h, 6 + 5 * (h - 2) + i) for h in range(2, 6) for i in range(5)]
    return Small([(0,), (1,), *[(0,)] * 4, *[(2,)] * 20], [False] * 26, edges)


def five_pairs() -> Small:
    """Return five vertices of QI 0, the first sensitive, each tied to one of QI 1."""
    edges = [(0, 5), (1, 6), (2, 7), (3, 8), (4, 9)]
    return Small([*[(0,)] * 5, *[(1,)] * 5], [True] + [False] * 9, edges)
