"""How many candidates an attacker keeps who knows a vertex's true ties and those among its friends.

The induced reading's counterpart of k_known. The attacker knows the quasi-identifiers of v's true
neighbours and who of them know each other, and that ties were only added: candidates are the
released u with QI(u) = QI(v) whose neighbours contain such a pattern. A release that is safe in
the walk reading promises nothing here; its private audit says what is left.

Containment is subgraph isomorphism, so the search has a budget. Candidates that it neither
confirms nor rules out are counted apart: the truth lies between `certain` and the sum.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit import _induced_knowledge_core as core
from ktsafe.audit.originals import Traced
from ktsafe.graph import AttributedGraph, edge_keys

VERTICES_MAX = 300
"""Vertices that are asked; of more, an even sample by degree."""

WORK_MAX = 1_000_000_000
"""Steps of reading neighbourhoods, and of searching them at worst; beyond it fewer are asked."""

STEPS_MAX = 20_000
"""Steps of the search per candidate."""


@dataclasses.dataclass(frozen=True, eq=False)
class InducedKnowledge:
    """What was found for the vertices that were asked.

    Attributes
    ----------
    asked:
        int64, shape (a,): released vertices.
    certain, undecided:
        int64, shape (a,): candidates that contain the true pattern, and those left undecided.
    """

    asked: NDArray[np.int64]
    certain: NDArray[np.int64]
    undecided: NDArray[np.int64]

    def to_mapping(self, k: int) -> dict[str, Any]:
        """Return the figures as JSON-ready values; undecided candidates do not count."""
        if len(self.asked) == 0:
            return {"asked": 0, "min": None, "median": None, "below_k": 0, "undecided": 0}
        return {
            "asked": len(self.asked),
            "min": int(self.certain.min()),
            "median": int(np.quantile(self.certain, 0.5, method="lower")),
            "below_k": int(np.count_nonzero(self.certain < k)),
            "below_k_if_undecided_count": int(np.count_nonzero(self.certain + self.undecided < k)),
            "undecided": int(self.undecided.sum()),
        }


def induced_knowledge(traced: Traced, *, steps_max: int = STEPS_MAX) -> InducedKnowledge:
    """Count the candidates of real vertices for an attacker with induced knowledge of one hop.

    Parameters
    ----------
    traced:
        The release beside the true graph, from `ktsafe.audit.trace`.
    steps_max:
        Bounds the work; no clock decides.
    """
    original, released, behind, real = (
        traced.original,
        traced.released,
        traced.behind,
        traced.real,
    )
    true_label, label = _labels(original, released)
    # Whoever contains v's true neighbours has at least its true degree.
    stride = int(max(released.degrees.max(initial=0), original.degrees.max(initial=0))) + 1
    key = label * stride + released.degrees
    order = np.argsort(key, kind="stable")
    begin = np.searchsorted(key[order], label[real] * stride + original.degrees[behind[real]])
    stop = np.searchsorted(key[order], (label[real] + 1) * stride)
    work = _reading(released)[order] + steps_max
    asked = _sample(begin, stop, work)
    counts = core.count_candidates(
        core.Labelled(original.indptr, original.indices, true_label),
        core.Labelled(released.indptr, released.indices, label),
        real[asked],
        behind,
        order,
        np.column_stack((begin[asked], stop[asked])),
        steps_max,
        _is_supergraph(traced),
    )
    return InducedKnowledge(real[asked], counts[0], counts[1])


def _reading(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return the steps that reading each neighbourhood takes: degree squared, neighbours' rows."""
    source = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    rows = np.bincount(source, weights=graph.degrees[graph.indices], minlength=graph.n_vertices)
    return graph.degrees**2 + rows.astype(np.int64) + 1


def _is_supergraph(traced: Traced) -> bool:
    """Return whether all true vertices and edges are in the release."""
    if len(traced.real) != traced.original.n_vertices:
        return False
    ends = traced.behind[traced.released.edges]
    kept = ends[(ends >= 0).all(axis=1)]
    return bool(np.isin(edge_keys(traced.original.edges), edge_keys(kept)).all())


def _sample(
    begin: NDArray[np.int64],
    stop: NDArray[np.int64],
    work: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return positions of asked vertices: even along candidates, as many as the work allows."""
    if len(begin) == 0:
        return np.zeros(0, dtype=np.int64)
    total = np.concatenate(([0], np.cumsum(work)))
    needed = int((total[stop] - total[begin]).sum())
    step = max(1, -(-len(begin) // VERTICES_MAX), -(-needed // WORK_MAX))
    along = np.argsort(begin, kind="stable")
    return np.sort(along[step // 2 :: step])


def _labels(
    original: AttributedGraph, released: AttributedGraph
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the quasi-identifier tuples of both graphs alike, by their texts."""
    index: dict[tuple[str, ...], int] = {}
    found = []
    for graph in (original, released):
        texts = [
            [names[code] for code in graph.codes[:, j].tolist()]
            for j, names in enumerate(graph.categories[:-1])
        ]
        tuples = zip(*texts, strict=True) if texts else [()] * graph.n_vertices
        found.append(
            np.array([index.setdefault(each, len(index)) for each in tuples], dtype=np.int64)
        )
    return found[0], found[1]
