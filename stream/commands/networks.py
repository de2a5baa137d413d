"""`ktsafe inspect` and `ktsafe next`: networks as their owners have them.

Words may be changed; options go with `make reference`. How a network is read belongs to
`ktsafe.graph.inputs`, how a sequence goes on to `ktsafe.stream.service.next_release`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ktsafe.graph.inputs.names import chosen_columns
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.report_texts import check_page, new_file
from ktsafe.stream.process.command_line import Columns, Edges, Json, Vertices, say

if TYPE_CHECKING:
    from ktsafe.stream.service.next_release import NextReport

# `ktsafe inspect`: a network as read, before anything is released.


def inspect_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A network, or a table of people and a file of ties in either order.",
            metavar="FILE...",
        ),
    ],
    columns: Columns = "",
    schema: Annotated[
        Path | None, typer.Option(help="New schema file that proposes roles, to be edited.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Show how a network is read, and its likely faults.

    Nothing is released. What it prints holds ids and values: it is for you alone. The exit code
    is 2 if `ktsafe anonymize` would refuse the files; the last lines say why.
    """
    from ktsafe.graph.inputs.inspected import inspect, lists_people

    if schema is not None:
        check_page(schema)
    chosen = chosen_columns(columns)
    people = [path for path in files if lists_people(path, chosen)]
    if len(files) > 2 or (len(files) == 2 and len(people) != 1):
        msg = f"Of {len(files)} files {len(people)} are tables of people."
        raise ConfigError(msg, hint="Give a file of ties, and beside it one table of people.")
    vertices = people[0] if len(files) == 2 else None
    ties = next((path for path in files if path != vertices), files[0])
    found = inspect(ties, vertices, columns=chosen)
    if schema is not None:
        with new_file(schema) as file:
            file.write(found.schema)
    if as_json:
        told = {**found.to_mapping(), "schema": found.schema}
        typer.echo(json.dumps(told, indent=2))
    else:
        typer.echo(str(found))
        typer.echo(f"\n{schema}: a schema to edit; private" if schema else f"\n{found.schema}")
    return Exit.USAGE if found.refused else Exit.OK


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
