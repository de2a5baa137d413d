"""A fault, how it is tried, and the table of what came of it."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

BY_ITSELF, NEXT_START = "by itself", "at the next start"
Run = Callable[[Path, int], "Trial"]
"""Tries a fault once, in an empty folder, with a seed; raises if anything was lost."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """What one try showed.

    Attributes
    ----------
    seen:
        What an operator sees: exit code, log line, answer of a probe.
    recovery_s:
        Seconds from the end of the fault until the service works again; None in simulated time.
    """

    seen: str
    recovery_s: float | None = None


@dataclasses.dataclass(frozen=True)
class Fault:
    """A fault and what the service does about it.

    Attributes
    ----------
    then:
        How it goes on: by itself, at the next start, or not before somebody mends something.
    times:
        How often it is tried, each time with the next seed.
    """

    name: str
    where: str
    then: str
    times: int
    run: Run


@dataclasses.dataclass(frozen=True)
class Outcome:
    """All tries of one fault."""

    fault: Fault
    first_seed: int
    trials: tuple[Trial, ...]
    commit: str = "unknown"

    def row(self) -> str:
        """Return the row of the table."""
        seconds = [trial.recovery_s for trial in self.trials if trial.recovery_s is not None]
        recovery = "-"
        if seconds:
            recovery = f"{statistics.median(seconds):.1f} s, at most {max(seconds):.1f} s"
        last = self.first_seed + len(self.trials) - 1
        cells = [
            self.fault.name,
            self.fault.where,
            str(len(self.trials)),
            f"{self.first_seed} to {last}" if last > self.first_seed else str(last),
            "nothing",
            self.fault.then,
            recovery,
            f"`{self.commit}`",
            "; ".join(sorted({trial.seen for trial in self.trials})),
        ]
        return "| " + " | ".join(cells) + " |"

    def keep(self, folder: Path) -> None:
        """Write what came of it, for a page that is made of several runs."""
        folder.mkdir(parents=True, exist_ok=True)
        kept = _Kept(self.first_seed, self.trials, self.commit)
        _kept_path(self.fault, folder).write_bytes(msgspec.json.encode(kept))


class _Kept(msgspec.Struct):
    """An outcome on disk."""

    first_seed: int
    trials: tuple[Trial, ...]
    commit: str = "unknown"


def kept(fault: Fault, folder: Path) -> Outcome | None:
    """Return what came of a fault in an earlier run; None if it was not tried."""
    path = _kept_path(fault, folder)
    if not path.exists():
        return None
    found = msgspec.json.decode(path.read_bytes(), type=_Kept)
    return Outcome(fault, found.first_seed, found.trials, found.commit)


def _kept_path(fault: Fault, folder: Path) -> Path:
    words = re.sub("[^a-z0-9]+", "-", f"{fault.name} {fault.where}".lower())
    return folder / f"{words}.json"


HEAD = (
    "| fault | where | tried | seeds | lost | the service goes on | recovery: median, greatest "
    "| commit | what the operator sees |\n|---|---|---|---|---|---|---|---|---|"
)
HEAD_CELLS = HEAD.partition("\n")[0].strip("| ").split(" | ")


@functools.cache
def commit() -> str:
    """Return the commit of the code that is tried, with a `+` where it was changed since."""
    command = ["git", "describe", "--always", "--abbrev=7", "--dirty=+"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def tried(fault: Fault, seed: int) -> Outcome:
    """Try a fault as often as it says; a failure names the seed that repeats it."""
    trials = []
    started = time.monotonic()
    for number in range(fault.times):
        with TemporaryDirectory(prefix="ktsafe-fault-") as folder:
            try:
                trials.append(fault.run(Path(folder), seed + number))
            except BaseException:
                again = f'python -m tests.faults --only "{fault.name}" --seed {seed + number}'
                print(f"FAILED: {fault.name}\nrepeat it: {again}", file=sys.stderr)
                raise
    print(f"{fault.name}: {fault.times} times, {time.monotonic() - started:.0f} s", flush=True)
    return Outcome(fault, seed, tuple(trials), commit())


def table(rows: Iterable[str]) -> str:
    """Return the table of all rows, in Markdown."""
    return "\n".join([HEAD, *rows]) + "\n"


@contextmanager
def heard() -> Iterator[list[str]]:
    """Give the sentences that the service logs as warnings and errors inside."""
    sentences: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            sentences.append(record.getMessage())

    ear = Ear(logging.WARNING)
    logger = logging.getLogger("ktsafe.stream")
    logger.addHandler(ear)
    try:
        yield sentences
    finally:
        logger.removeHandler(ear)


def said(sentences: Iterable[str], words: str) -> str:
    """Return the logged sentence with these words, for the table; there must be one."""
    found = [sentence for sentence in sentences if words in sentence]
    assert found, f"nobody said {words!r}"
    return f'log "{found[0]}"'


def put_section(page: Path, title: str, body: str) -> None:
    """Put a section of a page in the place of the one with its title, or at the end."""
    text = page.read_text(encoding="utf-8")
    section = f"## {title}\n\n{body.strip()}\n\n"
    old = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    # As a function: a body may hold what a template would take for a group.
    found, times = old.subn(lambda _: section, text)
    page.write_text((found if times else f"{text}\n{section}").rstrip() + "\n", encoding="utf-8")
