"""statistics.json of a release: noisy counts, and their cost.

{"format": 1, "epsilon_micro": 185185, "protects": "...", "tables": [
{"of": "ties", "by": "gender", "scale": [3, 1], "cells": [["f", "f"], ...], "counts": [...]}]}

A table of "across", ties between the values of two attributes, has the second one as `across`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec

from ktsafe.connectors.regular_files import read_regular
from ktsafe.statistics.noisy_tables import NoisyTable

STATISTICS: Final = "statistics.json"
STATISTICS_BYTES_MAX: Final = 64 * 1024 * 1024
PROTECTS: Final = (
    "Given the published graph, the counts of ties and degrees of this file are differentially "
    "private for one tie: epsilon_micro millionths. The k ties of one person cost k times that. "
    "Files of several releases add up, to at most the epsilon per year that the owner configured. "
    "Counts of people are private likewise for one person with one value; a changed value costs "
    "twice that. Counts are noisy, unbiased, and may be negative."
)

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Spent(msgspec.Struct, frozen=True):
    """The `statistics` part of a manifest.

    What the file costs, in millionths of epsilon.

    With `omitted` there is no file, since it would have cost more than was left of the year.
    """

    epsilon_micro: Annotated[int, msgspec.Meta(ge=0)]
    omitted: bool = False


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table, see `ktsafe.statistics.noisy_tables.NoisyTable`; `scale` is a fraction."""

    of: str
    by: str | None
    scale: tuple[Positive, Positive]
    cells: list[list[str | None]]
    counts: list[int]
    across: str | None = None

    def attributes(self, quasi_identifiers: Sequence[str]) -> Sequence[str]:
        """Return of which attribute each value of a cell is.

        Nothing if cells have no values.
        """
        if self.of == "classes":
            return quasi_identifiers
        if self.by is None:
            return ()
        if self.of == "people":
            return (self.by,)
        return (self.by, self.by if self.across is None else self.across)


class Statistics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    format: int
    epsilon_micro: Positive
    protects: str
    tables: list[Table]


def statistics_text(tables: Iterable[NoisyTable], epsilon_micro: int) -> str:
    """Return the file: a table a line."""
    lines = [
        json.dumps(
            {
                "of": table.of,
                "by": table.by,
                "scale": [table.scale.numerator, table.scale.denominator],
                "cells": table.cells,
                "counts": table.counts,
                **({} if table.across is None else {"across": table.across}),
            }
        )
        for table in tables
    ]
    head = json.dumps({"format": 1, "epsilon_micro": epsilon_micro, "protects": PROTECTS})
    return head[:-1] + ', "tables": [\n' + ",\n".join(lines) + "\n]}\n"


def read_statistics(path: Path) -> Statistics:
    """Return what a file holds.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no such file.
    """
    data = read_regular(path, STATISTICS_BYTES_MAX)
    found = msgspec.json.decode(data, type=Statistics)
    for table in found.tables:
        if len(table.cells) != len(table.counts):
            msg = "A table has not as many counts as cells."
            raise ValueError(msg)
    if found.format != 1 or found.protects != PROTECTS:
        msg = "It is of another version."
        raise ValueError(msg)
    return found
