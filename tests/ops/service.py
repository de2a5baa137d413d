"""A real service as a process, with its HTTP endpoints, for whoever looks at it from outside."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ktsafe.connectors import kafka_topics  # noqa: F401 -- imports kafka-python without warnings
from tests import running, services

DEADLINE_S = 800.0
"""Kernels may have to be compiled first."""


class RunningService:
    """A service that follows a file, and the file."""

    def __init__(
        self, folder: Path, *, every: str = "1w", people: int = 120, days: int = 100
    ) -> None:
        self.events = services.small_feed(people=people, days=days)
        self._taken = len(self.events) // 2
        first = self.events[: self._taken]
        attributes = services.ATTRIBUTES | {"quasi_identifiers": ["gender"]}
        self.site = running.files_site(folder, [first], attributes, every)
        text = self.site.config.read_text().replace(running.UNATTACKED, "")
        # Of a hundred that are drawn freely one is found out by chance, which raises an alert.
        text = text.replace("[release]\n", "[release]\nseed = 2\n")
        text += "\n[statistics]\nepsilon_per_year = 5.0\n"
        self.site.config.write_text(text)
        self.feed = folder.parent / "feed/feed-0.jsonl"
        self.url = ""
        self.token = ""

    def guard(self, token: str) -> None:
        """Let the service ask for a token."""
        self.token = token
        path = self.site.folder / "token"
        path.touch(mode=0o600)
        path.write_text(f"{token}\n")
        text = self.site.config.read_text()
        text = text.replace("[metrics]\n", '[metrics]\ntoken_file = "token"\n')
        self.site.config.write_text(text)

    def go_on(self, count: int) -> None:
        """Append further events to the feed, as long as there are any."""
        events = self.events[self._taken : self._taken + count]
        self._taken += len(events)
        with self.feed.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in events)

    def complain(self) -> None:
        """Append records that cannot be applied."""
        with self.feed.open("a", encoding="utf-8") as file:
            file.writelines('{"type": "vertex.upsert"}\n' for _ in range(500))

    def report(self) -> Any:
        """Return `/status.json`."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(f"{self.url}/status.json", headers=headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310
            return json.load(response)

    @contextmanager
    def running(self) -> Iterator[RunningService]:
        """Run the service; within the block it has published a release."""
        process = self.site.start()
        try:
            self._wait(process, "it listens", self._listens)
            self._wait(process, "releases are out", lambda: self.report()["published"] > 2)
            yield self
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) == 0, self.log()
        finally:
            process.kill()
            process.wait()

    def log(self) -> str:
        """Return what the service wrote to standard error."""
        return (self.site.folder / "log.txt").read_text()

    def _listens(self) -> bool:
        if found := re.search(r"event=\"serving .*url=(\S+)", self.log()):
            self.url = found[1]
        return bool(found)

    def _wait(self, process: subprocess.Popen[bytes], what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"waited in vain until {what}\n{self.log()}"
            time.sleep(0.3)
