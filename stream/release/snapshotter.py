"""From a frozen graph to staged, verified bytes: builds one release.

Runs beside ingest, on a snapshot that nobody else touches. What it leaves behind is a staging
folder and a private audit; whether they become a release is decided by
`ktsafe.stream.release.publish`.

Hints may be reworded. The order must stay: write, read back, verify, judge, seal, attack, audit;
the verdict is on bytes read back. `MONTH` and `FILES_PER_YEAR` bound what statistics cost
(tests/stream/release/test_statistics.py).
"""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import asdict, replace

from ktsafe import PrivacyParams
from ktsafe.audit import Overlap, Usefulness, audit_traced, usefulness
from ktsafe.audit.freshness import Differences
from ktsafe.connectors.base import MANIFEST, WITHDRAWN, ReleaseBundle
from ktsafe.connectors.secrets import Signer
from ktsafe.errors import BelowMinimumUtility, NotKTSafe
from ktsafe.state.ledger import Erased, Ledger, NamedPages, ReleaseRecord, Status
from ktsafe.statistics import NoisyTable, SecretBytes, noisy_tables
from ktsafe.stream.assessment import NO_ATTACKS, AttackSettings, GatedRelease, assessment
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.audit_model import AttackFindings, Audit, StatisticsBudget
from ktsafe.stream.files.certificates import seal_manifest, write_value_places
from ktsafe.stream.files.private_audits import note
from ktsafe.stream.files.release_figures import (
    ReleaseFigures,
    release_figures,
)
from ktsafe.stream.files.releases_read import Manifest, Release, read_manifest, read_release
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.process.process import trim
from ktsafe.stream.release.cut import encrypt_cut
from ktsafe.stream.release.linked import LinkedReleases
from ktsafe.stream.release.mechanism import Built, DueRelease
from ktsafe.stream.slots import Slots, rfc3339

if TYPE_CHECKING:
    from ktsafe.sequence import SequenceOptions
    from ktsafe.verify.kt_safe_verdict import Verdict

log = get_logger(__name__)

YEAR_US: Final = 365 * 86_400 * 1_000_000

MONTH: Final = len("2026-01")
"""A month has one file of statistics: of daily files each would have thirty times the noise."""

FILES_PER_YEAR: Final = 13
"""Most months of which 365 days see the first release, when releases fail to come."""
HINT: Final = "Fewer quasi-identifiers or a smaller k let more ties be shown."


class Cancelled(Exception):
    """Stop of the service; the release is built at the next start."""


@dataclasses.dataclass(frozen=True, slots=True)
class BuildSettings:
    """What a release is made with.

    Attributes
    ----------
    mechanism:
        Made anew for every run of the service; it remembers the release before.
    staging_dir, audit_dir:
        Where staged bytes and private audits go, a folder per release.
    options:
        Those of the sequence, most of which are fixed as long as it lasts.
    seed:
        Fixed only for tests; None draws from the system's CSPRNG. Never published, never logged.
    formats:
        In which formats releases are written.
    about:
        What the owner says of releases.
    min_f1:
        The owner's floor for the F1 of edges, see `ktsafe.stream.release.snapshotter`.
    attack:
        How releases are attacked before they are published.
    slots, epsilon_per_year_micro:
        When releases are due, and what the statistics of a year may cost; 0: there are none.
    signer:
        Signs releases with the owner's key; None: they are chained and not signed.
    """

    params: PrivacyParams
    mechanism: LinkedReleases
    staging_dir: Path
    audit_dir: Path
    options: SequenceOptions
    seed: int | None = None
    formats: tuple[releases_write.Format, ...] = ("csv",)
    about: Mapping[str, str] = dataclasses.field(default_factory=dict)
    min_f1: float = 0.0
    attack: AttackSettings = NO_ATTACKS
    slots: Slots | None = None
    epsilon_per_year_micro: int = 0
    signer: Signer | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class StagedRelease:
    """Release with staged bytes, not yet in the ledger.

    Attributes
    ----------
    pages:
        What the ledger is to remember with it, made when it is asked for.
    counts:
        What the operator's metrics show of how it was made.
    figures:
        What operators watch of the release itself.
    """

    record: ReleaseRecord
    pages: NamedPages
    counts: Mapping[str, int]
    figures: ReleaseFigures


