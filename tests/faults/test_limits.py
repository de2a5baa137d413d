"""Limits of the machine that a running service reaches: disk, files, memory, a torn log.

`make faults` runs them, each several times, at a moment or place drawn from the seed. Some need
root: they put the state on a small disk of its own, which is filled up, or fails so that the system
goes on read-only, or the service into a control group without memory.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ktsafe.stream.errors import Exit
from tests import feeds, running, services
from tests.faults.processes import (
    PATIENCE_S,
    Watched,
    check,
    ended,
    seconds_until,
    stop,
    watched,
)
from tests.running import Site

pytestmark = pytest.mark.faults

PEOPLE = 150
LOG_BYTES_MIN = 10_000
"""So much of the log is whole commits, wherever it is damaged."""
DISK_BYTES = 48 * 2**20
GIVEN_S = 45.0
"""How long a limited service is given to end or to complain. Where every byte of memory is asked
for in vain first it is not deadlocked, but slow beyond use."""
GROUPS = Path("/sys/fs/cgroup/memory")
"""Where control groups for memory are made, version 1."""
WAITS = ("cannot be built or staged", "did not confirm", "cannot be written")


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="mounts a disk"
)
needs_groups = pytest.mark.skipif(
    os.geteuid() != 0 or not GROUPS.is_dir(), reason="makes a control group"
)


def site_of(folder: Path, seed: int) -> tuple[Watched, list[list[feeds.Event]]]:
    """Return a service on two files, and what they hold."""
    partitions = feeds.assigned(services.small_feed(people=PEOPLE, seed=seed), 2, seed)
    site = running.files_site(folder / "site", partitions, services.ATTRIBUTES, "month")
    return watched(site), partitions


def command(*words: str | Path) -> None:
    """Run a command of the system."""
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


class Disk:
    """A small disk in a file, mounted where a service keeps its state."""

    def __init__(self, image: Path, place: Path) -> None:
        self._image, self._place = image, place

    def mount(self) -> None:
        """Mount it, checked and mended before."""
        subprocess.run(["e2fsck", "-fy", self._image], check=False, capture_output=True)
        command("mount", "-o", "loop", self._image, self._place)
        self._place.chmod(0o700)

    def unmount(self) -> None:
        """Take it away."""
        command("umount", self._place)

    def fail(self) -> None:
        """Have the system find it broken: from now on it is read-only, under whoever writes."""
        command("mount", "-o", "remount,abort", self._place)

    def fill(self, left: int) -> Path:
        """Fill it up but for `left` bytes; return the file that does."""
        filler = self._place / "filler"
        with filler.open("wb", buffering=0) as file:
            with suppress(OSError):
                while file.write(bytes(4096)):
                    pass
            file.truncate(max(0, file.tell() - left))
        return filler


@contextmanager
def disk_of(site: Site) -> Iterator[Disk]:
    """Give the state of a site a disk of its own."""
    image, place = site.folder / "disk", site.folder / "state"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    command("mkfs.ext4", "-q", image)
    place.mkdir(mode=0o700)
    disk = Disk(image, place)
    disk.mount()
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", place], check=False, capture_output=True)


def greatest(site: Watched, pattern: str) -> tuple[Path, int]:
    """Return the greatest file of a pattern in the store, and its size; an empty one if none."""
    files = [*(site.site.folder / "state/store/db").glob(pattern), Path(os.devnull)]
    return max(((path, path.stat().st_size) for path in files), key=lambda found: found[1])


@contextmanager
def standing_still(process: subprocess.Popen[bytes], site: Watched) -> Iterator[None]:
    """Hold a service that has read its first records, so that more is to be written after."""
    seconds_until(lambda: site.applied() > 0, process)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def rest_held_back(folder: Path) -> Iterator[None]:
    """Write half of each file of a feed only in the end, so that there is something to read then.

    On a fast machine a service has used a feed up before anything can happen to it.
    """
    rests = {}
    for path in (folder / "feed").iterdir():
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: len(lines) // 2]))
        rests[path] = b"".join(lines[len(lines) // 2 :])
    yield
    for path, rest in rests.items():
        with path.open("ab") as file:
            file.write(rest)


def mended(site: Watched, partitions: list[list[dict[str, object]]], into: Path) -> None:
    """Start what was mended and see it through to its end."""
    process = site.site.start()
    seconds_until(site.is_ready, process)
    stop(process)
    site.site.drain()
    check(site.site, partitions, into)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_full_disk_ends_the_service(tmp_path, seed):
    """No file may grow beyond a bound; once that is lifted a new start goes on."""
    site, partitions = site_of(tmp_path, seed)
    process = site.site.start("--drain")
    bound = random.Random(seed).randrange(20_000, 60_000)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (bound, bound))
    ended(process, site, Exit.STATE, "Make the folder usable")
    mended(site, partitions, tmp_path / "read")


def test_ingest_waits_for_dead_letters_without_room(tmp_path):
    """The service says so, and a start with room goes on."""
    site, partitions = site_of(tmp_path, 1)
    feed = tmp_path / "feed/feed-0.jsonl"
    feed.write_text("not an event\n" + feed.read_text())
    text = site.site.config.read_text()
    site.site.config.write_text(text.replace('"dead-letters.jsonl"', '"/dev/full"'))
    process = site.site.start()
    words = "dead letters cannot be written, ingest waits"
    seconds_until(lambda: words in site.log(), process)
    assert 'ktsafe_retries_total{op="dead_letter"}' in site.metrics()
    stop(process)
    site.site.config.write_text(text)
    mended(site, partitions, tmp_path / "read")
    assert site.site.dead_letters() == 1


@needs_root
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_disk_that_another_program_fills_holds_the_service_up(tmp_path, seed):
    """It ends where a commit finds no room, and waits where a release finds none."""
    site, partitions = site_of(tmp_path, seed)
    with disk_of(site.site) as disk:
        with rest_held_back(tmp_path):
            process = site.site.start()
            with standing_still(process, site):
                filler = disk.fill(random.Random(seed).randrange(0, 20_000))
        seconds_until(lambda: process.poll() is not None or waits(site))
        before = site.published()
        filler.unlink()
        seconds_until(lambda: process.poll() is not None or site.published() > before)
        if process.poll() is None:
            stop(process)
        else:
            ended(process, site, Exit.UNAVAILABLE, "Make the folder usable")
        mended(site, partitions, tmp_path / "read")


def waits(site: Watched) -> bool:
    """Whether the service says that it waits."""
    return any(words in site.log() for words in WAITS)


@needs_root
@pytest.mark.parametrize("seed", [1, 2])
def test_a_disk_that_fails_ends_the_service(tmp_path, seed):
    """What is there can be checked and backed up; mended, it goes on."""
    site, partitions = site_of(tmp_path, seed)
    with disk_of(site.site) as disk:
        with rest_held_back(tmp_path):
            process = site.site.start()
            with standing_still(process, site):
                disk.fail()
        ended(process, site, Exit.STATE, "Make the folder usable")
        config = str(site.site.config)
        for words in (
            ["config", config, "--state"],
            ["state", "backup", config, str(tmp_path / "backup")],
        ):
            told = [sys.executable, "-m", "ktsafe.stream.cli", *words]
            done = subprocess.run(told, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        disk.unmount()
        disk.mount()
        mended(site, partitions, tmp_path / "read")
        disk.unmount()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_torn_log_ends_the_service_unless_nothing_followed_from_it(tmp_path, seed):
    """The log of a killed service is cut anywhere; then the whole store is put back.

    RocksDB takes a cut log for the end of what was written and tidies up behind it. That commits
    lack is found after that, by their count, so that the log alone would not mend it. The kill may
    come before the last commit was counted. Nothing has followed from that one, so the service
    goes on without it and reads its records again.
    """
    site, partitions = site_of(tmp_path, seed)
    process = site.site.start()
    seconds_until(lambda: greatest(site, "*.log")[1] > LOG_BYTES_MIN, process)
    process.kill()
    process.wait()
    store = site.site.folder / "state/store"
    shutil.copytree(store, tmp_path / "store")
    file, size = greatest(site, "*.log")
    file.write_bytes(file.read_bytes()[: random.Random(seed).randrange(size)])
    process = site.site.start("--drain")
    if process.wait(PATIENCE_S) == 0:
        # Only a commit that was not counted yet was cut.
        check(site.site, partitions, tmp_path / "read")
        return
    ended(process, site, Exit.STATE, "ktsafe state restore")
    shutil.rmtree(store)
    shutil.copytree(tmp_path / "store", store)
    mended(site, partitions, tmp_path / "read")


def is_releasing(site: Watched) -> bool:
    """Whether a release was begun."""
    return bool(re.search(r"^ktsafe_releases_begun_total [1-9]", site.metrics(), re.MULTILINE))


def open_files(pid: int, _dice: random.Random) -> int:
    """Return a limit of open files that leaves none."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def address_space(pid: int, dice: random.Random) -> int:
    """Return a limit of memory a little above what is taken."""
    status = Path(f"/proc/{pid}/status").read_text()
    (size,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmSize:"))
    return int(size) * 1024 + dice.randrange(32 * 2**20)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("which", "bound"),
    [(resource.RLIMIT_NOFILE, open_files), (resource.RLIMIT_AS, address_space)],
    ids=["files", "memory"],
)
def test_a_limit_that_is_reached_during_a_release_loses_nothing(tmp_path, which, bound, seed):
    """The service ends, waits, or is ended; a new start without the limit goes on."""
    site, partitions = site_of(tmp_path, seed)
    process = site.site.start()
    seconds_until(lambda: is_releasing(site), process)
    limit = bound(process.pid, random.Random(seed))
    resource.prlimit(process.pid, which, (limit, resource.getrlimit(which)[1]))
    deadline = time.monotonic() + GIVEN_S
    seconds_until(lambda: process.poll() is not None or waits(site) or time.monotonic() > deadline)
    if process.poll() is None:
        process.kill()
        process.wait()
    else:
        assert process.returncode != 0
    mended(site, partitions, tmp_path / "read")


@needs_groups
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_service_that_the_system_ends_for_its_memory_loses_nothing(tmp_path, seed):
    """Its control group has none left during a release; a new start goes on."""
    site, partitions = site_of(tmp_path, seed)
    group = GROUPS / f"ktsafe-fault-{os.getpid()}-{seed}"
    group.mkdir()
    try:
        process = site.site.start()
        (group / "cgroup.procs").write_text(str(process.pid))
        seconds_until(lambda: is_releasing(site), process)
        used = int((group / "memory.usage_in_bytes").read_text())
        limit = used + random.Random(seed).randrange(4 * 2**20)
        (group / "memory.limit_in_bytes").write_text(str(limit))
        process.wait(PATIENCE_S)
    finally:
        seconds_until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
    assert process.returncode == -signal.SIGKILL, f"exit {process.returncode}"
    mended(site, partitions, tmp_path / "read")
