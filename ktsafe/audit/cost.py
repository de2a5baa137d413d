"""True people of released vertices, and what a release costs.

A field of `Usefulness` stands in audit.json (`stream.files.audit_model`), where earlier releases
must stay readable: add optional ones. Counts are compared with sets in
tests/ktsafe/audit/test_usefulness.py, and a share is 0 or 1 only where it is exactly.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Final, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import n_common_edges, renumbered
from ktsafe.params import PrivacyParams

# The true person of each released vertex.
#
# Measures that need the true graph take it from here.


@dataclasses.dataclass(frozen=True, eq=False)
class Traced:
    """A release beside the true graph, with the mapping between them.

    `trace` makes one.

    Attributes
    ----------
    original, released:
        The true graph and the released one, of one schema.
    behind:
        int64, shape (released vertices,): the true vertex behind each, -1 for an inserted one; no
        true vertex is named twice.
    value_at:
        int64, shape (r,): for each of `real` the released vertex that shows its sensitive value.
    """

    original: AttributedGraph
    released: AttributedGraph
    behind: NDArray[np.int64]
    value_at: NDArray[np.int64]

    @functools.cached_property
    def real(self) -> NDArray[np.int64]:
        """int64, shape (r,): the released vertices that have an original, ascending."""
        return np.flatnonzero(self.behind >= 0)

    @functools.cached_property
    def n_shared_edges(self) -> int:
        """The number of released edges that are true."""
        shown = renumbered(self.behind.astype(np.int32), self.released.edges)
        return n_common_edges(self.original.edges, shown)

    def take_shared_edges(self, n_shared_edges: int) -> None:
        """Take their number from a judge, instead of counting them again."""
        vars(self)["n_shared_edges"] = n_shared_edges


def trace(
    original: AttributedGraph,
    released: AttributedGraph,
    original_of: NDArray[np.integer[Any]] | None = None,
    value_at: NDArray[np.integer[Any]] | None = None,
) -> Traced:
    """Check the mapping of released vertices to originals, once for all figures.

    Parameters
    ----------
    original, released:
        The true graph and the released one.
    original_of:
        Integers, shape (released vertices,). None: the first vertices are the originals in order.
    value_at:
        Integers, shape (released vertices,): the vertex that shows the sensitive value of each.
        None: each shows its own.

    Raises
    ------
    InvalidGraph
        If the graphs have different schemas, `original_of` does not name each original at most
        once, or `value_at` not each vertex once.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0), n_tuples=2)
    >>> traced = trace(graph, graph)
    >>> len(traced.real), traced.n_shared_edges
    (100, 300)
    """
    n, n_original = released.n_vertices, original.n_vertices
    if original.schema.attributes != released.schema.attributes:
        raise InvalidGraph("The true graph and the release have different schemas.")
    if original_of is None:
        if n < n_original:
            raise InvalidGraph("The release has fewer vertices than the true graph.")
        order = np.arange(n, dtype=np.int64)
        original_of = np.where(order < n_original, order, -1)
    behind = np.asarray(original_of, dtype=np.int64)
    named = behind[behind >= 0]
    if behind.shape != (n,) or (len(named) and named.max() >= n_original):
        raise InvalidGraph("The mapping does not fit the two graphs.")
    if len(named) and np.bincount(named).max() > 1:
        raise InvalidGraph("Two released vertices have the same original.")
    at = np.arange(n) if value_at is None else np.asarray(value_at, dtype=np.int64)
    if not np.array_equal(np.sort(at), np.arange(n)):
        raise InvalidGraph("Values do not stand at each released vertex once.")
    return Traced(original, released, behind, at[behind >= 0])


# Cost of a release, and the share of edges that are true.
#
# The cost alone cannot say that: a release without any edge costs no more than the true edges.


class Overlap(msgspec.Struct, frozen=True):
    """A true and a released set, by the numbers of their elements.

    Shares are rounded to six places; a share of nothing is None.

    Attributes
    ----------
    true, released, shared:
        Elements of either set, and of both.
    cost, cost_share:
        Elements of one set alone, |T xor R|; over |T|, which is what it costs to release nothing.
    precision, recall:
        The shared ones, of the released and of the true ones.
    f1:
        The harmonic mean of both, 0 where nothing is shared; None where both sets are empty.
    """

    true: int
    released: int
    shared: int
    cost: int
    cost_share: float | None
    precision: float | None
    recall: float | None
    f1: float | None

    @classmethod
    def of(cls, true: int, released: int, shared: int) -> Self:
        """Work out the shares."""
        cost = true + released - 2 * shared
        parts = ((cost, true), (shared, released), (shared, true), (2 * shared, true + released))
        return cls(true, released, shared, cost, *(share(*part) for part in parts))


class Usefulness(msgspec.Struct, frozen=True):
    """What a release shares with the true graph.

    Attributes
    ----------
    costs_more_than_nothing:
        Whether a release without any edge would be nearer to the truth.
    edges:
        The released edges beside *all* ties, those of withheld people included.
    vertices:
        The released vertices beside all people.
    """

    costs_more_than_nothing: bool
    edges: Overlap
    vertices: Overlap

    @classmethod
    def of(cls, edges: Overlap, vertices: Overlap) -> Self:
        """Compare the cost of the edges with that of none."""
        return cls(edges.cost > edges.true, edges, vertices)

    @property
    def worth(self) -> float:
        """What `min_f1` is compared with: F1 of ties, unrounded.

        Without true ties the people shown.

        1 where there is nothing to show.
        """
        ties, people = self.edges, self.vertices
        if ties.true:
            return 2 * ties.shared / (ties.true + ties.released)
        return people.shared / people.true if people.true else 1.0


def usefulness(traced: Traced) -> Usefulness:
    """Compare a release's edges and vertices with the true graph's.

    A released edge is true if both its ends are people, and these two are tied. Attribute values
    are not compared.

    Parameters
    ----------
    traced:
        The release beside the true graph, from `ktsafe.audit.trace`.

    Complexity
    ----------
    O(E log E), once per `traced`.

    Examples
    --------
    >>> from ktsafe.audit import trace, usefulness
    >>> from ktsafe.graph import AttributedGraph, Schema
    >>> schema = Schema(("city",), "health", frozenset({"ill"}), expect_absent={"ill"})
    >>> columns = {"city": ["B"] * 4, "health": ["well"] * 4}
    >>> truth = AttributedGraph.from_columns(schema, columns, [(0, 1), (1, 2), (2, 3)])
    >>> release = AttributedGraph.from_columns(schema, columns, [(0, 1), (2, 3), (0, 3)])
    >>> found = usefulness(trace(truth, release)).edges
    >>> found.cost, found.precision, found.recall
    (2, 0.666667, 0.666667)
    """
    original, released = traced.original, traced.released
    return Usefulness.of(
        Overlap.of(original.n_edges, released.n_edges, traced.n_shared_edges),
        Overlap.of(original.n_vertices, released.n_vertices, len(traced.real)),
    )


SHARE_LEAST: Final = 0.000001
"""Shares have six places, and one of millions is not rounded away."""


def share(part: int | None, whole: int | None) -> float | None:
    """Return a part of a whole; None if unknown, or of nothing.

    It is 0 or 1 only where the part is nothing or the whole.
    """
    if part is None or not whole:
        return None
    rounded = round(part / whole, 6)
    return min(max(rounded, SHARE_LEAST), 1 - SHARE_LEAST) if 0 < part < whole else rounded


# The anonymization cost of a release.
#
# In how many vertices and edges it differs from the truth.


class Cost(msgspec.Struct, frozen=True):
    """The anonymization cost in its parts, and a yardstick.

    Cost(G, G') = |V delta V'| + |E delta E'|.

    Attributes
    ----------
    unowned_vertices:
        Released vertices without a person: of a sequence, places that their people left.
    edges_of_withheld:
        Those deleted edges that have an end which is not released.
    k_copies:
        The cost (m - 1)(|V| + |E|) of m = max(k, ceil(1 / alpha)) disjoint copies.
    """

    unowned_vertices: int
    deleted_vertices: int
    inserted_edges: int
    deleted_edges: int
    edges_of_withheld: int
    total: int
    k_copies: int


def cost_parts(traced: Traced, params: PrivacyParams) -> Cost:
    """Return the anonymization cost in its parts, and a yardstick.

    Source: Equation 1. Attribute values are not part of that cost.

    Examples
    --------
    >>> from ktsafe.audit import trace
    >>> from ktsafe.graph import AttributedGraph, Schema
    >>> schema = Schema(("city",), "health", frozenset({"ill"}), expect_absent={"ill"})
    >>> columns = {"city": ["B"] * 4, "health": ["well"] * 4}
    >>> truth = AttributedGraph.from_columns(schema, columns, [(0, 1), (1, 2), (2, 3)])
    >>> release = AttributedGraph.from_columns(schema, columns, [(0, 1), (2, 3), (0, 3)])
    >>> cost = cost_parts(trace(truth, release), PrivacyParams(k=2))
    >>> cost.inserted_edges, cost.deleted_edges, cost.total
    (1, 1, 2)
    """
    original, useful = traced.original, usefulness(traced)
    withheld = np.ones(original.n_vertices, dtype=np.bool_)
    withheld[traced.behind[traced.real]] = False
    of_withheld = 0
    if withheld.any():
        of_withheld = int(np.count_nonzero(withheld[original.edges].any(axis=1)))
    edges, vertices = useful.edges, useful.vertices
    total = edges.cost + vertices.cost
    copies = (params.group_size_min - 1) * (original.n_vertices + original.n_edges)
    return Cost(
        unowned_vertices=vertices.released - vertices.shared,
        deleted_vertices=vertices.true - vertices.shared,
        inserted_edges=edges.released - edges.shared,
        deleted_edges=edges.true - edges.shared,
        edges_of_withheld=of_withheld,
        total=total,
        k_copies=copies,
    )
