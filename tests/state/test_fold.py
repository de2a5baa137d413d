"""A fold of the log, in pages so small that few changes touch, divide and empty them."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from ktsafe.state import keys, number_pages, store, tie_pages
from ktsafe.state.changes import (
    Change,
    EdgeAdd,
    EdgeRemove,
    Marked,
    Stamp,
    VertexDelete,
    VertexUpsert,
)
from ktsafe.state.store_base import StateCorrupted
from ktsafe.state.tie_pages import MarkedPages, are_beside
from tests.memory_store import MemoryDisk, MemoryStore
from tests.state.naive_fold import fold_with_waiting
from tests.state.support import SCHEMA, exactly, plain, published

CHOICES = ("any", "mutual", frozenset({"a"}))


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages hold few ties and people."""
    monkeypatch.setattr(tie_pages, "TIES", 4)
    monkeypatch.setattr(tie_pages, "TIES_MAX", 6)
    monkeypatch.setattr(number_pages, "PLACES", 5)


def life(
    rng: random.Random, n_people: int, n_changes: int, marks: Sequence[Marked | None] = (None,)
) -> Iterator[Change]:
    """Yield changes in the order of their arrival, many of them late, of two origins."""
    for offset in range(n_changes):
        time_us = offset - rng.choice((0, 0, rng.randrange(30)))
        at = Stamp(time_us, rng.choice("ab"), 0, offset)
        one, two = (f"p{n}" for n in rng.sample(range(n_people), 2))
        kind = rng.random()
        if kind < 0.2:
            yield VertexUpsert(at, one, {"gender": rng.choice("fm"), "age": str(rng.randrange(90))})
        elif kind < 0.75:
            yield EdgeAdd(at, one, two, rng.choice(marks))
        elif kind < 0.92:
            yield EdgeRemove(at, one, two, rng.choice(marks))
        else:
            yield VertexDelete(at, one)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ties", [None, *CHOICES])
def test_every_fold_is_the_naive_one(seed: int, ties: str | frozenset[str] | None) -> None:
    """Whenever the log is folded, graph, waiting ties and pages are those of all changes at once.

    Tombstones are forgotten on the way, and a store that is opened again finds the same. So it is
    where ties have kinds and directions, whichever of them count.
    """
    rng = random.Random(seed)
    marks = (
        [None] if ties is None else [None, (None, True), *itertools.product("ab", (True, False))]
    )
    ties = ties or "any"
    disk, said = MemoryDisk(), []
    schema = dataclasses.replace(SCHEMA, ties=ties)
    opened = MemoryStore(schema, disk)
    changes = list(life(rng, 25, 600, marks))
    while changes:
        some, changes = changes[: rng.randrange(1, 40)], changes[40:]
        said += some
        opened.commit(some, {})
        if rng.random() < 0.5:
            continue
        if rng.random() < 0.3:
            opened.prune(some[0].stamp.time_us - 60)
        vertices, edges, waiting = fold_with_waiting(said, ties)
        snapshot = opened.snapshot()
        assert plain(snapshot) == (published(vertices), edges)
        assert opened.counts()["edges_waiting"] == len(waiting)
        kind = rng.random()
        if kind < 0.5:  # What was resolved before is what is resolved anew of pages and log.
            assert plain(MemoryStore(schema, disk.copy()).snapshot()) == plain(snapshot)
            continue
        opened.fold()
        assert exactly(opened.snapshot()) == exactly(snapshot)
        assert disk.families[keys.CHANGES] == {}
        pages = MarkedPages(disk.all(keys.TIES), disk.get_many)
        assert len(pages) <= len(marks) + 3
        assert all(1 <= len(value) // 8 <= 6 for _, value in disk.all(keys.TIES))
        assert are_beside(disk.all(keys.TIES), disk.all(keys.STAMPS))
        assert all(len(each) <= 2 * (len(each.codes) // 4) + 17 for each in pages.values())
        again = MemoryStore(schema, disk)
        assert exactly(again.snapshot()) == exactly(snapshot)
        opened = again if kind < 0.75 else opened


def test_much_that_was_said_is_folded_without_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log never holds more than a part of what is known."""
    monkeypatch.setattr(store, "LOGGED_MIN", 50)
    opened = MemoryStore(SCHEMA)
    sizes = []
    for change in life(random.Random(1), 20, 300):
        opened.commit([change], {})
        sizes.append(len(opened.disk.families[keys.CHANGES]))
    assert max(sizes) == 50
    assert sizes.count(0) == 300 // 51


@pytest.mark.parametrize("family", [keys.CHANGES, keys.DOWNS, keys.PLACES, keys.TIES, keys.STAMPS])
def test_a_row_that_is_lost_is_noticed(family: str) -> None:
    """Before anything is made of the others: by counts, or where the row is needed."""
    opened = MemoryStore(SCHEMA)
    said = list(life(random.Random(2), 12, 200))
    opened.commit(said, {})
    opened.fold()
    opened.commit([*said[:20], VertexUpsert(Stamp(900, "a", 0, 1), "p1", {})], {})
    opened.commit(list(life(random.Random(3), 12, 200)), {})
    for key in list(opened.disk.families[family]):
        disk = opened.disk.copy()
        del disk.families[family][key]
        with pytest.raises(StateCorrupted):
            MemoryStore(SCHEMA, disk).snapshot()


def test_an_origin_that_comes_later_takes_its_place_in_the_order():
    """Of two changes of one time that of the later topic wins, though the other came after it."""
    store = MemoryStore(SCHEMA)
    people = [VertexUpsert(Stamp(1, "b", 0, n), name, {}) for n, name in enumerate(("ann", "bob"))]
    store.commit([*people, EdgeAdd(Stamp(5, "b", 0, 2), "ann", "bob")], {})
    assert store.snapshot().graph.n_edges == 1
    store.commit([EdgeRemove(Stamp(5, "a", 0, 9), "ann", "bob")], {})
    assert store.snapshot().graph.n_edges == 1


def test_pages_that_lost_most_ties_are_cut_anew(monkeypatch):
    """After many ties are forgotten no page is left of before, also none that lost nothing."""
    monkeypatch.setattr(tie_pages, "TIES", 2)
    monkeypatch.setattr(tie_pages, "TIES_MAX", 3)
    disk = MemoryDisk()
    store = MemoryStore(SCHEMA, disk)
    names = [f"p{i:02}" for i in range(12)]
    ends = list(itertools.combinations(names, 2))
    people = [VertexUpsert(Stamp(1, "t", 0, n), name, {}) for n, name in enumerate(names)]
    store.commit([*people, *(EdgeAdd(Stamp(2, "t", 0, n), *e) for n, e in enumerate(ends))], {})
    store.fold()
    store.commit([EdgeRemove(Stamp(3, "t", 0, n), *e) for n, e in enumerate(ends[:-3])], {})
    store.prune(9)
    store.fold()
    assert len(store.database.all(keys.TIES)) <= 3
    assert plain(MemoryStore(SCHEMA, disk).snapshot())[1] == {frozenset(e) for e in ends[-3:]}
