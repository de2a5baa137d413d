"""What every store does: one suite for `memory` and `rocksdb`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe.state import keys
from ktsafe.state.changes import (
    Change,
    EdgeAdd,
    EdgeRemove,
    Stamp,
    VertexDelete,
    VertexUpsert,
)
from ktsafe.state.ledger import PendingCut
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import Position
from tests.state.conftest import Handle
from tests.state.naive_fold import fold_with_waiting
from tests.state.support import blank, changes, exactly, plain, published, stamp

MakeHandle = Callable[[], Handle]
CUT = PendingCut(slot_us=7, offsets={"t/0": 3})

# The fixture only makes fresh stores, so examples do not share any.
property_test = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def commit_all(store: GraphStore, drawn: list[Change], size: int = 4) -> None:
    """Commit changes in batches of `size`."""
    for start in range(0, len(drawn), size):
        store.commit(drawn[start : start + size], {})


def up(id: str, time_us: int, **attributes: str | None) -> VertexUpsert:  # noqa: A002
    return VertexUpsert(stamp(time_us, hash_offset("up", id, time_us)), id, attributes)


def down(id: str, time_us: int) -> VertexDelete:  # noqa: A002
    return VertexDelete(stamp(time_us, hash_offset("down", id, time_us)), id)


def add(source: str, target: str, time_us: int) -> EdgeAdd:
    return EdgeAdd(stamp(time_us, hash_offset("add", source, target, time_us)), source, target)


def people_remembered(store: GraphStore) -> int:
    """Return how many persons the store remembers in any way."""
    places, rows = store.folded().places, store.database
    named = {key for family in (keys.PEOPLE, keys.DOWNS) for key, _ in rows.all(family)}
    return len(named | set(places.hashes[places.hashes != b""].astype("V16").tolist()))


def tombstones_of(changes: Iterable[Change]) -> list[int]:
    """Return the times of the tombstones that changes leave, by the naive fold's reading."""
    down: dict[str, Stamp] = {}
    last: dict[tuple[object, ...], EdgeAdd | EdgeRemove] = {}
    for change in sorted(changes, key=lambda change: change.stamp):
        if isinstance(change, VertexDelete):
            down[change.id] = change.stamp
        elif isinstance(change, EdgeAdd | EdgeRemove):
            source = change.source if change.mark and change.mark[1] else None
            last[frozenset((change.source, change.target)), change.mark, source] = change
    removed = [
        edge.stamp.time_us
        for (ends, *_), edge in last.items()
        if isinstance(edge, EdgeRemove)
        and all(end not in down or edge.stamp > down[end] for end in ends)
    ]
    return removed + [stamp.time_us for stamp in down.values()]


def counts_now(store: GraphStore) -> dict[str, int]:
    """Return the counts of a store after a fold."""
    store.fold()
    return dict(store.counts())


def hash_offset(*parts: object) -> int:
    """Return an offset that tells the events of a test apart."""
    return sum(31**i * sum(map(ord, str(part))) for i, part in enumerate(parts))


@property_test
@given(drawn=changes(), order=st.randoms(use_true_random=False), size=st.integers(1, 9))
def test_any_permutation_gives_the_graph_of_the_naive_fold(
    make_handle: MakeHandle, drawn: list[Change], order: random.Random, size: int
) -> None:
    """Arrival order and batch size never matter; the result is the independent fold's."""
    store = make_handle().store
    shuffled = list(drawn)
    order.shuffle(shuffled)
    commit_all(store, shuffled, size)
    vertices, edges, waiting = fold_with_waiting(drawn)
    snapshot = store.snapshot()
    assert plain(snapshot) == (published(vertices), edges)
    counts = store.counts()
    assert (counts["vertices"], counts["edges"]) == (len(vertices), len(edges))
    assert counts["edges_waiting"] == len(waiting)


@property_test
@given(drawn=changes(), order=st.randoms(use_true_random=False))
def test_redelivery_changes_nothing(
    make_handle: MakeHandle, drawn: list[Change], order: random.Random
) -> None:
    """Delivering any events a second time leaves graph and counts exactly as they were."""
    store = make_handle().store
    commit_all(store, drawn)
    before, counts = exactly(store.snapshot()), counts_now(store)
    again = [change for change in drawn if order.random() < 0.7]
    order.shuffle(again)
    commit_all(store, again)
    assert exactly(store.snapshot()) == before
    assert dict(store.counts()) == counts


