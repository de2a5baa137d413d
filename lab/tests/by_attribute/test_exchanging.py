"""Exchanges: nobody's counts of values change, and more ties are shown."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph
from ktsafe.graph.numbering import edge_keys
from ktsafe_lab.by_attribute import _exchange_core as core
from ktsafe_lab.by_attribute import exchanging
from ktsafe_lab.by_attribute.exchanging import edges_of
from ktsafe_lab.by_attribute.targets import Kinds
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
from lab.tests.by_attribute.hubs import fast, with_hubs
from tests.ktsafe.anonymization.graphs import as_set
from tests.ktsafe.small_graphs import graphs

LONG = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def kinds_of(graph: AttributedGraph) -> Kinds:
    """Return the people by their quasi-identifiers."""
    return Kinds(graph.qi_classes.astype(np.int64), QuasiIdentifierSpace.of_graph(graph))


def rewired(graph: AttributedGraph, rng: np.random.Generator) -> np.ndarray:
    """Return how many neighbours of each class everybody has once classes changed their ties.

    People of a class are renamed at random: what classes want of each other stays.
    """
    name = np.arange(graph.n_vertices)
    for c in np.unique(graph.qi_classes):
        members = np.flatnonzero(graph.qi_classes == c)
        name[members] = rng.permutation(members)
    number = np.zeros((graph.n_vertices, int(graph.qi_classes.max()) + 1), dtype=np.int64)
    np.add.at(number, (name[graph.edges], graph.qi_classes[graph.edges[:, ::-1]]), 1)
    return number


def counted(places: core.Seats, graph: AttributedGraph) -> tuple[np.ndarray, np.ndarray]:
    """Count the neighbours of each vertex by value, and of each class by class, place by place."""
    codes = graph.codes[np.unique(graph.qi_classes, return_index=True)[1], :-1]
    by_value = np.zeros((graph.n_vertices, codes.shape[1], 3), dtype=np.int64)
    by_class = np.zeros((len(codes), len(codes)), dtype=np.int64)
    for owner, kind in zip(places.owner, places.kind, strict=True):
        by_class[places.classes[owner], kind] += 1
        for j, value in enumerate(codes[kind]):
            by_value[owner, j, value] += 1
    return by_value, by_class


def assert_linked(places: core.Seats) -> None:
    """Each shown tie is at two places that belong to its ends and have their classes."""
    seen = {}
    for i in np.flatnonzero(places.partner >= 0).tolist():
        j, tie = int(places.partner[i]), int(places.tie_at[i])
        assert int(places.partner[j]) == i
        assert int(places.tie_at[j]) == tie
        assert {int(places.owner[i]), int(places.owner[j])} == set(places.ties[tie].tolist())
        assert places.kind[i] == places.classes[places.owner[j]]
        seen.setdefault(tie, set()).add(i)
    assert sorted(seen) == np.flatnonzero(is_shown(places)).tolist()
    assert all(len(each) == 2 for each in seen.values())
    hidden = places.hidden[: places.hidden[-1]]
    assert sorted(hidden.tolist()) == np.flatnonzero(~is_shown(places)).tolist()
    assert np.array_equal(places.hidden_at[hidden], np.arange(len(hidden)))


def is_shown(places: core.Seats) -> np.ndarray:
    """Return for each tie whether it is shown."""
    return places.hidden_at < 0


@LONG
@given(graphs(), st.sampled_from([1e-9, 0.4, 5.0]), st.integers(0, 2**32))
def test_exchanges_keep_all_counts(graph: AttributedGraph, heat: float, seed: int) -> None:
    """By value for everybody, by class for classes; without heat no tie is lost."""
    if not graph.n_edges or graph.codes.shape[1] < 2:
        return
    rng = np.random.default_rng(seed)
    places = exchanging.seats_of(kinds_of(graph), rewired(graph, rng), graph.edges)
    core.show(places, rng.permutation(graph.n_edges))
    assert_linked(places)
    before, shown = counted(places, graph), int(is_shown(places).sum())
    core.exchange(places, 2000, heat, rng)
    assert_linked(places)
    for one, other in zip(before, counted(places, graph), strict=True):
        assert np.array_equal(one, other)
    if heat < 1e-3:
        assert is_shown(places).sum() >= shown
    owners = rng.choice(places.owner, size=5)
    core.hand_on(places, np.column_stack((owners, rng.choice(places.kind, size=5))), rng)
    assert_linked(places)
    for one, other in zip(before, counted(places, graph), strict=True):
        assert np.array_equal(one, other)


@LONG
@given(graphs(), st.integers(0, 2**32))
def test_ties_are_shown_where_both_ends_have_a_place(graph: AttributedGraph, seed: int) -> None:
    """No tie is hidden for which both ends have a free place."""
    if not graph.n_edges or graph.codes.shape[1] < 2:
        return
    rng = np.random.default_rng(seed)
    number = rewired(graph, rng)
    places = exchanging.seats_of(kinds_of(graph), number, graph.edges)
    core.show(places, rng.permutation(graph.n_edges))
    free = number.copy()
    for u, v in graph.edges[is_shown(places)].tolist():
        free[u, graph.qi_classes[v]] -= 1
        free[v, graph.qi_classes[u]] -= 1
    assert (free >= 0).all()
    for u, v in graph.edges[~is_shown(places)].tolist():
        assert not free[u, graph.qi_classes[v]] or not free[v, graph.qi_classes[u]]


def test_exchanges_find_ties_again() -> None:
    """Of a network whose people changed their names inside classes, half as many ties again."""
    graph = with_hubs(400, 20, seed=0)
    rng = np.random.default_rng(0)
    places = exchanging.seats_of(kinds_of(graph), rewired(graph, rng), graph.edges)
    core.show(places, rng.permutation(graph.n_edges))
    before = int(is_shown(places).sum())
    for heat in (0.4, 0.2, 0.05):
        core.exchange(places, 500_000, heat, rng)
    assert is_shown(places).sum() > 1.2 * before


def test_who_finds_no_partner_hands_places_on() -> None:
    """One person wants more neighbours of a class than it has; others of its class take some."""
    graph = with_hubs(400, 10, seed=0)
    kinds, rng = kinds_of(graph), np.random.default_rng(0)
    number = rewired(graph, rng)
    hub = int(number.sum(axis=1).argmax())
    a = int(graph.qi_classes[hub])
    b = int(number[hub].argmax())
    most = int((number[graph.qi_classes == b, a] > 0).sum())
    for v in np.flatnonzero((graph.qi_classes == a) & (np.arange(400) != hub)):
        moved = min(int(number[v, b]), max(most + 1 - int(number[hub, b]), 0))
        number[[hub, v], b] += np.array([moved, -moved])
    assert number[hub, b] == most + 1
    places = exchanging.seats_of(kinds, number, graph.edges)
    wanted = counted(places, graph)[0].reshape(400, -1)
    edges, lacking = exchanging._joined(kinds, places, rng)
    assert [hub, b] in lacking.tolist()
    for _ in range(exchanging.ATTEMPTS):
        core.hand_on(places, lacking, rng)
        edges, lacking = exchanging._joined(kinds, places, rng)
    assert not len(lacking)
    as_set(edges)
    assert np.array_equal(kinds.counts(edges), wanted)


@LONG
@given(graphs(), st.integers(0, 2**32))
def test_edges_give_everybody_what_is_wanted(graph: AttributedGraph, seed: int) -> None:
    """Counts of each value are those that were asked for, or there is no release."""
    if not graph.n_edges or graph.codes.shape[1] < 2:
        return
    kinds = kinds_of(graph)
    number = rewired(graph, np.random.default_rng(seed))
    edges = edges_of(fast(graph, seed=seed), kinds, number)
    if edges is None:
        return
    as_set(edges)
    wanted = np.zeros((graph.n_vertices, kinds.space.n_columns), dtype=np.int64)
    for column in kinds.space.columns.T:
        np.add.at(wanted.T, column, number.T)
    assert np.array_equal(kinds.counts(edges), wanted)


def test_what_is_there_already_is_found() -> None:
    """If everybody wants the neighbours that it has, the truth is released."""
    graph = with_hubs(200, 10, seed=0)
    number = np.zeros((200, 9), dtype=np.int64)
    np.add.at(number, (graph.edges, graph.qi_classes[graph.edges[:, ::-1]]), 1)
    edges = edges_of(fast(graph), kinds_of(graph), number)
    assert edges is not None
    assert np.isin(edge_keys(graph.edges), edge_keys(edges)).mean() > 0.95


def test_without_a_simple_graph_there_are_no_edges() -> None:
    """Two people of a class cannot have two neighbours each there."""
    graph = with_hubs(200, 10, seed=0)
    number = np.zeros((200, 9), dtype=np.int64)
    pair = np.flatnonzero(graph.qi_classes == 0)[:2]
    number[pair, 0] = 2
    assert edges_of(fast(graph), kinds_of(graph), number) is None
