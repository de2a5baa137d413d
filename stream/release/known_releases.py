"""Releases at the sink that the state does not know.

    restored state ──replay to the release's encrypted cut──▶ built again ──same bytes?──▶ ledger
                                                                    └──other bytes──▶ refused

Nothing is published meanwhile. Cut, secret and feed give the same bytes; where they do not, the
service ends and names the release.

Hints may be reworded. Nothing may be accepted that was not made again byte by byte:
tests/stream/service/test_lost_states.py loses states and changes, hides and cuts off what they
need.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from ktsafe.connectors import bundles
from ktsafe.connectors.base import (
    MANIFEST,
    PublishedRelease,
    ReleaseBundle,
    ReleaseReader,
    SinkConflict,
)
from ktsafe.state.ledger import ReleaseRecord, SequenceRecord, Status
from ktsafe.stream.files.releases_read import Manifest, ReleaseUnreadable, read_manifest
from ktsafe.stream.release.cut import Cut, PublishedCut, decrypt_cut

OpenReader = Callable[[], ReleaseReader]


@dataclasses.dataclass(frozen=True, slots=True)
class KnownRelease:
    """A release at the sink that the ledger lacks.

    Its id and digest, and where it was cut.
    """

    there: PublishedRelease
    cut: PublishedCut


def read_known(
    open_reader: OpenReader,
    sequence: SequenceRecord | None,
    last: ReleaseRecord | None,
    look: Callable[[ReleaseBundle], None] = lambda _bundle: None,
) -> tuple[list[PublishedRelease], list[KnownRelease]]:
    """Return the sink's releases, and those after the ledger's last.

    Every byte is checked. `sequence` is the ledger's current one; `look` is shown each release.

    Raises
    ------
    SinkConflict
        If one is damaged or gone, or cannot be of this state's sequence.
    Unavailable
    """
    present: list[PublishedRelease] = []
    known: list[KnownRelease] = []
    for bundle, there, manifest in _manifests(open_reader()):
        look(bundle)
        present.append(there)
        if last is None or there.release_id > last.release_id:
            _check_follows(there, last, len(known))
            known.append(KnownRelease(there, _cut_of(there, manifest, sequence)))
    return present, known


def compare(
    releases: Iterable[ReleaseRecord],
    present: Iterable[PublishedRelease],
    known: Iterable[KnownRelease] = (),
) -> None:
    """Compare the sink's releases with the ledger's, and `known` later ones.

    Raises
    ------
    SinkConflict
        If one is there that is among neither, or has other bytes.
    """
    recorded = {release.release_id: release.files[MANIFEST] for release in releases}
    recorded |= {each.there.release_id: each.there.digest for each in known}
    for there in present:
        if recorded.get(there.release_id) != there.digest:
            hint = (
                "it is not in this service's ledger with these bytes. Another service wrote to "
                "the sink, somebody changed the release, or the state folder is an old copy: "
                "restore the state that belongs to this sink, or publish to a new one."
            )
            raise SinkConflict("compare ledger and sink", f"release {there.release_id}", hint)


def gone(releases: Iterable[ReleaseRecord], present: Iterable[PublishedRelease]) -> list[str]:
    """Return the published releases that are gone from the sink.

    The oldest may have been moved away for good; a later one that is gone leaves a gap that readers
    see.
    """
    there = {release.release_id for release in present}
    oldest = min(there, default="")
    return [
        release.release_id
        for release in releases
        if release.status is Status.PUBLISHED and oldest <= release.release_id not in there
    ]


class KnownCut:
    """Meets the cut of a release that was made before. Implements `ReleaseCut`.

    Parameters
    ----------
    reached:
        The next offset of every partition so far.
    """

    def __init__(
        self, cut: PublishedCut, reached: Callable[[], Mapping[tuple[str, int], int]]
    ) -> None:
        self._cut = cut
        self._reached = reached

    @property
    def slot_us(self) -> int:
        """The slot of the release."""
        return self._cut.slot_us

    @property
    def limit_us(self) -> int:
        """The greatest event time that belonged to the slot."""
        return self._cut.slot_us

    @property
    def arrived(self) -> Collection[tuple[str, int]]:
        """The partitions that are at their cut, or beyond."""
        return [p for p, offset in self._reached().items() if offset >= self.stop_at(p)]

    def stop_at(self, partition: tuple[str, int]) -> int:
        """Return a partition's first offset outside the release."""
        return self._cut.offsets.get(_name(partition), 0)

    def admits(self, partition: tuple[str, int], time_us: int) -> bool:
        """Every event before the offset of its partition was admitted then."""
        del partition, time_us
        return True

    def due(
        self, partitions: Collection[tuple[str, int]], finished: Collection[tuple[str, int]]
    ) -> bool:
        """Whether every partition is where it was."""
        del partitions, finished
        reached = {_name(partition): offset for partition, offset in self._reached().items()}
        return all(reached.get(name, 0) >= offset for name, offset in self._cut.offsets.items())

    def take(self) -> Cut:
        """Return the cut of the release."""
        return Cut(self._cut.slot_us, collapsed=0)


