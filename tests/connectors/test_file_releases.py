"""Folders as release sink."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ktsafe.connectors import bundles
from ktsafe.connectors.base import MANIFEST, Misconfigured, SinkConflict, Unavailable
from ktsafe.connectors.files import (
    FileReleaseReader,
    FileReleaseSink,
)
from ktsafe_lab.contracts.release_contract import FILES, ReleaseContract, content, stage


class FileReleaseWorld:
    """A folder of releases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sink(self) -> FileReleaseSink:
        return FileReleaseSink(self.folder)

    def reader(self) -> FileReleaseReader:
        return FileReleaseReader(self.folder)


class TestFileReleases(ReleaseContract):
    """Releases in folders."""

    @pytest.fixture
    def world(self, tmp_path: Path) -> FileReleaseWorld:
        return FileReleaseWorld(tmp_path / "releases")


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[FileReleaseSink]:
    """Return an open sink on a folder."""
    with closing(FileReleaseSink(tmp_path / "releases")) as made:
        made.open()
        yield made


def test_one_publisher_per_folder(tmp_path: Path) -> None:
    """A second sink on the same folder is refused while the first one is open."""
    first, second = FileReleaseSink(tmp_path), FileReleaseSink(tmp_path)
    first.open()
    with pytest.raises(Unavailable):
        second.open()
    first.close()
    second.open()
    second.close()


