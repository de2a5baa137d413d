"""The publication protocol: one set of bytes per release, for ever.

    build ─▶ (1) staged files ─▶ (2) ledger STAGED ─▶ (3) sink ─▶ (4) ledger PUBLISHED
                                         ▲              │
                                         └──────────────┘ any error or unknown outcome

A crash before (2) builds the release again from the frozen cut; after (2) its bytes are fixed, and
(3) is repeated with them until the sink has confirmed. Before every (3), and at every start, the
staged bytes and the releases at the sink are compared with the ledger's record of them. What
somebody changed in between is not published, and nothing is published after it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar

from ktsafe.connectors.base import MANIFEST, PublishedRelease, ReleaseBundle, ReleaseSink
from ktsafe.connectors.errors import SinkConflict, Unavailable
from ktsafe.connectors.regular_files import digest_regular, is_passing
from ktsafe.errors import AbsentFromGraph, Infeasible, NotKTSafe, OperationFailed, Worthless
from ktsafe.state.errors import StateCorrupted
from ktsafe.state.ledger import Ledger, PendingCut, ReleaseRecord, SequenceRecord, Status
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.stream.errors import FoundByAttack
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
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

    @property
    def busy(self) -> bool:
        """Whether a release is between its cut and the sink."""
        return self._build is not None or self._staged is not None

    def recover(self) -> None:
        """Compare ledger and sink, and take up a release that was staged but not confirmed.

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
        there = self._sink.last()
        self._compare(releases, [] if there is None else [there])
        self._compare_all(releases)
        last = releases[-1] if releases else None
        if last is None or last.status is Status.PUBLISHED:
            return
        if there is not None and there.release_id == last.release_id:
            self._confirm(last)
            return
        self._check_staged(last)
        self._staged = last

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
            return self._snapshotter.build(due)

        self._build = build
        self._retry_at_s = self._monotonic()
        self._observer.release_begun()
        self._building = self._executor.submit(self._build)

    def advance(self) -> None:
        """Move the release in flight on, as far as that is possible without waiting."""
        if self._building is not None and self._building.done():
            building, self._building = self._building, None
            self._stage(building)
        if self._build and not self._building and self._monotonic() >= self._retry_at_s:
            self._building = self._executor.submit(self._build)
        if self._publishing is not None and self._publishing.done():
            publishing, self._publishing = self._publishing, None
            self._settle(publishing)
        if self._staged and not self._publishing and self._monotonic() >= self._retry_at_s:
            self._offer(self._staged)

    def _stage(self, building: Future[StagedRelease]) -> None:
        """Make the built bytes the only bytes of this release, or withhold it: fail closed.

        Where the disk has no room, or workers are lost, it is built again later, from the same cut.
        """
        build, self._build = self._build, None
        try:
            staged = building.result()
        except OSError as error:
            self._snapshotter.settle(staged=False)
            self._observer.retry("stage")
            log.error(
                "release cannot be built or staged, building it again", error=type(error).__name__
            )
            self._build, self._retry_at_s = build, self._monotonic() + self._retry_s
        except Cancelled:
            self._snapshotter.settle(staged=False)
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
        except Worthless as error:
            self._withhold(error.reason, error)
        except FoundByAttack as error:
            self._withhold("attacked", error)
        except Exception as error:  # noqa: BLE001 -- whatever went wrong, nothing is published
            self._withhold("error", error)
        else:
            self._ledger.stage(staged.record, staged.pages)
            self._snapshotter.settle(staged=True)
            self._observer.sequence(staged.counts)
            self._observer.release_audited(staged.figures)
            self._staged = staged.record
            self._retry_at_s = self._monotonic()

    def _withhold(self, reason: str, error: Exception) -> None:
        self._snapshotter.settle(staged=False)
        self._ledger.drop_cut()
        self._observer.release_withheld(reason)
        log.error(
            "release withheld, the last one stands",
            reason=reason,
            error=type(error).__name__,
            subject=_subject(error),
        )

    def _offer(self, record: ReleaseRecord) -> None:
        bundle = ReleaseBundle(
            release_id=record.release_id,
            nominal_time_ms=record.slot_us // 1000,
            folder=self._snapshotter.staging_folder(record.release_id),
            files=tuple(record.files),
            recorded=record.files[MANIFEST],
        )
        started = self._monotonic()
        releases = self._ledger.releases()

        def publish() -> None:
            self._check_staged(record)
            self._compare_all(releases)
            self._sink.publish(bundle)
            self._observer.release_phase("publish", self._monotonic() - started)

        self._publishing = self._executor.submit(publish)

    def _settle(self, publishing: Future[None]) -> None:
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
        self._snapshotter.discard(record.release_id)
        self._observer.release_published(
            record.release_id, record.slot_us, record.n_vertices, record.n_edges
        )
        log.info(
            "release published",
            release_id=record.release_id,
            vertices=record.n_vertices,
            edges=record.n_edges,
        )

    def _compare_all(self, releases: list[ReleaseRecord]) -> None:
        """Compare every release at the sink with the ledger; say so if some are gone.

        The oldest may have been moved away for good; a later one that is gone leaves a gap that
        readers see. No release is published again: its bytes are not kept.
        """
        present = self._sink.present()
        if present is None:
            return
        self._compare(releases, present)
        there = {release.release_id for release in present}
        oldest = min(there, default="")
        gone = [
            release.release_id
            for release in releases
            if release.status is Status.PUBLISHED and oldest <= release.release_id not in there
        ]
        if gone:
            log.error(
                "published releases are gone from the sink", count=len(gone), release_id=gone[0]
            )

    def _compare(self, releases: list[ReleaseRecord], there: list[PublishedRelease]) -> None:
        known = {release.release_id: release.files[MANIFEST] for release in releases}
        for release in there:
            if known.get(release.release_id) != release.digest:
                hint = (
                    "it is not in this service's ledger with these bytes. Another service wrote to "
                    "the sink, somebody changed the release, or the state folder is an old copy: "
                    "restore the state that belongs to this sink, or publish to a new one."
                )
                raise SinkConflict("compare ledger and sink", f"release {release.release_id}", hint)

    def _check_staged(self, record: ReleaseRecord) -> None:
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
                found = ""
            if found != expected:
                hint = (
                    "the staged bytes of an unconfirmed release are gone or changed, and no others "
                    "may take their place. Restore the state folder from a backup with `ktsafe "
                    "state restore`, or start a new sequence with `ktsafe rebase`."
                )
                raise StateCorrupted(
                    "publish the staged release", f"release {record.release_id}", hint
                )


def _subject(error: Exception) -> str:
    """Return what an error is about, where that is a path, a topic or a release and no person."""
    return error.subject if isinstance(error, OperationFailed) else ""
