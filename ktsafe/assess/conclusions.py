"""Compare what readers conclude from a release with the truth.

A conclusion is a simple figure by attribute value, such as ties between two age bands.

Ties that are hidden and edges that are inserted do not cancel out by themselves. Where a pair of
classes shows nothing, ties across values look rarer and people more alike than they are.

Bounds may be tuned: the advice and docs/results.md count wrong conclusions by them. No value is
named in what is told (tests/ktsafe/assess/test_conclusions.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.distributions import VALUES_MAX, assortativity
from ktsafe.graph import AttributedGraph
from ktsafe.stream.files.audit_model import ConclusionFigures, Conclusions

WRONG = 0.2
"""Relative error beyond which a conclusion is wrong."""

PEOPLE_MIN = 20
TIES_MIN = 30
ASSORTATIVITY_MIN = 0.02
"""Fewer true people of a value, ties between two, or less assortativity are not judged."""

WORST_MAX = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Conclusion:
    """One figure of a reader.

    Attributes
    ----------
    name:
        Attribute, what is counted, and values.
    true, released:
        The figure in either graph; the true one is not 0.
    of:
        What is counted: "ties a person", "share of people", "assortativity", or "ties" between two
        values.
    by:
        The attribute; None for all people.
    ranks:
        The values, each as how many are more frequent in the truth, from 1: no value is named.
    """

    name: str
    true: float
    released: float
    of: str = "ties a person"
    by: str | None = None
    ranks: tuple[int, ...] = ()

    @property
    def is_cell(self) -> bool:
        """Whether it counts the ties between two values."""
        return self.of == "ties"

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
    >>> from ktsafe.graph.synthetic import uniform
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


def summary(found: Sequence[Conclusion]) -> Conclusions:
    """Return figures of conclusions; none of them names a value."""
    errors = np.array([one.error for one in found])
    cells = [one for one in found if one.is_cell]
    wrong = [one for one in found if one.error > WRONG]
    # Of figures that are equally wrong, the one of most ties comes first.
    wrong.sort(key=lambda one: (-one.error, -one.true, one.name))
    return Conclusions(
        conclusions=len(found),
        wrong_share=round(float((errors > WRONG).mean()), 6) if found else None,
        median_error=round(float(np.median(errors)), 6) if found else None,
        cells=len(cells),
        cells_empty=sum(one.released == 0 for one in cells),
        mixing_error=(
            round(float(np.mean([min(one.error, 1.0) for one in cells])), 6) if cells else None
        ),
        mixing={
            name: [_row(one) for one in cells if one.by == name and max(one.ranks) <= VALUES_MAX]
            for name in dict.fromkeys(one.by for one in cells if one.by is not None)
        },
        worst=[_row(one) for one in wrong[:WORST_MAX]],
    )


def _row(one: Conclusion) -> ConclusionFigures:
    true, released = round(one.true, 6), round(one.released, 6)
    return ConclusionFigures(one.of, one.by, list(one.ranks), true, released)


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
    ranks = _ranks(truth, j)
    for value, n in people[0].items():
        if n < PEOPLE_MIN:
            continue
        shown = people[1].get(value, 0.0)
        share = shown / max(released.n_vertices, 1)
        which = (name, (ranks[value],))
        said = f"{name}={value}: share of people"
        yield Conclusion(said, n / truth.n_vertices, share, "share of people", *which)
        if ends[0][value]:
            each = ends[1].get(value, 0.0) / max(shown, 1)
            said = f"{name}={value}: ties a person"
            yield Conclusion(said, ends[0][value] / n, each, "ties a person", *which)


def _of_assortativity(
    truth: AttributedGraph, released: AttributedGraph, j: int, name: str
) -> Iterator[Conclusion]:
    true = assortativity(truth, j)
    if true is not None and abs(true) >= ASSORTATIVITY_MIN:
        shown = assortativity(released, j) or 0.0
        yield Conclusion(f"{name}: assortativity", true, shown, "assortativity", name)


def _of_cells(
    truth: AttributedGraph, released: AttributedGraph, j: int, name: str
) -> Iterator[Conclusion]:
    shown, ranks = _cells(released, j), _ranks(truth, j)
    for (first, second), n in _cells(truth, j).items():
        if n >= TIES_MIN:
            edges = shown.get((first, second), 0)
            which = tuple(sorted((ranks[first], ranks[second])))
            yield Conclusion(f"{name}: ties {first}|{second}", n, edges, "ties", name, which)


def _ranks(truth: AttributedGraph, j: int) -> dict[str, int]:
    """Return the place of each value, as in `ktsafe.audit.distributions.attribute_mix`."""
    people = _by_value(truth, j, np.ones(truth.n_vertices))
    ordered = sorted(people, key=lambda text: (-people[text], text))
    return {text: i for i, text in enumerate(ordered, start=1)}


def _by_value(graph: AttributedGraph, j: int, weights: NDArray[Any]) -> dict[str, float]:
    names = graph.categories[j]
    total = np.bincount(graph.codes[:, j], weights, minlength=len(names))
    return dict(zip(names, total.tolist(), strict=True))


def _cells(graph: AttributedGraph, j: int) -> dict[tuple[str, str], int]:
    names = np.array(graph.categories[j], dtype=object)
    ends = np.sort(names[graph.codes[graph.edges, j]].astype(str), axis=1)
    cells, count = np.unique(ends, axis=0, return_counts=True)
    return {(a, b): int(n) for (a, b), n in zip(cells.tolist(), count, strict=True)}