@pytest.mark.parametrize("name", [MANIFEST, "edges.csv"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file_is_neither_read_nor_published(
    sink: FileReleaseSink, tmp_path: Path, name: str, kind: str
) -> None:
    """A pipe would be waited for, a device read, for ever: neither is opened."""

    def forge(folder: Path) -> None:
        (folder / name).unlink()
        if kind == "pipe":
            os.mkfifo(folder / name)
        else:
            (folder / name).symlink_to("/dev/zero")

    staged = stage(tmp_path / "staging", "s-0001", FILES)
    sink.publish(staged)
    forge(tmp_path / "releases" / "s-0001")
    with pytest.raises(SinkConflict):
        list(FileReleaseReader(tmp_path / "releases").read(tmp_path / "out"))
    other = stage(tmp_path / "staging", "s-0002", FILES)
    forge(other.folder)
    with pytest.raises(SinkConflict):
        sink.publish(other)


def test_what_is_listed_is_published_and_read_once(tmp_path: Path) -> None:
    """A file less than the manifest lists is refused; so is a copy of other bytes by that name."""
    for name in ("one", "other"):
        files = {**FILES, "edges.csv": FILES["edges.csv"] * (1 + (name == "other"))}
        sink = FileReleaseSink(tmp_path / name)
        sink.open()
        bundle = stage(tmp_path / "staging" / name, "s-0001", files)
        with pytest.raises(SinkConflict, match="not those that its manifest lists"):
            sink.publish(dataclasses.replace(bundle, files=bundle.files[:-1]))
        sink.publish(bundle)
        sink.close()
    for _ in range(2):
        assert len(list(FileReleaseReader(tmp_path / "one").read(tmp_path / "out"))) == 1
    with pytest.raises(SinkConflict, match="it holds other bytes"):
        list(FileReleaseReader(tmp_path / "other").read(tmp_path / "out"))


@pytest.mark.parametrize("name", [MANIFEST, "edges.csv"])
def test_what_a_disk_changed_while_it_was_copied_gets_no_name(
    sink: FileReleaseSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A disk that lies: what lies at the sink, or is read from it, is read again before its use."""
    copy = bundles.copy_files

    def lying(names: Iterable[str], source: Path, target: Path) -> None:
        copy(names, source, target)
        data = (target / name).read_bytes()
        (target / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    sink.publish(stage(tmp_path / "staging", "s-0001", FILES))
    monkeypatch.setattr(bundles, "copy_files", lying)
    with pytest.raises(SinkConflict):
        sink.publish(stage(tmp_path / "staging", "s-0002", FILES))
    assert [release.release_id for release in sink.present()] == ["s-0001"]
    sink.close()
    with pytest.raises(SinkConflict):
        list(FileReleaseReader(tmp_path / "releases").read(tmp_path / "out"))
    assert not list((tmp_path / "out").glob("s-*"))


def test_a_release_is_on_the_disk_before_it_has_its_name(
    sink: FileReleaseSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the power goes it is there whole or not at all, and told published it is there."""
    synced: list[Path] = []
    real_sync, real_rename = os.fsync, Path.rename

    def sync(number: int) -> None:
        synced.append(Path(f"/proc/self/fd/{number}").readlink())
        real_sync(number)

    def rename(source: Path, target: Path) -> Path:
        assert {*synced} >= {source, *source.iterdir()}
        synced.clear()
        return real_rename(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    staged = stage(tmp_path / "staging", "s-0001", FILES)
    for _ in range(2):  # The second time it is there already, perhaps without its name on disk.
        sink.publish(staged)
        assert synced == [tmp_path / "releases"]
        synced.clear()


def test_an_unfinished_release_is_invisible_and_cleared(
    sink: FileReleaseSink, tmp_path: Path
) -> None:
    """What a crash left under a temporary name is never read, and does not stay."""
    sink.publish(stage(tmp_path / "staging", "s-0001", FILES))
    sink.close()
    leftover = tmp_path / "releases" / ".tmp-s-0002"
    leftover.mkdir()
    (leftover / "vertices.csv").write_bytes(b"half")
    reader = FileReleaseReader(tmp_path / "releases")
    assert [b.release_id for b in reader.read(tmp_path / "out")] == ["s-0001"]
    sink.open()
    assert not leftover.exists()


def test_a_sink_knows_its_last_release_by_every_byte(sink: FileReleaseSink, tmp_path: Path) -> None:
    """A table that somebody changed there is found at the start, and nothing is published after."""
    sink.publish(stage(tmp_path / "staging", "s-0001", FILES))
    (tmp_path / "releases" / "s-0001" / "edges.csv").write_bytes(b"changed")
    with pytest.raises(SinkConflict):
        sink.last()
    with pytest.raises(SinkConflict):
        sink.publish(stage(tmp_path / "staging", "s-0002", FILES))


def test_foreign_files_in_the_folder(tmp_path: Path) -> None:
    """Something that is no release stops reader and sink instead of being taken for one."""
    (tmp_path / "notes").mkdir()
    with pytest.raises(SinkConflict):
        list(FileReleaseReader(tmp_path).read(tmp_path.parent / "out"))
    sink = FileReleaseSink(tmp_path)
    sink.open()
    with pytest.raises(SinkConflict):
        sink.last()
    sink.close()


def test_a_full_disk_leaves_no_release(
    sink: FileReleaseSink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that fails is `Unavailable`, leaves nothing visible, and succeeds later."""
    bundle = stage(tmp_path / "staging", "s-0001", FILES)
    with monkeypatch.context() as patch:

        def full(_descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(os, "fsync", full)
        with pytest.raises(Unavailable):
            sink.publish(bundle)
    assert sink.last() is None
    sink.publish(bundle)
    (found,) = FileReleaseReader(tmp_path / "releases").read(tmp_path / "out")
    assert content(found) == content(bundle)


def test_reading_into_the_same_folder_is_refused(tmp_path: Path) -> None:
    """Releases are not rebuilt over themselves; a missing folder is named."""
    with pytest.raises(Misconfigured):
        list(FileReleaseReader(tmp_path).read(tmp_path))
    with pytest.raises(Misconfigured):
        list(FileReleaseReader(tmp_path / "none").read(tmp_path))


def test_manifest_must_list_plain_names(tmp_path: Path) -> None:
    """A manifest cannot make a reader write outside its folder."""
    folder = tmp_path / "releases" / "s-0001"
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text(json.dumps({"sha256": {"../evil": "0" * 64}}))
    with pytest.raises(SinkConflict):
        list(FileReleaseReader(tmp_path / "releases").read(tmp_path / "out"))