@property_test
@given(drawn=changes(), horizon=st.integers(0, 7), order=st.randoms(use_true_random=False))
def test_pruning_never_shows_in_the_graph(
    make_handle: MakeHandle, drawn: list[Change], horizon: int, order: random.Random
) -> None:
    """Pruned or not, the graph is the same then and after any further event at or past the horizon.

    All tombstones older than the horizon are gone, and no others.
    """
    store = make_handle().store
    # What is older than the horizon has arrived; of the rest some comes later, and so may anything
    # of it again.
    early = [c for c in drawn if c.stamp.time_us < horizon or order.random() < 0.5]
    rest = [c for c in drawn if c.stamp.time_us >= horizon]
    order.shuffle(early)
    commit_all(store, early)
    before, tombstones = exactly(store.snapshot()), tombstones_of(early)
    assert store.counts()["tombstones"] == len(tombstones)
    store.prune(horizon)
    store.fold()
    assert exactly(store.snapshot()) == before
    kept = [time_us for time_us in tombstones if time_us >= horizon]
    assert store.counts()["tombstones"] == len(kept)
    order.shuffle(rest)
    commit_all(store, rest)
    vertices, edges, waiting = fold_with_waiting(drawn)
    assert plain(store.snapshot()) == (published(vertices), edges)
    store.prune(100)
    store.fold()
    assert plain(store.snapshot()) == (published(vertices), edges)
    assert store.counts()["tombstones"] == 0
    assert people_remembered(store) == len(vertices.keys() | frozenset().union(*waiting))


@settings(property_test, max_examples=20)
@given(drawn=changes(size_max=15))
def test_a_reopened_store_is_exactly_the_one_that_was_closed(
    make_handle: MakeHandle, drawn: list[Change]
) -> None:
    """After every prefix, what is loaded equals what was resident: order and codes included."""
    handle = make_handle()
    for number, change in enumerate(drawn):
        handle.store.commit([change], {("t", 0): Position(number + 1, change.stamp.time_us)})
        if number % 3 == 2:
            handle.store.prune(2)
        handle.store.fold()  # Numbers that were not written are given anew.
        before, counts = exactly(handle.store.snapshot()), dict(handle.store.counts())
        if number % 2:
            handle.store.commit([], {})
        store = handle.reopen()
        assert exactly(store.snapshot()) == before
        assert dict(store.counts()) == counts
        assert store.positions() == {("t", 0): Position(number + 1, change.stamp.time_us)}


def test_an_empty_store_has_an_empty_graph(handle: Handle) -> None:
    """Nothing committed: no vertex, edge, position, identity, cut or release."""
    store = handle.store
    assert plain(store.snapshot()) == ({}, set())
    assert dict(store.counts()) == {
        "vertices": 0,
        "edges": 0,
        "edges_waiting": 0,
        "tombstones": 0,
    }
    assert store.positions() == {}
    assert store.source_identity() == {}
    assert store.cut_snapshot() is None
    assert store.ledger.sequence() is None
    assert store.ledger.last() is None


def test_a_value_that_is_no_number_counts_as_missing(handle: Handle) -> None:
    """A bucketed attribute that holds text does not break the snapshot."""
    store = handle.store
    store.commit([up("ann", 1, age="old"), up("bob", 1, age="40"), up("cyd", 1, age=None)], {})
    vertices, _ = plain(store.snapshot())
    assert [vertices[v]["age"] for v in ("ann", "bob", "cyd")] == ["-", "18..<65", "-"]


def test_attributes_outside_the_schema_are_not_kept(handle: Handle) -> None:
    """An attribute that the schema does not list changes nothing but that the vertex exists."""
    store = handle.store
    store.commit([up("ann", 1, shoe_size="44")], {})
    assert plain(store.snapshot())[0] == {"ann": blank()}


def test_an_edge_with_one_end_is_refused_without_harm(handle: Handle) -> None:
    """A loop is refused, nothing of its batch is merged, and the store goes on."""
    store = handle.store
    with pytest.raises(ValueError, match="two ends"):
        store.commit([up("ann", 1), add("ann", "ann", 2)], {("t", 0): Position(2, 2)})
    assert plain(store.snapshot())[0] == {}
    assert store.positions() == {}
    store.commit([up("bob", 1)], {})
    assert set(plain(store.snapshot())[0]) == {"bob"}


