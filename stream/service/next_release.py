"""The next release of a sequence of snapshots: configuration, dump, drained service.

    DIR/
      ktsafe.toml   the service's configuration, written once; `ktsafe status`, `erase` ... take it
      schema.toml   the schema that the sequence began with
      releases/     to be handed out
      private/      dumps, state, private audits, dead letters

The tables are put beside the earlier ones as a dump of their date, and drained.

`CONFIG` may be changed for new sequences; folders that exist keep what was written. A date never
gives two releases: the dump takes its place before it is drained
(tests/stream/commands/test_next.py).
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.files import Dump, SnapshotSource, places
from ktsafe.connectors.files.dumps import remove
from ktsafe.errors import KtsafeError
from ktsafe.graph import Schema
from ktsafe.graph.inputs.names import NOTHING_CHOSEN, Chosen
from ktsafe.graph.schema_check import check_alike
from ktsafe.graph.schemas import attributes_toml
from ktsafe.stream.config import settings as configuration
from ktsafe.stream.config.connector_tables import FilesSinkTable, SnapshotsSourceTable
from ktsafe.stream.config.places import audit_folder
from ktsafe.stream.config.settings import Settings
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.monitoring.summary import Counts
from ktsafe.stream.service import assembly

CONFIG: Final = """\
# Written by `ktsafe next`, which reads it each time; `ktsafe config` tells every key.

{schema}
[privacy]
k = {k}

[source]
kind = "snapshots"
folder = "private/dumps"{columns}

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
{seed}"""
KEPT: Final = 2
"""Dumps that stay: the last one, and the one that it was compared with."""


@dataclasses.dataclass(frozen=True)
class Beginning:
    """What a sequence begins with, and cannot change.

    Attributes
    ----------
    schema, schema_text:
        How attributes are published, and the same as TOML; None: as the sequence began.
    k:
        Least number of candidates; None: as the sequence began, 10 for a new one.
    seed:
        Of the first release: repeatable releases, for tests.
    columns:
        Which columns of the tables hold ids and ends of ties.
    """

    schema: Schema | None = None
    schema_text: bytes | None = None
    k: int | None = None
    seed: int | None = None
    columns: Chosen = dataclasses.field(default_factory=lambda: NOTHING_CHOSEN)


class NextReport(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a date; nothing in it is secret beside the network."""

    date: str
    release: str | None
    is_new: bool
    vertices: int
    edges: int
    events: int
    edges_repeated: int
    loops: int
    dead_letters: dict[str, int]
    withheld: dict[str, int]
    why: str | None
    audit: str


def next_release_of(
    sequence: Path, write: Callable[[Path], None], at: str, asked: Beginning
) -> NextReport:
    """Make the next release of a sequence and return a report.

    Parameters
    ----------
    sequence:
        Folder of the sequence; made by the first release.
    write:
        Writes the tables `vertices` and `edges` of the whole network into a folder.
    at:
        Date of the network, 2026-01-31; "": today (UTC).

    Raises
    ------
    ktsafe.errors.KtsafeError
        If date, tables or what was asked do not fit the sequence.
    """
    date = _date(at)
    config = sequence / "ktsafe.toml"
    is_first = not config.exists()
    if is_first:
        _begin(sequence, asked)
    settings = configuration.load(config)
    _check_same(settings, asked)
    dumps = settings.path(_source_of(settings).folder)
    try:
        dump = _placed(settings, dumps, date, write)
    except KtsafeError:
        if is_first:
            config.unlink()  # Nothing has begun.
        raise
    counts = assembly.serve(settings, drain=True, shows_status=False)
    for place in places(dumps)[:-KEPT]:
        remove(place.vertices.parent)
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


def _begin(folder: Path, asked: Beginning) -> None:
    """Make the folder of a sequence; its configuration comes last."""
    seed = asked.seed
    if asked.schema is None or asked.schema_text is None:
        msg = f"{folder} holds no sequence yet, and its first release needs a schema."
        raise ConfigError(msg, hint="Give --schema, or name the folder of a sequence.")
    private = folder / "private"
    private.mkdir(parents=True, exist_ok=True)
    private.chmod(0o700)
    (private / "dumps").mkdir(exist_ok=True)
    text = CONFIG.format(
        k=10 if asked.k is None else asked.k,
        # Other tables of the file, such as hierarchies, are no part of a configuration.
        schema=attributes_toml(tomllib.loads(asked.schema_text.decode())["attributes"]),
        columns="".join(
            f"\ncolumns.{role} = {json.dumps(name)}" for role, name in asked.columns.items()
        ),
        seed="" if seed is None else f"seed = {seed}  # tests only: releases become predictable\n",
    )
    partial = folder / ".ktsafe.toml"
    partial.write_text(text, encoding="utf-8")
    partial.rename(folder / "ktsafe.toml")


def _check_same(settings: Settings, asked: Beginning) -> None:
    """Refuse what a sequence cannot change."""
    hint = "Leave it out, or begin another sequence in another folder."
    if asked.schema is not None and asked.schema != settings.schema:
        raise ConfigError("This is not the schema that the sequence began with.", hint=hint)
    if asked.k is not None and asked.k != settings.params.k:
        raise ConfigError(f"The sequence began with k = {settings.params.k}.", hint=hint)
    if asked.columns and asked.columns != _source_of(settings).columns:
        raise ConfigError("The sequence began with other --columns.", hint=hint)


def _source_of(settings: Settings) -> SnapshotsSourceTable:
    source = settings.config.source
    if not isinstance(source, SnapshotsSourceTable):
        msg = "The sequence reads a feed."
        raise ConfigError(msg, hint='`ktsafe next` is for [source] kind = "snapshots".')
    return source


def _placed(settings: Settings, dumps: Path, date: str, write: Callable[[Path], None]) -> Dump:
    """Write the tables to where the source reads them.

    Raises
    ------
    ConfigError
        If there are other tables of this date, or tables of a later one.
    Misconfigured
        If the tables are no whole dump, or not one that can follow the last.
    WrittenOtherwise
        If a value is spelt almost like a sensitive one.
    """
    source: SnapshotSource = assembly.source(settings, drain=True)  # type: ignore[assignment] # by its table
    there = places(dumps)
    hidden = dumps / f".{date}"
    shutil.rmtree(hidden, ignore_errors=True)
    hidden.mkdir()
    try:
        write(hidden)
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


def _report(settings: Settings, date: str, dump: Dump, counts: Counts) -> NextReport:
    sink = settings.config.sink
    assert isinstance(sink, FilesSinkTable)
    releases = settings.path(sink.folder)
    stamp = date.replace("-", "") + "T000000Z"
    found = sorted(releases.glob(f"*-{stamp}")) if releases.exists() else []
    return NextReport(
        date=date,
        release=str(found[-1]) if found else None,
        is_new=bool(counts.published),
        vertices=len(dump.values),
        edges=len(dump.edges),
        events=counts.records,
        edges_repeated=dump.edges_repeated,
        loops=dump.loops,
        dead_letters=dict(counts.dead_letters),
        withheld=dict(counts.withheld),
        why=counts.why_withheld,
        audit=str(audit_folder(settings)),
    )
