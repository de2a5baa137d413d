"""`protect`: a graph goes in, a verified release of the same kind comes out."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ktsafe.anonymization import anonymize
from ktsafe.attributes.composite import composite_sensitive
from ktsafe.errors import BelowMinimumUtility, InvalidGraph, InvalidParams, raise_together
from ktsafe.generalization.advice import Advice, advised
from ktsafe.generalization.lattice import Lattice
from ktsafe.generalization.levels import Declared
from ktsafe.generalization.named_values import Named, named_values, people_of_values
from ktsafe.graph import AttributedGraph, Border, Groups, Schema
from ktsafe.options import MIN_F1, Aim, AnonymizeOptions, Effort, Generalize
from ktsafe.params import PrivacyParams
from ktsafe.protection.graph_kinds import NONE, Given, extra_faults, given
from ktsafe.protection.input_faults import absent_faults, value_faults
from ktsafe.protection.protected import PrivateMapping, Protected, Provenance
from ktsafe.strategies import Progress, check_strategy, default_strategy
from ktsafe.verify import verify_graph

Sensitive = str | Collection[str] | None
SensitiveValues = Collection[str] | Mapping[str, Collection[str]]


def protect(
    graph: Any,
    vertices: Any = None,
    *,
    quasi_identifiers: Collection[str],
    sensitive: Sensitive = None,
    sensitive_values: SensitiveValues = (),
    k: int = 10,
    alpha: Fraction | float | str = "1/5",
    t: Fraction | float | str = "1/10",
    epsilon: int = 5,
    hops: int = 1,
    buckets: Mapping[str, tuple[Border, ...]] | None = None,
    groups: Mapping[str, Groups] | None = None,
    generalize: Generalize = "none",
    keep: Collection[str] = (),
    hierarchies: Mapping[str, Sequence[Declared]] | None = None,
    ignore: Collection[str] = (),
    strategy: str | None = None,
    effort: Effort = "balanced",
    aim: Aim = "balanced",
    min_f1: float = MIN_F1,
    rng: np.random.Generator | int | None = None,
    progress: Progress | None = None,
) -> Protected:
    """Return a kt-safe release of a graph, in the kind that the graph was given in.

    Parameters
    ----------
    graph:
        An undirected graph: networkx or igraph with attributes of vertices; or edges, as a pandas
        or pyarrow table with columns `source` and `target`, or as a symmetric scipy sparse matrix.
        Edges are one in either direction and however often they are given. Repeated edges and
        self-loops are counted in the report.
    vertices:
        For edges alone, a table of vertices: a column `id` (for a matrix it may be missing: rows
        are in order), and one for each attribute.
    quasi_identifiers:
        Attributes that an attacker may know.
    sensitive, sensitive_values:
        The attribute that must not be learnt, and its values that count as sensitive. Of several
        attributes a mapping says the values of each; they are published as one of combined values.
        None: nothing is sensitive.
    k, alpha, t, epsilon, hops:
        The guarantee, see `PrivacyParams`.
    buckets, groups:
        For numbers and dates, and for values that are told as one, see `Schema`.
    generalize:
        "auto": how coarsely each quasi-identifier is told is searched for, or that it is left out
        (`ktsafe.generalization.advice`). `Protected.generalized` says what became of values.
    keep:
        Quasi-identifiers that must be told, with two values at least.
    hierarchies:
        For attributes the only ways that they may be told, the finest first: groups of values, or
        borders of numbers or dates.
    ignore:
        Attributes of vertices and edges that the release shall not show ("weight", "name"). Any
        other that is not named above is refused, rather than dropped in silence.
    strategy:
        How to anonymize, see `AnonymizeOptions`; None: "exact", beyond one hop "aligned".
    effort:
        How much search a better release is worth.
    aim:
        "balanced": between the people of any two values of an attribute there are about as many
        edges as ties, so conclusions hold. "f1": most ties are right. "cost": least is
        changed. Beyond one hop it changes nothing.
    min_f1:
        Least F1 of ties that is worth returning; of a graph without ties, share of people.
    rng:
        The only randomness, or a seed of it; None: drawn from the system.
    progress:
        Called with the name of the phase and the fraction of the work that is done.

    Raises
    ------
    InvalidGraph, InvalidParams
        If the graph or a parameter is not as described; the message says what to do. All faults of
        a graph are told at once (`SeveralFaults`), with the rows concerned.
    NotKTSafe
        If the strict verifier does not pass the release.
    BelowMinimumUtility
        If the release shows less than `min_f1`; the hint is what would show more.

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
    params = PrivacyParams(k, t, alpha, epsilon, hops)  # type: ignore[arg-type]
    options = AnonymizeOptions(effort, strategy or default_strategy(params), aim=aim)
    check_strategy(options.strategy, params)
    if generalize == "none" and (keep or hierarchies):
        raise InvalidParams("keep and hierarchies say how to generalize.", hint='Say "auto".')
    seen = given(graph, vertices)
    truth = _truth(seen, quasi_identifiers, sensitive, sensitive_values, buckets, groups, ignore)
    advice = _advice(truth, params, hierarchies, keep) if generalize == "auto" else None
    told = truth if advice is None else advice.lattice.at(advice.best.setting.levels)
    drawn = np.random.default_rng(rng)
    made = anonymize(told, params, rng=drawn, options=options, progress=progress)
    verify_graph(made.graph, params, certificate=made.shift).raise_if_unsafe()
    owners = enumerate(made.origin.tolist())
    mapping = {published: seen.ids[owner] for published, owner in owners if owner >= 0}
    ignored = {"repeated edges": seen.edges_repeated, "self-loops": seen.loops}
    named = _named(seen, told, params.k)
    provenance = Provenance(truth, told, made, seen.ids, advice, named, ignored)
    released = seen.written(made.graph)
    found = Protected(released, params, PrivateMapping(mapping), named, provenance)
    _check_utility(found, min_f1)
    return found