def test_positions_and_identity_are_kept(handle: Handle) -> None:
    """Positions are kept by partition, identity as given; either may be left alone."""
    store = handle.store
    store.commit([], {("t", 0): Position(5, None)}, source_identity={"cluster": "x"})
    store.commit([], {("t", 1): Position(2, -9), ("t", 0): Position(6, 11)})
    store = handle.reopen()
    assert store.positions() == {("t", 0): Position(6, 11), ("t", 1): Position(2, -9)}
    assert store.source_identity() == {"cluster": "x"}
    store.commit([], {}, source_identity={"cluster": "x", "file": "y"})
    assert handle.reopen().source_identity() == {"cluster": "x", "file": "y"}


def test_what_holds_no_record_is_kept_with_a_position(handle: Handle) -> None:
    """Up to where there is none; it goes where a record comes behind it."""
    store = handle.store
    store.commit([], {("t", 0): Position(5, 7, 9), ("t", 1): Position(0, None, 3)})
    store = handle.reopen()
    assert store.positions() == {("t", 0): Position(5, 7, 9), ("t", 1): Position(0, None, 3)}
    assert [store.positions()["t", n].start for n in (0, 1)] == [9, 3]
    store.commit([], {("t", 0): Position(10, 7)})
    assert handle.reopen().positions()["t", 0].start == 10


def test_a_snapshot_is_detached(handle: Handle) -> None:
    """Commits after a snapshot do not reach into it."""
    store = handle.store
    store.commit([up("ann", 1, gender="f"), up("bob", 1), add("ann", "bob", 2)], {})
    snapshot = store.snapshot()
    before = exactly(snapshot)
    store.commit([up("ann", 3, gender="m"), down("bob", 4), up("cyd", 5)], {})
    assert exactly(snapshot) == before


@pytest.mark.parametrize("reopened", [False, True])
def test_the_cut_stays_readable_until_it_is_dropped(handle: Handle, reopened: bool) -> None:
    """The graph as of the cut includes the cut's own changes and nothing later."""
    store = handle.store
    store.commit([up("ann", 1, gender="f"), up("bob", 1)], {("t", 0): Position(2, 1)})
    store.commit([add("ann", "bob", 2)], {("t", 0): Position(3, 2)}, cut=CUT)
    at_cut = exactly(store.snapshot())
    store.commit([down("ann", 3), up("cyd", 4)], {("t", 0): Position(5, 4)})
    store.prune(100)
    if reopened:
        store = handle.reopen()
    frozen = store.cut_snapshot()
    assert frozen is not None
    assert exactly(frozen) == at_cut
    assert store.ledger.pending_cut() == CUT
    assert set(plain(store.snapshot())[0]) == {"bob", "cyd"}
    store.ledger.drop_cut()
    store.ledger.drop_cut()  # giving up twice is giving up
    assert store.cut_snapshot() is None
    store = handle.reopen()
    assert store.cut_snapshot() is None
    assert store.ledger.pending_cut() is None


def test_there_is_one_cut_at_a_time(handle: Handle) -> None:
    """A second cut is refused while one is pending, and allowed after that is gone."""
    store = handle.store
    store.commit([up("ann", 1)], {}, cut=CUT)
    other = PendingCut(slot_us=9, offsets={})
    with pytest.raises(ValueError, match="pending"):
        store.commit([up("bob", 1)], {}, cut=other)
    assert set(plain(store.snapshot())[0]) == {"ann"}
    store.ledger.drop_cut()
    store.commit([up("bob", 1)], {}, cut=other)
    frozen = store.cut_snapshot()
    assert frozen is not None
    assert set(plain(frozen)[0]) == {"ann", "bob"}


def test_what_is_in_the_log_alone_is_known(handle: Handle) -> None:
    """A state is blank until something is said, whether or not that was resolved."""
    assert handle.store.is_blank
    handle.store.commit([], {})
    assert handle.store.is_blank
    handle.store.commit([add("ann", "bob", 1)], {})
    assert not handle.store.is_blank
    assert not handle.reopen().is_blank
