"""An owner's tables as a feed: rows of people and of ties.

It only joins readers of `ktsafe.graph.inputs` with the checks of events, so dumps accept what a
feed would (tests/connectors/test_snapshot_source.py). `MEMO_MAX` may be tuned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ktsafe import MISSING, Schema
from ktsafe.connectors.base import Misconfigured
from ktsafe.errors import BadLines, InvalidGraph, KtsafeError
from ktsafe.graph.inputs.names import NOTHING_CHOSEN, Chosen
from ktsafe.graph.inputs.people_and_ties import People, Ties
from ktsafe.graph.inputs.table_files import PARQUET, table_at
from ktsafe.stream.ingest.events import MalformedEvent, attribute_text, bad_border, checked_id

MEMO_MAX: Final = 1 << 14
"""Texts per attribute that are looked at once; measures may have many."""


class StoredTexts(dict[str | None, str | None]):
    """What the store keeps for a text of an attribute.

    That is the text as written, None where it is missing.

    Raises
    ------
    MalformedEvent
        When it is asked for a text that no event could carry, or that is none of its kind.
    """

    def __init__(self, schema: Schema, name: str) -> None:
        super().__init__(dict.fromkeys((None, MISSING)))
        self._schema = schema
        self._name = name

    def __missing__(self, text: str | None) -> str | None:
        try:
            found = attribute_text(text, is_code=True)  # The table has spelt it.
            self._schema.category(self._name, text)
        except MalformedEvent as error:
            raise MalformedEvent(error.reason, f"{self._name}: {error.detail}") from None
        except InvalidGraph:
            raise bad_border(self._name, self._schema) from None
        if len(self) < MEMO_MAX:
            self[text] = found
        return found


# Tables as owners have them, for dumps.
#
# Text in columns, plain or gzipped, and Parquet.
#
# Implements `ktsafe.connectors.files.dumps.TableReader`. Parquet files are an owner's own here,
# and are read in this process; for those of others see `ktsafe.stream.files.release_tables`.

KIND: Final = "kind"
"""The column of a dump's ties with their kinds, where the schema asks for some."""


class OwnTables:
    """Reads tables of people and of ties.

    Parameters
    ----------
    chosen:
        The columns of ids and ends, where their names do not say so.
    schema:
        What is published: its codes are taken as they are written, and a value that no event could
        carry is a fault of its row. Without one nothing is.
    """

    def __init__(self, chosen: Chosen = NOTHING_CHOSEN, schema: Schema | None = None) -> None:
        self._chosen = chosen
        self._schema = schema

    def people(self, path: Path, attributes: Sequence[str] | None) -> OwnPeople:
        """Return the table of people in a file."""
        with _whole(path):
            _check_last_line(path)
            nominal = frozenset[str]() if self._schema is None else self._schema.nominal
            people = People(path, attributes, chosen=self._chosen, nominal=nominal)
            return OwnPeople(people, path, self._schema)

    def ties(self, path: Path, bad: BadLines) -> Iterator[tuple[int, str, str]]:
        """Yield each tie's line, or Parquet number, and both ends.

        Of rows that count as one together the later is told; of a kind that does not count, none.
        """
        asked = "any" if self._schema is None else self._schema.ties
        with _whole(path):
            _check_last_line(path)
            kind = None if isinstance(asked, str) else KIND
            ties = Ties(table_at(path), chosen=self._chosen, kind=kind)
            if asked == "mutual":
                yield from _mutual(ties.rows(bad))
            elif isinstance(asked, str):
                yield from ties.rows(bad)
            else:
                rows = ties.rows_of_kinds(bad)
                yield from ((line, a, b) for line, a, b, kind in rows if kind in asked)


def _mutual(rows: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield mutual pairs' rows once the second has come."""
    seen: set[tuple[str, str]] = set()
    for line, source, target in rows:
        seen.add((source, target))
        if (target, source) in seen:
            yield line, source, target


class OwnPeople:
    """A table of people that reports faults as a dump does."""

    def __init__(self, people: People, path: Path, schema: Schema | None) -> None:
        self._people = people
        self._path = path
        self._stored = {
            j: StoredTexts(schema, name)
            for j, name in enumerate(people.names)
            if schema is not None and name in schema.attributes
        }

    @property
    def names(self) -> Sequence[str]:
        """The attributes, in the order of values."""
        return self._people.names

    @property
    def position(self) -> dict[str, int]:
        """The place of each person that was read."""
        return self._people.position

    @property
    def is_whole(self) -> bool:
        """Whether all rows that were read have an id."""
        return self._people.is_whole

    def rows(self, bad: BadLines) -> Iterator[tuple[int, str, Sequence[str | None]]]:
        """Yield line, id and values of each person.

        What no event could carry is bad.
        """
        with _whole(self._path):
            for line, vertex, texts in self._people.rows(bad):
                try:
                    checked_id(vertex)
                    for j, stored in self._stored.items():
                        stored[texts[j]]
                except MalformedEvent as error:
                    bad.setdefault(f"{error.reason} ({error.detail})", []).append(line)
                    continue
                yield line, vertex, texts


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Name the faults of a file as connectors do."""
    try:
        yield
    except Misconfigured:
        raise
    except KtsafeError as error:
        hint = f"{error} Write the dump again."
        raise Misconfigured("read dump", path.parent.name, hint) from error


def _check_last_line(path: Path) -> None:
    """Refuse a plain text that ends in the middle of a line.

    Other files tell by themselves.
    """
    if path.suffix in {".gz", PARQUET}:
        return
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        if file.read(1) not in {b"\n", b"\r"}:
            hint = (
                f"{path.name} ends in the middle of a line: it is half-written. Write the dump "
                "again; its last line ends as all others do."
            )
            raise Misconfigured("read dump", path.parent.name, hint)
