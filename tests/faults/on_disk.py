"""Faults of the process and of the disk, with the service as a process that reads files."""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path

from ktsafe.stream.errors import Exit
from tests import feeds, running, services
from tests.faults.processes import (
    Watched,
    check,
    ended,
    refuses,
    seconds_until,
    stop,
    watched,
)
from tests.faults.trials import BY_ITSELF, NEXT_START, Fault, Trial

PEOPLE = 150
LOG_BYTES_MIN = 10_000
"""So much of the log is whole commits, wherever it is damaged."""
MENDED = "once it is mended, at the next start"


def site_of(folder: Path, seed: int) -> tuple[Watched, list[list[feeds.Event]]]:
    """Return a service on two files, and what they hold."""
    partitions = feeds.assigned(services.small_feed(people=PEOPLE, seed=seed), 2, seed)
    site = running.files_site(folder / "site", partitions, services.ATTRIBUTES, "month")
    return watched(site), partitions


def killed(site: Watched, seed: int) -> None:
    """Start the service and kill it while it works."""
    process = site.site.start()
    # More than one checkpoint holds: some of it is durable.
    seconds_until(lambda: site.applied() > 600, process)
    time.sleep(random.Random(seed).uniform(0.0, 0.5))
    process.kill()
    process.wait()


def kill_9(folder: Path, seed: int) -> Trial:
    """Kill a service that reads files."""
    return killed_and_started(*site_of(folder, seed), folder, seed)


def killed_and_started(
    site: Watched, partitions: list[list[feeds.Event]], folder: Path, seed: int
) -> Trial:
    """Kill the service while it reads or publishes, and start it again."""
    killed(site, seed)
    seen = {name: digest for name, (digest, _) in site.site.releases(folder / "seen").items()}
    process = site.site.start()
    ready_s = seconds_until(site.is_ready, process)
    stop(process)
    site.site.drain()
    check(site.site, partitions, folder / "read", seen)
    return Trial("`KtsafeDown`; `/readyz` after the start", ready_s)


def disk_full(folder: Path, seed: int) -> Trial:
    """Let no file grow beyond a bound, as on a full disk, and lift it again."""
    site, partitions = site_of(folder, seed)
    process = site.site.start("--drain")
    bound = random.Random(seed).randrange(20_000, 60_000)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (bound, bound))
    seen = ended(process, site, Exit.STATE, "Make the folder usable")
    process = site.site.start()
    ready_s = seconds_until(site.is_ready, process)
    stop(process)
    site.site.drain()
    check(site.site, partitions, folder / "read")
    return Trial(seen, ready_s)


def greatest(site: Watched, pattern: str) -> tuple[Path, int]:
    """Return the greatest file of a pattern in the store, and its size; an empty one if none."""
    files = [*(site.site.folder / "state/store/db").glob(pattern), Path(os.devnull)]
    return max(((path, path.stat().st_size) for path in files), key=lambda found: found[1])


def damaged(pattern: str, folder: Path, seed: int) -> Trial:
    """Flip a byte of a file of the store after a kill; then put it back, as a backup would."""
    dice = random.Random(seed)
    site, partitions = site_of(folder, seed)
    if pattern == "*.sst":
        killed(site, seed)
        # A start writes what was in the log to tables.
        process = site.site.start()
        seconds_until(site.is_ready, process)
        stop(process)
    else:
        # Killed at once: the next release would empty the log.
        process = site.site.start()
        seconds_until(lambda: greatest(site, pattern)[1] > LOG_BYTES_MIN, process)
        process.kill()
        process.wait()
    file, _ = greatest(site, pattern)
    whole = file.read_bytes()
    at = dice.randrange(len(whole) // 3)  # the first third holds data, whatever the file
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    seen = refuses(site, Exit.STATE, "ktsafe state restore")
    file.write_bytes(whole)
    process = site.site.start()
    ready_s = seconds_until(site.is_ready, process)
    stop(process)
    site.site.drain()
    check(site.site, partitions, folder / "read")
    return Trial(seen, ready_s)


def letters_full(folder: Path, seed: int) -> Trial:
    """Send dead letters to a device without room: ingest waits, and says so; then mend it."""
    site, partitions = site_of(folder, seed)
    feed = folder / "feed/feed-0.jsonl"
    feed.write_text("not an event\n" + feed.read_text())
    text = site.site.config.read_text()
    site.site.config.write_text(text.replace('"dead-letters.jsonl"', '"/dev/full"'))
    process = site.site.start()
    words = "dead letters cannot be written, ingest waits"
    seconds_until(lambda: words in site.log(), process)
    assert 'ktsafe_retries_total{op="dead_letter"}' in site.metrics()
    stop(process)
    site.site.config.write_text(text)
    process = site.site.start()
    ready_s = seconds_until(site.is_ready, process)
    stop(process)
    site.site.drain()
    check(site.site, partitions, folder / "read")
    assert site.site.dead_letters() == 1
    return Trial(f'log "{words}"; `KtsafeDeadLetterSinkUnwritable`', ready_s)


FAULTS = (
    Fault("kill -9 of the service", "files", NEXT_START, 3, kill_9),
    Fault("disk of the state full", "files", MENDED, 2, disk_full),
    Fault(
        "a byte of a table (SST) changes",
        "files",
        MENDED,
        2,
        lambda folder, seed: damaged("*.sst", folder, seed),
    ),
    Fault(
        "a byte of the log (WAL) changes",
        "files",
        MENDED,
        2,
        lambda folder, seed: damaged("*.log", folder, seed),
    ),
    Fault("dead letters without room", "files", BY_ITSELF, 2, letters_full),
)
