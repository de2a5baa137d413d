"""Freshness of a sequence, against a plain count over the sets of all its releases."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from msgspec import to_builtins

from ktsafe.audit.changes_by_age import AGE_MAX, AGES, RECENT, Aged, Freshness
from ktsafe.audit.freshness import Differences, Recent, ReleaseView, follow
from ktsafe.graph.numbering import edge_ends, edge_keys

Pair = tuple[int, int]


@dataclasses.dataclass
class Plain:
    """A release as sets: people, true ties, the owner of each id, and edges between ids."""

    people: set[int]
    ties: set[Pair]
    owners: dict[int, int]
    edges: set[Pair]
    classes: dict[int, int]

    def shown(self) -> set[Pair]:
        """Return the released edges between people, as pairs of people."""
        pairs = {_pair(self.owners[a], self.owners[b]) for a, b in self.edges}
        return {pair for pair in pairs if min(pair) >= 0}

    def view(self) -> ReleaseView:
        """Return the release as arrays."""
        ids = sorted(self.owners)
        place = {one: i for i, one in enumerate(ids)}
        edges = [(place[a], place[b]) for a, b in sorted(self.edges)]
        return ReleaseView(
            np.array(sorted(self.people), dtype=np.int64),
            edge_keys(np.array(sorted(self.ties), dtype=np.int64).reshape(-1, 2)),
            np.array(ids, dtype=np.int64),
            np.array([self.owners[one] for one in ids], dtype=np.int64),
            edge_keys(np.array(edges, dtype=np.int64).reshape(-1, 2)),
            np.array([self.classes[one] for one in ids], dtype=np.int64),
        )

    def pair(self, edge: Pair) -> Pair:
        """Return the classes of an edge's ends."""
        return _pair(self.classes[edge[0]], self.classes[edge[1]])


