"""`protect`: from a graph to a verified release of its kind.

An argument may be added by keyword: `ktsafe anonymize` has the same one, and the refusals name all
faults at once (tests/ktsafe/protection/test_protect.py). Hints may be reworded. No true id may
reach the release.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, get_args

import numpy as np

from ktsafe.anonymization.anonymization import anonymize
from ktsafe.anonymization.request import (
    MIN_F1,
    Aim,
    AnonymizeOptions,
    Effort,
    Generalize,
    Progress,
    Values,
)
from ktsafe.errors import (
    AbsentFromGraph,
    BelowMinimumUtility,
    InvalidGraph,
    InvalidParams,
    raise_together,
)
from ktsafe.graph import NONE, AttributedGraph, Groups, Schema
from ktsafe.graph.inputs.in_memory import Given, given
from ktsafe.graph.inputs.spelling import code_text, value_text
from ktsafe.graph.schema_check import ON_PURPOSE, Border, check_texts, did_you_mean, near
from ktsafe.graph.schemas import (
    Named,
    absent_faults,
    check_part,
    composite_sensitive,
    named_values,
    people_of_values,
    value_faults,
)
from ktsafe.params import PrivacyParams
from ktsafe.protection.protected import PrivateMapping, Protected, Provenance
from ktsafe.stream.assessment import Advised, assessment, is_installed
from ktsafe.verify import verify_graph

Declared = Sequence[Border] | Groups
"""One way to tell an attribute: borders, or groups of values."""


def protect(
    graph: Any,
    vertices: Any = None,
    *,
    quasi_identifiers: Collection[str] = (),
    sensitive: Sensitive = None,
    sensitive_values: SensitiveValues = (),
    harmless_values: Collection[object] = (),
    k: int = 10,
    alpha: Fraction | float | str = "1/5",
    buckets: Mapping[str, tuple[Border, ...]] | None = None,
    groups: Mapping[str, Groups] | None = None,
    nominal: Collection[str] = (),
    generalize: Generalize = "none",
    keep: Collection[str] = (),
    hierarchies: Mapping[str, Sequence[Declared]] | None = None,
    ignore: Collection[str] = (),
    effort: Effort = "balanced",
    aim: Aim = "balanced",
    values: Values = "exchanged",
    min_f1: float = MIN_F1,
    rng: np.random.Generator | int | None = None,
    progress: Progress | None = None,
) -> Protected:
    """Return a kt-safe release of a graph, in its own kind.

    Parameters
    ----------
    graph:
        An undirected graph: networkx or igraph with attributes of vertices; or edges, as a data
        frame (pandas, polars, pyarrow) with columns `source` and `target`, or as a symmetric scipy
        sparse matrix. Edges are one in either direction and however often they are given. Repeated
        edges and self-loops are counted in the report.
    vertices:
        For edges alone, a data frame of vertices: a column `id`, and one for each attribute. For a
        matrix it may be missing, and so may its `id`: rows are in order.
    quasi_identifiers:
        Attributes that an attacker may know.
    sensitive, sensitive_values:
        The attribute that must not be learnt, and its values that count as sensitive. Of several
        attributes a mapping says the values of each; they are published as one of combined values.
        None: nothing is sensitive. `1`, `1.0` and `"1"` are one value, `True` is `"true"`.
    harmless_values:
        Values that are not sensitive, though they are spelt almost like one that is.
    k, alpha:
        The guarantee, see `PrivacyParams`. Candidates have equal neighbours: t = 0, epsilon = 0.
    buckets, groups:
        For numbers and dates, and for values that are told as one, see `Schema`.
    nominal:
        Attributes whose values are codes: they are taken as they are written, `"1.0"` is not `"1"`,
        and never told as ranges.
    generalize:
        "auto": how coarsely each quasi-identifier is told is searched for, or that it is left out
        (`ktsafe.assess.generalization.advice`). `Protected.generalized` says what became of values.
    keep:
        Quasi-identifiers that must be told, with two values at least.
    hierarchies:
        For attributes the only ways that they may be told, the finest first: groups of values, or
        borders of numbers or dates.
    ignore:
        Attributes of vertices and edges that the release shall not show ("weight", "name"). Any
        other that is not named above is refused, rather than dropped in silence.
    effort:
        How much search a better release is worth.
    aim:
        "balanced": between the people of any two values of an attribute there are about as many
        edges as ties, so conclusions hold. "f1": most ties are right. "cost": least is
        changed.
    values:
        Of the sensitive attribute: exchanged within each cohort, or in place, see
        `AnonymizeOptions`.
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
    params = PrivacyParams(k, 0, alpha, 0)  # type: ignore[arg-type]
    options = AnonymizeOptions(effort, aim=aim, values=values)
    if generalize not in get_args(Generalize):
        raise InvalidParams("generalize is none of its words.", hint='Say generalize="auto".')
    if generalize == "none" and (keep or hierarchies):
        raise InvalidParams("keep and hierarchies say how to generalize.", hint='Say "auto".')
    try:
        drawn = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidParams("rng is no seed.", hint="Give a whole number from 0 on.") from error
    beside = declared(buckets, groups, harmless_values, nominal, sensitive)
    seen = given(graph, vertices, nominal=beside["nominal"])
    truth = true_graph(seen, quasi_identifiers, sensitive, sensitive_values, beside, ignore)
    advice = (
        _advice(truth, params, _spelt_levels(hierarchies, beside["nominal"]), keep)
        if generalize == "auto"
        else None
    )
    told = truth if advice is None else advice.graph
    made = anonymize(told, params, rng=drawn, options=options, progress=progress)
    verify_graph(made.graph, params).raise_if_unsafe()
    owners = enumerate(made.origin.tolist())
    mapping = {published: seen.ids[owner] for published, owner in owners if owner >= 0}
    ignored = {"repeated edges": seen.network.edges_repeated, "self-loops": seen.network.loops}
    named = _named(columns_of(seen, told.schema.groups), told, params.k)
    provenance = Provenance(truth, told, made, seen.network.ids, advice, named, ignored)
    released = seen.written(made.graph)
    found = Protected(released, params, PrivateMapping(mapping), named, provenance)
    _check_utility(found, min_f1)
    return found


