"""Every attack finds a leak that was planted for it, and nothing in a release of noise.

An attack that is new has to pass both. Those that need another leak or another noise than a graph
with its ids removed, or one of strangers' ties, name it in `RELEASES` or `SEQUENCES`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.attacks import ATTACKS, SEQUENCE_ATTACKS, Case, History, Result, ids_removed, run
from ktsafe.assess.attacks import run_sequence as run_together
from tests.ktsafe.assess.attacks.releases import CATEGORIES, SCHEMA, graph_of, noisy, random_graph
from tests.ktsafe.assess.attacks.test_coming_and_going import pair
from tests.ktsafe.assess.attacks.test_membership_of_people import without

PARAMS = PrivacyParams(k=10)
NINE_OF_TEN = 0.9
CHANCE = 0.05
"""By so much a figure of noise may surely be above its control."""


def fresh() -> np.random.Generator:
    """Return randomness that is the same each time."""
    return np.random.default_rng(0)


def leak(n: int = 300) -> Case:
    """Return a graph with its ids removed and nothing else."""
    graph = random_graph(n, 15 * n, fresh())
    return Case(graph, *ids_removed(graph, fresh()))


def noise(n: int = 300) -> Case:
    """Return strangers' ties between the people."""
    graph = random_graph(n, 15 * n, fresh())
    return noisy(graph, fresh(), kept=0, added=15 * n, inserted=0, withheld=0)


def communities(**changes: float) -> Case:
    """Return a graph of communities, with ties or vertices added at random."""
    return noisy(random_graph(300, 4500, fresh(), community=30), fresh(), **changes)


def random_ties() -> Case:
    """Return a graph of random ties, of which some are hidden and others added at random."""
    graph = random_graph(300, 3000, fresh())
    return noisy(graph, fresh(), kept=0.6, added=1800, inserted=0, withheld=0)


def nobody_marked() -> Case:
    """Return strangers' ties, and as inserted ones some of the vertices, drawn at random."""
    it = noise()
    is_inserted = np.random.default_rng(1).random(len(it.original_of)) < 0.2
    return dataclasses.replace(it, original_of=np.where(is_inserted, -1, it.original_of))


def many_kinds(*, shown: bool) -> Case:
    """Return people of whom hardly two have one tuple, who have about 20 ties, or strangers."""
    rng = fresh()
    texts = [[str(i) for i in range(100)], *CATEGORIES[1:]]
    codes = np.column_stack([rng.integers(0, len(each), 200) for each in texts])
    true, strangers = (random_graph(200, 2000, rng).edges for _ in range(2))
    graphs = [AttributedGraph.from_codes(SCHEMA, texts, codes, x) for x in (true, strangers)]
    return Case(graphs[0], graphs[0 if shown else 1], np.arange(200))


def made_without(*, noise: bool) -> Case:
    """Return a release of two thirds of the people, their ids removed, or of strangers' ties."""
    return without(random_graph(600, 3600, fresh()), fresh(), noise=noise)


RELEASES: dict[str, tuple[Callable[[], Case], Callable[[], Case]]] = {
    "denoised": (lambda: communities(kept=1.0, added=1500, inserted=0), noise),
    "membership_of_ties": (lambda: communities(added=3000), random_ties),
    "membership_of_vertices": (lambda: communities(inserted=40, added=200), nobody_marked),
    "membership_of_people": (lambda: made_without(noise=False), lambda: made_without(noise=True)),
    "risk_curve": (lambda: leak(120), lambda: noise(120)),
    "own_account": (lambda: many_kinds(shown=True), lambda: many_kinds(shown=False)),
}
"""By attack the leak that it must find, and the noise in which it must not."""


def changing(*, shown: bool) -> History:
    """Return three releases under the same ids of a graph all of whose ties are new each time."""
    rng = fresh()
    codes = random_graph(300, 1, rng).codes
    cases = []
    for _ in range(3):
        true, strangers = (graph_of(codes, rng.integers(0, 300, (4500, 2))) for _ in range(2))
        cases.append(Case(true, true if shown else strangers, np.arange(300)))
    return History(cases, [np.arange(300)] * 3, [np.arange(300)] * 3)


def still() -> History:
    """Return the same, but that strangers' ties stay as they are whatever changes."""
    it = changing(shown=False)
    shown = it.cases[0].released
    return dataclasses.replace(it, cases=[dataclasses.replace(x, released=shown) for x in it.cases])


def in_sixty_kinds() -> History:
    """Return three releases of 600 people, ten of a kind, with a few ties that are all new."""
    rng = fresh()
    texts = [[str(i) for i in range(60)], ["x"], CATEGORIES[2]]
    codes = np.column_stack([np.arange(600) % len(each) for each in texts])
    number, cases = np.arange(600), []
    for _ in range(3):
        edges = random_graph(600, 1500, rng).edges
        graph = AttributedGraph.from_codes(SCHEMA, texts, codes, edges)
        cases.append(Case(graph, graph, number))
    return History(cases, [number] * 3, [number] * 3)


def lasting() -> History:
    """Return four releases in which true ties stay and as many others are new each time."""
    rng = fresh()
    graph, number = random_graph(150, 1200, rng), np.arange(150)
    more = [random_graph(150, 1200, rng).edges for _ in range(4)]
    shown = [graph_of(graph.codes, np.concatenate((graph.edges, edges))) for edges in more]
    return History([Case(graph, x, number) for x in shown], [number] * 4, [number] * 4)


def alone() -> History:
    """Return two releases between which one person comes and one goes."""
    return pair(gone=[3], came=[10], people=set(range(11)))


def in_company() -> History:
    """Return two releases between which ten come and eight go."""
    return pair(gone=list(range(1, 9)), came=list(range(10, 20)), people=set(range(20)))


SEQUENCES: dict[str, tuple[Callable[[], History], Callable[[], History]]] = {
    "age": (lasting, lambda: changing(shown=False)),
    "arrival": (alone, in_company),
    "changes": (lambda: changing(shown=True), still),
    "departure": (alone, in_company),
    "net_changes": (in_sixty_kinds, lambda: changing(shown=False)),
}
"""The same of attacks on several releases."""


def check_leak(results: list[Result]) -> None:
    """The sharpest figure finds nine of ten: of people where people are named."""
    asked = [each for each in results if each.targets]
    shares = [each.value for each in asked if each.measure == "share"]
    assert max(shares or [each.value for each in asked]) >= NINE_OF_TEN


def check_noise(results: list[Result]) -> None:
    """No figure is surely above that of an attacker without the knowledge."""
    assert results
    for each in results:
        if each.targets:
            assert each.low <= each.control + CHANCE, each.attack


@pytest.mark.parametrize("name", ATTACKS)
def test_a_planted_leak_in_a_release_is_found_and_noise_is_not(name: str) -> None:
    """Each attack on one release."""
    leaking, empty = RELEASES.get(name, (leak, noise))
    check_leak(run(leaking(), PARAMS, fresh(), attacks=[name]))
    check_noise(run(empty(), PARAMS, fresh(), attacks=[name]))


@pytest.mark.parametrize("name", SEQUENCE_ATTACKS)
def test_a_planted_leak_in_a_sequence_is_found_and_noise_is_not(name: str) -> None:
    """Each attack on several releases."""
    leaking, empty = SEQUENCES.get(
        name, (lambda: changing(shown=True), lambda: changing(shown=False))
    )
    check_leak(run_together(leaking(), PARAMS, fresh(), attacks=[name]))
    check_noise(run_together(empty(), PARAMS, fresh(), attacks=[name]))
