"""Strategies of the laboratory: from a graph to a release, by name.

A strategy plans which vertices and edges a release has. What is done to people beforehand, and to
values afterwards, is the same for all of them, and for `ktsafe.anonymize`, which is `exact` here.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, Final, Protocol, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ktsafe.anonymization.anonymization import (
    Anonymized,
    exact_release,
    exchanged,
    reordered,
)
from ktsafe.anonymization.request import Request, prepare
from ktsafe.errors import Infeasible, InvalidParams, NotKTSafe
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
from ktsafe_lab.verify_hops import verify_graph

_PAPER: Final = "ktsafe_lab.paper.paper_strategies"
_ALIGNED: Final = "ktsafe_lab.alignment.aligned_strategy"
ALL: Final = {
    "exact": __name__,
    "aligned": _ALIGNED,
    "robust": _ALIGNED,
    "attribute": "ktsafe_lab.by_attribute.attribute_strategy",
    "tolerant": "ktsafe_lab.tolerant.tolerant_strategy",
    "none": _PAPER,
    "pruning": _PAPER,
    "partition": _PAPER,
    "partition+pruning": _PAPER,
    "kl-graph": _PAPER,
}
"""The module of each strategy; loaded when it is first asked for, since kernels load slowly."""
ANY_REACH: Final = {"aligned", "robust"}
"""Those that know neighbourhoods of any radius and both readings, not stars alone."""
ZERO_HOPS: Final = {"none", "pruning", "partition", "partition+pruning"}
"""Those that know an attacker without neighbourhoods, beside stars."""


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """What a strategy wants to release.

    All vertices of its graph, and inserted ones.

    Attributes
    ----------
    inserted:
        int32, shape (i,): quasi-identifier class of each inserted vertex, one that occurs in the
        graph. Inserted vertices are numbered from n on.
    edges:
        int32, shape (m, 2): all edges of the release, original and inserted ones.
    shift:
        int32, shape (n + i,): the image of every vertex under an automorphism of the release,
        which certifies it (`verify_hops.certificate`). None: there is no certificate.
    copied_from:
        int32, shape (i,): the original whose attributes, the sensitive one included, an inserted
        vertex has; -1 where it only has a class. None: nowhere.
    groups:
        Integers, shape (n + i,): the group of each vertex within which sensitive values may be
        exchanged: every protection set is a union of groups. None: the orbits of `shift`, if there
        is one; else values stay in place.
    """

    inserted: NDArray[np.int32]
    edges: NDArray[np.int32]
    shift: NDArray[np.int32] | None = None
    copied_from: NDArray[np.int32] | None = None
    groups: NDArray[np.integer[Any]] | None = None


class Strategy(Protocol):
    """Plans one release."""

    def __call__(self, request: Request) -> Plan:
        """Return the plan of a release of the request's graph."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabRelease(Anonymized):
    """A release of the laboratory.

    Attributes
    ----------
    shift:
        int32, shape (released vertices,): an automorphism that certifies the release
        (`verify_hops.certificate`), as private as `origin`. None: there is none.
    """

    shift: NDArray[np.int32] | None = None


def anonymize(request: Request, strategy: str) -> LabRelease:
    """Return a release that the strict verifier passes.

    Raises
    ------
    InvalidParams
        If there is no such strategy, or it does not know these neighbourhoods.
    NotKTSafe
        If the verifier does not pass the release.
    """
    made = unverified(request, strategy)
    verdict = verify_graph(made.graph, request.params, certificate=made.shift)
    if not verdict.is_safe:
        msg = f"Strategy {strategy!r} left {verdict.n_unsafe} vertices that are not kt-safe."
        raise NotKTSafe(msg, hint="Take a strategy that is safe: exact.")
    return made


def unverified(request: Request, strategy: str | Strategy) -> LabRelease:
    """Return what a strategy makes, in random order and not verified."""
    made = in_order(request, strategy)
    order = request.rng.permutation(made.graph.n_vertices)
    found = reordered(made, order)
    assert isinstance(found, LabRelease)
    if made.shift is None:
        return found
    return dataclasses.replace(found, shift=np.argsort(order)[made.shift[order]].astype(np.int32))


def in_order(request: Request, strategy: str | Strategy) -> LabRelease:
    """Return a release before its order is drawn: never to be published.

    The original vertices come first, in their order, then the inserted ones.
    """
    ready = prepare(request.graph, request.params, request.options, request.rng)
    made, groups = _made(dataclasses.replace(request, graph=ready.graph), strategy)
    inserted = made.origin[len(ready.origin) :]
    origin = np.concatenate((ready.origin, inserted))
    made = dataclasses.replace(made, origin=origin)
    if groups is None or request.options.values == "in place":
        return made
    return cast("LabRelease", exchanged(made, groups, request.rng))


