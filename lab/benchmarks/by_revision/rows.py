"""The table: a row for each revision and benchmark, and what changed between two of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

SLOWER: Final = 1.15
"""Core seconds over those before, both as shares of the reference, from which a row is marked."""


class Row(NamedTuple):
    """A benchmark at a revision; `share` is core seconds over those of the reference.

    `date` is the day of the revision.
    """

    date: str
    revision: str
    benchmark: str
    core_s: float
    share: float
    peak_mib: int
    figure: str
    hash: str


def read(path: Path) -> list[Row]:
    """Return the rows of a table, in the order in which they were written; none without one."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(
                one["date"],
                one["revision"],
                one["benchmark"],
                float(one["core_s"]),
                float(one["share"]),
                int(one["peak_mib"]),
                one["figure"],
                one["hash"],
            )
            for one in csv.DictReader(file)
        ]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(rows)


def kept(earlier: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """Return the rows of both by day; of one that was measured again, the new one."""
    again = {(row.revision, row.benchmark) for row in rows}
    before = (row for row in earlier if (row.revision, row.benchmark) not in again)
    return sorted([*before, *rows], key=lambda row: row.date)


def compared(earlier: Sequence[Row], rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each row, beside the last one of the same benchmark at another revision."""
    yield f"{'benchmark':12}{'core s':>9}{'share':>9}{'before':>9}{'ratio':>7}{'MiB':>7}  hash"
    for row in rows:
        others = [
            old
            for old in earlier
            if old.benchmark == row.benchmark and old.revision != row.revision
        ]
        line = f"{row.benchmark:12}{row.core_s:9.1f}{row.share:9.2f}"
        if not others:
            yield f"{line}{'-':>9}{'-':>7}{row.peak_mib:7}  {row.hash} {row.figure}".rstrip()
            continue
        old = others[-1]
        ratio = row.share / old.share
        line += f"{old.share:9.2f}{ratio:7.2f}{row.peak_mib:7}  {row.hash} {row.figure}".rstrip()
        marks = [
            "SLOWER" if ratio > SLOWER else "",
            "OTHER RESULT" if row.hash != old.hash else "",
        ]
        yield " ".join([line, *filter(None, marks), f"(before: {old.revision})"])
