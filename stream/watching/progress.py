"""Progress on a terminal, of a command or of a running service; silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from stream.watching.summary import Counts, Summary


@contextmanager
def phases(title: str) -> Iterator[Callable[[str, float], None]]:
    """Give a `progress(phase, fraction_done)` callback that draws one bar on standard error."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(title, total=1.0)

        def progress(phase: str, done: float) -> None:
            bar.update(task, description=f"{title}: {phase}", completed=done)

        yield progress


class _Line:
    """Renders the counts as they stand at every refresh."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def __rich__(self) -> Text:
        counts = self._counts
        parts = [f"{counts.records:,} records"]
        if counts.lag is not None:
            parts.append(f"{counts.lag:,} to go")
        if counts.dead_letters:
            parts.append(f"{counts.dead_letters.total():,} dead letters")
        parts.append(f"{counts.n_published:,} releases")
        if counts.phase:
            parts.append(f"next one: {counts.phase} done")
        return Text("ktsafe  " + " | ".join(parts))


@contextmanager
def live_display(summary: Summary, *, drain: bool) -> Iterator[None]:
    """Show the counts of a run while it lasts. Log lines pass above the live line.

    Only a draining run on a terminal shows it: a long-running service has its dashboards.
    """
    if not (drain and sys.stderr.isatty()):
        yield
        return
    console = Console(stderr=True)
    with Live(
        _Line(summary.counts),
        console=console,
        refresh_per_second=4,
        transient=True,
        redirect_stderr=True,
    ):
        yield