def _pair(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _sequence(seed: int, releases: int = 18) -> list[Plain]:
    """Draw a small network that changes, and releases that follow it badly."""
    rng = np.random.default_rng(seed)
    people = set(range(10))
    ties: set[Pair] = set()
    owners: dict[int, int] = {}
    edges: set[Pair] = set()
    classes: dict[int, int] = {}
    n_lives, made = 10, []
    for _ in range(releases):
        if rng.random() < 0.5:
            people, n_lives = people | {n_lives}, n_lives + 1
        if len(people) > 6 and rng.random() < 0.4:
            people = people - {int(rng.choice(sorted(people)))}
        all_pairs = [(a, b) for a in sorted(people) for b in sorted(people) if a < b]
        ties = {pair for pair in ties if set(pair) <= people}
        # Some ties end, some begin, and now and then one that ended is back.
        ties = ties ^ {pair for pair in all_pairs if rng.random() < 0.08}
        owners = {one: who if who in people else -1 for one, who in owners.items()}
        for who in sorted(people - set(owners.values())):
            if rng.random() < 0.5:
                # A random number, or the place of somebody who left.
                empty = [one for one, owner in sorted(owners.items()) if owner < 0]
                place = empty[0] if empty and rng.random() < 0.3 else int(rng.integers(2**62))
                owners[place] = who
        gone = [one for one, who in sorted(owners.items()) if who < 0 and rng.random() < 0.2]
        owners = {one: who for one, who in owners.items() if one not in gone}
        places = sorted(owners)
        true = {
            (a, b) for a in places for b in places if a < b and _pair(owners[a], owners[b]) in ties
        }
        edges = {pair for pair in edges if set(pair) <= set(places) and rng.random() < 0.8}
        edges |= {pair for pair in sorted(true) if rng.random() < 0.4}
        edges |= {(a, b) for a in places for b in places if a < b and rng.random() < 0.03}
        for one in places:
            classes.setdefault(one, int(rng.integers(3)))
        hidden = {(int(rng.integers(3)), int(rng.integers(3))) for _ in range(2)}
        release = Plain(set(people), set(ties), dict(owners), set(edges), dict(classes))
        release.edges -= {edge for edge in edges if release.pair(edge) in hidden}
        made.append(release)
    return made


def _followed(releases: list[Plain]) -> list[Freshness]:
    found, recent, before = [], None, None
    for release in releases:
        now = release.view()
        recent, figures, step = follow(recent, before, now, len(release.shown() & release.ties))
        _check_step(step, releases[: len(found) + 1])
        # As after a restart: what is remembered is read back.
        recent = Recent.from_pages(dict(recent.pages()))
        before = now
        found.append(figures)
    return found


def _check_step(step: Differences | None, releases: list[Plain]) -> None:
    """What came and went are differences of sets."""
    if step is None:
        assert len(releases) == 1
        return
    before, now = releases[-2:]
    pairs = {"came": now.edges - before.edges, "went": before.edges - now.edges}
    for name, expected in pairs.items():
        assert sorted(map(tuple, getattr(step, name).tolist())) == sorted(expected)
    ties = [set(map(tuple, edge_ends(keys).tolist())) for keys in step.ties]
    assert ties == [now.ties - before.ties, before.ties - now.ties]


def _began(releases: list[Plain], of: str, one: object) -> int:
    """Return since which release something holds without a gap."""
    first = len(releases) - 1
    while first and one in getattr(releases[first - 1], of):
        first -= 1
    return first


def _count(releases: list[Plain], wanted: int) -> dict[str, tuple[int, int]]:
    """Count everything of one age in the last release, as the definitions say."""
    n, last = len(releases) - 1, releases[-1]
    shown, published = last.shown(), {who for who in last.owners.values() if who >= 0}
    began = {tie: _began(releases, "ties", tie) for tie in last.ties}
    of_age = {tie for tie, at in began.items() if at > 0 and n - at == wanted}
    older = {tie for tie, at in began.items() if at == 0 or n - at > wanted}
    joined = {who: _began(releases, "people", who) for who in last.people}
    came = {who for who, at in joined.items() if at > 0 and n - at == wanted}

    def both(ties: set[Pair]) -> set[Pair]:
        return {tie for tie in ties if set(tie) <= published}

    found = {
        "ties": (len(of_age), len(of_age & shown)),
        "older": (len(older), len(older & shown)),
        "ties_published": (len(both(of_age)), len(of_age & shown)),
        "older_published": (len(both(older)), len(older & shown)),
        "newcomers": (len(came), len(came & published)),
    }
    ended: dict[bool, list[bool]] = {False: [], True: []}
    leavers: list[bool] = []
    i = n - wanted
    if i > 0:
        was, then = releases[i - 1], releases[i]
        for a, b in was.edges:
            tie = _pair(was.owners[a], was.owners[b])
            since = any(tie in each.ties for each in releases[i:])
            if tie in was.ties and tie not in then.ties and not since:
                there = all(last.owners.get(one, -2) in {-1, was.owners[one]} for one in (a, b))
                ended[not set(tie) <= last.people].append(there and (a, b) in last.edges)
        for one, who in was.owners.items():
            if who in was.people - then.people:
                leavers.append(last.owners.get(one, -2) == -1)
    found["ended"] = len(ended[False]), sum(ended[False])
    found["ended_by_leaving"] = len(ended[True]), sum(ended[True])
    found["leavers"] = len(leavers), sum(leavers)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_figures_are_those_of_sets(seed: int) -> None:
    """Every figure of every release equals a plain count over the whole history, at every age."""
    releases = _sequence(seed)
    for i, found in enumerate(_followed(releases)):
        for age in range(AGE_MAX + 1):
            expected = _count(releases[: i + 1], age)
            for name in ("ties", "ties_published"):
                aged = getattr(found, name)
                assert aged.began.at(age) == expected[name], (i, age, name)
                young, shown = aged.began.up_to(age)
                older = aged.count - young, aged.shown - shown
                assert older == expected[name.replace("ties", "older")], (i, age, name)
            for name in ("ended", "ended_by_leaving", "newcomers", "leavers"):
                assert getattr(found, name).at(age) == expected[name], (i, age, name)


@pytest.mark.parametrize("seed", range(3))
def test_changed_edges_are_those_of_sets(seed: int) -> None:
    """What came, what went, and what of it is true, are differences of sets of edges."""
    releases = _sequence(seed)
    found = _followed(releases)
    former: set[Pair] = set()
    for release, figures in zip(releases, found, strict=True):
        came = release.edges - former
        owners = [_pair(release.owners[a], release.owners[b]) for a, b in came]
        true = sum(pair in release.ties for pair in owners)
        assert (figures.came, figures.gone) == (len(came), len(former - release.edges))
        assert figures.came_true == true
        former = release.edges


@pytest.mark.parametrize("seed", range(6))
def test_the_latest_graph_has_every_dark_pair_as_it_was_shown_last(seed: int) -> None:
    """Its edges, and the true ones of them, are those of a search back through all releases."""
    releases = _sequence(seed)
    n_dark = 0
    for i, figures in enumerate(_followed(releases)):
        now = releases[i]
        latest = set(now.edges)
        lit = {now.pair(edge) for edge in now.edges}
        for former in reversed(releases[:i]):
            there = {edge for edge in former.edges if set(edge) <= set(now.owners)}
            latest |= {edge for edge in there if now.pair(edge) not in lit}
            lit |= {former.pair(edge) for edge in former.edges}
        n_dark += len(latest - now.edges)
        true = {_pair(now.owners[a], now.owners[b]) for a, b in latest} & now.ties
        found = figures.latest
        assert (found.true, found.released, found.shared) == (len(now.ties), len(latest), len(true))
    assert n_dark


def test_the_mapping_tells_shares_and_ratios() -> None:
    """A share of nothing is None; the ratio compares with all ties that are older."""
    people = np.arange(4)
    shown, later = (edge_keys(np.array(each)) for each in ([[0, 1]], [[0, 1], [2, 3]]))
    classes = np.zeros(4, dtype=np.int64)
    ties = edge_keys(np.array([[0, 1], [0, 3], [1, 2], [2, 3]]))
    first = ReleaseView(people, ties[[0, 2]], people, people, shown, classes)
    then = ReleaseView(people, ties, people, people, later, classes)
    recent, _, _ = follow(None, None, first, 1)
    recent, _, _ = follow(recent, first, then, 2)
    _, found, _ = follow(recent, then, then, 2)
    told = to_builtins(found.told())
    assert json.loads(json.dumps(told)) == told
    assert set(told["ties"]) == {*map(str, AGES), RECENT}
    assert told["ties"]["1"] == {
        "count": 2,
        "shown": 0.5,
        "ratio": 1.0,
        "published": {"count": 2, "shown": 0.5, "ratio": 1.0},
    }
    assert told["ties"]["8"]["shown"] is None
    aged = [Aged.of(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.bool_)) for n in range(4)]
    names = ("ended", "ended_by_leaving", "newcomers", "leavers")
    others = dataclasses.replace(found, **dict(zip(names, aged, strict=True))).told()
    assert [getattr(others, name)[RECENT].count for name in names] == [0, 1, 2, 3]
    assert told["ended"][RECENT] == {"count": 0, "shown": None}
    assert told["changed"] == {"came": 0, "gone": 0, "came_true": 0, "came_true_share": None}


def test_a_damaged_memory_is_noticed() -> None:
    """Pages that are missing or cut raise instead of being counted."""
    pages = dict(Recent.begin(3).pages())
    assert Recent.from_pages(pages).release == 3
    with pytest.raises(KeyError):
        Recent.from_pages({name: page for name, page in pages.items() if name != "ended"})
    with pytest.raises(ValueError, match="reshape"):
        Recent.from_pages({**pages, "ended": bytes(8)})
