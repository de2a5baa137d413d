"""Ties with kinds and directions in a feed of events: the network that the owner asks for."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ktsafe.connectors.base import Record
from ktsafe.errors import InvalidGraph
from ktsafe.state.change_log import counting, mark_number
from ktsafe.state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position, StateMismatch
from ktsafe.stream.ingest.judge import KINDS_MAX, Judge
from ktsafe.stream.maintenance.erasure import erase_persons, remains
from ktsafe.stream.maintenance.state_import import FeedPosition, import_graph
from tests import feeds
from tests.state.naive_fold import fold, is_tie
from tests.stream.service.simulation import SCHEMA, World, disk_store, event

CHOICES = ("any", "mutual", frozenset({"friend"}), frozenset({"friend", "3"}))


def _feed(rng: random.Random, n_events: int) -> Iterator[feeds.Event]:
    """Yield events of few people; each tie has one of three kinds, or none, and maybe a way."""
    for n in range(n_events):
        one, two = (f"p{i}" for i in rng.sample(range(14), 2))
        seconds = n * 0.4 - rng.choice((0, 0, rng.random() * 3))
        match rng.choices(range(4), (4, 10, 4, 1))[0]:
            case 0:
                yield event("vertex.upsert", seconds, one, group=rng.choice("ab"))
            case 1 | 2 as what:
                told = event("edge.add" if what == 1 else "edge.remove", seconds, one, two)
                yield (
                    told
                    | rng.choice(
                        ({}, {"kind": "friend"}, {"kind": 3}, {"kind": "boss", "directed": True})
                    )
                    | rng.choice(({}, {"directed": True}, {"directed": False, "kind": None}))
                )
            case _:
                yield event("vertex.delete", seconds, one)


def _change(told: feeds.Event, partition: int, offset: int):
    """Return an event as the naive fold takes it."""
    stamp = Stamp(feeds.time_us(told), "t", partition, offset)
    if told["type"] == "vertex.upsert":
        return VertexUpsert(stamp, told["id"], told.get("attributes", {}))
    if told["type"] == "vertex.delete":
        return VertexDelete(stamp, told["id"])
    kind = told.get("kind")
    mark = None if kind is None else str(kind), bool(told.get("directed"))
    made = EdgeAdd if told["type"] == "edge.add" else EdgeRemove
    return made(stamp, told["source"], told["target"], mark if any(mark) else None)


def _is_before(slot_us: int) -> Callable[[feeds.Event], bool]:
    return lambda told: feeds.time_us(told) <= slot_us


@pytest.mark.parametrize("ties", CHOICES, ids=("any", "mutual", "friend", "two"))
@pytest.mark.parametrize("seed", range(4))
def test_every_release_shows_the_ties_that_were_asked_for(tmp_path, ties, seed: int) -> None:
    """Whatever the order of arrival: at each slot those of all events before, merged naively.

    After a restart, too. Of a feed of kinds what has none is refused, where others are asked for.
    """
    rng = random.Random(seed)
    told = list(_feed(rng, 240))
    partitions = feeds.assigned(told, 2, seed)
    schema = dataclasses.replace(SCHEMA, ties=ties)
    store = disk_store(tmp_path / "store", schema)
    world = World(tmp_path, partitions, schema=schema, store=store)
    world.now_s = 200.0
    world.run(stopping=lambda: len(world.releases.releases) > 1)
    world.run()
    is_listed = not isinstance(ties, str)
    unnamed = [each for each in told if "edge" in each["type"] and each.get("kind") is None]
    assert [x.reason for x in world.letters] == ["bad_kind"] * (len(unnamed) * is_listed)
    assert len(world.cuts) > 3
    for name, (people, found) in world.cuts.items():
        moment = datetime.datetime.fromisoformat(name.partition("-")[2])
        slot_us = round(moment.timestamp() * 1_000_000)
        before = [
            _change(each, p, n)
            for p, some in enumerate(partitions)
            for n, each in enumerate(itertools.takewhile(_is_before(slot_us), some))
            if not (is_listed and each in unnamed)
        ]
        vertices, edges = fold(before, ties)
        assert people.keys() == vertices.keys(), name
        assert {frozenset(tie) for tie in found} == edges, name


def test_ways_count_from_either_end_and_unnamed_kinds_do_not() -> None:
    """Each pair by itself and all at once: the same pairs are ties."""
    rng = random.Random(0)
    kinds: dict[str, int] = {}
    of_pair = {
        2 * n + 1: {
            (rng.choice(("a", "b", None)), rng.randrange(3)) for _ in range(rng.randrange(4))
        }
        for n in range(300)
    }
    numbers = {code: {mark_number(*mark, kinds) for mark in of_pair[code]} for code in of_pair}
    marks = sorted(set().union(*numbers.values()))
    present = {m: np.array([code for code, own in numbers.items() if m in own]) for m in marks}
    for ties in ("any", "mutual", frozenset({"a"}), frozenset({"a", "b"}), frozenset({"c"})):
        said = {
            code: [None if mark == (None, 0) else (mark[0], mark[1] or None) for mark in own]
            for code, own in of_pair.items()
        }  # What was counted before has the mark 0.
        right = [code for code, own in said.items() if own and is_tie(own, ties)]
        assert counting(present, kinds, ties).tolist() == right


def _judged(judge: Judge, **more: object) -> object:
    told = event("edge.add", 1e9, "a", "b") | more
    found = judge.judge([Record("t", 0, 0, None, None, json.dumps(told).encode())])
    letter = found.letters.get(0)
    return (letter.reason, letter.detail) if letter else found.changes[0].mark


def test_kinds_are_few_words() -> None:
    """A blank kind is none; texts and lists of thousands are refused, those that came stay."""
    judge = Judge(SCHEMA, record_bytes_max=1000, kinds=["friend"])
    assert _judged(judge) is _judged(judge, kind=None, directed=False) is None
    assert _judged(judge, kind=" ", directed=True) == (None, True)
    assert _judged(judge, kind=" friend ") == _judged(judge, kind="friend") == ("friend", False)
    assert _judged(judge, kind=7, directed=True) == ("7", True)
    assert _judged(judge, kind="x" * 65) == ("bad_kind", "longer than 64 characters")
    assert _judged(judge, kind="x\u202e") == ("bad_kind", "control character")
    for n in range(KINDS_MAX - 2):
        assert _judged(judge, kind=f"k{n}") == (f"k{n}", False)
    assert _judged(judge, kind="more") == ("bad_kind", f"over {KINDS_MAX} kinds")
    assert _judged(judge, kind="friend") == ("friend", False)


def test_who_is_erased_leaves_nothing_of_any_kind(tmp_path) -> None:
    """No id and no hash, also of ties that do not count; the ties of others stay."""
    schema = dataclasses.replace(SCHEMA, ties=frozenset({"friend"}))
    store = RocksDBStore.open(tmp_path / "store", schema)
    people = ["margarete-with-a-long-id", "balthasar-with-a-long-id", "charlotte-with-a-long-id"]
    changes = [VertexUpsert(Stamp(n, "t", 0, n), name, {}) for n, name in enumerate(people)]
    marks = [("friend", False), ("foe", True), (None, True), None]
    changes += [
        EdgeAdd(Stamp(9, "t", 0, 9 * n + i), people[i], people[i - 1], mark)
        for n, mark in enumerate(marks)
        for i in range(3)
    ]
    store.commit(changes, {("t", 0): Position(99, 9)})
    store.scrub()
    alias = store.alias(people[0])
    (tmp_path / "audit").mkdir()
    erase_persons(store, [people[0]], tmp_path / "audit")
    store.close()
    assert remains([people[0]], [tmp_path]).left == {}
    store = RocksDBStore.open(tmp_path / "store", schema)
    assert store.snapshot().graph.n_edges == 1
    assert alias not in store.folded().places.hashes.tolist()
    assert store.kinds() == ["friend", "foe"]
    store.close()


def test_a_state_counts_its_ties_in_one_way(tmp_path) -> None:
    """What was counted before cannot be counted anew: another choice is another state."""
    RocksDBStore.open(tmp_path / "s", SCHEMA).close()
    mutual = dataclasses.replace(SCHEMA, ties="mutual")
    with pytest.raises(StateMismatch, match="new state folder"):
        RocksDBStore.open(tmp_path / "s", mutual, accept_schema=True)
    RocksDBStore.open(tmp_path / "t", mutual).close()
    wider = dataclasses.replace(mutual, sensitive_values=frozenset({"other"}))
    RocksDBStore.open(tmp_path / "t", wider, accept_schema=True).close()


def test_imported_ties_have_no_kind(tmp_path) -> None:
    """A file that has some, and a schema that asks for some, are refused: events tell of them."""
    (tmp_path / "v.csv").write_text("id,group,health\na,x,y\nb,x,y\n")
    (tmp_path / "e.csv").write_text("source,target,kind\na,b,friend\n")
    mutual = dataclasses.replace(SCHEMA, ties="mutual")
    for schema, words in ((SCHEMA, "column 'kind'"), (mutual, "kinds or directions")):
        with pytest.raises(InvalidGraph, match=words):
            import_graph(
                tmp_path,
                schema,
                tmp_path / "v.csv",
                tmp_path / "e.csv",
                at_us=0,
                feed=FeedPosition({}, {}),
                progress=lambda *_: None,
            )
