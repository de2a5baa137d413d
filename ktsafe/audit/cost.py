"""What a release is worth beside what it cost.

How far it shares edges and vertices with the truth.

The cost alone cannot say that: a release without any edge costs no more than the true edges.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ktsafe.audit.originals import Traced
from ktsafe.params import PrivacyParams


@dataclasses.dataclass(frozen=True, slots=True)
class Overlap:
    """A true and a released set, by the numbers of their elements.

    A share of nothing is None.

    Attributes
    ----------
    true, released:
        Elements of either set.
    shared:
        Elements of both.
    """

    true: int
    released: int
    shared: int

    @property
    def cost(self) -> int:
        """Elements of one set alone: |T xor R|."""
        return self.true + self.released - 2 * self.shared

    @property
    def cost_share(self) -> float | None:
        """The cost over |T|, which is what it costs to release nothing."""
        return _share(self.cost, self.true)

    @property
    def precision(self) -> float | None:
        """The share of true edges among the released ones."""
        return _share(self.shared, self.released)

    @property
    def recall(self) -> float | None:
        """The share of released edges among the true ones."""
        return _share(self.shared, self.true)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall, 0 where nothing is shared.

        None where both sets are empty.
        """
        return _share(2 * self.shared, self.true + self.released)

    def to_mapping(self) -> dict[str, Any]:
        """Return the counts and shares, JSON-ready; shares are rounded to 6 places."""
        names = ("cost_share", "precision", "recall", "f1")
        shares = {name: getattr(self, name) for name in names}
        return {
            "true": self.true,
            "released": self.released,
            "shared": self.shared,
            "cost": self.cost,
            **{name: None if share is None else round(share, 6) for name, share in shares.items()},
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Usefulness:
    """What a release shares with the true graph.

    Attributes
    ----------
    edges:
        The released edges beside *all* ties, those of withheld people included.
    vertices:
        The released vertices beside all people.
    """

    edges: Overlap
    vertices: Overlap

    @property
    def costs_more_than_nothing(self) -> bool:
        """Whether a release without any edge would be nearer to the truth."""
        return self.edges.cost > self.edges.true

    @property
    def worth(self) -> float:
        """What `min_f1` is compared with: F1 of ties.

        Without true ties the people shown.

        1 where there is nothing to show.
        """
        shown = self.edges.f1 if self.edges.true else self.vertices.recall
        return 1.0 if shown is None else shown

    def to_mapping(self) -> dict[str, Any]:
        """Return the figures, JSON-ready: see `Overlap.to_mapping`."""
        return {
            "costs_more_than_nothing": self.costs_more_than_nothing,
            "edges": self.edges.to_mapping(),
            "vertices": self.vertices.to_mapping(),
        }


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
    (2, 0.6666666666666666, 0.6666666666666666)
    """
    original, released = traced.original, traced.released
    return Usefulness(
        edges=Overlap(original.n_edges, released.n_edges, traced.n_shared_edges),
        vertices=Overlap(original.n_vertices, released.n_vertices, len(traced.real)),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# The anonymization cost of a release.
#
# In how many vertices and edges it differs from the truth.


def cost_parts(traced: Traced, params: PrivacyParams) -> dict[str, Any]:
    """Return the anonymization cost in its parts, and a yardstick.

    Cost(G, G') = |V delta V'| + |E delta E'|.

    Returns
    -------
    dict
        Inserted and deleted vertices and edges and their `total`; `k_copies`, the cost
        (m - 1)(|V| + |E|) of m = max(k, ceil(1 / alpha)) disjoint copies, and the total over it
        (None where it is 0). `edges_of_withheld` are those deleted edges that have an end which is
        not released.

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
    >>> cost["inserted_edges"], cost["deleted_edges"], cost["total"]
    (1, 1, 2)
    """
    original, useful = traced.original, usefulness(traced)
    withheld = np.ones(original.n_vertices, dtype=np.bool_)
    withheld[traced.behind[traced.real]] = False
    of_withheld = int(np.count_nonzero(withheld[original.edges].any(axis=1)))
    parts = {
        "inserted_vertices": useful.vertices.released - useful.vertices.shared,
        "deleted_vertices": useful.vertices.true - useful.vertices.shared,
        "inserted_edges": useful.edges.released - useful.edges.shared,
        "deleted_edges": useful.edges.true - useful.edges.shared,
    }
    total = sum(parts.values())
    copies = (params.group_size_min - 1) * (original.n_vertices + original.n_edges)
    return {
        **parts,
        "edges_of_withheld": of_withheld,
        "total": total,
        "k_copies": copies,
        "share_of_k_copies": round(total / copies, 6) if copies else None,
    }
