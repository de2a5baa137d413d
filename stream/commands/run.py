"""`ktsafe run`: the service.

The last words may be changed; `counts_as_json` is what scripts read of a run, by the names of
`Counts`. Figures of worth are secret: `describe` leaves them out unless it is private
(tests/stream/monitoring/test_summary.py).
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Annotated

import typer

from ktsafe.stream.errors import Exit
from ktsafe.stream.files.freshness_figures import over_time_in_words, worth_over_time
from ktsafe.stream.files.release_figures import worth_in_words
from ktsafe.stream.monitoring.summary import Counts
from ktsafe.stream.process.command_line import Config, JsonAtEnd, Report


def run(
    config: Config,
    drain: Annotated[
        bool, typer.Option("--drain", help="End after the feed does, with a last release.")
    ] = False,
    as_json: JsonAtEnd = False,
) -> int:
    """Consume the feed and publish verified releases until told to stop.

    SIGTERM or Ctrl-C stops cleanly: nothing is lost, and the next start goes on where this one
    ended. A second signal exits at once, which loses nothing either.

    With --drain the exit code is 1 if releases were withheld and none was published.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration

    settings = configuration.load(config)
    from ktsafe.stream.service.assembly import serve

    counts = serve(settings, drain=drain)
    if as_json:
        typer.echo(json.dumps(counts_as_json(counts), indent=2))
    else:
        # Under a supervisor these words go to the log, which holds no figure of a release.
        is_private = sys.stderr.isatty()
        where, note = places.by_name(settings), places.PROMISE
        typer.echo(describe(counts, where, note, is_private=is_private), err=True)
    # A job that ends by itself has no reader of alerts.
    is_vain = drain and counts.withheld and not counts.n_published
    return Exit.UNSAFE if is_vain else Exit.OK


def counts_as_json(counts: Counts) -> Report:
    """Return what happened in a run, JSON-ready."""
    found = {field.name: getattr(counts, field.name) for field in dataclasses.fields(counts)}
    work = None if counts.work is None else dataclasses.asdict(counts.work)
    mean = worth_over_time(list(found.pop("worths")))
    return {**found, "published": list(counts.published), "work": work, "worth_over_time": mean}


def describe(counts: Counts, places: dict[str, str], note: str, *, is_private: bool = True) -> str:
    """Return what happened in a run, and where to look.

    Parameters
    ----------
    is_private:
        Whether only an operator reads it, so it may tell what the last release is worth.
    """
    dead = counts.dead_letters
    taken = f"{counts.applied:,} applied, {dead.total():,} dead letters, {counts.ignored:,} ignored"
    lines = [f"consumed  {counts.records:,} records: {taken}"]
    lines += [f"          dead: {n:,} {reason}" for reason, n in dead.most_common()]
    if counts.attributes_dropped:
        dropped = f"{counts.attributes_dropped:,} attributes outside the schema dropped"
        lines.append(f"          {dropped}")
    if not counts.records:
        lines.append("          nothing new: the feed is empty, or was consumed before")
    if not counts.published:
        lines.append("published nothing")
    else:
        lines.append(f"published {counts.n_published:,} releases, each verified kt-safe before")
        release_id, vertices, edges = counts.published[-1]
        lines.append(f"          last {release_id}: {vertices:,} vertices, {edges:,} edges")
        if is_private and (worth := worth_in_words(counts.worth)):
            lines.append(f"          {worth}")
        if is_private and (mean := over_time_in_words(list(counts.worths))):
            lines.append(f"          {mean}")
    if counts.withheld:
        reasons = ", ".join(f"{n} {reason}" for reason, n in counts.withheld.items())
        lines.append(f"withheld  {reasons}; the last release stands")
        if counts.why_withheld:
            lines.append(f"          {counts.why_withheld}")
    if counts.slots_skipped:
        lines.append(f"skipped   {counts.slots_skipped:,} slots without a release of their own")
    lines += [f"{name:<9} {place}" for name, place in places.items()]
    if counts.held_back:
        people, ties = counts.held_back["withheld_vertices"], counts.held_back["held_edges"]
        lines.append(f"not shown {people:,} people, {ties:,} ties, while too few others are alike")
    lines.append(f"note      {note}")
    return "\n".join(lines)
