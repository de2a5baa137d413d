"""A dump: two tables of a whole network in a dated folder.

    dumps/
      2026-01-01/  vertices.csv  edges.csv
      2026-02-01/  vertices.csv.gz  edges.parquet

Hidden folders are ignored: write a dump under a name that begins with a dot, then rename it.

`LOSS_MAX` and `CHANGED_MIN` may be tuned, and suffixes added that `ktsafe.graph.inputs` reads,
Parquet's staying the last. Names of dumps are kept in states by date: they must go on sorting as
their dates do.
"""

from __future__ import annotations

import datetime
import itertools
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.bundles import digest_regular
from ktsafe.errors import BadLines, told_lines

_VERTICES: Final = "vertices"
_EDGES: Final = "edges"
SUFFIXES: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
_NAME: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d{4}Z)?")
"""So that names sort as their dates do."""
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_READ: Final = "read dump"
LOSS_MAX: Final = 0.5
"""Share of the people or ties that may be gone in the next dump: with less it is half-written."""
CHANGED_MIN: Final = 10
"""People who may change at once however few there are; k by default, below which none is shown."""


class PeopleReader(Protocol):
    """A table of people, read once."""

    @property
    def names(self) -> Sequence[str]:
        """Its attributes, in the order of values."""

    @property
    def position(self) -> dict[str, int]:
        """The place of each person among the rows that were read."""

    @property
    def is_whole(self) -> bool:
        """Whether all rows that were read have an id."""

    def rows(self, bad: BadLines) -> Iterator[tuple[int, str, Sequence[str | None]]]:
        """Yield line, id and values of each person; None: missing.

        Rows that are none, or of an id that was there before, are put into `bad`, and the others go
        on. Where rows are not in lines they are counted from 1.
        """


class TableReader(Protocol):
    """Reads tables of people and of ties, whatever the kind of file.

    Everything raises `Misconfigured` if the file is not a whole table of its kind.
    """

    def people(self, path: Path, attributes: Sequence[str] | None) -> PeopleReader:
        """Return a table of people with given attributes, or all."""

    def ties(self, path: Path, bad: BadLines) -> Iterator[tuple[int, str, str]]:
        """Yield the line of each tie, and both ends.

        `bad` as of people.
        """


@dataclass(frozen=True, slots=True)
class DumpPlace:
    """Where a dump lies.

    Attributes
    ----------
    name:
        Its date, as the folder is named.
    time_ms:
        The date, epoch milliseconds.
    """

    name: str
    time_ms: int
    vertices: Path
    edges: Path

    def digest(self) -> str:
        """Return what tells the bytes of this dump from others.

        Raises
        ------
        Misconfigured
            If a file cannot be read.
        """
        try:
            return digest_regular(self.vertices) + digest_regular(self.edges)
        except OSError as error:
            hint = f"it cannot be read ({error.strerror}). Write the dump again."
            raise Misconfigured(_READ, self.name, hint) from error


@dataclass(frozen=True, eq=False, slots=True)
class Dump:
    """The whole network at one date; n vertices, m edges.

    Attributes
    ----------
    columns:
        The attributes, in the order of the file.
    position:
        The row of each vertex, 0..n-1, by id.
    values:
        The attributes of each row; None where one is missing.
    edges:
        int64, shape (m,), ascending: smaller row << 32 | greater row.
    edges_repeated, loops:
        Rows of edges that were ignored.
    """

    place: DumpPlace
    digest: str
    columns: tuple[str, ...]
    position: dict[str, int]
    values: list[tuple[str | None, ...]]
    edges: NDArray[np.int64]
    edges_repeated: int
    loops: int


def places(folder: Path) -> list[DumpPlace]:
    """Return the dumps in a folder by date.

    Raises
    ------
    Misconfigured
        If the folder cannot be read, a name in it is no date, two names are the same date, or a
        dump lacks one of its files or has one twice.
    """
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name[0] != ".")
    except OSError as error:
        hint = f"it cannot be read ({error.strerror}). Name the folder of dumps."
        raise Misconfigured("list dumps", str(folder), hint) from error
    found = sorted((place_of(folder / name) for name in names), key=lambda place: place.time_ms)
    for earlier, later in itertools.pairwise(found):
        if earlier.time_ms == later.time_ms:
            hint = f"it is of the same moment as {earlier.name}. Remove one of them."
            raise Misconfigured("list dumps", later.name, hint)
    return found


def place_of(folder: Path) -> DumpPlace:
    """Return the dump in a folder, which may be a hidden one.

    Raises
    ------
    Misconfigured
        If its name is no date, or one of its files is not there.
    """
    name = folder.name.removeprefix(".")
    return DumpPlace(name, _time_ms(name), _file(folder, _VERTICES), _file(folder, _EDGES))


def remove(folder: Path) -> None:
    """Remove a dump; an interrupted removal leaves it hidden, not half-written."""
    hidden = folder.with_name(f".removed-{folder.name}")
    shutil.rmtree(hidden, ignore_errors=True)
    folder.rename(hidden)
    shutil.rmtree(hidden)


