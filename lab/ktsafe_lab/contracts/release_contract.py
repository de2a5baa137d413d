"""What every release sink and its reader must do, wherever they publish."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from ktsafe.connectors.base import (
    MANIFEST,
    WITHDRAWN,
    Misconfigured,
    ReleaseBundle,
    ReleaseReader,
    ReleaseSink,
    SinkConflict,
)

CHUNK_BYTES = 4096
"""Small, so small releases have several chunks."""
TRANSACTION_BYTES_MAX = 3 * CHUNK_BYTES


class ReleaseWorld(Protocol):
    """A place for releases."""

    def sink(self) -> ReleaseSink:
        """Return a new sink, not opened."""

    def reader(self) -> ReleaseReader:
        """Return a new reader."""


def stage(
    folder: Path, release_id: str, files: Mapping[str, bytes], time_ms: int = 1_600_000_000_000
) -> ReleaseBundle:
    """Write a release's files and their manifest as the service stages them."""
    staged = folder / release_id
    staged.mkdir(parents=True)
    for name, data in files.items():
        (staged / name).write_bytes(data)
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = {"format": 1, "release_id": release_id, "sha256": sums}
    (staged / MANIFEST).write_text(json.dumps(manifest))
    return ReleaseBundle(release_id, time_ms, staged, (MANIFEST, *files))


def content(bundle: ReleaseBundle) -> dict[str, bytes]:
    return {name: (bundle.folder / name).read_bytes() for name in bundle.files}


FILES = {"vertices.csv": b"id,gender\n1,f\n", "edges.csv": b"source,target\n"}