def _advice(
    truth: AttributedGraph,
    params: PrivacyParams,
    hierarchies: Mapping[str, Sequence[Declared]] | None = None,
    keep: Collection[str] = (),
) -> Advised:
    hooks = assessment('generalize="auto"')
    return hooks.advised(truth, params, hierarchies=hierarchies, keep=keep)


def _spelt_levels(
    hierarchies: Mapping[str, Sequence[Declared]] | None, nominal: Collection[str]
) -> dict[str, list[Declared]]:
    """Return declared levels with grouped values as readers spell them."""
    return {
        name: [
            spelt_groups(each, is_code=name in nominal) if isinstance(each, Mapping) else each
            for each in levels
        ]
        for name, levels in (hierarchies or {}).items()
    }


def _named(columns: Mapping[str, Any], told: AttributedGraph, k: int) -> Named:
    """Return the release's groups, with their values that k people have."""
    names = tuple(told.schema.groups)
    buckets = {name: borders for name, borders in told.schema.buckets.items() if name in names}
    ungrouped = Schema(names, NONE, frozenset(), buckets, frozenset({*names, NONE}))
    people = people_of_values(AttributedGraph.from_columns(ungrouped, columns, []))
    return named_values(told.schema.groups, people, k)


def _check_utility(found: Protected, min_f1: float) -> None:
    """Refuse a nearly empty release, with advice to show more.

    Raises
    ------
    BelowMinimumUtility
    """
    if found.utility.worth >= min_f1:
        return
    said = f"F1 of ties is {found.utility.worth:.2f}, min_f1 is {min_f1:g}."
    if is_installed():
        advice = found.provenance.advice or _advice(found.provenance.given, found.params)
        said = f"{said} {advice}"
    how = "" if found.provenance.advice else ' generalize="auto" does that.'
    raise BelowMinimumUtility("below_min_f1", hint=said + how)


# The true graph as declared, with one spelling for each value.


Sensitive = str | Collection[str] | None
Texts = Collection[object]
SensitiveValues = Texts | Mapping[str, Texts]


def true_graph(
    seen: Given,
    quasi_identifiers: Collection[str],
    sensitive: Sensitive,
    sensitive_values: SensitiveValues,
    beside: Mapping[str, Any],
    ignore: Collection[str],
) -> AttributedGraph:
    """Return the true graph, or refuse the input with all its faults.

    Parameters
    ----------
    quasi_identifiers, sensitive, sensitive_values, ignore:
        As `ktsafe.protect` takes them.
    beside:
        What else a `Schema` declares; values in it are spelt.

    Raises
    ------
    InvalidGraph
    """
    parts: dict[str, frozenset[str]] = {}
    nominal = beside["nominal"]
    if sensitive is None or isinstance(sensitive, str):
        if sensitive is None and sensitive_values:
            raise InvalidGraph("Sensitive values are named, and no sensitive attribute.")
        values = spelt(sensitive_values, is_code=sensitive in nominal)
        name = NONE if sensitive is None else sensitive
    else:
        parts = _parts(sensitive, sensitive_values, nominal)
        name, values = "+".join(parts), []
    absent = frozenset({NONE}) if sensitive is None else frozenset[str]()
    schema = Schema(
        quasi_identifiers,  # type: ignore[arg-type]
        name,
        values,
        expect_absent=absent,
        **beside,
    )
    shown = [*schema.quasi_identifiers, *(parts or ([sensitive] if sensitive else []))]
    if extra := sorted(nominal - {*shown}):
        raise InvalidGraph(f"{extra[0]!r} is declared nominal, and has no other role.")
    columns = columns_of(seen, shown)
    faults = [*seen.faults, *extra_faults(seen, shown, ignore)]
    if not seen.unread.keys().isdisjoint(shown):
        raise_together(faults)  # What nobody has cannot be told without these values.
    if parts:
        faults += _of_parts(parts, columns, schema)
        composed, joint = composite_sensitive(schema.quasi_identifiers, parts, columns, name)
        told = {name: getattr(schema, name) for name in ("buckets", "groups", "nominal")}
        schema = dataclasses.replace(composed, **told)
        columns |= joint
    elif sensitive is None:
        columns[NONE] = [None] * len(seen.ids)
    truth = None
    try:
        truth = AttributedGraph.from_columns(schema, columns, seen.network.edges)
    except InvalidGraph as error:
        by_value = value_faults(schema, columns)
        found = [*by_value, *absent_faults(schema, columns, as_given=bool(by_value))]
        faults += map(_without_file, found or [error])
    raise_together(faults)
    assert truth is not None
    return truth


