"""`protect`: a graph goes in, a verified release of the same kind comes out."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Collection, Hashable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ktsafe.anonymization import Anonymized, anonymize
from ktsafe.audit import trace, usefulness
from ktsafe.audit.usefulness import Overlap, Usefulness
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.options import Aim, AnonymizeOptions, Effort
from ktsafe.params import PrivacyParams
from ktsafe.protection.graph_kinds import check_extra, given
from ktsafe.strategies import Progress, default_strategy
from ktsafe.verify import Verdict, verify_graph


class PrivateMapping(Mapping[int, Hashable]):
    """The mapping of ids: the id in the release -> the id that the owner gave. Never publish it.

    Inserted vertices have no entry. What it prints is its size alone.
    """

    def __init__(self, ids: Mapping[int, Hashable]) -> None:
        self._ids = dict(ids)

    def __getitem__(self, published: int) -> Hashable:
        return self._ids[published]

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<private: ids of {len(self)} published people>"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """A verified release, and privately what became of the graph.

    Attributes
    ----------
    graph:
        The release, in the kind that was given; its vertices are numbered anew, in random order.
        It alone may be published.
    params:
        What holds for every vertex of it.
    private_mapping:
        The true id of each published person.
    """

    graph: Any
    params: PrivacyParams
    private_mapping: PrivateMapping
    _truth: AttributedGraph
    _made: Anonymized

    @cached_property
    def utility(self) -> Usefulness:
        """How many ties and people are true: precision, recall, F1, cost."""
        return usefulness(trace(self._truth, self._made.graph, self._made.origin))

    def verify(self) -> Verdict:
        """Let the strict verifier judge the release once more.

        Its counts are by vertex, in the order of the release.
        """
        return verify_graph(self._made.graph, self.params, certificate=self._made.shift)

    def report(self) -> str:
        """Return a few lines about safety and utility; private, since they tell what is true."""
        return "\n".join(f"{name:9} {text}" for name, text in self._lines())

    def __repr__(self) -> str:
        released = self._made.graph
        f1 = self.utility.edges.f1
        worth = "" if f1 is None else f", F1 of ties {f1:.2f}"
        return (
            f"<Protected: {released.n_vertices} vertices, {released.n_edges} edges, "
            f"kt-safe with k={self.params.k}{worth}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._lines()
        )
        return f"<table>{rows}</table>"

    def _lines(self) -> Iterator[tuple[str, str]]:
        params, utility = self.params, self.utility
        alike = f"at least k={params.k} alike, at most {float(params.alpha):.0%} of them sensitive"
        yield "safety", f"kt-safe, verified: {alike}"
        yield "people", _compared(utility.vertices)
        yield "ties", _compared(utility.edges)
        if (share := utility.edges.cost_share) is not None:
            yield "cost", f"{share:.2f} of the true ties; 1.00 would be to publish none"


def protect(
    graph: Any,
    vertices: Any = None,
    *,
    quasi_identifiers: Collection[str],
    sensitive: str,
    sensitive_values: Collection[str],
    k: int = 10,
    alpha: Fraction | float | str = "1/5",
    t: Fraction | float | str = "1/10",
    epsilon: int = 5,
    hops: int = 1,
    buckets: Mapping[str, tuple[float, ...]] | None = None,
    ignore: Collection[str] = (),
    effort: Effort = "balanced",
    aim: Aim = "balanced",
    rng: np.random.Generator | int | None = None,
    progress: Progress | None = None,
) -> Protected:
    """Return a kt-safe release of a graph, in the kind that the graph was given in.

    Parameters
    ----------
    graph:
        An undirected simple graph: networkx or igraph with attributes of vertices; or edges, as a
        pandas or pyarrow table with columns `source` and `target`, or as a symmetric scipy
        sparse matrix.
    vertices:
        For edges alone, a table of vertices: a column `id` (for a matrix it may be missing: rows
        are in order), and one for each attribute.
    quasi_identifiers:
        Attributes that an attacker may know.
    sensitive, sensitive_values:
        The attribute that must not be learnt, and its values that count as sensitive.
    k, alpha, t, epsilon, hops:
        The guarantee, see `PrivacyParams`.
    buckets:
        For numbers, see `Schema`.
    ignore:
        Attributes of vertices and edges that the release shall not show ("weight"). Any other
        that is not named above is refused, rather than dropped in silence.
    effort:
        How much search a better release is worth.
    aim:
        "balanced": between the people of any two values of an attribute there are about as many
        edges as ties, so that conclusions hold. "f1": most ties are right. "cost": least is
        changed. Beyond one hop it changes nothing.
    rng:
        The only randomness, or a seed of it; None: drawn from the system.
    progress:
        Called with the name of the phase and the fraction of the work that is done.

    Raises
    ------
    InvalidGraph, InvalidParams
        If the graph or a parameter is not as described; the message says what to do.
    NotKTSafe
        If the strict verifier does not pass the release.

    Notes
    -----
    One release is safe by itself. For releases one after the other use the service, whose
    releases are safe together.

    Source: Ren, Ghazinour, Lian, "kt-Safety", Definitions 2 to 5.

    Examples
    --------
    >>> import networkx as nx
    >>> people = nx.karate_club_graph()
    >>> for person, data in people.nodes(data=True):
    ...     data["health"] = "chronic" if person % 11 == 0 else "well"
    >>> safe = protect(
    ...     people,
    ...     quasi_identifiers=["club"],
    ...     sensitive="health",
    ...     sensitive_values=["chronic"],
    ...     k=5,
    ...     ignore=["weight"],
    ...     rng=np.random.default_rng(1),
    ... )
    >>> type(safe.graph).__name__, safe.verify().is_safe
    ('Graph', True)
    >>> safe.private_mapping
    <private: ids of 34 published people>
    """
    # Both check and convert what they are given.
    schema = Schema(quasi_identifiers, sensitive, sensitive_values, buckets or {})  # type: ignore[arg-type]
    params = PrivacyParams(k, t, alpha, epsilon, hops)  # type: ignore[arg-type]
    seen = given(graph, vertices)
    check_extra(seen, schema.attributes, ignore)
    truth = AttributedGraph.from_columns(schema, seen.columns, seen.edges)
    made = anonymize(
        truth,
        params,
        rng=np.random.default_rng(rng),
        options=AnonymizeOptions(effort, default_strategy(params), aim=aim),
        progress=progress,
    )
    verify_graph(made.graph, params, certificate=made.shift).raise_if_unsafe()
    owners = enumerate(made.origin.tolist())
    mapping = {published: seen.ids[owner] for published, owner in owners if owner >= 0}
    return Protected(seen.written(made.graph), params, PrivateMapping(mapping), truth, made)


def _compared(overlap: Overlap) -> str:
    shares = (
        f"{name} {share:.2f}"
        for name in ("precision", "recall")
        if (share := getattr(overlap, name)) is not None
    )
    return f"{overlap.true:,} true, {overlap.released:,} released; {', '.join(shares)}".rstrip("; ")
