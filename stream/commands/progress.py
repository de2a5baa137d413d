"""Progress on a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def phases(title: str) -> Iterator[Callable[[str, float], None]]:
    """Give a `progress(phase, fraction_done)` callback that draws one bar on standard error."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(title, total=1.0)

        def progress(phase: str, done: float) -> None:
            bar.update(task, description=f"{title}: {phase}", completed=done)

        yield progress
