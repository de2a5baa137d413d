"""Two services on a real broker: a copy of the state fences off its original."""

import shutil
import signal
import time

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import feeds, running, services

pytestmark = pytest.mark.integration


@pytest.fixture
def feed():
    """Return a feed on two partitions, split in time: what comes first, and what comes later."""
    events = services.small_feed(people=60, days=100)
    middle = events[len(events) // 2]["time"]
    partitions = feeds.assigned(events, 2, 4)
    first = [[e for e in part if e["time"] <= middle] for part in partitions]
    later = [part[len(early) :] for part, early in zip(partitions, first, strict=True)]
    return partitions, first, later


def site_of(folder, first, cluster):
    site = running.kafka_site(
        folder / "site", first, services.ATTRIBUTES, "month", cluster.bootstrap
    )
    site.config.write_text(site.config.read_text().replace('"warning"', '"info"'))
    return site


def log_of(site):
    return (site.folder / "log.txt").read_text()


def wait_for_the_end(process, *sites):
    """Wait until a process ends; if it does not, tell what all of them logged."""
    deadline = time.monotonic() + 200
    while process.poll() is None:
        assert time.monotonic() < deadline, "\n\n".join(log_of(site)[-2000:] for site in sites)
        time.sleep(0.1)


def send_later(site, later, cluster):
    running.send(cluster.bootstrap, site.settings.config.source.topic, later)


def test_whoever_took_over_with_a_copy_fences_off_the_original(tmp_path, cluster, feed):
    """Both run and build the same releases: the later one publishes, the other ends with 6."""
    partitions, first, later = feed
    original = site_of(tmp_path, first, cluster)
    there = original.start()
    copy = running.Site(tmp_path / "copy")
    here = None
    try:
        original.wait_until(lambda: "release published" in log_of(original), there)
        backup = str(tmp_path / "backup")
        assert run_command(["state", "backup", str(original.config), backup]) == Exit.OK
        copy.folder.mkdir()
        shutil.copy(original.config, copy.config)
        assert run_command(["state", "restore", str(copy.config), backup]) == Exit.OK
        here = copy.start()
        socket = copy.folder / "state" / "control.sock"
        copy.wait_until(socket.exists, here)  # Its sink is open: the original is fenced off.
        send_later(original, later, cluster)
        wait_for_the_end(there, original, copy)
        assert there.returncode == Exit.MISMATCH, log_of(original)[-2000:]
        here.send_signal(signal.SIGTERM)
        assert here.wait(60) == Exit.OK, log_of(copy)[-2000:]
    finally:
        for process in (there, here):
            if process is not None:
                process.kill()
                process.wait()
    copy.drain()
    services.check(copy, partitions, tmp_path / "read")
