"""The publication protocol: one set of bytes per release, for ever.

Words and `retry_s` may be changed. The order of the four steps may not:
tests/stream/service/test_crashes.py fails before and after every call, and expects the same bytes.

    build ─▶ (1) staged files ─▶ (2) ledger STAGED ─▶ (3) sink ─▶ (4) ledger PUBLISHED
                                         ▲              │
                                         └──────────────┘ any error or unknown outcome

A crash before (2) builds the release again from the frozen cut; after (2) its bytes are fixed, and
(3) is repeated with them until the sink has confirmed. Before every (3), and at every start, the
staged bytes and the releases at the sink are compared with the ledger's record of them. What
somebody changed in between is not published, and nothing is published after it.

Two things are mended by the service itself. A last release that is gone from the sink goes out once
more, unless it was withdrawn: its staged bytes are kept until the next one is published. Releases
that the sink has and the ledger lacks, because the state was restored from a backup, are made
again, compared, and recorded (`ktsafe.stream.release.known_releases`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from ktsafe.connectors.base import (
    MANIFEST,
    PublishedRelease,
    ReleaseBundle,
    ReleaseSink,
    SinkConflict,
    Unavailable,
)
from ktsafe.connectors.bundles import digest_regular, is_passing
from ktsafe.errors import (
    AbsentFromGraph,
    BelowMinimumUtility,
    Infeasible,
    NotKTSafe,
    OperationFailed,
    WrittenOtherwise,
)
from ktsafe.state.ledger import Ledger, PendingCut, ReleaseRecord, SequenceRecord, Status
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.state.store_base import StateCorrupted, StateError
from ktsafe.stream.errors import FoundByAttack
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.release.known_releases import (
    KnownRelease,
    OpenReader,
    compare,
    gone,
    read_known,
    underived,
)
from ktsafe.stream.release.mechanism import DueRelease
from ktsafe.stream.release.snapshotter import Cancelled, Snapshotter, StagedRelease

log = get_logger(__name__)

T = TypeVar("T")


class Executor(Protocol):
    """Runs one task at a time beside the loop; inline in tests."""

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Start `task` and return its future."""


