"""`ktsafe next`: a sequence's next release, from the whole network.

    DIR/
      ktsafe.toml   the service's configuration, written once; `ktsafe status`, `erase` ... take it
      schema.toml   the schema that the sequence began with
      releases/     to be handed out
      private/      dumps, state, private audits, dead letters

The command puts the tables beside the earlier ones as a dump of their date, and drains them.
"""

from __future__ import annotations

import datetime
import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ktsafe.connectors.errors import Misconfigured
from ktsafe.errors import KtsafeError
from ktsafe.inputs.tables.names import NOTHING_CHOSEN, Chosen, chosen_columns
from ktsafe.schema_check import check_alike
from ktsafe.stream.commands.run import serve
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import Columns, Edges, Json, Vertices

if TYPE_CHECKING:
    from ktsafe.connectors.snapshots import Dump, SnapshotSource
    from ktsafe.stream.config.connector_tables import SnapshotsSourceTable
    from ktsafe.stream.config.settings import Settings
    from ktsafe.stream.monitoring.summary import Counts

CONFIG: Final = """\
# Written by `ktsafe next`, which reads it each time; `ktsafe config` tells every key.
schema_file = "schema.toml"

[privacy]
k = {k}

[source]
kind = "snapshots"
folder = "private/dumps"
attributes = {attributes}{columns}
loss_max = 0.5  # a dump that lacks more of the people or ties of the last one is refused

[sink]
kind = "files"
folder = "releases"

[dead_letters]
kind = "files"
path = "private/dead-letters.jsonl"

[state]
folder = "private/state"

[release]
every = "1d"  # a release has the date of its dump
change_max = 0.2  # a dump in which a greater share of the people has another value is refused
{seed}
[metrics]
enabled = false
"""
KEPT: Final = 2
"""Dumps that stay: the last one, and the one that it was compared with."""


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
    chosen = chosen_columns(columns)
    files = (vertices, edges)
    report = next_of(sequence, files, at, schema=schema, k=k, seed=seed, columns=chosen)
    typer.echo(json.dumps(report, indent=2) if as_json else _words(report))
    return Exit.UNSAFE if report["withheld"] and report["release"] is None else Exit.OK


def next_of(
    sequence: Path,
    files: tuple[Path, Path],
    at: str,
    *,
    schema: Path | None,
    k: int | None,
    seed: int | None,
    columns: Chosen = NOTHING_CHOSEN,
) -> dict[str, Any]:
    """Make the next release and return what came of it: see `next_release`."""
    from ktsafe.stream.config import settings as configuration

    date = _date(at)
    _check_there(*files)
    config = sequence / "ktsafe.toml"
    is_first = not config.exists()
    if is_first:
        _begin(sequence, schema, 10 if k is None else k, seed, columns)
    settings = configuration.load(config)
    _check_same(settings, schema, k, columns)
    dumps = settings.path(_source_of(settings).folder)
    try:
        dump = _placed(settings, dumps, date, files)
    except KtsafeError:
        if is_first:
            config.unlink()  # Nothing has begun.
        raise
    counts = serve(settings, drain=True)
    _forget(dumps)
    return _report(settings, date, dump, counts)


def _date(text: str) -> str:
    """Return the date of the tables.

    Raises
    ------
    ConfigError
        If the text is no date, or a later one than today's: later tables would be out of order.
    """
    today = datetime.datetime.fromtimestamp(time.time_ns() / 1e9, datetime.UTC).date()
    try:
        date = datetime.date.fromisoformat(text) if text else today
    except ValueError as error:
        msg = "--at is no date."
        raise ConfigError(msg, hint="Give the date of the tables as 2026-01-31.") from error
    if date > today:
        raise ConfigError("--at lies in the future.", hint="Give the date of the tables.")
    return date.isoformat()


def _check_there(*files: Path) -> None:
    """Refuse missing files, and files with names that hide their content."""
    from ktsafe.connectors.snapshots.dumps import SUFFIXES

    for path in files:
        if not path.is_file():
            raise ConfigError(f"{path} is no file.", hint="Name the tables of the whole network.")
        if not path.name.endswith(SUFFIXES):
            raise ConfigError(f"{path} must end in {', '.join(SUFFIXES)}.")


def _begin(folder: Path, schema: Path | None, k: int, seed: int | None, columns: Chosen) -> None:
    """Make the folder of a sequence.

    Its configuration comes last, when all else is there.
    """
    from ktsafe.stream.files.graphs import read_schema

    if schema is None:
        msg = f"{folder} holds no sequence yet, and its first release needs a schema."
        raise ConfigError(msg, hint="Give --schema, or name the folder of a sequence.")
    attributes = read_schema(schema).columns
    private = folder / "private"
    private.mkdir(parents=True, exist_ok=True)
    private.chmod(0o700)
    (private / "dumps").mkdir(exist_ok=True)
    (folder / "schema.toml").write_bytes(schema.read_bytes())
    text = CONFIG.format(
        k=k,
        attributes=json.dumps(list(attributes)),
        columns="".join(f"\ncolumns.{role} = {json.dumps(name)}" for role, name in columns.items()),
        seed="" if seed is None else f"seed = {seed}  # tests only: releases become predictable\n",
    )
    partial = folder / ".ktsafe.toml"
    partial.write_text(text, encoding="utf-8")
    partial.rename(folder / "ktsafe.toml")


