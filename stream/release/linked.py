"""Releases that are safe together: one sequence, made from what changed.

The mechanism's memory, its pages, is durable with the release that it belongs to. A release that
does not become one leaves nothing: the memory is read back from the ledger (`mechanism` draws it).

`COUNTS` are what metrics show and may grow. Names of pages (`NAMED`) stand in states and cannot
change. `_raise_if_broken` may let pass findings of `LINKED` only
(tests/stream/release/test_linked.py).
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec.structs import asdict, replace

from ktsafe import PrivacyParams
from ktsafe.audit import trace
from ktsafe.audit.sequence import AuditedRelease, Declared, Promise, SequenceAuditor, Violation
from ktsafe.connectors import bundles
from ktsafe.connectors.base import MANIFEST, ReleaseBundle, ReleaseReader
from ktsafe.errors import InvalidGraph, NotKTSafe
from ktsafe.graph.numbering import Ids
from ktsafe.graph.schemas import Named, named_values
from ktsafe.sequence import (
    Changes,
    PlannedPair,
    Released,
    SequenceCorrupted,
    SequenceEngine,
    SequenceOptions,
    changes_between,
)
from ktsafe.state.database import RESTORE
from ktsafe.state.ledger import Ledger, ReleaseRecord
from ktsafe.state.snapshot import GraphArrays, GraphSnapshot
from ktsafe.state.store_base import StateCorrupted
from ktsafe.statistics import TrueChanges
from ktsafe.stream.files import private_audits
from ktsafe.stream.files.audit_model import SequenceCost
from ktsafe.stream.files.private_audits import check_recorded, check_there, owners_of
from ktsafe.stream.files.releases_read import Release, read_release
from ktsafe.stream.files.releases_write import Planned
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.process.pool import ONE_PER_CORE, Workers
from ktsafe.stream.release.audits import audited, true_graph
from ktsafe.stream.release.known_releases import unjudgeable
from ktsafe.stream.release.mechanism import Built, DueRelease, Passed
from ktsafe.stream.release.sequence_inputs import is_of_auditor, pages_of, read_into
from ktsafe.stream.release.true_changes import (
    Following,
    changes_since,
    check_spelt_as_before,
    told_once,
)

log = get_logger(__name__)

NAMED: Final = "named_values"
"""Name of the page that has the values which manifests name.
They are those of the first release for ever: a value that was added later would tell that somebody
came who has it.
"""
LINKED: Final = "linked_"
"""Kinds of findings about people with several ids."""
COUNTS: Final = (
    "withheld_vertices",
    "withheld_age_max",
    "held_edges",
    "held_edge_age_max",
    "held_values",
    "residual_age_max",
    "cohorts",
)
"""Figures of the mechanism that the operator's metrics show."""