def _truth(
    seen: Given,
    quasi_identifiers: Collection[str],
    sensitive: Sensitive,
    sensitive_values: SensitiveValues,
    buckets: Mapping[str, tuple[Border, ...]] | None,
    groups: Mapping[str, Groups] | None,
    ignore: Collection[str],
) -> AttributedGraph:
    """Return the true graph, or refuse what was given for all that is wrong with it."""
    columns: Mapping[str, list[Any]] = seen.columns
    told = (buckets or {}, frozenset[str](), groups or {})
    if sensitive is None or isinstance(sensitive, str):
        if sensitive is None and sensitive_values:
            raise InvalidGraph("Sensitive values are named, and no sensitive attribute.")
        absent = frozenset({NONE}) if sensitive is None else frozenset[str]()
        schema = Schema(
            quasi_identifiers,  # type: ignore[arg-type]
            NONE if sensitive is None else sensitive,
            sensitive_values,  # type: ignore[arg-type]
            told[0],
            absent,
            told[2],
        )
        published = set(schema.quasi_identifiers) | ({sensitive} if sensitive else set())
    else:
        values = sensitive_values if isinstance(sensitive_values, Mapping) else {}
        if set(values) != set(sensitive):
            msg = "Of several sensitive attributes, sensitive_values must be a mapping of each."
            raise InvalidGraph(msg, hint='Such as {"health": ["chronic"], "income": ["none"]}.')
        parts = {name: frozenset(values[name]) for name in sensitive}
        name = "+".join(parts)
        schema, columns = composite_sensitive(tuple(quasi_identifiers), parts, columns, name)
        schema = dataclasses.replace(schema, buckets=told[0], groups=told[2])
        published = {*schema.quasi_identifiers, *parts}
    faults = [*seen.faults, *extra_faults(seen, published, ignore)]
    truth = None
    try:
        truth = AttributedGraph.from_columns(schema, columns, seen.edges)
    except InvalidGraph as error:
        by_value = value_faults(schema, columns)
        found = [*by_value, *absent_faults(schema, columns, as_given=bool(by_value))]
        faults += found or [error]
    raise_together(faults)
    assert truth is not None
    return truth


def _advice(
    truth: AttributedGraph,
    params: PrivacyParams,
    hierarchies: Mapping[str, Sequence[Declared]] | None = None,
    keep: Collection[str] = (),
) -> Advice:
    lattice = Lattice.of(truth, params.k, hierarchies)
    return advised(lattice, params, (), lambda _what, _done: False, keep=keep)


def _named(seen: Given, told: AttributedGraph, k: int) -> Named:
    """Return the groups of the release, with those of their values that k people have."""
    names = tuple(told.schema.groups)
    buckets = {name: borders for name, borders in told.schema.buckets.items() if name in names}
    ungrouped = Schema(names, NONE, frozenset(), buckets, frozenset({*names, NONE}))
    columns = {name: seen.columns.get(name, []) for name in names}
    people = people_of_values(AttributedGraph.from_columns(ungrouped, columns, []))
    return named_values(told.schema.groups, people, k)


def _check_utility(found: Protected, min_f1: float) -> None:
    """Refuse a release that shows next to nothing, with what would show more.

    Raises
    ------
    BelowMinimumUtility
    """
    if found.utility.worth >= min_f1:
        return
    advice = found.provenance.advice or _advice(found.provenance.given, found.params)
    said = f"F1 of ties is {found.utility.worth:.2f}, min_f1 is {min_f1:g}. {advice}"
    how = "" if found.provenance.advice else ' generalize="auto" does that.'
    raise BelowMinimumUtility("below_min_f1", hint=said + how)
