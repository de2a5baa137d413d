"""Distributions of degrees and values in a release, beside the truth.

Shares only, and of values only their rank: no value is named, for a rare one is a person.

Bands and `VALUES_MAX` may be tuned; `Band`, `Both` and `Mix` are read again from audits of earlier
releases. tests/ktsafe/audit/test_distributions.py looks for named values.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph

VALUES_MAX = 8
"""Values of an attribute that are told one by one; the others are told together."""


class Both(msgspec.Struct, frozen=True):
    """A figure of the true graph and of the released one."""

    original: float | None = None
    released: float | None = None


class Band(msgspec.Struct, frozen=True):
    """The share of people with so many ties, in both graphs."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")
    original: float | None
    released: float | None


class Mix(msgspec.Struct, frozen=True):
    """The shares of an attribute's values in both graphs, and their distance.

    Attributes
    ----------
    distance:
        Half the L1 distance of both distributions over all vertices, from 0 to 1; None where a
        graph is empty.
    values:
        The share of each value, the most frequent in the truth first, at most 8, then all others
        as one.
    """

    distance: float | None
    values: list[Both]


def degree_bands(original: AttributedGraph, released: AttributedGraph) -> list[Band]:
    """Return the vertices' share of either graph by degree band.

    Bands are 0, 1, 2-3, 4-7 and so on up to the greatest degree of both.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(20, 30, rng=np.random.default_rng(1))
    >>> [row.first for row in degree_bands(graph, graph)]
    [0, 1, 2, 4, 8]
    """
    bands = [band_of(graph.degrees) for graph in (original, released)]
    count = 1 + max(int(band.max(initial=0)) for band in bands)
    shares = (_shares(np.bincount(band, minlength=count)) for band in bands)
    return [Band(*ends_of(band), *both) for band, both in enumerate(zip(*shares, strict=True))]


def attribute_mix(original: AttributedGraph, released: AttributedGraph) -> dict[str, Mix]:
    """Return how the values of each attribute are distributed in either graph."""
    return {
        name: _mix(_counts(original, j), _counts(released, j))
        for j, name in enumerate(original.schema.attributes)
    }


def _mix(original: dict[str, int], released: dict[str, int]) -> Mix:
    texts = sorted(
        original.keys() | released.keys(), key=lambda text: (-original.get(text, 0), text)
    )
    first, second = (
        _shares(np.array([counts.get(text, 0) for text in texts], dtype=np.int64))
        for counts in (original, released)
    )
    pairs = [pair for pair in zip(first, second, strict=True) if None not in pair]
    apart = sum(abs(a - b) for a, b in pairs if a is not None and b is not None) / 2
    if len(first) > VALUES_MAX:
        first, second = ([*each[:VALUES_MAX], _sum(each[VALUES_MAX:])] for each in (first, second))
    return Mix(round(apart, 6) if pairs else None, [*map(Both, first, second)])


def _counts(graph: AttributedGraph, attribute: int) -> dict[str, int]:
    """Return how many vertices have each value that occurs."""
    counts = np.bincount(graph.codes[:, attribute], minlength=len(graph.categories[attribute]))
    named = zip(graph.categories[attribute], counts.tolist(), strict=True)
    return {text: count for text, count in named if count}


def band_of(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the band of each count.

    0, 1, 2-3, 4-7 and so on.
    """
    # frexp is exact: the exponent of x is 1 + floor(log2(x)), and 0 for 0.
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def ends_of(band: int) -> tuple[int, int]:
    """Return the least and the greatest count of a band."""
    return (2 ** (band - 1), 2**band - 1) if band else (0, 0)


def _shares(counts: NDArray[np.int64]) -> list[float | None]:
    total = int(counts.sum())
    return [round(count / total, 6) if total else None for count in counts.tolist()]


def _sum(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return round(sum(known), 6) if known else None


def assortativity(graph: AttributedGraph, attribute: int) -> float | None:
    """Return Newman's assortativity by an attribute, from -1 to 1.

    With e_xy the share of edge ends that lead from value x to value y and a its row sums:
    (trace e - sum a^2) / (1 - sum a^2). None where all ends have one value, or there are none.
    """
    values = graph.codes[:, attribute].astype(np.int64)
    ends = np.bincount(values, weights=graph.degrees, minlength=1)
    if np.count_nonzero(ends) < 2:
        return None
    same = np.count_nonzero(values[graph.edges[:, 0]] == values[graph.edges[:, 1]]) / graph.n_edges
    by_chance = float(np.square(ends / ends.sum()).sum())
    return round(float((same - by_chance) / (1 - by_chance)), 6)
