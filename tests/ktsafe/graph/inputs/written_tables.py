"""Random networks as tables of people and of ties, by libraries, and what their files truly say."""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from ktsafe.errors import InvalidGraph
from ktsafe.graph import MISSING, Schema
from ktsafe.graph.inputs.spelling import id_text, spelt_twice, value_text
from ktsafe.stream.files.graphs import read_graph
from tests.ktsafe.graph.inputs.drawn_networks import drawn

Table = dict[str, list[Any]]
Write = Callable[[Table, Path], None]


def _frame(table: Table) -> pd.DataFrame:
    return pd.DataFrame(dict(table))


def _texts(table: Table) -> Table:
    """Return a table whose columns have one type each, as the stricter libraries need it."""
    return {
        name: values if len({type(v) for v in values} - {type(None)}) < 2 else [*map(str, values)]
        for name, values in table.items()
    }


def _by_csv(mark: str) -> Write:
    def write(table: Table, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, delimiter=mark)
            rows.writerow(table)
            rows.writerows(zip(*table.values(), strict=True))

    return write


def _gzipped(table: Table, path: Path) -> None:
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))


WRITERS: Final[dict[str, tuple[str, Write]]] = {
    "csv": ("csv", _by_csv(",")),
    "csv semicolons": ("csv", _by_csv(";")),
    "csv tabs": ("tsv", _by_csv("\t")),
    "csv gzipped": ("csv.gz", _gzipped),
    "pandas csv": ("csv", lambda table, path: _frame(table).to_csv(path, index=False)),
    "pandas parquet": ("parquet", lambda table, path: _frame(_texts(table)).to_parquet(path)),
    "polars csv": ("csv", lambda table, path: pl.DataFrame(_texts(table)).write_csv(path)),
    "polars parquet": (
        "parquet",
        lambda table, path: pl.DataFrame(_texts(table)).write_parquet(path),
    ),
    "pyarrow csv": (
        "csv",
        lambda table, path: pyarrow.csv.write_csv(pa.table(_texts(table)), path),
    ),
    "pyarrow parquet": (
        "parquet",
        lambda table, path: pq.write_table(pa.table(_texts(table)), path),
    ),
}
"""For each writer the ending of its files."""


def _cells(path: Path) -> Table:
    """Return the cells of a file, by code that shares nothing with ours."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    with io.StringIO(text, newline="") as file:
        first = file.readline()
        mark = next(mark for mark in (";", "\t", ",") if mark in first or mark == ",")
        file.seek(0)
        header, *rows = list(csv.reader(file, delimiter=mark))
    if len(header) == 1:  # A blank line is no row, and of one column nothing tells it apart.
        rows = [[mark.join(row)] for row in rows if "".join(row).strip()]
    return {name: [row[i] for row in rows if row] for i, name in enumerate(header)}


def _reasons(people: Table, ties: Table) -> set[str]:
    """Return why the files must be refused: ids or values that are missing, twice, or no texts."""
    found = set()
    if len(people) == 1:  # Nothing tells what separates others: read, or refused by its line.
        found.add("one column")
    for name, values in {**people, **ties}.items():
        text = id_text if name in {"id", "source", "target"} else value_text
        try:
            texts = [text(value) for value in values]
        except InvalidGraph:
            found.add("no text")
            continue
        if spelt_twice(values, texts):
            found.add("spelt twice")
        if text is id_text and None in texts:
            found.add("missing")
        if name == "id" and max(Counter(texts).values(), default=1) > 1:
            found.add("twice")
        if name == "id" and spelt_twice(
            [*values, *ties["source"], *ties["target"]],
            [*texts, *map(_safely, (*ties["source"], *ties["target"]))],
        ):
            found.add("spelt twice between tables")
    ends = {*map(_safely, (*ties["source"], *ties["target"]))} - {None}
    parts = [[part.strip() for part in re.split(r"[,;|]", str(end))] for end in ends]
    if any(len(each) > 1 and ends.issuperset(each) for each in parts):
        found.add("several in one cell")
    return found


def _safely(value: object) -> str | None:
    try:
        return id_text(value)
    except InvalidGraph:
        return None


def outcome(writer: str, seed: int, folder: Path) -> tuple[str, str]:
    """Write and read a network; return "read", "refused", "not written" or "misread", and why."""
    rng = random.Random(f"{writer}/{seed}")
    network = drawn(rng)
    ids: Sequence[Any] = network.ids
    if rng.random() < 0.3 and all(name.isdecimal() and str(int(name)) == name for name in ids):
        ids = [int(name) for name in ids]
    names = [f"c{i}" for i in range(len(network.columns))]
    people: Table = {"id": [*ids], **dict(zip(names, network.columns.values(), strict=True))}
    ties: Table = {
        "source": [ids[u] for u, _ in network.rows],
        "target": [ids[v] for _, v in network.rows],
    }
    suffix, write = WRITERS[writer]
    files = folder / f"{seed}-people.{suffix}", folder / f"{seed}-ties.{suffix}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(people, files[0])
            write(ties, files[1])
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        return "not written", type(error).__name__
    return _judged(files, names)


def _judged(files: tuple[Path, Path], names: list[str]) -> tuple[str, str]:
    people, ties = _cells(files[0]), _cells(files[1])
    reasons = _reasons(people, ties)
    schema = Schema(tuple(names), "none", frozenset()).expecting_nothing()
    try:
        found = read_graph(*files, schema)
    except InvalidGraph as error:
        return ("refused" if reasons else "misread"), f"{error.message} for {reasons}"
    if reasons & {"no text", "missing", "twice", "spelt twice"}:
        return "misread", f"read, and to be refused: {reasons}"
    told = [*map(id_text, people["id"])]
    values = [[value_text(v) or MISSING for v in people[name]] for name in names]
    pairs = {
        frozenset((id_text(a), id_text(b)))
        for a, b in zip(ties["source"], ties["target"], strict=True)
        if id_text(a) != id_text(b)
    }
    graph = found.graph
    shown = [
        [graph.categories[j][code] for code in graph.codes[:, j].tolist()]
        for j in range(len(names))
    ]
    edges = {frozenset((found.ids[u], found.ids[v])) for u, v in graph.edges.tolist()}
    if (found.ids, shown, edges) != (told, values, pairs):
        return "misread", f"{found.ids} {shown} {edges} for {told} {values} {pairs}"
    return "read", ""
