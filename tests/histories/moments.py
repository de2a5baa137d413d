"""Services as processes, and the moments of their releases: cut, staged, published."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from tests import running
from tests.histories import hurried

END_WITHIN_S: Final = 240.0
_PUBLISHED: Final = re.compile(r"release published\b.*?(\d{6}-\w+)")

forks = get_context("forkserver")
forks.set_forkserver_preload(["tests.histories.hurried"])


def is_cut(state: Path) -> bool:
    """Whether the cut of a release is pending in a state."""
    return any(state.glob("store/cuts/*/CURRENT"))


def is_staged(state: Path, published: str) -> bool:
    """Whether a release is staged in a state that comes after the last published one."""
    for manifest in state.glob("staging/*/manifest.json"):
        with suppress(OSError):
            if manifest.parent.name > published and b'"seal"' in manifest.read_bytes():
                return True
    return False


class Service:
    """A service as a process, started and ended as often as wanted."""

    def __init__(self, site: running.Site, defect: str = "", config: Path | None = None) -> None:
        self.site, self._defect = site, defect
        self._config = config or site.config
        self._sign = hurried.sign_of_sending(self._config)
        self.process: Any = None
        self.is_paused = self.is_known = False
        self.last_code = 0

    def start(self, *arguments: str) -> None:
        """Start it; it logs into the folder of its site."""
        self._sign.unlink(missing_ok=True)
        log = self._config.with_suffix(".log")
        given = self.site.overrides, self._config, log, self._defect, *arguments
        self.process = forks.Process(target=hurried.serve, args=given, daemon=True)
        self.process.start()
        self.is_paused, self.is_known = False, True

    @property
    def state(self) -> Path:
        """Where its state is."""
        return self.site.folder / "state"

    def landed(self) -> str:
        """Return the last release that it said was published, "" before the first."""
        return max(_PUBLISHED.findall(self.whole_log()), default="")

    def runs(self) -> bool:
        """Whether its process lives, standing still or not."""
        return self.process is not None and self.process.is_alive()

    def is_sending(self) -> bool:
        """Whether it is about to send a release, since the topic does not have it, or sends it."""
        return self.runs() and self._sign.exists()

    def log(self) -> str:
        """Return the end of what it logged."""
        return self.whole_log()[-1500:]

    def whole_log(self) -> str:
        """Return all that it logged."""
        with suppress(FileNotFoundError):
            return self._config.with_suffix(".log").read_text(errors="replace")
        return ""

    def ended(self) -> int | None:
        """Return how it ended, once; None while it runs, or does not."""
        if self.process is None or self.process.is_alive():
            return None
        self.last_code = code = int(self.process.exitcode)
        self.process = None
        return code

    def pause(self) -> None:
        """Let it stand still."""
        self._signal(signal.SIGSTOP)
        self.is_paused = True

    def go_on(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)
        self.is_paused = False

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process, self.is_paused = None, False

    def drain(self) -> int:
        """Run it to the end of the feed; return its exit code."""
        self.start("--drain")
        self.process.join(END_WITHIN_S)
        code = self.ended()
        if code is None:
            self.kill()
            return -1
        return code

    def _signal(self, number: int) -> None:
        os.kill(self.process.pid, number)
