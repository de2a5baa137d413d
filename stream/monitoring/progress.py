"""Progress of commands and services: a bar on terminals, else lines.

How it looks and how often may be changed freely, on standard error only. It shows counts, never
ids; rich is imported where there is a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from ktsafe.stream.monitoring.summary import Counts, Summary

Progress = Callable[[str, float], None]
"""Told the phase, and the fraction of the work that is done."""

SILENT_S: Final = 2.0
"""What takes less needs no line."""
LINES_S: Final = 10.0
"""Seconds between lines where there is no terminal."""


@contextmanager
def phases(title: str) -> Iterator[Progress]:
    """Give a `progress(phase, fraction_done)` callback: a bar on a terminal, else lines.

    Both say how long the rest may take. Lines go to standard error, the first after two seconds,
    and then every ten.
    """
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    from rich.console import Console  # noqa: PLC0415 -- for terminals only, and slow to load
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)

        def progress(phase: str, done: float) -> None:
            bar.update(task, description=f"{title}: {phase}", completed=done)

        yield progress


def _lines(title: str) -> Progress:
    started = time.monotonic()
    due = started + SILENT_S

    def progress(phase: str, done: float) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due:
            return
        due = now + LINES_S
        left = f", about {(now - started) * (1 - done) / done:.0f} s left" if done else ""
        typer.echo(f"ktsafe: {title}: {phase}, {done:.0%}{left}", err=True)

    return progress


class _Line:
    """Renders the counts as they stand at every refresh."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def __rich__(self) -> str:
        counts = self._counts
        parts = [f"{counts.records:,} records"]
        if counts.lag is not None:
            parts.append(f"{counts.lag:,} to go")
        if counts.dead_letters:
            parts.append(f"{counts.dead_letters.total():,} dead letters")
        parts.append(f"{counts.n_published:,} releases")
        if counts.phase:
            parts.append(f"next one: {counts.phase} done")
        return "ktsafe  " + " | ".join(parts)


@contextmanager
def live_display(summary: Summary, *, drain: bool) -> Iterator[None]:
    """Show a run's counts meanwhile, with log lines above.

    Only a draining run on a terminal shows it: a long-running service has its dashboards.
    """
    if not (drain and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console  # noqa: PLC0415 -- for terminals only, and slow to load
    from rich.live import Live  # noqa: PLC0415

    console = Console(stderr=True, markup=False, highlight=False)
    with Live(
        _Line(summary.counts),
        console=console,
        refresh_per_second=4,
        transient=True,
        redirect_stderr=True,
    ):
        yield
