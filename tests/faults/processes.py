"""The service as a process under a fault: started, watched from outside, checked at the end."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA
from ops.broker.broker import free_ports
from tests import feeds, running

PATIENCE_S = 240.0
"""Longer than anything takes on a busy machine; what takes longer hangs."""


@dataclasses.dataclass(frozen=True)
class Watched:
    """A site whose service is asked by HTTP how it is."""

    site: running.Site
    url: str

    def log(self) -> str:
        """Return everything logged so far, by all processes of the site."""
        path = self.site.folder / "log.txt"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def last_line(self) -> str:
        """Return the last line of the log."""
        return self.log().strip().splitlines()[-1]

    def answer(self, path: str) -> tuple[int, str]:
        """Return status and text of an answer; 0 if there is none."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as response:  # noqa: S310
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def is_ready(self) -> bool:
        """Whether the service says that it is ready."""
        return self.answer("/readyz")[0] == 200

    def applied(self) -> float:
        """Return how many events the running process has applied."""
        found = re.findall(
            r'ktsafe_events_total\{[^}]*outcome="applied"[^}]*\} (\S+)', self.metrics()
        )
        return sum(map(float, found))

    def published(self) -> float:
        """Return how many releases the running process has published; 0 once it has ended."""
        found = re.findall(r"^ktsafe_releases_published_total (\S+)", self.metrics(), re.MULTILINE)
        return sum(map(float, found))

    def metrics(self) -> str:
        """Return the metrics of the running process."""
        return self.answer("/metrics")[1]


def watched(site: running.Site, *, extra: str = "") -> Watched:
    """Have a site serve its metrics and log what an operator would see."""
    (port,) = free_ports(1)
    text = site.config.read_text().replace("127.0.0.1:0", f"127.0.0.1:{port}") + extra
    site.config.write_text(text)
    return Watched(site, f"http://127.0.0.1:{port}")


def seconds_until(
    what: Callable[[], bool], process: subprocess.Popen[bytes] | None = None
) -> float:
    """Wait until something is so, and return how long that took."""
    started = time.monotonic()
    while not what():
        passed = time.monotonic() - started
        assert passed < PATIENCE_S, "it hangs"
        assert process is None or process.poll() is None, f"ended with {process.returncode}"
        time.sleep(0.05)
    return time.monotonic() - started


def ended(process: subprocess.Popen[bytes], site: Watched, code: int, words: str) -> str:
    """Wait for a service to end with an exit code and a sentence; return both."""
    found = process.wait(PATIENCE_S)
    assert found == code, f"exit {found}: {site.log()[-2000:]}"
    assert words in site.last_line(), site.last_line()
    return f'exit {code}, "{words}"'


def check(
    site: running.Site,
    partitions: Sequence[Sequence[feeds.Event]],
    into: Path,
    seen: dict[str, str] | None = None,
) -> None:
    """Check that graph and releases are those of the whole feed, and none changed its bytes."""
    assert site.graph() == feeds.fold(partitions, SOCIAL_FEED_SCHEMA.attributes)
    releases = site.releases(into)
    assert len(releases) >= 3
    assert {r: releases[r][0] for r in seen or {}} == (seen or {})
    running.verify_releases([into])


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a service as its manager would; it ends with 0."""
    process.terminate()
    code = process.wait(PATIENCE_S)
    assert code == 0, f"exit {code} after SIGTERM"