class Publisher:
    """Carries one release at a time from its cut to the sink.

    The loop calls `advance` every round; long work happens in the executor, every write to the
    ledger in the caller's thread.

    Parameters
    ----------
    retry_s:
        Pause before a release is offered again to a sink that did not confirm it.
    monotonic:
        A clock in seconds.
    open_reader:
        Reads what the sink has; without it a state that is behind its sink is refused.

    Attributes
    ----------
    known:
        The releases at the sink that the ledger lacks; they are made again before others.
    """

    def __init__(
        self,
        ledger: Ledger,
        sink: ReleaseSink,
        snapshotter: Snapshotter,
        executor: Executor,
        *,
        observer: Observer,
        monotonic: Callable[[], float],
        retry_s: float = 5.0,
        open_reader: OpenReader | None = None,
    ) -> None:
        self._ledger = ledger
        self._sink = sink
        self._snapshotter = snapshotter
        self._executor = executor
        self._observer = observer
        self._monotonic = monotonic
        self._retry_s = retry_s
        self._build: Callable[[], StagedRelease] | None = None
        self._building: Future[StagedRelease] | None = None
        self._publishing: Future[None] | None = None
        self._staged: ReleaseRecord | None = None
        self._retry_at_s = 0.0
        self._began_s = monotonic()
        self._open_reader = open_reader
        self.known: deque[KnownRelease] = deque()

    @property
    def busy(self) -> bool:
        """Whether a release is between its cut and the sink."""
        return self._build is not None or self._staged is not None

    @property
    def in_flight_s(self) -> float:
        """How long the release has been on its way that began last."""
        return self._monotonic() - self._began_s

    def recover(self) -> None:
        """Compare ledger and sink, and take up an unconfirmed release.

        Raises
        ------
        SinkConflict
            If the sink holds a release that the ledger does not know, or other bytes.
        StateCorrupted
            If the staged bytes of an unconfirmed release are gone or changed.
        Unavailable
            If they cannot be read now.
        """
        releases = self._ledger.releases()
        last = releases[-1] if releases else None
        there = self._sink.last()
        is_ahead = there is not None and (last is None or there.release_id > last.release_id)
        if is_ahead and self._open_reader is not None:
            present = self._read_known(self._open_reader)
        else:
            compare(releases, [] if there is None else [there])
            present = self._sink.present() or ([] if there is None else [there])
        self._compare_all(releases, self._sink.present())
        if last is None:
            return
        is_there = last.release_id in {release.release_id for release in present}
        if last.status is Status.STAGED:
            if is_there:
                self._confirm(last)
                return
            if self.known:
                raise underived(self.known[0].there.release_id, f"{last.release_id} is gone")
            self._check_staged(last)
            self._staged = last
        elif not is_there and self._can_be_sent_again(last):
            log.warning("the last release is gone from the sink: it is published again")
            self._staged = last

    def _read_known(self, open_reader: OpenReader) -> list[PublishedRelease]:
        """Let releases that were published be made again.

        Return those at the sink.

        A pending cut that is none of theirs goes. Withdrawals that the state does not know are
        noted.
        """
        ledger = self._ledger
        look = self._snapshotter.note_withdrawal
        present, known = read_known(open_reader, ledger.sequence(), ledger.last(), look)
        self.known.extend(known)
        compare(ledger.releases(), present, self.known)
        log.warning(
            "the sink is ahead of this state: its releases are made again and compared",
            count=len(known),
            release_id=known[0].there.release_id,
        )
        pending, cut = ledger.pending_cut(), known[0].cut
        if pending and (pending.slot_us, pending.offsets) != (cut.slot_us, cut.offsets):
            ledger.drop_cut()
        return present

    def begin(self, sequence: SequenceRecord, cut: PendingCut, snapshot: GraphSnapshot) -> None:
        """Start building the release of a cut."""
        assert not self.busy
        last = self._ledger.last()
        before = last if last and last.sequence_id == sequence.sequence_id else None
        due = DueRelease(last.index + 1 if last else 1, sequence, cut, snapshot, before)
        is_first = before is None

        def build() -> StagedRelease:
            if is_first:  # Later on values may well go out of use.
                snapshot.graph.check_present()
            snapshot.graph.check_spelling()
            return self._snapshotter.build(due)

        self._build = build
        self._began_s = self._retry_at_s = self._monotonic()
        self._observer.release_begun()
        self._building = self._executor.submit(self._build)

    def advance(self) -> None:
        """Move the release in flight on without waiting."""
        if self._building is not None and self._building.done():
            building, self._building = self._building, None
            self._stage(building)
        if self._build and not self._building and self._monotonic() >= self._retry_at_s:
            self._building = self._executor.submit(self._build)
        if self._publishing is not None and self._publishing.done():
            publishing, self._publishing = self._publishing, None
            self._finish_publishing(publishing)
        if self._staged and not self._publishing and self._monotonic() >= self._retry_at_s:
            self._offer(self._staged)

    def _stage(self, building: Future[StagedRelease]) -> None:
        """Fix the built bytes as this release, or withhold it.

        It fails closed.

        Where the disk has no room, or workers are lost, it is built again later, from the same cut.
        """
        build, self._build = self._build, None
        try:
            staged = building.result()
        except OSError as error:
            self._snapshotter.end_build(staged=False)
            self._observer.retry("stage")
            log.error(
                "release cannot be built or staged, building it again", error=type(error).__name__
            )
            self._build, self._retry_at_s = build, self._monotonic() + self._retry_s
        except Unavailable as error:
            self._snapshotter.end_build(staged=False)
            self._observer.retry("stage")
            log.warning("releases cannot be read, building it again", subject=error.subject)
            self._build, self._retry_at_s = build, self._monotonic() + self._retry_s
        except (SinkConflict, StateError):
            # Nothing can be judged beside a past release that is gone or damaged. The cut stays.
            self._snapshotter.end_build(staged=False)
            raise
        except Cancelled:
            # The service stops. Until it has, no other cut may be taken: this one is pending.
            self._snapshotter.end_build(staged=False)
            self._build, self._retry_at_s = build, self._monotonic() + self._retry_s
        except NotKTSafe as error:
            self._withhold("unsafe", error)
        except Infeasible as error:
            self._withhold("infeasible", error)
        except AbsentFromGraph as error:
            log.error(
                "nobody has what [attributes] names: correct it, or list it in expect_absent",
                subject=", ".join(error.attributes) or "sensitive_values",
                count=len(error.attributes) or error.n_values,
            )
            self._withhold("absent", error)
        except WrittenOtherwise as error:
            self._withhold("written_otherwise", error, why=str(error))
        except BelowMinimumUtility as error:
            self._withhold(error.reason, error)
        except FoundByAttack as error:
            self._withhold("attacked", error)
        except Exception as error:  # noqa: BLE001 -- whatever went wrong, nothing is published
            self._withhold("error", error)
        else:
            self._record(staged)

    def _record(self, staged: StagedRelease) -> None:
        """Fix the bytes of a release.

        One that readers have already is compared with theirs.
        """
        record = staged.record
        known = self.known[0].there if self.known else None
        if known and known != PublishedRelease(record.release_id, record.files[MANIFEST]):
            self._snapshotter.end_build(staged=False)
            raise underived(known.release_id, "what comes of this state and the feed differs")
        written = self._ledger.stage(record, staged.pages)
        self._snapshotter.end_build(staged=True)
        self._observer.sequence({**staged.counts, "pages_written": written})
        self._observer.release_audited(staged.figures)
        if known:
            self.known.popleft()
            self._confirm(record)
            log.info(
                "the sink holds this release already, byte for byte", release_id=record.release_id
            )
            return
        self._staged = record
        self._retry_at_s = self._monotonic()

    def _withhold(self, reason: str, error: Exception, *, why: str = "") -> None:
        self._snapshotter.end_build(staged=False)
        if self.known:
            raise underived(self.known[0].there.release_id, f"it is withheld as {reason!r}")
        self._ledger.drop_cut()
        self._observer.release_withheld(reason, why)
        log.error(
            "release withheld, the last one stands",
            reason=reason,
            error=type(error).__name__,
            subject=_subject(error),
        )

    def _offer(self, record: ReleaseRecord) -> None:
        if self._snapshotter.is_withdrawn(record.release_id):
            # It was at the sink, and nobody confirmed it: its owner may have deleted it on purpose.
            self._staged = None
            self._confirm(record)
            return
        started = self._monotonic()
        releases = self._ledger.releases()
        former = releases[-2] if len(releases) > 1 else None

        def publish() -> None:
            self._check_staged(record)
            lost = self._compare_all(releases, self._sink.present())
            if former and former.release_id in lost and self._can_be_sent_again(former):
                self._sink.publish(self._bundle(former))
            self._sink.publish(self._bundle(record))
            self._observer.release_phase("publish", self._monotonic() - started)

        self._publishing = self._executor.submit(publish)

    def _bundle(self, record: ReleaseRecord) -> ReleaseBundle:
        return ReleaseBundle(
            release_id=record.release_id,
            nominal_time_ms=record.slot_us // 1000,
            folder=self._snapshotter.staging_folder(record.release_id),
            files=tuple(record.files),
            recorded=record.files[MANIFEST],
        )

    def _can_be_sent_again(self, record: ReleaseRecord) -> bool:
        """Whether a lost release is of this sequence, bytes at hand.

        One that was withdrawn may have been deleted on purpose, with the marker that said so.
        """
        sequence = self._ledger.sequence()
        if sequence is None or record.sequence_id != sequence.sequence_id:
            return False
        if self._snapshotter.is_withdrawn(record.release_id):
            return False
        return self._changed_file(record) is None

    def _finish_publishing(self, publishing: Future[None]) -> None:
        assert self._staged is not None
        try:
            publishing.result()
        except Unavailable as error:
            self._observer.retry("publish")
            log.warning("sink did not confirm, offering again", subject=error.subject)
            self._retry_at_s = self._monotonic() + self._retry_s
        else:
            record, self._staged = self._staged, None
            self._confirm(record)

    def _confirm(self, record: ReleaseRecord) -> None:
        self._ledger.mark_published(record.release_id)
        self._snapshotter.keep_only(record.release_id)
        self._observer.release_published(
            record.release_id, record.slot_us, record.n_vertices, record.n_edges
        )
        log.info(
            "release published",
            release_id=record.release_id,
            vertices=record.n_vertices,
            edges=record.n_edges,
        )

    def _compare_all(
        self, releases: list[ReleaseRecord], present: list[PublishedRelease] | None
    ) -> list[str]:
        """Compare every release at the sink with the ledger.

        Return which are gone, and say so.
        """
        if present is None:
            return []
        compare(releases, present, self.known)
        lost = gone(releases, present)
        self._observer.releases_gone(len(lost))
        if lost:
            log.error(
                "published releases are gone from the sink", count=len(lost), release_id=lost[0]
            )
        return lost

    def _check_staged(self, record: ReleaseRecord) -> None:
        if self._changed_file(record) is not None:
            hint = (
                "the staged bytes of an unconfirmed release are gone or changed, and no others "
                "may take their place. Restore the state folder from a backup with `ktsafe "
                "state restore`, or start a new sequence with `ktsafe rebase`."
            )
            raise StateCorrupted("publish the staged release", f"release {record.release_id}", hint)

    def _changed_file(self, record: ReleaseRecord) -> str | None:
        """Return the first staged file unlike its record, else None."""
        folder = self._snapshotter.staging_folder(record.release_id)
        for name, expected in record.files.items():
            try:
                found = digest_regular(folder / name)
            except OSError as error:
                if is_passing(error):
                    raise Unavailable(
                        "publish the staged release",
                        f"release {record.release_id}",
                        f"its bytes cannot be read now ({error.strerror}). Raise the "
                        "limits of the service; this is tried again.",
                    ) from None
                return name
            if found != expected:
                return name
        return None


def _subject(error: Exception) -> str:
    """Return an error's subject, if a path, topic or release."""
    return error.subject if isinstance(error, OperationFailed) else ""
