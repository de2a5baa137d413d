"""Faults of the process and of the disk, with the service as a process that reads files."""

from __future__ import annotations

import os
import random
import resource
from pathlib import Path

from ktsafe.stream.errors import Exit
from tests import feeds, running, services
from tests.faults.processes import (
    Watched,
    check,
    ended,
    seconds_until,
    stop,
    watched,
)
from tests.faults.trials import BY_ITSELF, Fault, Trial

PEOPLE = 150
LOG_BYTES_MIN = 10_000
"""So much of the log is whole commits, wherever it is damaged."""
MENDED = "once it is mended, at the next start"


def site_of(folder: Path, seed: int) -> tuple[Watched, list[list[feeds.Event]]]:
    """Return a service on two files, and what they hold."""
    partitions = feeds.assigned(services.small_feed(people=PEOPLE, seed=seed), 2, seed)
    site = running.files_site(folder / "site", partitions, services.ATTRIBUTES, "month")
    return watched(site), partitions


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
    Fault("disk of the state full", "files", MENDED, 2, disk_full),
    Fault("dead letters without room", "files", BY_ITSELF, 2, letters_full),
)
