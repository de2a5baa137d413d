"""A process that commits until it is killed: what it does follows from its positions alone.

Run as `python -m tests.state.crash_child PATH`. Each line it prints is the number of events whose
commit has returned.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

from ktsafe.state import store as stores
from ktsafe.state import tie_pages
from ktsafe.state.changes import Change, EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.state.ledger import PendingCut, ReleaseRecord, SequenceRecord, Status, records
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position
from tests.state.support import SCHEMA

PARTITION = ("feed", 0)
BATCH = 40
CUT_EVERY = 7
PEOPLE = 400
SMALL = (
    (records, "PART_BYTES", 4_000),
    (stores, "LOGGED_MIN", 100),
    (tie_pages, "TIES", 20),
    (tie_pages, "TIES_MAX", 30),
)
"""Parts and pages of which a few hundred people fill several."""


def event(offset: int) -> Change:
    """Return the event at an offset, always the same."""
    rng = random.Random(offset)
    at = Stamp(offset * 1000 + rng.randrange(-20_000, 20_000), *PARTITION, offset)
    one, two = (f"p{n}" for n in rng.sample(range(PEOPLE), 2))
    kind = rng.random()
    if kind < 0.4:
        return VertexUpsert(at, one, {"gender": rng.choice("fm"), "age": str(rng.randrange(90))})
    if kind < 0.85:
        return EdgeAdd(at, one, two)
    if kind < 0.95:
        return EdgeRemove(at, one, two)
    return VertexDelete(at, one)


def pages_of(index: int) -> dict[str, bytes]:
    """Return the pages of a release: half of them change with each, and now and then one goes."""
    n = 20 + index % 3
    return {f"page/{i:02}": b"%d %d" % (i, index // (1 + i % 2)) * 300 for i in range(n)}


def main(path: str) -> None:
    """Work on a store, and tell how many events it took."""
    for module, name, value in SMALL:
        setattr(module, name, value)
    for offset in work(RocksDBStore.open(path, SCHEMA)):
        print(offset, flush=True)


def work(store: RocksDBStore) -> Iterator[int]:
    """Commit batch after batch; cut, stage and publish now and then; prune now and then."""
    if store.ledger.sequence() is None:
        store.ledger.start_sequence(SequenceRecord("s", "digest", 0))
    # As the service does: a cut that no release has consumed is released first.
    release(store)
    position = store.positions().get(PARTITION)
    offset = position.next_offset if position else 0
    while True:
        changes = [event(offset + i) for i in range(BATCH)]
        offset += BATCH
        cut = None
        if offset // BATCH % CUT_EVERY == 0:
            cut = PendingCut(offset, {"feed/0": offset})
        store.commit(changes, {PARTITION: Position(offset, offset)}, cut=cut)
        yield offset
        if cut is not None:
            release(store)
        if offset // BATCH % 5 == 0:
            store.prune((offset - 500) * 1000)


def release(store: RocksDBStore) -> None:
    """Stage and publish the pending cut, and publish what was staged."""
    ledger = store.ledger
    cut, last = ledger.pending_cut(), ledger.last()
    if cut is not None:
        snapshot = store.cut_snapshot()
        assert snapshot is not None
        last = ReleaseRecord(
            index=1 if last is None else last.index + 1,
            release_id=f"r{cut.slot_us}",
            sequence_id="s",
            slot_us=cut.slot_us,
            offsets=cut.offsets,
            files={"manifest.json": "00"},
            status=Status.STAGED,
            n_vertices=snapshot.graph.n_vertices,
            n_edges=snapshot.graph.n_edges,
        )
        ledger.stage(last, pages_of(last.index).items())
    if last is not None:
        ledger.mark_published(last.release_id)


if __name__ == "__main__":
    main(sys.argv[1])
