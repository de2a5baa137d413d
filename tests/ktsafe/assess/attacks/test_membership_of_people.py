"""Membership of people: members told from people who were held out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.attacks import Case, ids_removed
from ktsafe.assess.attacks.membership import _rows, f1_of, membership_of_people
from ktsafe.assess.generalization import quick_release
from ktsafe.assess.generalization.quick_release import HELD_OUT, held_out, membership
from ktsafe.errors import Infeasible
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import CATEGORIES, SCHEMA, cases, graph_of, random_graph

PARAMS = PrivacyParams(k=5)


def without(graph: AttributedGraph, rng: np.random.Generator, *, noise: bool) -> Case:
    """Return the members alone, without their ids, or with strangers' ties."""
    is_out = np.arange(graph.n_vertices) % 3 == 0
    members = np.flatnonzero(~is_out)
    shown, order = ids_removed(graph.subgraph(members), rng)
    if noise:
        strangers = random_graph(len(order), shown.n_edges, rng).edges
        shown = AttributedGraph.from_codes(SCHEMA, CATEGORIES, shown.codes, strangers)
    return Case(graph, shown, members[order], held_out=is_out)


def test_removed_ids_tell_who_is_a_member_and_strangers_ties_do_not() -> None:
    """Near to 1 in the one, one half in the other; F1 beside that of claiming it of everybody."""
    rng = np.random.default_rng(0)
    graph = random_graph(600, 3600, rng)
    leak = membership_of_people(without(graph, rng, noise=False), rng)
    noise = membership_of_people(without(graph, rng, noise=True), rng)
    for result in leak:
        assert result.value > 0.95
        assert result.figures["f1"] > 0.9
    for result in noise:
        assert abs(result.value - 0.5) < 0.08
        assert result.figures["f1"] < 0.7
    for result in [*leak, *noise]:
        assert result.figures["f1_naive"] == pytest.approx(2 / 3)
        assert result.targets == 400


def test_nobody_is_asked_about_where_nobody_is_held_out() -> None:
    """Nor where none of them is of a published kind."""
    rng = np.random.default_rng(0)
    case = without(random_graph(60, 100, rng), rng, noise=False)
    assert membership_of_people(dataclasses.replace(case, held_out=None), rng) == []
    codes = np.zeros((4, 3), dtype=np.int64)
    codes[3, 0] = 1
    graph = graph_of(codes, [[0, 1], [2, 3]])
    alone = Case(graph, graph.subgraph(np.arange(3)), np.arange(3), held_out=np.arange(4) == 3)
    assert [result.targets for result in membership_of_people(alone, rng)] == [0, 0]


@settings(max_examples=40, deadline=None)
@given(cases())
def test_friends_in_the_network_are_what_is_known(case: Case) -> None:
    """Counted person by person: those who are held out are no friends, and have no degree."""
    is_out = np.arange(case.original.n_vertices) % 2 == 0
    is_out[case.original_of[case.published]] = False
    it = dataclasses.replace(case, held_out=is_out)
    ties = [[u for u in us if not is_out[u]] for us in naive.neighbours(case.original)]
    n_friends = np.array([len(us) for us in ties], dtype=np.int64)
    ((known, seen), (valued, _), (banded, _)), n_bands = _rows(it, n_friends)
    assert known.sum(axis=1).A1.tolist() == valued.sum(axis=1).A1.tolist() == n_friends.tolist()
    assert seen.sum(axis=1).A1.tolist() == case.released.degrees.tolist()
    # A friend counts once for its own band and for each below, of which degree 1 is the first.
    bands = [sum(1 + sum(d >= x for x in (2, 3, 4, 5)) for d in map(len, [ties[u] for u in us]))
             for us in ties]  # fmt: skip
    if n_friends.max(initial=0) < 6:
        in_order = banded @ (np.arange(banded.shape[1]) % n_bands[-1] + 1)
        assert in_order.tolist() == bands


def test_the_best_threshold_is_found_and_equal_scores_stay_together() -> None:
    """Two of three right claims find both members; with equal scores everybody is claimed."""
    is_member = np.array([True, False, True, False])
    assert f1_of(np.array([4.0, 3.0, 2.0, 1.0]), is_member)["f1"] == pytest.approx(4 / 5)
    assert f1_of(np.zeros(4), is_member) == {
        "f1": pytest.approx(2 / 3),
        "f1_naive": pytest.approx(2 / 3),
    }


def test_a_release_is_made_without_a_fifth_of_the_people() -> None:
    """None of them has a place in it, and it tells far less of who is a member than the truth."""
    graph = random_graph(400, 2400, np.random.default_rng(3))
    case = held_out(graph, PARAMS, seed=1)
    assert case.held_out is not None
    assert case.held_out.sum() == round(HELD_OUT * 400)
    assert not case.held_out[case.people].any()
    assert len(case.places) > 300
    assert all(result.value < 0.7 for result in membership(graph, PARAMS, seed=1))


def test_without_a_safe_release_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked about where nobody is shown; no figure where no release can be made."""
    graph = random_graph(4, 3, np.random.default_rng(0))
    assert [result.targets for result in membership(graph, PARAMS)] == [0, 0]

    def none(*_args: object, **_kwargs: object) -> None:
        raise Infeasible("There is none.")

    monkeypatch.setattr(quick_release, "anonymize", none)
    assert membership(graph, PARAMS) == []