def check_feed(known: Sequence[KnownRelease], ends: Mapping[tuple[str, int], int]) -> None:
    """Check that the feed has the events of known releases.

    How many it has, `ends` says.

    Raises
    ------
    SinkConflict
    """
    there = {_name(partition): end for partition, end in ends.items()}
    for release in known:
        if any(there.get(name, 0) < offset for name, offset in release.cut.offsets.items()):
            raise underived(release.there.release_id, "the feed ends before its last event")


def underived(release_id: str, reason: str) -> SinkConflict:
    """Return the error of a sink's release that cannot be remade."""
    hint = (
        f"the sink holds it, this state does not, and it cannot be made again: {reason}. Restore a "
        "backup that knows it, with the configuration and the program of that time, or publish to "
        "a new sink."
    )
    return SinkConflict("make releases again", f"release {release_id}", hint)


def unjudgeable(release_id: str) -> SinkConflict:
    """Return the error of a last release gone from the sink."""
    hint = (
        "it is gone from the sink, and no further release can be judged without it. Put it back "
        "there from a reader's copy, or begin a new sequence with `ktsafe rebase`."
    )
    return SinkConflict("read releases", f"release {release_id}", hint)


def _name(partition: tuple[str, int]) -> str:
    topic, number = partition
    return f"{topic}/{number}"


def _manifests(
    reader: ReleaseReader,
) -> Iterator[tuple[ReleaseBundle, PublishedRelease, Manifest]]:
    try:
        with tempfile.TemporaryDirectory(prefix="ktsafe-known-") as folder:
            for bundle in reader.read(Path(folder)):
                there = PublishedRelease(bundle.release_id, bundle.digest())
                try:
                    manifest = read_manifest(bundle.folder)
                except ReleaseUnreadable:
                    raise bundles.damaged(bundle.release_id, MANIFEST) from None
                yield bundle, there, manifest
                shutil.rmtree(bundle.folder)
    finally:
        reader.close()


def _check_follows(there: PublishedRelease, last: ReleaseRecord | None, n_before: int) -> None:
    """Refuse a gap in the numbers of releases."""
    expected = (last.index if last else 0) + 1 + n_before
    number, _, _ = there.release_id.partition("-")
    if number != f"{expected:06d}":
        reason = f"release {expected} should be before it and is gone from the sink"
        raise underived(there.release_id, reason)


def _cut_of(
    there: PublishedRelease, manifest: Manifest, sequence: SequenceRecord | None
) -> PublishedCut:
    if sequence is None or manifest.sequence_id != sequence.sequence_id:
        raise underived(there.release_id, "it is of another sequence")
    if manifest.cut is None:
        raise underived(there.release_id, "it was made by a version that did not say from what")
    try:
        return decrypt_cut(sequence, there.release_id, manifest.cut)
    except (ValueError, msgspec.DecodeError):
        reason = "what it says of its cut was not written with the secret of this state"
        raise underived(there.release_id, reason) from None
