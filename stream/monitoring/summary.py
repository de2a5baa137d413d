"""Events of one run, counted for display and last words; the display.

Counts may be added as fields: `ktsafe run --json` prints each by its name (`counts_as_json`), so a
renamed field breaks scripts. `worth` is secret, `held_back` private; the display shows counts.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ktsafe.stream.files.release_figures import ReleaseFigures
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.pool import WorkInParts

PUBLISHED_MAX: Final = 1_000
"""Releases remembered: a service runs for years."""


@dataclasses.dataclass(slots=True)
class Counts:
    """Totals of one run.

    Attributes
    ----------
    n_published, published:
        How many releases were published in this run; id, vertices and edges of the last of them.
    phase:
        The phase of a release that ended last, at first "cut"; empty when none is in flight.
    why_withheld:
        What is to be said of the last release that was withheld, beside the reason.
    held_back:
        What the last release of a sequence holds back, for the private display.
    worth:
        What the last staged release shares with the true graph (`Secrets.worth`). SECRET.
    worths:
        The same of all releases of this run. SECRET.
    work:
        What of the last release was done in parts, for the private display.
    """

    applied: int = 0
    ignored: int = 0
    dead_letters: Counter[str] = dataclasses.field(default_factory=Counter)
    attributes_dropped: int = 0
    n_published: int = 0
    published: deque[tuple[str, int, int]] = dataclasses.field(
        default_factory=lambda: deque(maxlen=PUBLISHED_MAX)
    )
    withheld: Counter[str] = dataclasses.field(default_factory=Counter)
    why_withheld: str = ""
    slots_skipped: int = 0
    lag: int | None = None
    vertices: int = 0
    edges: int = 0
    phase: str = ""
    held_back: Mapping[str, int] = dataclasses.field(default_factory=dict)
    worth: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    worths: deque[Mapping[str, float | None]] = dataclasses.field(
        default_factory=lambda: deque(maxlen=PUBLISHED_MAX)
    )
    work: WorkInParts | None = None

    @property
    def records(self) -> int:
        """Records taken in."""
        return self.applied + self.ignored + self.dead_letters.total()


class Summary(Observer):
    """Counts notices; read `counts` at any time."""

    def __init__(self) -> None:
        self.counts = Counts()

    def event(self, kind: str, outcome: str, count: int = 1) -> None:
        """Count events by outcome."""
        if outcome == "applied":
            self.counts.applied += count
        elif outcome == "ignored":
            self.counts.ignored += count

    def dead_letter(self, reason: str, count: int = 1) -> None:
        """Count dead letters by reason."""
        self.counts.dead_letters[reason] += count

    def dropped_attributes(self, count: int) -> None:
        """Count attributes that the schema does not list."""
        self.counts.attributes_dropped += count

    def lag(self, records: Mapping[tuple[str, int], int | None]) -> None:
        """Keep the total lag where all of it is known."""
        known = [n for n in records.values() if n is not None]
        self.counts.lag = sum(known) if len(known) == len(records) else None

    def state(self, counts: Mapping[str, int], size_bytes: int) -> None:
        """Keep the sizes of the true graph, for the private display."""
        self.counts.vertices, self.counts.edges = counts["vertices"], counts["edges"]

    def slot_skipped(self, count: int) -> None:
        """Count slots without a release."""
        self.counts.slots_skipped += count

    def release_begun(self) -> None:
        """A release is in flight."""
        self.counts.phase = "cut"

    def release_phase(self, phase: str, seconds: float) -> None:
        """Keep the phase that ended last."""
        self.counts.phase = phase

    def release_parts(self, work: WorkInParts) -> None:
        """Keep what was done in parts."""
        self.counts.work = work

    def release_published(
        self, release_id: str, nominal_us: int, vertices: int, edges: int
    ) -> None:
        """Keep what was published."""
        self.counts.n_published += 1
        self.counts.published.append((release_id, vertices, edges))
        self.counts.phase = ""

    def sequence(self, counts: Mapping[str, int]) -> None:
        """Keep what the last staged release of a sequence holds back.

        Others hold nothing back.
        """
        if "cohorts" in counts:
            self.counts.held_back = counts

    def release_audited(self, figures: ReleaseFigures) -> None:
        """Keep what the release is worth, for the private display."""
        self.counts.worth = figures.secrets.worth if figures.secrets else {}
        self.counts.worths.append(self.counts.worth)

    def release_withheld(self, reason: str, why: str = "") -> None:
        """Count releases withheld by reason."""
        self.counts.withheld[reason] += 1
        self.counts.why_withheld = why
        self.counts.phase = ""


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