def _time_ms(name: str) -> int:
    """Return the moment that a folder is named after.

    A date, or a moment in UTC.
    """
    try:
        if _NAME.fullmatch(name) is None:
            raise ValueError
        moment = datetime.datetime.fromisoformat(name)
    except ValueError:
        hint = "a dump is named after its date, 2026-01-31 or 2026-01-31T0600Z. Rename it."
        raise Misconfigured("list dumps", name, hint) from None
    return (moment.replace(tzinfo=datetime.UTC) - _EPOCH) // _MILLISECOND


def _file(folder: Path, of: str) -> Path:
    """Return a dump's one file of vertices, or of edges."""
    found = [path for suffix in SUFFIXES if (path := folder / f"{of}{suffix}").is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"{found[0].name} and {found[1].name} both lie there. Remove one of them."
    else:
        hint = (
            f"it has no {of}.csv, {of}.csv.gz or {of}.parquet: it is half-written. Write a dump "
            "under a name that begins with a dot, and rename it when it is whole."
        )
    raise Misconfigured(_READ, folder.name.removeprefix("."), hint)


def read_dump(place: DumpPlace, tables: TableReader, attributes: Sequence[str] | None) -> Dump:
    """Read a dump whole, and check that it is.

    Parameters
    ----------
    attributes:
        The columns of vertices to read; by default all but `id`.

    Raises
    ------
    Misconfigured
        If it is half-written, was changed meanwhile, lacks a column, repeats an id, or an edge ends
        at a vertex that is not in it. All such lines are told at once, their content is not
        repeated.
    """
    digest = place.digest()
    bad: BadLines = {}
    people = tables.people(place.vertices, attributes)
    values = [tuple(texts) for _, _, texts in people.rows(bad)]
    bad_ends: BadLines = {}
    edges, loops = _edges(place, tables, people.position if people.is_whole else None, bad_ends)
    if faults := _told(place.vertices, bad) + _told(place.edges, bad_ends):
        raise _refused(place, "; ".join(faults))
    if place.digest() != digest:
        raise _refused(place, "it was changed while it was read")
    once = np.unique(edges)
    repeated = len(edges) - len(once)
    columns = tuple(people.names)
    return Dump(place, digest, columns, people.position, values, once, repeated, loops)


def _edges(
    place: DumpPlace, tables: TableReader, position: dict[str, int] | None, bad: BadLines
) -> tuple[NDArray[np.int64], int]:
    """Return all edges' keys in order, and the number of loops.

    Without positions, since some are unknown, lines are read for what else is wrong with them.
    """
    keys: list[int] = []
    loops = 0
    for line, source, target in tables.ties(place.edges, bad):
        if position is None:
            continue
        u, v = position.get(source), position.get(target)
        if u is None or v is None:
            bad.setdefault("names a vertex that is not in the dump", []).append(line)
        elif u == v:
            loops += 1
        else:
            keys.append(u << 32 | v if u < v else v << 32 | u)
    return np.array(keys, dtype=np.int64), loops


def _told(path: Path, bad: BadLines) -> list[str]:
    return told_lines(path.name, bad, "row" if path.suffix == SUFFIXES[-1] else "line")


def check_follows(base: Dump | None, dump: Dump, change_max: float) -> None:
    """Refuse a dump that cannot be the one after `base`.

    Parameters
    ----------
    change_max:
        The greatest share of the people of both whose value in one column may differ; of the people
        or ties of `base` as many may be gone, or `LOSS_MAX`.

    Raises
    ------
    Misconfigured
        If its columns are others, more people or ties are gone than may be lost at once, or more
        people have another value than change at once.
    """
    if base is None:
        return
    if sorted(base.columns) != sorted(dump.columns):
        changed = min(set(base.columns) ^ set(dump.columns))
        what = f"its header changed: column {changed!r} is not in both {base.place.name} and it"
        raise _refused(dump.place, what)
    counts = (("people", base.values, dump.values), ("ties", base.edges, dump.edges))
    loss_max = max(LOSS_MAX, change_max)
    for what, before, now in counts:
        if len(now) < (1 - loss_max) * len(before):
            hint = (
                f"more than {loss_max:.0%} of the {what} of {base.place.name} are gone: it is "
                "half-written. Write it again; if it is right, raise release.change_max until "
                "it is read."
            )
            raise Misconfigured(_READ, dump.place.name, hint)
    _check_spelt_as_before(base, dump, change_max)


def _check_spelt_as_before(base: Dump, dump: Dump, change_max: float) -> None:
    """Refuse a dump that is written otherwise.

    Its people would appear a second time.

    A few people are never too many: `CHANGED_MIN` of them are no column.
    """
    if change_max >= 1:
        return
    both = [
        (at, row) for name, row in dump.position.items() if (at := base.position.get(name, -1)) >= 0
    ]
    for j, column in enumerate(dump.columns):
        i = base.columns.index(column)
        changed = sum(base.values[at][i] != dump.values[row][j] for at, row in both)
        if changed > max(CHANGED_MIN, change_max * len(both)):
            hint = (
                f"more than {change_max:.0%} of the people of {base.place.name} have another "
                f"{column!r}: it looks as if it is written otherwise. Write it as before; if it is "
                "meant, set release.change_max to 1 for this dump."
            )
            raise Misconfigured(_READ, dump.place.name, hint)


def _refused(place: DumpPlace, what: str) -> Misconfigured:
    return Misconfigured(_READ, place.name, f"{what}. Write the dump again.")