_NOT_SAVED: Final = (
    "It was saved by another version, and audits that it could be made of again were not kept "
    "([state] audits_kept). Run the version that wrote this state, restore a backup that has the "
    "audits, or begin a new sequence with `ktsafe rebase`."
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Memory:
    """Memory of one release: its auditor, its arrays and their ties."""

    auditor: SequenceAuditor | None = None
    made_of: tuple[GraphArrays, int] | None = None


class LinkedReleases:
    """Makes releases one after the other, one call at a time.

    Parameters
    ----------
    open_reader:
        Opens a reader of the published releases. Where an older version saved no auditor, the one
        of the gate is led through them, and judges the sequence as far as the sink still has it.
    audit_dir:
        Where the private mappings of past releases are.
    change_max:
        See `ktsafe.stream.release.true_changes.check_spelt_as_before`.
    workers:
        They work on parts, and change the time alone.
    """

    def __init__(
        self,
        params: PrivacyParams,
        options: SequenceOptions,
        *,
        open_reader: Callable[[], ReleaseReader],
        audit_dir: Path,
        change_max: float,
        workers: Workers = ONE_PER_CORE,
    ) -> None:
        self._workers = workers
        self._tell_missing = told_once()
        self._params = params
        self._options = options
        self._open_reader = open_reader
        self._audit_dir = audit_dir
        self._change_max = change_max
        self._ledger: Ledger | None = None
        self._engine: SequenceEngine | None = None
        self._following = Following({})
        self._named: Named = {}
        self._staged = self._trial = _Memory()

    def open(self, ledger: Ledger) -> None:
        """Take up the sequence where the last staged release left it.

        Raises
        ------
        StateCorrupted
            If its pages do not read back as written, or the mapping is lost.
        """
        self._ledger = ledger
        if sequence := ledger.sequence():
            check_there(self._releases_of(sequence.sequence_id), self._audit_dir)
        pages = ledger.pages()
        self._engine = self._read_engine(pages)
        self._following = Following(pages)
        for name in filter(is_of_auditor, pages):
            pages[name]  # It is read when it is needed; that it can be is found out now.
        self._named = json.loads(pages.get(NAMED, b"{}"))
        self._staged = self._trial = _Memory()

    def build(self, due: DueRelease) -> Built:
        """Make the sequence's next release from changes, the first from everything.

        The randomness follows from the ledger alone, so a release that is built again after a
        crash comes out the same.

        Raises
        ------
        WrittenOtherwise
            If the network is spelt otherwise than it was.
        """
        rng, snapshot = due.generator(), due.snapshot
        self._trial = _Memory(made_of=(snapshot.arrays, snapshot.graph.n_edges))
        self._tell_missing(snapshot.graph)
        if self._engine is None:
            assert self._ledger is not None
            self._engine = self._read_engine(self._ledger.pages())
        if self._engine is None:
            everything = _in_order(Changes.of_graph(snapshot.graph, snapshot.lives), due)
            schema = snapshot.graph.schema
            with self._workers.open() as (executor, work):
                self._engine = SequenceEngine.begin(
                    schema, self._params, self._options, everything, rng, executor
                )
            self._engine.forget_with(due.series.text_key())
            people = snapshot.arrays.people_of_values()
            self._named = named_values(schema.groups, people, self._params.k)
            vacated, counted = [], None
        else:
            changes, n_ties = self._changes(self._engine, snapshot)
            check_spelt_as_before(self._engine, changes, snapshot.graph, self._change_max)
            changes = _in_order(changes, due)
            counted = _counted(changes, n_ties, snapshot)
            self._following.prepare(self._engine)
            with self._workers.open() as (executor, work):
                step = self._engine.advance(changes, rng, executor)
            vacated = list(Ids(np.sort(step.vacated)))
        released = self._engine.released()
        found = self._engine.figures()
        margin_until = due.later(found.margin_lasts)
        figures = SequenceCost(**asdict(found), margin_until=margin_until)
        origin = _positions(released.keys, snapshot)
        traced = trace(snapshot.graph, released.graph, origin, released.value_at)
        return Built(
            traced,
            Ids(released.ids),
            value_at=released.value_at,
            pages=self._pages(),
            generalized=self._named,
            sequence=figures,
            declared=_declared(figures),
            vacated=vacated,
            follow=lambda: self._following.follow(traced, snapshot.lives, released),
            counts={name: getattr(figures, name) for name in COUNTS} | self._engine.tree_counts(),
            work=work,
            lag=self._lag(),
            age=self._following.oldest(released, self._engine.release, self._options.max_age),
            planned=self._planned(released),
            changes=counted,
            n_ties_of_turn=lambda: _n_ties_between(snapshot, released.dark),
        )

    def judge(self, built: Built, release: Release, snapshot: GraphSnapshot) -> Passed:
        """Let the independent auditor judge the sequence by this release's bytes.

        That includes the strict verifier's judgement of the release by itself.

        Raises
        ------
        NotKTSafe
            If the auditor finds that the promise is broken.
        """
        known = self._staged.auditor
        if known is None:
            known = self._taken_up(release.manifest.sequence_id, snapshot)
            self._staged = dataclasses.replace(self._staged, auditor=known)
        auditor = known.copy()
        self._trial = dataclasses.replace(self._trial, auditor=auditor)
        findings = auditor.extend(
            _case(built, release, snapshot),
            true_graph(snapshot.graph, snapshot.lives, built.declared),
        )
        _raise_if_broken(findings.violations)
        assert findings.n_true_edges is not None
        built.traced.take_shared_edges(findings.n_true_edges)
        found = replace(findings.told(), releases=auditor.n_releases)
        return Passed(findings.verdict, found, pages_of(auditor, self._key()))

    def end_build(self, *, staged: bool) -> None:
        """Keep the build's sequence, or return to the ledger's."""
        if staged:
            self._staged = self._trial
        else:
            self._engine = None
        self._following.end_build(staged=staged)
        self._trial = _Memory()

    def _pages(self) -> Iterator[tuple[str, bytes | None]]:
        assert self._engine is not None
        kept = self._engine.kept_pages()
        yield from dict.fromkeys(sorted(kept)).items()
        yield from self._engine.pages(kept)
        yield from self._following.pages()
        if self._named:
            yield NAMED, json.dumps(self._named).encode()

    def _lag(self) -> int | None:
        """Return after how many releases every pair of classes is planned afresh.

        Nobody knows how old pairs were when a sequence of an older version was taken up, and while
        the bound was greater they got older, so it holds only after as many releases more.
        """
        assert self._engine is not None
        is_known = self._following.knows(self._options.max_age) and self._engine.is_bounded()
        return self._options.max_age if is_known else None

    def _planned(self, released: Released) -> list[Planned]:
        """Return how many releases ago pairs of classes were planned."""
        assert self._engine is not None
        now = self._engine.release
        return [(*pair.classes, now - pair.release) for pair in (*released.planned, *released.dark)]

    def _read_engine(self, pages: Mapping[str, bytes]) -> SequenceEngine | None:
        """Return the ledger's sequence, None before its first release."""
        if not pages:
            return None
        assert self._ledger is not None
        sequence = self._ledger.sequence()
        assert sequence is not None
        try:
            engine = SequenceEngine.from_pages(pages, self._options.max_age)
        except SequenceCorrupted as error:
            raise StateCorrupted("read the sequence", "the ledger's pages", RESTORE) from error
        engine.forget_with(sequence.text_key())
        return engine

    def _changes(self, engine: SequenceEngine, snapshot: GraphSnapshot) -> tuple[Changes, int]:
        """Return changes since the last staged release, and its ties."""
        if self._staged.made_of is not None:
            arrays, n_ties = self._staged.made_of
            if arrays.lineage is snapshot.arrays.lineage:
                return changes_since(arrays, snapshot.arrays), n_ties
        truth, keys = engine.truth()
        return changes_between(truth, keys, snapshot.graph, snapshot.lives), truth.n_edges

    def _new_auditor(self) -> SequenceAuditor:
        # It keeps no release, and so asks for the certificate: the mechanism makes nothing else.
        promise, threads = Promise("all", cover=True), self._workers.n_threads
        return SequenceAuditor(promise, workers=threads, keeps_ids=False)

    def _key(self) -> bytes:
        """Return the key of hashes in the saved auditor."""
        assert self._ledger is not None
        sequence = self._ledger.sequence()
        assert sequence is not None
        return sequence.text_key()

    def _taken_up(self, sequence_id: str, snapshot: GraphSnapshot) -> SequenceAuditor:
        """Return the auditor of the last staged release, saved or replayed."""
        auditor = self._new_auditor()
        assert self._ledger is not None
        if not read_into(auditor, self._ledger.pages(), self._key()):
            return self._led_through_history(sequence_id, snapshot)
        # It needs none of them. But nothing is published beside what is damaged.
        records = self._releases_of(sequence_id)
        for record in records:
            check_recorded(record, self._audit_dir)
        recorded = {record.release_id: record.files[MANIFEST] for record in records}
        reader = self._open_reader()
        try:
            for there in reader.check():
                if recorded.get(there.release_id, there.digest) != there.digest:
                    raise bundles.damaged(there.release_id, MANIFEST)
        finally:
            reader.close()
        return auditor

    def _led_through_history(self, sequence_id: str, snapshot: GraphSnapshot) -> SequenceAuditor:
        """Return an auditor that knows every published release of the sequence.

        Owners are lives. A person that left since is nobody in former releases too, as in the
        mappings once they are blanked.
        """
        auditor = self._new_auditor()
        records = self._releases_of(sequence_id)
        if not all(record.has_audit for record in records):
            raise StateCorrupted("judge a release", "the auditor of the sequence", _NOT_SAVED)
        if not records:
            return auditor
        wanted = {record.release_id for record in records}
        last = max(wanted)
        lives = dict(zip(snapshot.ids, snapshot.lives.tolist(), strict=True))
        for record, bundle in self._at_sink(records):
            wanted.remove(record.release_id)
            auditor.extend(self._former(record, bundle, lives))
        if last in wanted:
            raise unjudgeable(last)
        if wanted:
            log.warning("the sink has lost releases: the auditor judges without", count=len(wanted))
        return auditor

    def _at_sink(
        self, records: Iterable[ReleaseRecord]
    ) -> Iterator[tuple[ReleaseRecord, ReleaseBundle]]:
        """Yield releases the sink still has, every byte compared.

        Raises
        ------
        SinkConflict
            If one is damaged.
        """
        wanted = {record.release_id: record for record in records}
        reader = self._open_reader()
        try:
            with tempfile.TemporaryDirectory(prefix="ktsafe-history-") as folder:
                for bundle in reader.read(Path(folder)):
                    if record := wanted.pop(bundle.release_id, None):
                        if bundle.digest() != record.files[MANIFEST]:
                            raise bundles.damaged(bundle.release_id, MANIFEST)
                        yield record, bundle
                    shutil.rmtree(bundle.folder)
        finally:
            reader.close()

    def _former(
        self, record: ReleaseRecord, bundle: ReleaseBundle, lives: Mapping[str, int]
    ) -> AuditedRelease:
        """Return a published release as the auditor takes it."""
        if bundle.digest() != record.files[MANIFEST]:
            # Passed by forged releases, the next one could seem safe.
            raise bundles.damaged(bundle.release_id, MANIFEST)
        check_recorded(record, self._audit_dir)
        owners = self._owners_then(record, lives)
        release = read_release(bundle.folder)
        vacated: tuple[str, ...] = ()
        with suppress(InvalidGraph):
            # Without it less is known of departed people, and nothing else.
            vacated = private_audits.read_vacated(self._audit_dir, record.release_id)
        value_at = private_audits.read_value_places(self._audit_dir, release)
        return audited(release, owners, vacated, value_at, self._params)

    def _releases_of(self, sequence_id: str) -> list[ReleaseRecord]:
        assert self._ledger is not None
        return [each for each in self._ledger.releases() if each.sequence_id == sequence_id]

    def _owners_then(
        self, record: ReleaseRecord, lives: Mapping[str, int]
    ) -> dict[str, int | None]:
        """Return a former release's life by id, None where ended."""
        owners = owners_of(record, self._audit_dir)
        return {
            name: life if (life := lives.get(person or "", -1)) in range(record.n_lives) else None
            for name, person in owners.items()
        }


def _case(built: Built, release: Release, snapshot: GraphSnapshot) -> AuditedRelease:
    """Return a release read back for the auditor, owners being lives."""
    behind = built.traced.behind
    lives = np.where(behind >= 0, snapshot.lives[behind], -1)
    if built.ids != release.ids:
        hint = "Somebody wrote to the staging folder. Do not publish this graph."
        raise NotKTSafe("The staged bytes name other vertices than were made.", hint=hint)
    return audited(release, lives, built.vacated, built.value_at)


def _in_order(changes: Changes, due: DueRelease) -> Changes:
    """Return changes with newcomers in an order unlike their arrival."""
    ids, lives = due.snapshot.ids, due.snapshot.lives
    by_life = np.argsort(lives)
    at = by_life[np.searchsorted(lives, changes.joined, sorter=by_life)].tolist()
    order = due.order([ids[v] for v in at])
    values = [changes.joined_values[i] for i in order]
    return dataclasses.replace(changes, joined=changes.joined[order], joined_values=values)


def _counted(changes: Changes, n_ties: int, snapshot: GraphSnapshot) -> TrueChanges:
    """Return counts of changes; departed people's ties follow."""
    gained = len(changes.ties_added)
    lost = n_ties + gained - snapshot.graph.n_edges
    return TrueChanges(gained, lost, len(changes.joined), len(changes.left))


def _n_ties_between(snapshot: GraphSnapshot, pairs: Iterable[PlannedPair]) -> int:
    """Return true ties between these pairs of classes."""
    graph = snapshot.graph
    tuples, cls = np.unique(graph.codes[:, :-1], axis=0, return_inverse=True)
    texts = [
        tuple(known[code] for known, code in zip(graph.categories, row, strict=False))
        for row in tuples.tolist()
    ]
    dark = {pair.classes for pair in pairs}
    ends = np.sort(cls.reshape(-1)[graph.edges].astype(np.int64), axis=1)
    kinds, counts = np.unique(ends[:, 0] << 32 | ends[:, 1], return_counts=True)
    ends_of = ((kind >> 32, kind & 0xFFFFFFFF) for kind in kinds.tolist())
    between = (tuple(sorted((texts[a], texts[b]))) for a, b in ends_of)
    return sum(n for pair, n in zip(between, counts.tolist(), strict=True) if pair in dark)


def _raise_if_broken(violations: Iterable[Violation]) -> None:
    """Refuse what breaks the promise on published ids; report the rest.

    An attacker that follows a person over several ids intersects their histories. Refusing such a
    release would refuse every later one, and leave a new sequence as the only way out, which gives
    away more.

    Raises
    ------
    NotKTSafe
    """
    linked = [found for found in violations if found.kind.startswith(LINKED)]
    broken = sorted({found.kind for found in violations} - {found.kind for found in linked})
    if broken:
        raise NotKTSafe(
            f"The auditor of the sequence finds: {', '.join(broken)}.",
            hint="Do not publish this graph.",
        )
    if linked:
        log.warning(
            "that follows people over several ids has fewer candidates than k for some",
            vertices=max(found.count for found in linked),
        )


def _positions(keys: np.typing.NDArray[np.int64], snapshot: GraphSnapshot) -> Any:
    """Return each released vertex's snapshot vertex, -1 without one."""
    order = np.argsort(snapshot.lives)
    ranked = np.append(snapshot.lives[order], np.iinfo(np.int64).max)
    place = np.searchsorted(ranked, keys)
    found = ranked[place] == keys
    return np.where(found, np.append(order, -1)[place], -1)


def _declared(figures: SequenceCost) -> Declared:
    """Return a release's declared withholding, as `ktsafe audit` reads it."""
    return Declared(
        withheld=figures.withheld_vertices,
        held_ties=figures.held_edges - figures.waiting_edges,
        held_changes=figures.held_values,
    )