def everybody(request: Request, strategy: str | Strategy) -> LabRelease:
    """Return what `in_order` does without withholding people or suppressing values.

    Not every strategy is safe then, and values stay in place.
    """
    return _made(request, strategy)[0]


def check_strategy(name: str, params: PrivacyParams) -> None:
    """Refuse a missing strategy, or one without these neighbourhoods.

    Raises
    ------
    InvalidParams
        If so.
    """
    if name not in ALL:
        msg = f"There is no strategy {name!r}."
        raise InvalidParams(msg, hint=f"There is {', '.join(ALL)}.")
    knows = params.sees_stars or name in ANY_REACH or (name in ZERO_HOPS and params.n_hops == 0)
    if not knows:
        msg = f"Strategy {name!r} protects one hop in the walk reading only."
        raise InvalidParams(msg, hint="For other hops and the induced reading: aligned.")


def strategy_named(name: str) -> Strategy:
    """Return the strategy of a name."""
    function = name.replace("+", "_").replace("-", "_")
    return cast("Strategy", getattr(importlib.import_module(ALL[name]), function))


def exact(request: Request) -> Plan:
    """Plan a release as `ktsafe.anonymize` makes it."""
    release = exact_release(request)
    return Plan(np.zeros(0, dtype=np.int32), release.edges, groups=release.cohorts.of_vertex)


def _made(
    request: Request, strategy: str | Strategy
) -> tuple[LabRelease, NDArray[np.integer[Any]] | None]:
    """Return the release with values in place, and groups for exchanges.

    Groups are None if there are none.
    """
    if isinstance(strategy, str):
        check_strategy(strategy, request.params)
        strategy = strategy_named(strategy)
    plan, n = strategy(request), request.graph.n_vertices
    inserted = np.full(len(plan.inserted), -1, dtype=np.int32)
    made = LabRelease(
        graph=with_inserted(request.graph, plan, request.params, request.rng),
        origin=np.concatenate((np.arange(n, dtype=np.int32), inserted)),
        shift=plan.shift,
    )
    if plan.groups is None and plan.shift is not None:
        return made, orbits_of(plan.shift)
    return made, plan.groups


# Sensitive values of inserted vertices.
#
# Some sensitive ones, so no value means "real".
#
# If inserted vertices never showed a sensitive value, a vertex with one would be known to be real.
# So inserted vertices turn sensitive at random. In every class of quasi-identifiers their sensitive
# share is that of the real vertices, as far as every protection set stays within alpha.


def with_inserted(
    graph: AttributedGraph, plan: Plan, params: PrivacyParams, rng: np.random.Generator
) -> AttributedGraph:
    """Return the planned release of `graph`; inserted vertices get sensitive attributes.

    Each value, sensitive or not, is as frequent among inserted vertices of its kind as among real
    ones. Nobody turns sensitive where protection sets are neither those of stars nor certified by
    an automorphism. Vertices that copy an original keep its value.

    Raises
    ------
    Infeasible
        If inserted vertices cannot be non-sensitive.
    """
    released = _with_harmless(graph, plan, rng)
    n, n_released = graph.n_vertices, released.n_vertices
    if n == n_released or not graph.is_sensitive.any():
        return released
    order = rng.permutation(np.arange(n, n_released, dtype=np.int32))
    if plan.copied_from is not None:
        order = order[plan.copied_from[order - n] < 0]
    wanted = wanted_sensitive(released, n, order, rng)
    chosen: list[int] = []
    if plan.shift is not None:
        chosen = _made_sensitive(released, orbits_of(plan.shift), order, wanted, params)
    elif params.sees_stars and wanted.any():
        chosen = _made_sensitive(released, _locations(released), order, wanted, params)
    sensitive = [text in graph.schema.sensitive_values for text in released.categories[-1]]
    codes = released.codes.copy()
    codes[chosen, -1] = drawn_values(released, n, np.flatnonzero(sensitive), len(chosen), rng)
    return AttributedGraph.from_codes(graph.schema, released.categories, codes, released.edges)


