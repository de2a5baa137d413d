"""Limits of the machine that a running service reaches: disk, files, memory, a torn log.

Some need root: they put the state on a small disk of its own, which is filled up, or fails so that
the system goes on read-only, or the service into a control group without memory.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ktsafe.stream.errors import Exit
from tests.faults.on_disk import LOG_BYTES_MIN, MENDED, greatest, site_of
from tests.faults.processes import PATIENCE_S, Watched, check, ended, seconds_until, stop
from tests.faults.trials import NEXT_START, Fault, Trial
from tests.running import Site

ROOM_MADE = "once there is room, by itself or at the next start"
DISK_BYTES = 48 * 2**20
GIVEN_S = 45.0
"""How long a limited service is given to end or to complain. Where every byte of memory is asked
for in vain first it is not deadlocked, but slow beyond use."""
GROUPS = Path("/sys/fs/cgroup/memory")
"""Where control groups for memory are made, version 1."""
WAITS = ("cannot be built or staged", "did not confirm", "cannot be written")


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


def mended(site: Watched, partitions: list[list[dict[str, object]]], into: Path) -> float:
    """Start what was mended and see it through to its end; return the seconds until it worked."""
    process = site.site.start()
    ready_s = seconds_until(site.is_ready, process)
    stop(process)
    site.site.drain()
    check(site.site, partitions, into)
    return ready_s


def disk_filled(folder: Path, seed: int) -> Trial:
    """Let another program fill the disk of the state while the service runs, then make room.

    It ends where a commit finds no room, and waits where a release finds none.
    """
    site, partitions = site_of(folder, seed)
    with disk_of(site.site) as disk:
        with rest_held_back(folder):
            process = site.site.start()
            with standing_still(process, site):
                filler = disk.fill(random.Random(seed).randrange(0, 20_000))
        seconds_until(lambda: process.poll() is not None or waits(site))
        before = site.published()
        filler.unlink()
        seconds_until(lambda: process.poll() is not None or site.published() > before)
        if process.poll() is None:
            seen = "waits while a release is staged, says so, and goes on once there is room"
            stop(process)
        else:
            seen = ended(process, site, Exit.UNAVAILABLE, "Make the folder usable")
        ready_s = mended(site, partitions, folder / "read")
    return Trial(seen, ready_s)


def waits(site: Watched) -> bool:
    """Whether the service says that it waits."""
    return any(words in site.log() for words in WAITS)


def disk_read_only(folder: Path, seed: int) -> Trial:
    """Let the disk of the state fail while the service runs, back up what is there, and mend it."""
    site, partitions = site_of(folder, seed)
    with disk_of(site.site) as disk:
        with rest_held_back(folder):
            process = site.site.start()
            with standing_still(process, site):
                disk.fail()
        seen = ended(process, site, Exit.STATE, "Make the folder usable")
        for words in (["check"], ["backup"]):
            to = [str(folder / "backup")] * (words == ["backup"])
            told = [
                sys.executable,
                "-m",
                "ktsafe.stream.cli",
                "state",
                *words,
                str(site.site.config),
                *to,
            ]
            done = subprocess.run(told, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        disk.unmount()
        disk.mount()
        ready_s = mended(site, partitions, folder / "read")
        disk.unmount()
    return Trial(f"{seen}; `state backup` works meanwhile", ready_s)


def log_torn(folder: Path, seed: int) -> Trial:
    """Cut the log of a killed service anywhere; then put the whole store back, as a backup would.

    RocksDB takes a cut log for the end of what was written and tidies up behind it. That commits
    lack is found after that, by their count, so that the log alone would not mend it. The kill may
    come before the last commit was counted. Nothing has followed from that one, so the service
    goes on without it and reads its records again.
    """
    site, partitions = site_of(folder, seed)
    process = site.site.start()
    seconds_until(lambda: greatest(site, "*.log")[1] > LOG_BYTES_MIN, process)
    process.kill()
    process.wait()
    store = site.site.folder / "state/store"
    shutil.copytree(store, folder / "store")
    file, size = greatest(site, "*.log")
    file.write_bytes(file.read_bytes()[: random.Random(seed).randrange(size)])
    process = site.site.start("--drain")
    if process.wait(PATIENCE_S) == 0:
        check(site.site, partitions, folder / "read")
        return Trial("exit 0 where only a commit that was not counted yet was cut")
    seen = ended(process, site, Exit.STATE, "ktsafe state restore")
    shutil.rmtree(store)
    shutil.copytree(folder / "store", store)
    return Trial(seen, mended(site, partitions, folder / "read"))


def is_releasing(site: Watched) -> bool:
    """Whether a release was begun."""
    return bool(re.search(r"^ktsafe_releases_begun_total [1-9]", site.metrics(), re.MULTILINE))


def limited(which: int, bound: Callable[[int, random.Random], int]) -> Callable[..., Trial]:
    """Return a trial that sets a limit during a release, and lifts it by a new start."""

    def run(folder: Path, seed: int) -> Trial:
        site, partitions = site_of(folder, seed)
        process = site.site.start()
        seconds_until(lambda: is_releasing(site), process)
        limit = bound(process.pid, random.Random(seed))
        resource.prlimit(process.pid, which, (limit, resource.getrlimit(which)[1]))
        deadline = time.monotonic() + GIVEN_S

        def is_over() -> bool:
            return process.poll() is not None or waits(site) or time.monotonic() > deadline

        seconds_until(is_over)
        if process.poll() is None:
            slow = f"goes on slowly or not at all, ended after {GIVEN_S:.0f} s; `KtsafeDown`"
            seen = "waits and says so" if waits(site) else slow
            process.kill()
            process.wait()
        else:
            assert process.returncode != 0
            words = site.last_line().partition(": ")[2][-60:]
            seen = f"exit {process.returncode}" + (f', "...{words}"' if words else "")
        return Trial(seen, mended(site, partitions, folder / "read"))

    return run


def open_files(pid: int, _dice: random.Random) -> int:
    """Return a limit of open files that leaves none."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def address_space(pid: int, dice: random.Random) -> int:
    """Return a limit of memory a little above what is taken."""
    status = Path(f"/proc/{pid}/status").read_text()
    (size,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmSize:"))
    return int(size) * 1024 + dice.randrange(32 * 2**20)


def killed_for_memory(folder: Path, seed: int) -> Trial:
    """Let the system end the service during a release, for the memory of its control group."""
    site, partitions = site_of(folder, seed)
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
    return Trial("killed by the system; `KtsafeDown`", mended(site, partitions, folder / "read"))


def is_root() -> bool:
    """Whether disks can be mounted here."""
    return os.geteuid() == 0 and Path("/dev/loop-control").exists()


FAULTS = (
    Fault("the log (WAL) is cut", "files", MENDED, 3, log_torn),
    Fault(
        "no file can be opened any more",
        "files",
        NEXT_START,
        3,
        limited(resource.RLIMIT_NOFILE, open_files),
    ),
    Fault(
        "no memory is left during a release",
        "files",
        NEXT_START,
        3,
        limited(resource.RLIMIT_AS, address_space),
    ),
)
if is_root():
    FAULTS += (
        Fault("disk of the state is filled up", "files", ROOM_MADE, 4, disk_filled),
        Fault(
            "disk of the state fails, read-only from then on", "files", MENDED, 2, disk_read_only
        ),
    )
if is_root() and GROUPS.is_dir():
    FAULTS += (
        Fault("killed for its memory during a release", "files", NEXT_START, 3, killed_for_memory),
    )