def columns_of(seen: Given, names: Iterable[str]) -> dict[str, Any]:
    """Return the given columns, and an empty one for each missing attribute.

    A graph without attributes has people all the same.
    """
    return {name: [None] * len(seen.ids) for name in names} | dict(seen.network.columns)


def spelt(given: Any, *, is_code: bool = False) -> Any:
    """Return declared values as readers spell them; other objects stay.

    Examples
    --------
    >>> spelt([1, 2.0, True, "ill "]), spelt(["1.0"], is_code=True), spelt("ill")
    (['1', '2', 'true', 'ill'], ['1.0'], 'ill')
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given  # The schema refuses it, with a hint.
    spell = code_text if is_code else value_text
    return [spell(value) or value for value in given]


def declared(
    buckets: Mapping[str, Any] | None,
    groups: Mapping[str, Mapping[str, Texts]] | None,
    harmless_values: Texts,
    nominal: Collection[str],
    sensitive: Sensitive,
) -> dict[str, Any]:
    """Return the declarations of a schema, with values as readers spell them."""
    codes = frozenset(check_texts("nominal", nominal))
    parts = [sensitive] if isinstance(sensitive, str) else sensitive or []
    return {
        "buckets": buckets or {},
        "groups": {
            name: spelt_groups(each, is_code=name in codes) for name, each in (groups or {}).items()
        },
        "harmless_values": spelt(harmless_values, is_code=not codes.isdisjoint(parts)),
        "nominal": codes,
    }


def spelt_groups(groups: Mapping[str, Any], *, is_code: bool) -> dict[str, Any]:
    """Return groups with their values as readers spell them."""
    return {group: spelt(values, is_code=is_code) for group, values in groups.items()}


def _parts(
    sensitive: Collection[str], values: SensitiveValues, nominal: Collection[str]
) -> dict[str, frozenset[str]]:
    if not isinstance(values, Mapping) or set(values) != set(sensitive):
        msg = "Of several sensitive attributes, sensitive_values must be a mapping of each."
        raise InvalidGraph(msg, hint='Such as {"health": ["chronic"], "income": ["none"]}.')
    return {name: frozenset(spelt(values[name], is_code=name in nominal)) for name in sensitive}


def _of_parts(
    parts: Mapping[str, frozenset[str]], columns: Mapping[str, Any], schema: Schema
) -> list[InvalidGraph]:
    """Return the faults of several sensitive attributes and their values."""
    found = []
    for part, values in parts.items():
        try:
            check_part(part, values, columns, harmless=schema.harmless_values)
        except InvalidGraph as error:
            found.append(_without_file(error))
    return found


def _without_file(error: InvalidGraph) -> InvalidGraph:
    """Return an error without names of schema keys: a call has none."""
    if isinstance(error, AbsentFromGraph):
        error.hint = error.hint.replace(ON_PURPOSE, "If that is so on purpose, leave it out.")
    return error


# Columns that would be lost, told with all other faults of a graph.

_DECLARE: Final = (
    "Say quasi_identifiers=[...] of what an attacker may know, sensitive=... and "
    "sensitive_values=[...] of what must not be learnt, and of the rest "
)


def extra_faults(
    seen: Given, published: Collection[str], ignore: Collection[str]
) -> list[InvalidGraph]:
    """Return columns that would be lost, unread, or ignored needlessly.

    A name that is almost one of these is taken for a misspelling: then that is told, and nothing of
    ignoring it.
    """
    ignore = {str(name) for name in ignore}
    of_people, of_ties = {*seen.network.columns, *seen.unread}, {*seen.network.ignored}
    known = of_people | of_ties
    extra = known - ignore - {*published}
    found = [each for name in published for each in seen.unread.get(name, ())]
    meant: set[str] = set()
    for name in sorted(ignore - known):
        alike = near(name, extra)
        meant |= {*alike}
        msg = f"Nothing has {name!r}, which is to be ignored."
        found.append(InvalidGraph(msg, hint=did_you_mean(alike)))
    for name in {*published} - of_people:  # These are told with the schema.
        meant |= {*near(name, extra)}
    for whose, names in (("Vertices", of_people), ("Edges", of_ties - {*seen.unread})):
        if left := sorted((extra & names) - meant):
            msg = f"{whose} have {', '.join(map(repr, left))}, which a release would not show."
            is_all = not published and whose == "Vertices"
            how = _DECLARE if is_all else "If that is meant, say "
            found.append(InvalidGraph(msg, hint=f"{how}ignore={left!r}."))
    return found