def _check_same(settings: Settings, schema: Path | None, k: int | None, columns: Chosen) -> None:
    """Refuse what a sequence cannot change."""
    from ktsafe.stream.files.graphs import read_schema

    hint = "Leave it out, or begin another sequence in another folder."
    if schema is not None and read_schema(schema) != settings.schema:
        raise ConfigError(f"{schema} is not the schema that the sequence began with.", hint=hint)
    if k is not None and k != settings.params.k:
        raise ConfigError(f"The sequence began with k = {settings.params.k}.", hint=hint)
    if columns and columns != _source_of(settings).columns:
        raise ConfigError("The sequence began with other --columns.", hint=hint)


def _source_of(settings: Settings) -> SnapshotsSourceTable:
    from ktsafe.stream.config.connector_tables import SnapshotsSourceTable

    source = settings.config.source
    if not isinstance(source, SnapshotsSourceTable):
        msg = "The sequence reads a feed."
        raise ConfigError(msg, hint='`ktsafe next` is for [source] kind = "snapshots".')
    return source


def _placed(settings: Settings, dumps: Path, date: str, files: tuple[Path, Path]) -> Dump:
    """Copy whole tables to where the source reads them.

    Raises
    ------
    ConfigError
        If there are other tables of this date, or tables of a later one.
    Misconfigured
        If the tables are no whole dump, or not one that can follow the last.
    WrittenOtherwise
        If a value is spelt almost like a sensitive one.
    """
    from ktsafe.connectors.snapshots import places
    from ktsafe.stream.service import assembly

    source: SnapshotSource = assembly.source(settings)  # type: ignore[assignment] # by its table
    there = places(dumps)
    hidden = dumps / f".{date}"
    shutil.rmtree(hidden, ignore_errors=True)
    hidden.mkdir()
    for path, name in zip(files, ("vertices", "edges"), strict=True):
        suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
        shutil.copyfile(path, hidden / f"{name}{suffix}")
    try:
        dump = source.whole(hidden)
        _check_spelling(settings, dump)
        if there and there[-1].name < date:
            source.check_follows(there[-1], dump)
        later = [place.name for place in there if place.name > date]
        same = [place for place in there if place.name == date]
        if later:
            msg = f"{date} is out of order: the sequence has tables of {later[-1]}."
            raise ConfigError(msg, hint="Give tables of a later date.")
        if same and same[0].digest() != dump.digest:
            msg = f"The sequence has other tables of {date}."
            raise ConfigError(msg, hint="A date has one release. Give tables of a later date.")
        if not same:
            hidden.rename(dumps / date)
    except Misconfigured as error:
        raise ConfigError(f"The tables of {date}: {error.hint}") from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
    return dump


def _check_spelling(settings: Settings, dump: Dump) -> None:
    schema = settings.schema
    if schema.sensitive not in schema.columns:
        return
    j = dump.columns.index(schema.sensitive)
    shown = {schema.category(schema.sensitive, values[j]) for values in dump.values}
    check_alike(schema.sensitive, shown, schema.sensitive_values, schema.harmless_values)


def _forget(dumps: Path) -> None:
    """Remove the dumps that nothing will be compared with."""
    from ktsafe.connectors.snapshots import places
    from ktsafe.connectors.snapshots.dumps import remove

    for place in places(dumps)[:-KEPT]:
        remove(place.vertices.parent)


def _report(settings: Settings, date: str, dump: Dump, counts: Counts) -> dict[str, Any]:
    """Return the result, JSON-ready, as private as the network."""
    from ktsafe.stream.config import places
    from ktsafe.stream.config.connector_tables import FilesSinkTable

    sink = settings.config.sink
    assert isinstance(sink, FilesSinkTable)
    releases = settings.path(sink.folder)
    stamp = date.replace("-", "") + "T000000Z"
    found = sorted(releases.glob(f"*-{stamp}")) if releases.exists() else []
    return {
        "date": date,
        "release": str(found[-1]) if found else None,
        "is_new": bool(counts.published),
        "vertices": len(dump.values),
        "edges": len(dump.edges),
        "events": counts.records,
        "edges_repeated": dump.edges_repeated,
        "loops": dump.loops,
        "dead_letters": dict(counts.dead_letters),
        "withheld": dict(counts.withheld),
        "why": counts.why_withheld,
        "audit": str(places.audit_folder(settings)),
    }


def _words(report: dict[str, Any]) -> str:
    """Return the report for people."""
    date, release = report["date"], report["release"]
    read = f"read      {report['vertices']:,} people, {report['edges']:,} ties of {date}"
    lines = [f"{read}; {report['events']:,} changes"]
    if passed := report["edges_repeated"] + report["loops"]:
        lines.append(f"          {passed:,} rows ignored: repeated ties, or to oneself")
    for reason, count in sorted(report["dead_letters"].items()):
        lines.append(f"dead      {count:,} {reason}: see private/dead-letters.jsonl")
    if release is not None:
        word = "published" if report["is_new"] else "unchanged"
        lines.append(f"{word} {release}, verified kt-safe alone and with all before")
    elif report["withheld"]:
        lines.append(f"withheld  {', '.join(sorted(report['withheld']))}; the last release stands")
        if report["why"]:
            lines.append(f"          {report['why']}")
    else:
        lines.append("unchanged no release: nothing differs, or it was withheld before")
    lines.append(f"private   {report['audit']}: the mapping; never publish it")
    return "\n".join(lines)
