"""Looks at what a history left behind, by means of its own: what must hold whatever happened."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import defaultdict
from itertools import pairwise

import numpy as np

from ktsafe.audit.sequence import Promise, SequenceAuditor
from ktsafe.connectors.base import MANIFEST
from ktsafe.state.ledger import SequenceRecord, Status
from ktsafe.stream.files.releases_read import read_release
from ktsafe.stream.release.audits import audited
from ktsafe.stream.release.cut import decrypt_cut
from ktsafe.stream.release.linked import LINKED
from ktsafe.verify import verify
from tests import feeds
from tests.histories import feed
from tests.histories.history import History
from tests.histories.surroundings import TABLE, graph_in
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import PARAMS, SCHEMA, World, folded


def judge(history: History) -> None:
    """Note everything that is wrong at the end of a history."""
    process = history.finisher
    if process is None:
        return
    store = MemoryStore(SCHEMA, process.disk)
    ends = {number: feed.end_of(items) for number, items in enumerate(history.partitions)}
    found = folded(store.snapshot())
    if found not in truths(history, ends, len(history.landings) + 1):
        history.wrong("the graph is not the fold of the good events")
    if {p: at.next_offset for (_, p), at in store.positions().items()} != {
        number: end for number, end in ends.items() if end
    }:
        history.wrong("not every record was read")
    bad = {
        (number, offset)
        for number, items in enumerate(history.partitions)
        for offset, item in enumerate(items)
        if item == feed.BAD
    }
    letters = {(each.record.partition, each.record.offset) for each in history.world.letters}
    if bad - letters:
        history.wrong("a record that is no event is in no dead letter")
    if unexpected := letters - bad:
        late = {each.reason for each in history.world.letters} - {"malformed_json"}
        history.wrong(f"{len(unexpected)} events are dead letters ({', '.join(sorted(late))})")
    _judge_releases(history, store, ends)
    _judge_audits(history, process.world, set(found[0]))
    for record in store.ledger.releases():
        folder = process.world.folder / "audit" / record.release_id
        if record.has_audit and not (folder / "mapping.csv").is_file():
            history.wrong(f"the mapping of {record.release_id} is gone")


def truths(history: History, until: dict[int, int], index: int) -> list[feeds.Graph]:
    """Return the graphs that may be right for a release: two while an erasure is not complete."""
    sure = {person for person, at in history.erased.items() if at < index}
    perhaps = {person for person, at in history.asked.items() if at < index}
    return [
        feed.graph_of(history.partitions, until, gone, history.topics)
        for gone in (sure, sure | perhaps)
    ]


def _judge_releases(history: History, store: MemoryStore, ends: dict[int, int]) -> None:
    """Check one series without a gap or a fork, of exactly what its cuts say."""
    ids = sorted(history.landings)
    if [int(each[:6]) for each in ids] != list(range(1, len(ids) + 1)):
        history.wrong(f"a gap or a fork: {ids}")
        return
    records = store.ledger.releases()
    if [(r.release_id, r.status) for r in records] != [(each, Status.PUBLISHED) for each in ids]:
        history.wrong("the ledger does not have the releases that readers have")
        return
    sequences = {each.sequence_id: each for each in _sequences(store)}
    before, until = "", dict.fromkeys(ends, 0)
    if any(one.slot_us >= next_one.slot_us for one, next_one in pairwise(records)):
        history.wrong("slots do not ascend")
    for index, (release_id, record) in enumerate(zip(ids, records, strict=True), 1):
        files = history.landings[release_id]
        manifest = json.loads(files[MANIFEST])
        cut = decrypt_cut(sequences[manifest["sequence_id"]], release_id, manifest["cut"])
        reached = {int(name.split("/")[1]): offset for name, offset in cut.offsets.items()}
        if any(reached.get(number, 0) < offset for number, offset in until.items()):
            history.wrong(f"release {release_id} goes back behind the one before")
        until = {number: reached.get(number, 0) for number in ends}
        right = truths(history, until, index)
        if history.is_in_order and _is_early(history, until, cut.slot_us):
            history.wrong(f"release {release_id} shows what came after its slot")
        if history.is_strict and cut.slot_us != _slot_of(history, until, cut.slot_us):
            history.wrong(f"release {release_id} is not of the slot that its cut says")
        digest = hashlib.sha256(files[MANIFEST]).hexdigest()
        if record.files[MANIFEST] != digest:
            history.wrong(f"the ledger has other bytes of {release_id}")
        if history.real:
            _judge_real(history, release_id, files, right)
        elif graph_in(files[TABLE]) not in right:
            history.wrong(f"release {release_id} is not of the graph at its cut")
        elif json.loads(files[TABLE])["before"] != before:
            history.wrong(f"release {release_id} does not follow the one before")
        before = digest
    if history.real:
        _judge_sequences(history)
    _judge_end(history, store, until, ends)


def _is_early(history: History, until: dict[int, int], slot_us: int) -> bool:
    """Whether an event from before a cut has a time beyond its slot."""
    return any(
        isinstance(item, dict) and feeds.time_us(item) > slot_us
        for number, items in enumerate(history.partitions)
        for item in items[: until[number]]
    )


def _slot_of(history: History, until: dict[int, int], slot_us: int) -> int:
    """Return the last slot before every event that a cut leaves out; `slot_us` if it leaves none.

    By the times of the feed alone, which is in order.
    """
    left = [
        feeds.time_us(item)
        for number, items in enumerate(history.partitions)
        for item in items[until[number] :]
        if isinstance(item, dict)
    ]
    width_us = feed.SLOT_S * 1_000_000
    return (min(left) - 1) // width_us * width_us if left else slot_us


def _judge_end(
    history: History, store: MemoryStore, until: dict[int, int], ends: dict[int, int]
) -> None:
    """Check that the last release shows all, unless it was withheld."""
    if store.ledger.pending_cut() is not None:
        history.wrong("a cut is pending at the end")
    if until != ends and any(ends.values()) and not history.last_withheld:
        has_event = any(isinstance(i, dict) for items in history.partitions for i in items)
        if has_event:
            history.wrong("the last release does not show all")


def _sequences(store: MemoryStore) -> list[SequenceRecord]:
    return list(store.ledger._sequences)


def _judge_real(
    history: History, release_id: str, files: dict[str, bytes], right: list[feeds.Graph]
) -> None:
    """Verify a release by its bytes; it was made of the graph at its cut."""
    folder = history.folder / "judged" / release_id
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    release = read_release(folder)
    parts = release.quasi_identifiers(), release.is_sensitive(), np.asarray(release.edges)
    if not verify(*parts, release.params).is_safe:
        history.wrong(f"release {release_id} is not safe")
    if release.params != PARAMS:
        history.wrong(f"release {release_id} claims other parameters than the service's")
    cuts = [process.world.cuts.get(release_id) for process in history.processes]
    if not any(cut in right for cut in cuts if cut):
        history.wrong(f"release {release_id} is not of the graph at its cut")


def _judge_sequences(history: History) -> None:
    """Let an auditor that has seen nothing judge all releases of each sequence together."""
    auditors: defaultdict[str, SequenceAuditor] = defaultdict(
        lambda: SequenceAuditor(Promise("all", cover=True))
    )
    worlds = [process.world for process in history.processes]
    for release_id, files in sorted(history.landings.items()):
        release = read_release(history.folder / "judged" / release_id)
        # One of two services may have made a release for this slot that never landed, with ids that
        # are all the same and stand for others.
        cut = json.loads(files[MANIFEST])["cut"]
        made = [w for w in worlds if w.built.get(release_id) == cut]
        ids = set(release.ids)
        maker = next((w for w in made if w.mappings[release_id].keys() == ids), None)
        mapping = {} if maker is None else maker.mappings[release_id]
        owners = {name: person or None for name, person in mapping.items()}
        value_at = None
        if maker is not None and maker.value_at[release_id]:
            place = {name: v for v, name in enumerate(release.ids)}
            value_at = np.array([place[maker.value_at[release_id][name]] for name in release.ids])
        is_first = release.manifest.sequence_id not in auditors
        auditor = auditors[release.manifest.sequence_id]
        judged = audited(release, owners, value_at=value_at)
        findings = auditor.extend(judged)
        kinds = {each.kind for each in findings.violations}
        fewest = findings.figures.published.candidates.min
        # Halves of classes whose people have many ties begin with one fewer.
        least = release.params.k + history.margin - (history.margin > 1)
        if is_first and fewest is not None and fewest < least:
            history.wrong(f"cohorts of {release_id} begin without their margin")
        people = findings.figures.published.candidates_real_leavers_known
        history.counts["left below k"] += people.below_k
        history.counts["left within the margin"] += (people.min or 0) == release.params.k
        # People that are followed over several ids are warned of, not promised.
        if broken := sorted(kind for kind in kinds if not kind.startswith(LINKED)):
            history.wrong(f"releases up to {release_id} are not safe together: {broken}")


def _judge_audits(history: History, world: World, people: set[str]) -> None:
    """Check that nobody who is gone is in a mapping any more."""
    for path in (world.folder / "audit").glob("*/mapping.csv*"):
        with path.open(encoding="utf-8", newline="") as file:
            named = {row[1] for row in list(csv.reader(file))[1:] if len(row) > 1 and row[1]}
        if named - people:
            history.wrong(f"the mapping of {path.parent.name} names somebody who is gone")
