"""What a sequence began with decides whether it goes on with t and epsilon 0."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ktsafe.sequence import SequenceEngine, SequenceOptions
from ktsafe.state import keys
from ktsafe.state.database import Database
from ktsafe.state.folder import DATABASE
from ktsafe.state.ledger.ledger import COUNT, PAGES
from ktsafe.state.ledger.records import NextPages, Pages
from ktsafe.stream.release.sequence_inputs import PREFIX
from ktsafe_lab.aligned_sequence import AlignedSequence
from lab.convert import store
from lab.convert.sequence import convert, converted_pages
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World
from tests.stream.maintenance.test_upgrades import OLDER, opened

OPTIONS = SequenceOptions(effort="fast")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(AlignedSequence, "the package ktsafe_lab"), (SequenceEngine, "None of today's options")],
)
def test_a_sequence_that_cannot_go_on_is_refused(kind: type[SequenceEngine], reason: str) -> None:
    """Permanent groups, and a digest of other inputs."""
    params = PARAMS if kind is SequenceEngine else dataclasses.replace(PARAMS, n_hops=2)
    first = World(40, 50, 0).first
    sequence = kind.begin(SCHEMA, params, OPTIONS, first, np.random.default_rng(0))
    with pytest.raises(SystemExit, match=reason):
        converted_pages(dict(sequence.pages()), "another digest")


def test_the_saved_auditor_goes(tmp_path: Path) -> None:
    """What it knew was judged by other parameters: a new one is led through all releases."""
    opened(OLDER[-1], tmp_path)
    state, saved = tmp_path / "state", f"{PREFIX}meta"
    store.convert(state)
    with closing(Database(state / "store" / DATABASE, create=False)) as database:
        ledger = dict(database.scan_from(keys.LEDGER, b""))
        before = Pages.unpacked(ledger[PAGES])
        coming = NextPages(before, 1)
        for name, page in {**dict.fromkeys(before), saved: b"knows"}.items():
            coming.take(name, page)
        listed, writes = coming.end()
        count = msgspec.json.encode([*msgspec.json.decode(ledger[COUNT])[:2], len(listed)])
        batch = database.batch()
        batch.write(keys.LEDGER, {PAGES: listed.packed(), COUNT: count})
        batch.write(keys.PAGES, writes)
        database.commit(batch)
    assert convert(state)
    with closing(Database(state / "store" / DATABASE, create=False)) as database:
        ledger = dict(database.scan_from(keys.LEDGER, b""))
        assert saved not in Pages.unpacked(ledger[PAGES])
        assert database.get_many(keys.PAGES, [listed.key(saved)]) == [None]
