"""`ktsafe run` and `ktsafe next`: releases, by a service or by hand.

Words may be changed; options go with `make reference`. `counts_as_json` is what scripts read of a
run, by the names of `Counts`. Figures of worth are secret: `describe` leaves them out unless it is
private (tests/stream/monitoring/test_summary.py).
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ktsafe.graph.inputs.names import chosen_columns
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.release_figures import over_time_in_words, worth_in_words, worth_over_time
from ktsafe.stream.monitoring.summary import Counts
from ktsafe.stream.process.command_line import (
    Columns,
    Config,
    Edges,
    Json,
    JsonAtEnd,
    Report,
    Vertices,
    say,
)

if TYPE_CHECKING:
    from ktsafe.stream.service.next_release import NextReport


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


# `ktsafe next`: the next release of a sequence, from the whole network.


def next_release(
    vertices: Vertices,
    edges: Edges,
    sequence: Annotated[
        Path, typer.Option(help="Folder of the sequence; made by the first release.")
    ],
    schema: Annotated[
        Path | None, typer.Option(help="TOML with the [attributes] table; for the first release.")
    ] = None,
    at: Annotated[
        str, typer.Option(help="Date of the tables, 2026-01-31. Default: today (UTC).")
    ] = "",
    k: Annotated[
        int | None, typer.Option(help="Least number of candidates; for the first. Default: 10.")
    ] = None,
    columns: Columns = "",
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="For the first: repeatable releases, for tests."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Make a sequence's next release from the whole network.

    Run it as often as you like to publish, with the date of the tables. What it needs of earlier
    dates lies in the folder of the sequence. Run again with the same tables and date it changes
    nothing. The exit code is 1 if the release was withheld.
    """
    from ktsafe.stream.files.graphs import read_schema
    from ktsafe.stream.service.next_release import Beginning, next_release_of

    chosen = chosen_columns(columns)
    files = (vertices, edges)
    _check_there(*files)

    def write(room: Path) -> None:
        for path, name in zip(files, ("vertices", "edges"), strict=True):
            suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
            shutil.copyfile(path, room / f"{name}{suffix}")

    text = None if schema is None else schema.read_bytes()
    asked = Beginning(None if schema is None else read_schema(schema), text, k, seed, chosen)
    report = next_release_of(sequence, write, at, asked)
    say(report, _words(report), as_json=as_json)
    return Exit.UNSAFE if report.withheld and report.release is None else Exit.OK


def _check_there(*files: Path) -> None:
    """Refuse missing files, and files with names that hide their content."""
    from ktsafe.connectors.files.dumps import SUFFIXES

    for path in files:
        if not path.is_file():
            raise ConfigError(f"{path} is no file.", hint="Name the tables of the whole network.")
        if not path.name.endswith(SUFFIXES):
            raise ConfigError(f"{path} must end in {', '.join(SUFFIXES)}.")


def _words(report: NextReport) -> str:
    """Return the report for people."""
    date, release = report.date, report.release
    read = f"read      {report.vertices:,} people, {report.edges:,} ties of {date}"
    lines = [f"{read}; {report.events:,} changes"]
    if passed := report.edges_repeated + report.loops:
        lines.append(f"          {passed:,} rows ignored: repeated ties, or to oneself")
    for reason, count in sorted(report.dead_letters.items()):
        lines.append(f"dead      {count:,} {reason}: see private/dead-letters.jsonl")
    if release is not None:
        word = "published" if report.is_new else "unchanged"
        lines.append(f"{word} {release}, verified kt-safe alone and with all before")
    elif report.withheld:
        lines.append(f"withheld  {', '.join(sorted(report.withheld))}; the last release stands")
        if report.why:
            lines.append(f"          {report.why}")
    else:
        lines.append("unchanged no release: nothing differs, or it was withheld before")
    lines.append(f"private   {report.audit}: the mapping; never publish it")
    return "\n".join(lines)