def _with_harmless(graph: AttributedGraph, plan: Plan, rng: np.random.Generator) -> AttributedGraph:
    """Return the planned release with harmless inserted vertices, or copies."""
    categories, codes = graph.categories, graph.codes
    if len(plan.inserted):
        categories, harmless = harmless_codes(graph)
        rows = np.empty((len(plan.inserted), codes.shape[1]), dtype=np.int32)
        rows[:, :-1] = QuasiIdentifierSpace.of_graph(graph).tuples[plan.inserted]
        rows[:, -1] = drawn_values(graph, graph.n_vertices, harmless, len(rows), rng)
        if plan.copied_from is not None:
            copies = plan.copied_from >= 0
            rows[copies] = codes[plan.copied_from[copies]]
        codes = np.concatenate((codes, rows))
    return AttributedGraph.from_codes(graph.schema, categories, codes, plan.edges)


def harmless_codes(
    graph: AttributedGraph,
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int64]]:
    """Return the sensitive attribute's harmless codes, and categories with them.

    Raises
    ------
    Infeasible
        If there are none and "missing" is sensitive, too.
    """
    categories, values = graph.categories, graph.schema.sensitive_values
    harmless = [code for code, text in enumerate(categories[-1]) if text not in values]
    if not harmless:
        if MISSING in values:
            msg = "Inserted vertices must be non-sensitive, but every value is sensitive."
            raise Infeasible(msg, hint=f"Do not declare {MISSING!r} sensitive.")
        categories = (*categories[:-1], (*categories[-1], MISSING))
        harmless = [len(categories[-1]) - 1]
    return categories, np.array(harmless, dtype=np.int64)


def drawn_values(
    graph: AttributedGraph,
    n_real: int,
    allowed: NDArray[np.int64],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw `count` allowed codes, as frequent as among `n_real` vertices.

    These are the first ones.
    """
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    top = int(allowed.max()) + 1
    weights = 1 + np.bincount(graph.codes[:n_real, -1], minlength=top)[allowed]
    drawn: NDArray[np.int64] = rng.choice(allowed, size=count, p=weights / weights.sum())
    return drawn


def wanted_sensitive(
    released: AttributedGraph, n_real: int, inserted: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return each class's inserted sensitive vertices at the real share."""
    classes = released.qi_classes
    n_classes = int(classes.max()) + 1
    real = np.bincount(classes[:n_real], minlength=n_classes)
    sensitive = np.bincount(classes[:n_real], released.is_sensitive[:n_real], minlength=n_classes)
    share = sensitive / np.maximum(real, 1)
    expected = np.bincount(classes[inserted], minlength=n_classes) * share
    wanted: NDArray[np.int64] = np.floor(expected + rng.random(n_classes)).astype(np.int64)
    return wanted


def orbits_of(shift: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the orbit of every vertex under a permutation.

    Apart from the verifier, which checks that the permutation is an automorphism.
    """
    n = len(shift)
    arrows = coo_array((np.ones(n, dtype=np.int8), (np.arange(n), shift)), shape=(n, n))
    orbits: NDArray[np.int64] = connected_components(arrows, directed=False)[1].astype(np.int64)
    return orbits


def _locations(released: AttributedGraph) -> NDArray[np.int64]:
    """Return the location of every vertex: class, degree, and neighbours by value.

    Every protection set of stars is a union of locations.
    """
    space = QuasiIdentifierSpace.of_graph(released)
    rows = np.zeros((released.n_vertices, 2 + space.n_columns), dtype=np.int64)
    rows[:, 0], rows[:, 1] = released.qi_classes, np.diff(released.indptr)
    for column in space.columns[released.qi_classes].T:
        np.add.at(rows, (released.edges, 2 + column[released.edges[:, ::-1]]), 1)
    locations: NDArray[np.int64] = np.unique(rows, axis=0, return_inverse=True)[1]
    return locations


def _made_sensitive(
    released: AttributedGraph,
    groups: NDArray[np.int64],
    order: NDArray[np.int32],
    wanted: NDArray[np.int64],
    params: PrivacyParams,
) -> list[int]:
    """Return the vertices to turn sensitive.

    Every group stays within alpha, and so does every union of groups. In a class with a group that
    is not within alpha nobody turns: other groups may make up for it.
    """
    classes, chosen = released.qi_classes, []
    room = np.bincount(groups) * params.alpha.numerator // params.alpha.denominator
    room -= np.bincount(groups, released.is_sensitive).astype(np.int64)
    wanted[classes[room[groups] < 0]] = 0
    for v in order.tolist():
        if wanted[classes[v]] > 0 and room[groups[v]] > 0:
            wanted[classes[v]] -= 1
            room[groups[v]] -= 1
            chosen.append(v)
    return chosen