class ReleaseContract:
    """Subclasses give a `world` fixture."""

    @pytest.fixture
    def sink(self, world: ReleaseWorld) -> Iterator[ReleaseSink]:
        sink = world.sink()
        sink.open()
        yield sink
        sink.close()

    @pytest.fixture
    def staging(self, tmp_path: Path) -> Path:
        return tmp_path / "staging"

    @pytest.fixture
    def read(
        self, world: ReleaseWorld, tmp_path: Path
    ) -> Iterator[Callable[..., list[ReleaseBundle]]]:
        reader = world.reader()
        yield lambda into="out": list(reader.read(tmp_path / into))
        reader.close()

    def test_published_bytes_come_back(
        self,
        world: ReleaseWorld,
        sink: ReleaseSink,
        staging: Path,
        read: Callable[..., list[ReleaseBundle]],
    ) -> None:
        """Releases are rebuilt byte by byte, in order, with times.

        Where they are only compared, ids and digests are the same.
        """
        staged = [
            stage(staging, "s-0001", FILES, 1_500_000_000_000),
            stage(staging, "s-0002", {"a.csv": b"", "b.csv": b""}, 1_500_000_100_000),
            stage(staging, "s-0003", {"a.csv": b"q" * (CHUNK_BYTES * 2)}, 1_500_000_200_000),
            stage(staging, "s-0010", {"a.csv": bytes(range(256)) * 130, "b.csv": b"\x00" * 9}),
        ]
        for bundle in staged:
            sink.publish(bundle)
        found = read()
        assert [b.release_id for b in found] == [b.release_id for b in staged]
        for expected, actual in zip(staged, found, strict=True):
            assert content(actual) == content(expected)
            assert actual.nominal_time_ms == expected.nominal_time_ms
            assert actual.digest() == expected.digest()
            assert actual.files[0] == MANIFEST
        reader = world.reader()
        checked = [(each.release_id, each.digest) for each in reader.check()]
        reader.close()
        assert checked == [(b.release_id, b.digest()) for b in staged]

    def test_last(self, sink: ReleaseSink, staging: Path) -> None:
        """The sink knows the last complete release and its digest."""
        assert sink.last() is None
        for release_id in ("s-0001", "s-0002"):
            bundle = stage(staging, release_id, FILES)
            sink.publish(bundle)
            last = sink.last()
            assert last is not None
            assert (last.release_id, last.digest) == (release_id, bundle.digest())

    def test_publishing_again_does_nothing(
        self, sink: ReleaseSink, staging: Path, read: Callable[..., list[ReleaseBundle]]
    ) -> None:
        """A release that is there already is not published a second time."""
        bundle = stage(staging, "s-0001", FILES)
        for _ in range(3):
            sink.publish(bundle)
        assert [b.release_id for b in read()] == ["s-0001"]

    def test_a_new_instance_goes_on(
        self,
        world: ReleaseWorld,
        sink: ReleaseSink,
        staging: Path,
        read: Callable[..., list[ReleaseBundle]],
    ) -> None:
        """After a restart that release is done, and the next follows."""
        first = stage(staging, "s-0001", FILES)
        sink.publish(first)
        sink.close()
        second = world.sink()
        second.open()
        second.publish(first)
        second.publish(stage(staging, "s-0002", FILES))
        second.close()
        assert [b.release_id for b in read()] == ["s-0001", "s-0002"]

    def test_other_bytes_are_refused(self, sink: ReleaseSink, staging: Path) -> None:
        """One release id stands for one set of bytes, for ever."""
        sink.publish(stage(staging / "a", "s-0001", FILES))
        with pytest.raises(SinkConflict):
            sink.publish(stage(staging / "b", "s-0001", {"vertices.csv": b"other"}))
        last = sink.last()
        assert last is not None
        assert last.release_id == "s-0001"

    def test_a_later_release_is_not_followed_by_an_earlier_one(
        self, sink: ReleaseSink, staging: Path
    ) -> None:
        """A sink that is ahead of its service is not written to."""
        sink.publish(stage(staging, "s-0002", FILES))
        with pytest.raises(SinkConflict):
            sink.publish(stage(staging, "s-0001", FILES))

    def test_staged_bytes_must_match_the_manifest(
        self, sink: ReleaseSink, staging: Path, read: Callable[..., list[ReleaseBundle]]
    ) -> None:
        """Bytes that changed after they were staged are never published."""
        bundle = stage(staging, "s-0001", FILES)
        (bundle.folder / "edges.csv").write_bytes(b"tampered")
        with pytest.raises(SinkConflict):
            sink.publish(bundle)
        assert sink.last() is None
        assert read() == []

    def test_recorded_bytes_are_published_and_no_others(
        self, sink: ReleaseSink, staging: Path
    ) -> None:
        """A manifest that fits its files is not enough.

        It must be the one that was recorded.
        """
        bundle = stage(staging, "s-0001", FILES)
        with pytest.raises(SinkConflict):
            sink.publish(dataclasses.replace(bundle, recorded="0" * 64))
        assert sink.last() is None
        sink.publish(dataclasses.replace(bundle, recorded=bundle.digest()))
        sink.publish(stage(staging, "s-0002", FILES))
        last = sink.last()
        assert last is not None
        assert last.release_id == "s-0002"
        present = sink.present()
        if present is not None:
            assert [release.release_id for release in present] == ["s-0001", "s-0002"]
            assert present[-1] == last

    def test_only_what_the_manifest_lists_is_published(
        self, sink: ReleaseSink, staging: Path
    ) -> None:
        """A file that the manifest does not list is private."""
        bundle = stage(staging, "s-0001", FILES)
        (bundle.folder / "mapping.csv").write_bytes(b"1,alice\n")
        extended = ReleaseBundle(
            bundle.release_id, 0, bundle.folder, (*bundle.files, "mapping.csv")
        )
        with pytest.raises(SinkConflict):
            sink.publish(extended)
        assert sink.last() is None

    @pytest.mark.parametrize("release_id", ["../s-1", ".hidden", "a/b", ""])
    def test_unsafe_names_are_refused(
        self, sink: ReleaseSink, staging: Path, release_id: str
    ) -> None:
        """A release id never leads out of the folder it is for."""
        bundle = stage(staging, "s-0001", FILES)
        renamed = ReleaseBundle(release_id, 0, bundle.folder, bundle.files)
        with pytest.raises(SinkConflict):
            sink.publish(renamed)

    def test_reading_again_into_the_same_folder(
        self, sink: ReleaseSink, staging: Path, read: Callable[..., list[ReleaseBundle]]
    ) -> None:
        """Rebuilding over the same bytes is fine; over others it is refused."""
        sink.publish(stage(staging, "s-0001", FILES))
        (first,) = read()
        assert [content(b) for b in read()] == [content(first)]
        (first.folder / "edges.csv").write_bytes(b"changed by somebody")
        with pytest.raises(SinkConflict):
            read()

    def test_following(
        self, world: ReleaseWorld, sink: ReleaseSink, staging: Path, tmp_path: Path
    ) -> None:
        """A following reader gets later releases, and ends when closed."""
        sink.publish(stage(staging, "s-0001", FILES))
        reader = world.reader()
        seen: list[str] = []
        first, second = threading.Event(), threading.Event()

        def run() -> None:
            for bundle in reader.read(tmp_path / "out", follow=True):
                seen.append(bundle.release_id)
                (first if len(seen) == 1 else second).set()

        thread = threading.Thread(target=run)
        thread.start()
        assert first.wait(20)
        sink.publish(stage(staging, "s-0002", FILES))
        assert second.wait(20)
        reader.close()
        thread.join(20)
        assert not thread.is_alive()
        assert seen == ["s-0001", "s-0002"]

    def test_a_withdrawn_release_has_its_marker(
        self,
        world: ReleaseWorld,
        sink: ReleaseSink,
        staging: Path,
        read: Callable[..., list[ReleaseBundle]],
    ) -> None:
        """Its bytes stay, and every reader finds the last marker.

        It needs no open sink, and a release that is not there cannot be withdrawn.
        """
        for release_id in ("s-0001", "s-0002"):
            sink.publish(stage(staging, release_id, FILES))
        (before, _) = read()
        assert not before.is_withdrawn()
        other = world.sink()
        other.withdraw("s-0001", b"why")
        other.withdraw("s-0001", b"better why")
        for unknown in ("s-0009", "../s-0001"):
            with pytest.raises(Misconfigured):
                other.withdraw(unknown, b"why")
        other.close()
        sink.publish(stage(staging, "s-0003", FILES))
        last = sink.last()
        assert last is not None
        assert last.release_id == "s-0003"
        for into in ("out", "new"):
            found = {bundle.release_id: bundle for bundle in read(into)}
            assert [found[one].is_withdrawn() for one in sorted(found)] == [True, False, False]
            assert (found["s-0001"].folder / WITHDRAWN).read_bytes() == b"better why"
            assert content(found["s-0001"]) == content(found["s-0002"]) | {
                MANIFEST: content(found["s-0001"])[MANIFEST]
            }

    def test_who_follows_is_told_of_a_withdrawal(
        self, world: ReleaseWorld, sink: ReleaseSink, staging: Path, tmp_path: Path
    ) -> None:
        """A release that was yielded already is yielded again, with its marker."""
        sink.publish(stage(staging, "s-0001", FILES))
        reader = world.reader()
        seen: list[bool] = []
        first, second = threading.Event(), threading.Event()

        def run() -> None:
            for bundle in reader.read(tmp_path / "out", follow=True):
                seen.append(bundle.is_withdrawn())
                (first if len(seen) == 1 else second).set()

        thread = threading.Thread(target=run)
        thread.start()
        assert first.wait(20)
        sink.withdraw("s-0001", b"why")
        assert second.wait(20)
        reader.close()
        thread.join(20)
        assert not thread.is_alive()
        assert seen == [False, True]

    def test_close_twice(self, world: ReleaseWorld, sink: ReleaseSink) -> None:
        """Closing twice, and closing what was never opened, does nothing."""
        sink.close()
        sink.close()
        world.sink().close()
        world.reader().close()
