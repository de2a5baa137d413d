"""Pages of a sequence of earlier builds, as this version has them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ktsafe.sequence.memory.turns as module
from ktsafe.sequence import SequenceEngine
from ktsafe.sequence.memory.sequence_tables import PlaceTable
from ktsafe.sequence.memory.state import META
from ktsafe.sequence.memory.turns import share_of_turn
from lab.convert.sequence import upgraded
from tests.ktsafe.sequence.test_ages import known_ages, pairs_shown
from tests.ktsafe.sequence.test_exchanged_values import CHANGES, begun
from tests.ktsafe.sequence.world import World


def of_version(pages: dict[str, bytes], version: int, **meta: Any) -> dict[str, bytes]:
    """Return pages as version 9 wrote them, or one before: no place knows where values stand."""
    old, width = dict(pages), len(PlaceTable.columns)
    told: dict[str, Any] = {**json.loads(pages[META]), **meta, "version": version}
    del told["fixed"]["options"]["values"]
    old[META] = json.dumps(told, sort_keys=True).encode()
    for name, page in pages.items():
        if name.startswith(f"{PlaceTable.name}/"):
            rows = np.frombuffer(page, dtype=np.int64).reshape(-1, width)
            old[name] = rows[:, : width - 1].tobytes()
    return old


def without_ages(pages: dict[str, bytes]) -> dict[str, bytes]:
    """Return pages as version 5 wrote them: no beginnings, no ended ties, no plans."""
    old = of_version(pages, 5)
    meta: dict[str, Any] = json.loads(old[META])
    del meta["planned"], meta["turns"]
    old[META] = json.dumps(meta, sort_keys=True).encode()
    for name, page in pages.items():
        for table, width in (("edges/", 4), ("held/", 4), ("former/", 3)):
            if name.startswith(table):
                rows = np.frombuffer(page, dtype=np.int64).reshape(-1, width)
                old[name] = rows[:, : width - 1].tobytes()
    return old


def test_pages_of_version_5_are_read() -> None:
    """All ties began at first, ages of pairs count from now, and nothing else is different."""
    world, rng = World(60, 200, 5), np.random.default_rng(0)
    sequence = world.begin(max_age=3)
    for _ in range(2):
        sequence.advance(world.change(ties=4, joins=2, leaves=1), rng)
    saved = without_ages(dict(sequence.pages()))
    again = SequenceEngine.from_pages(upgraded(saved))
    assert set(known_ages(again)) == world.ties
    assert set(known_ages(again).values()) == {0}
    shown, dark = again.released().planned, again.released().dark
    assert {pair for pair, _ in shown} == pairs_shown(sequence)
    assert {release for _, release in shown} == {2}
    assert dark == ()
    changed = {name for name, page in again.pages() if saved[name] != page}
    wider = {name for name in saved if name.startswith(("edges/", "held/", "former/", "places/"))}
    assert changed == {META} | wider
    for _ in range(4):
        again.advance(world.change(ties=4, joins=2, leaves=1), rng)
        again.check()
    saved = dict(again.pages())
    assert dict(SequenceEngine.from_pages(saved).pages()) == saved


def test_the_tree_that_version_6_saved_goes() -> None:
    """The sequence goes on without its pages."""
    world = World(60, 200, 5)
    pages = dict(world.begin(values="in place").pages())
    meta = json.loads(pages[META])
    meta["rows"] |= {"kt_nodes": 1, "kt_pivots": 0, "kt_members": 1}
    old = of_version(pages, 6, rows=meta["rows"])
    tree = {"kt_nodes/000000": b"", "kt_members/000000": b""}
    again = SequenceEngine.from_pages(upgraded({**old, **tree, "freshness/ended": b""}))
    assert dict(again.pages()) == pages


@pytest.mark.parametrize("version", [6, 7, 8])
def test_a_sequence_of_an_older_version_goes_on_in_place(version: int) -> None:
    """Newcomers' cohorts, too: one sequence is of one kind."""
    world, sequence = begun("in place")
    old = of_version(dict(sequence.pages()), version)
    again = SequenceEngine.from_pages(upgraded(old))
    assert again.options.values == "in place"
    for _ in range(4):
        change, seed = world.change(**CHANGES), 5
        again.advance(change, np.random.default_rng(seed))
        sequence.advance(change, np.random.default_rng(seed))
    assert again.released().value_at is None
    saved = dict(again.pages())
    if version == 8:
        assert saved == dict(sequence.pages())
    assert dict(SequenceEngine.from_pages(saved).pages()) == saved


def test_pages_of_version_7_had_turns_of_the_greatest_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence that was saved with even turns goes on as if they had been counted."""
    monkeypatch.setattr(module, "PACE", 0.0)
    world, rng = World(60, 200, 5), np.random.default_rng(0)
    sequence = world.begin(max_age=12)
    for _ in range(20):
        sequence.advance(world.change(ties=4), rng)
    pages = of_version(dict(sequence.pages()), 7)
    meta = json.loads(pages[META])
    turns = meta.pop("turns")
    old = SequenceEngine.from_pages(upgraded({**pages, META: json.dumps(meta).encode()}))
    took = json.loads(dict(old.pages())[META])["turns"]["passed"]
    assert set(np.diff(took)) == set(np.diff(turns["passed"])) == {share_of_turn(0.0, 12)}
    assert len(took) >= len(turns["passed"])
    assert old.is_bounded()
