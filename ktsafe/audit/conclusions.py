"""What a reader works out from a release, beside the truth: simple figures by attribute value.

Ties that are hidden and edges that are inserted do not cancel out by themselves. Where a pair of
classes shows nothing, ties across values look rarer and people more alike than they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.distributions import assortativity
from ktsafe.graph import AttributedGraph

WRONG = 0.2
"""Relative error beyond which a conclusion is wrong."""

PEOPLE_MIN = 20
TIES_MIN = 30
ASSORTATIVITY_MIN = 0.02
"""Fewer true people of a value, ties between two, or less assortativity are not judged."""


@dataclasses.dataclass(frozen=True, slots=True)
class Conclusion:
    """One figure of a reader.

    Attributes
    ----------
    name:
        Attribute, what is counted, and values.
    true, released:
        The figure in either graph; the true one is not 0.
    is_cell:
        Whether it counts the ties between two values.
    """

    name: str
    true: float
    released: float
    is_cell: bool = False

    @property
    def error(self) -> float:
        """The relative error."""
        return abs(self.released - self.true) / abs(self.true)


def conclusions(truth: AttributedGraph, released: AttributedGraph) -> list[Conclusion]:
    """Return what readers conclude, in the order of attributes.

    These are ties a person; for each quasi-identifier the share of people and the ties a person of
    each value, the assortativity, and the ties between each two values.

    Parameters
    ----------
    truth, released:
        The true graph and the release, of the same quasi-identifiers.

    Examples
    --------
    >>> from ktsafe.datasets import uniform
    >>> graph = uniform(50, 200, rng=np.random.default_rng(1), n_tuples=2)
    >>> {one.error for one in conclusions(graph, graph)}
    {0.0}
    """
    if not (truth.n_edges and truth.n_vertices):
        return []
    true, shown = (2 * graph.n_edges / max(graph.n_vertices, 1) for graph in (truth, released))
    found = [Conclusion("ties a person", true, shown)]
    for j, name in enumerate(truth.schema.quasi_identifiers):
        found += _of_values(truth, released, j, name)
        found += _of_assortativity(truth, released, j, name)
        found += _of_cells(truth, released, j, name)
    return found


def summary(found: Sequence[Conclusion]) -> dict[str, Any]:
    """Return JSON-ready figures of conclusions; none of them names a value.

    Returns
    -------
    dict
        `conclusions` and `cells`: how many of all, and of ties between two values; `wrong_share`:
        the share with an error above 20%; `median_error`; `cells_empty`: cells with ties, and no
        edge; `mixing_error`: the mean error of cells, each at most 1. Means of nothing are None.
    """
    errors = np.array([one.error for one in found])
    cells = [one for one in found if one.is_cell]
    return {
        "conclusions": len(found),
        "wrong_share": round(float((errors > WRONG).mean()), 6) if found else None,
        "median_error": round(float(np.median(errors)), 6) if found else None,
        "cells": len(cells),
        "cells_empty": sum(one.released == 0 for one in cells),
        "mixing_error": (
            round(float(np.mean([min(one.error, 1.0) for one in cells])), 6) if cells else None
        ),
    }


def _of_values(
    truth: AttributedGraph, released: AttributedGraph, j: int, name: str
) -> Iterator[Conclusion]:
    people, ends = (
        [
            _by_value(graph, j, weights)
            for graph, weights in zip((truth, released), each, strict=True)
        ]
        for each in (
            (np.ones(truth.n_vertices), np.ones(released.n_vertices)),
            (truth.degrees, released.degrees),
        )
    )
    for value, n in people[0].items():
        if n < PEOPLE_MIN:
            continue
        shown = people[1].get(value, 0.0)
        share = shown / max(released.n_vertices, 1)
        yield Conclusion(f"{name}={value}: share of people", n / truth.n_vertices, share)
        if ends[0][value]:
            each = ends[1].get(value, 0.0) / max(shown, 1)
            yield Conclusion(f"{name}={value}: ties a person", ends[0][value] / n, each)


def _of_assortativity(
    truth: AttributedGraph, released: AttributedGraph, j: int, name: str
) -> Iterator[Conclusion]:
    true = assortativity(truth, j)
    if true is not None and abs(true) >= ASSORTATIVITY_MIN:
        yield Conclusion(f"{name}: assortativity", true, assortativity(released, j) or 0.0)


def _of_cells(
    truth: AttributedGraph, released: AttributedGraph, j: int, name: str
) -> Iterator[Conclusion]:
    shown = _cells(released, j)
    for (first, second), n in _cells(truth, j).items():
        if n >= TIES_MIN:
            edges = shown.get((first, second), 0)
            yield Conclusion(f"{name}: ties {first}|{second}", n, edges, is_cell=True)


def _by_value(graph: AttributedGraph, j: int, weights: NDArray[Any]) -> dict[str, float]:
    names = graph.categories[j]
    total = np.bincount(graph.codes[:, j], weights, minlength=len(names))
    return dict(zip(names, total.tolist(), strict=True))


def _cells(graph: AttributedGraph, j: int) -> dict[tuple[str, str], int]:
    names = np.array(graph.categories[j], dtype=object)
    ends = np.sort(names[graph.codes[graph.edges, j]].astype(str), axis=1)
    cells, count = np.unique(ends, axis=0, return_counts=True)
    return {(a, b): int(n) for (a, b), n in zip(cells.tolist(), count, strict=True)}