class Snapshotter:
    """Builds releases.

    Parameters
    ----------
    cancelled:
        Asked between the phases of long work; True ends it with `Cancelled`.
    monotonic:
        A clock in seconds, for measuring only.
    """

    def __init__(
        self,
        settings: BuildSettings,
        *,
        observer: Observer,
        monotonic: Callable[[], float],
        cancelled: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._mechanism = settings.mechanism
        self._ledger: Ledger | None = None
        # Where the table asks for no attacks nothing of the extra is loaded.
        attacks = settings.attack.budget_s > 0
        self._check = assessment("[attack]").check(settings.attack) if attacks else None
        self._observer = observer
        self._monotonic = monotonic
        self._cancelled = cancelled

    def open(self, ledger: Ledger) -> None:
        """Take up what the ledger remembers of the sequence.

        Raises
        ------
        StateCorrupted
            If it does not read back as written.
        """
        started = self._monotonic()
        self._mechanism.open(ledger)
        self._ledger = ledger
        self._observer.sequence_read(self._monotonic() - started)

    def staging_folder(self, release_id: str) -> Path:
        """Return where the bytes of a release are staged."""
        return self._settings.staging_dir / release_id

    def build(self, due: DueRelease) -> StagedRelease:
        """Anonymize, write, read back and verify one release.

        Raises
        ------
        NotKTSafe
            If the staged bytes are found unsafe: they must not be published.
        Infeasible
            If there is no safe release of this graph.
        BelowMinimumUtility
            If the release is safe and says too little of the true ties.
        FoundByAttack
            If attacks find more than it promises, and such releases are held back.
        Cancelled
            If the service is stopping.
        """
        release_id = releases_write.release_id(due.index, due.cut.slot_us)
        timings: dict[str, float] = {}
        with self._phase("anonymize", timings):
            built = self._mechanism.build(due)
        if built.work is not None:
            self._observer.release_parts(built.work)
        with self._phase("stage", timings):
            budget = self._statistics_budget(due)
            cost = budget.epsilon_micro if budget else 0
            files = self._write(due, built, release_id, budget)
        with self._phase("verify", timings):
            release = _read_back(self.staging_folder(release_id), self._settings.params)
            trim()
            found = self._mechanism.judge(built, release, due.snapshot)
            manifest, ids = release.manifest, release.ids
            # Read back it is as large as it was before; nobody needs it any more.
            del release
            freshness, step = built.follow()
            useful = usefulness(built.traced)
            check_utility(useful, self._settings.min_f1, built.n_ties_of_turn)
            files = {**files, MANIFEST: self._seal(manifest, ids, found.verdict)}
            del ids
        attacked = None
        if self._check is not None:
            with self._phase("attack", timings):
                attacked = self._attacked(due, built, step)
        if built.graph.n_vertices and not built.graph.is_sensitive.any():
            log.warning(
                "no published vertex shows a sensitive value: "
                "is [attributes] sensitive_values spelt as in the feed?"
            )
        with self._phase("audit", timings):
            told = replace(
                Audit.of(audit_traced(built.traced, self._settings.params, found.verdict)),
                release_id=release_id,
                nominal_time=rfc3339(due.cut.slot_us),
                min_f1=self._settings.min_f1,
                audit=found.audit,
                sequence=built.sequence,
                declared=built.declared,
                vacated=built.vacated,
                freshness=freshness,
                statistics=budget,
                seconds={name: round(s, 6) for name, s in timings.items()},
                **(asdict(attacked) if attacked else {}),
            )
            audit = self._write_audit(due, built, release_id, told)
        record = ReleaseRecord(
            index=due.index,
            release_id=release_id,
            sequence_id=due.series.sequence_id,
            slot_us=due.cut.slot_us,
            offsets=due.cut.offsets,
            files=files,
            status=Status.STAGED,
            n_vertices=built.graph.n_vertices,
            n_edges=built.graph.n_edges,
            n_lives=due.snapshot.n_lives,
            epsilon_micro=cost,
            audit=audit,
        )
        pages = itertools.chain(built.pages, found.pages)
        return StagedRelease(record, pages, built.counts, release_figures(record, told))

    def end_build(self, *, staged: bool) -> None:
        """The release built last is staged for good, or is none."""
        self._mechanism.end_build(staged=staged)
        if self._check is not None:
            self._check.end_build(staged=staged)

    def keep_only(self, release_id: str) -> None:
        """Remove staged bytes but the last release's, which sinks may lose."""
        staging = self._settings.staging_dir
        for folder in staging.iterdir() if staging.is_dir() else ():
            if folder.name != release_id:
                shutil.rmtree(folder, ignore_errors=True)

    def is_withdrawn(self, release_id: str) -> bool:
        """Whether its owner has withdrawn a release, by its private audit."""
        return (self._settings.audit_dir / release_id / WITHDRAWN).exists()

    def note_withdrawal(self, bundle: ReleaseBundle) -> None:
        """Note a withdrawal at the sink that an older state lacks."""
        if bundle.is_withdrawn() and not self.is_withdrawn(bundle.release_id):
            audit = self._settings.audit_dir / bundle.release_id
            note(audit, (bundle.folder / WITHDRAWN).read_bytes())

    def _erased(self) -> list[Erased]:
        return [] if self._ledger is None else self._ledger.erased()

    def _statistics_budget(self, due: DueRelease) -> StatisticsBudget | None:
        """Return what the statistics of a release cost; None without any.

        Without a secret everybody could compute their noise.
        """
        per_year, slots = self._settings.epsilon_per_year_micro, self._settings.slots
        if not per_year or slots is None or self._ledger is None or not due.series.secret:
            return None
        releases = self._ledger.releases()
        share = share_micro(per_year, slots, due.cut.slot_us)
        before = spent_micro(releases, due.cut.slot_us)
        told = {rfc3339(r.slot_us)[:MONTH] for r in releases if r.epsilon_micro}
        is_told = rfc3339(due.cut.slot_us)[:MONTH] in told
        omitted = is_told or not 0 < share <= per_year - before
        if omitted and not is_told:
            log.warning("no statistics: they would cost more than is left of the year")
        cost = 0 if omitted else share
        return StatisticsBudget(cost, before + cost, per_year - before - cost, omitted)

    def _write(
        self, due: DueRelease, built: Built, release_id: str, budget: StatisticsBudget | None
    ) -> dict[str, str]:
        """Stage the bytes of a release; return the sha256 of each file."""
        folder = self.staging_folder(release_id)
        # What an earlier, crashed attempt left was never recorded: it is no release.
        shutil.rmtree(folder, ignore_errors=True)
        settings = self._settings
        tables: list[NoisyTable] = []
        epsilon_micro = budget.epsilon_micro if budget else 0
        if epsilon_micro:
            secret = bytes.fromhex(due.series.secret)
            source = SecretBytes(secret, f"statistics/{due.index}/{due.cut.slot_us}")
            truth = due.snapshot.graph
            tables = noisy_tables(truth, built.graph, epsilon_micro, source, built.changes)
        header = releases_write.ReleaseHeader(
            release_id,
            due.series.sequence_id,
            due.cut.slot_us,
            settings.params,
            releases_write.TOGETHER,
            lag=built.lag,
            age=built.age,
            before=due.before.files if due.before else {},
            planned=built.planned,
            statistics=tables,
            epsilon_micro=epsilon_micro,
            generalized=built.generalized,
            values="in place" if built.value_at is None else "exchanged",
            about=settings.about,
            cut=encrypt_cut(due.series, release_id, due.cut, self._erased()),
            statistics_omitted=budget is not None and budget.omitted,
        )
        return releases_write.write_release(
            folder, built.graph, built.ids, header, settings.formats
        )

    def _seal(self, judged: Manifest, ids: Sequence[str], verdict: Verdict) -> str:
        """Seal a passed release's manifest; return its new sha256.

        All before it are published by now, so the seal is the same when it is made again.

        Raises
        ------
        NotKTSafe
            If the manifest says anything else than the one that was judged.
        """
        assert self._ledger is not None
        folder = self.staging_folder(judged.release_id)
        past = [record.files[MANIFEST] for record in self._ledger.releases()]
        digest = seal_manifest(folder, past, verdict, ids, self._settings.signer)
        if msgspec.structs.replace(read_manifest(folder), seal=None) != judged:
            hint = "Somebody wrote to the staging folder. Do not publish this graph."
            raise NotKTSafe("The manifest is not the one that was judged.", hint=hint)
        return digest

    def _attacked(self, due: DueRelease, built: Built, step: Differences | None) -> AttackFindings:
        assert self._check is not None
        name = releases_write.release_id(due.index, due.cut.slot_us)
        ids, lives = built.ids.numbers, due.snapshot.lives
        shown = GatedRelease(due.series.sequence_id, built.traced, ids, lives, name, since=step)
        return self._check.check(shown, self._settings.params, self._check_cancelled)

    def _write_audit(
        self, due: DueRelease, built: Built, release_id: str, audit: Audit
    ) -> dict[str, str]:
        """Write a release's private audit; return each file's sha256."""
        folder = self._settings.audit_dir / release_id
        behind, people = built.traced.behind, due.snapshot.ids
        hashes = releases_write.write_audit(folder, built.ids, people, behind, audit)
        return hashes | write_value_places(folder, built.ids, built.value_at)

    @contextmanager
    def _phase(self, name: str, timings: dict[str, float]) -> Iterator[None]:
        self._check_cancelled()
        started = self._monotonic()
        yield
        trim()
        timings[name] = self._monotonic() - started
        self._observer.release_phase(name, timings[name])

    def _check_cancelled(self) -> None:
        if self._cancelled():
            raise Cancelled


def _read_back(folder: Path, params: PrivacyParams) -> Release:
    """Return a staged release by its bytes, to judge by own parameters.

    Raises
    ------
    NotKTSafe
        If it claims other parameters than it is judged by.
    """
    release = read_release(folder)
    if release.params != params:
        raise NotKTSafe("The manifest claims other parameters.", hint="Do not publish this graph.")
    return release


def share_micro(per_year_micro: int, slots: Slots, slot_us: int) -> int:
    """Return a release's epsilon: an equal share of 365 days' files.

    Only the first release of a month has some. In any 365 days all together cost no more than the
    epsilon per year; a release beyond that has none.
    """
    first = slots.at_or_after(slot_us - YEAR_US + 1)
    n_releases = slots.distance(first, slot_us) + 1
    return per_year_micro // min(max(1, n_releases), FILES_PER_YEAR)


def spent_micro(releases: Iterable[ReleaseRecord], slot_us: int) -> int:
    """Return the epsilon of all releases in 365 days to a slot."""
    return sum(r.epsilon_micro for r in releases if r.slot_us > slot_us - YEAR_US)


def check_utility(found: Usefulness, min_f1: float, n_ties_of_turn: Callable[[], int]) -> None:
    """Refuse a safe release that shows too few true ties.

    Publishing gives something away for ever. What is farther from the truth than a release without
    any edge gives it away for nothing.

    Parameters
    ----------
    min_f1:
        The owner's floor, from 0 to 1.
    n_ties_of_turn:
        Counts the true ties of pairs of classes that show nothing in this release since they are
        planned afresh: that is their turn, and no reason to withhold. Asked below the floor only.

    Raises
    ------
    BelowMinimumUtility
        If its edge cost exceeds the number of true ties, or its worth is below the floor.
    """
    if found.costs_more_than_nothing:
        raise BelowMinimumUtility("costs_more_than_nothing", hint=HINT)
    if found.worth < min_f1 and _worth_of_others(found, n_ties_of_turn()) < min_f1:
        raise BelowMinimumUtility("below_min_f1", hint=HINT)


def _worth_of_others(found: Usefulness, n_ties_of_turn: int) -> float:
    """Return a release's worth without ties hidden by their turn."""
    edges = found.edges
    shown = Overlap.of(edges.true - n_ties_of_turn, edges.released, edges.shared)
    return Usefulness.of(shown, found.vertices).worth
