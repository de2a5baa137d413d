"""Writing of releases: once, in random order, with random ids.

`ROWS_AT_ONCE` may be tuned. Files, columns and fields of the manifest are a published format:
docs/schemas, docs/files.md and `releases_read` go with a change (tests/test_schemas.py). Nothing
may follow the order of people (tests/stream/files/test_releases_write.py).

    <release_id>/manifest.json   what the release is, and the sha256 of the other files
    <release_id>/README.txt      the same in words, what leans, and how to load it
    <release_id>/vertices.csv    id,<attributes...>    sorted by id
    <release_id>/edges.csv       source,target         source < target, sorted
    <release_id>/statistics.json noisy counts of the true graph, if they have a budget

and, if asked for, the same tables as vertices.parquet and edges.parquet.

The private audit goes to a folder of its own and is never published:

    <release_id>/mapping.csv     released_id,original_id    empty for an inserted vertex
    <release_id>/audit.json
    <release_id>/values.csv      where values stand, if they are exchanged (`certificates`)
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Values
from ktsafe.connectors.base import MANIFEST
from ktsafe.connectors.bundles import sync_folder
from ktsafe.graph.latest_graph import PAIRS_MAX, dark_pairs
from ktsafe.graph.numbering import ID_DIGITS, Ids, edge_keys
from ktsafe.reader.exports import README, readme
from ktsafe.statistics import NoisyTable
from ktsafe.stream.files.release_tables import (
    EDGES_PARQUET,
    STATISTICS,
    VERTICES_PARQUET,
    statistics_text,
    table_bytes,
)
from ktsafe.stream.slots import rfc3339

if TYPE_CHECKING:
    from ktsafe.stream.files.audit_model import Audit

VERTICES: Final = "vertices.csv"
EDGES: Final = "edges.csv"
MAPPING: Final = "mapping.csv"
AUDIT: Final = "audit.json"
FORMAT: Final = 1
ROWS_AT_ONCE: Final = 50_000
"""Rows of a table that become text together."""

Format = Literal["csv", "parquet"]

_NOT_COVERED: Final = (
    " Not covered: attackers that know most true ties, sensitive values of neighbours, or some "
    "people's ids, or that drop what looks inserted; and whether a tie or a vertex is true."
)
ALONE: Final[Mapping[str, Any]] = {
    "w": 1,
    "text": "This release is kt-safe by itself (w = 1), for attackers that know a vertex's "
    "quasi-identifiers and how many published neighbours it has of each. Releases of one network "
    "are safe one by one only, even if nothing changed: an attacker that links two of them can "
    "single people out. Give readers one release, not a series." + _NOT_COVERED,
}
"""What a single release guarantees, as its manifest says it."""
TOGETHER: Final[Mapping[str, Any]] = {
    "w": "all",
    "cover": True,
    "text": "The releases of this sequence_id are kt-safe together (w = all): for attackers that "
    "know a vertex's quasi-identifiers and, attribute by attribute, how many published neighbours "
    "of each value it has in every one of them, with ids that persist, each vertex has at least k "
    "candidates, at most a share alpha of them sensitive. Candidates are places: people may have "
    "left them. Nothing is promised across sequences. "
    "Where a vertex gains or loses ties from one release to the next, at least k candidates do "
    "alike (cover); net changes over several releases are not covered." + _NOT_COVERED,
}
"""What the releases of a service guarantee."""

Planned = tuple[tuple[str, ...], tuple[str, ...], int]
"""Two classes by their quasi-identifiers, and a number of releases."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseHeader:
    """Content of a manifest that does not follow from the tables.

    Attributes
    ----------
    lag:
        Releases after which what a pair of classes shows is planned afresh at the latest, by
        construction; 0: each release is made of the truth alone. None: there is no such bound.
    age:
        How many releases ago the oldest of what pairs of classes show was planned; None: it is not
        known.
    before:
        The sha256 of every file of the release before in the sequence; empty without one.
    planned:
        For pairs of classes how many releases ago what they show, or showed last, was chosen; None
        where releases are not made pair by pair. No more than `PAIRS_MAX` are published.
    statistics, epsilon_micro:
        Noisy counts of the true graph, and what they cost; without cost none are written.
    generalized:
        For each attribute and group of values those that may be named (`named_values`). Only groups
        that somebody shows are published.
    statistics_omitted:
        Whether the manifest says that they would cost more than is left.
    values:
        Whether members of cohorts exchange sensitive values.
    about:
        What the owner says of it: title, publisher, contact, terms, licence, where they are given.
    cut:
        Where the feed was cut, encrypted (`ktsafe.stream.release.cut`); None: it is not
        told.
    """

    release_id: str
    sequence_id: str
    nominal_time_us: int | None
    params: PrivacyParams
    guarantee: Mapping[str, Any] = dataclasses.field(default_factory=lambda: ALONE)
    lag: int | None = 0
    age: int | None = 0
    before: Mapping[str, str] = dataclasses.field(default_factory=dict)
    planned: Sequence[Planned] | None = None
    statistics: Sequence[NoisyTable] = ()
    epsilon_micro: int = 0
    generalized: Mapping[str, Mapping[str, Sequence[str]]] = dataclasses.field(default_factory=dict)
    statistics_omitted: bool = False
    values: Values = "in place"
    about: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cut: str | None = None


def random_ids(n: int, *, seed: int | None = None) -> Ids:
    """Return `n` distinct random ids of 16 hexadecimal digits, in random order.

    They come from the system's CSPRNG, not from the mechanism's generator, so neither tells
    of the other. `seed` makes them repeatable: another secret of the series, or that of a test.
    """
    draw = secrets.token_bytes if seed is None else np.random.default_rng([seed, n]).bytes
    drawn: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
    while len(drawn) < n:
        # Collisions among 64-bit draws are rare; drawing again keeps the ids distinct for sure.
        more = np.frombuffer(draw(8 * (n - len(drawn))), dtype=np.uint64)
        drawn = np.concatenate((drawn, more))
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return Ids(drawn)


def release_id(index: int, slot_us: int) -> str:
    """Return the id of release `index`: its number and slot."""
    moment = rfc3339(slot_us)
    return f"{index:06d}-{''.join(c for c in moment if c.isalnum())}"


def write_release(
    folder: Path,
    graph: AttributedGraph,
    ids: Sequence[str],
    header: ReleaseHeader,
    formats: Sequence[Format] = ("csv",),
) -> dict[str, str]:
    """Write and fsync a release to the new folder `folder`.

    Parameters
    ----------
    ids:
        The released id of every vertex of `graph`.
    formats:
        "csv", which is always written, and what else.

    Returns
    -------
    dict
        The sha256 of every file, the manifest's included, the manifest first.
    """
    folder.mkdir(mode=0o700, parents=True)
    by_id = ordered(ids)
    tables = {VERTICES: _vertices(graph, *by_id), EDGES: _edges(graph, *by_id)}
    hashes = {
        name: write_synced(folder / name, csv_blocks(*table)) for name, table in tables.items()
    }
    if "parquet" in formats:
        for name, table in ((VERTICES_PARQUET, VERTICES), (EDGES_PARQUET, EDGES)):
            header_row, columns = tables[table]
            listed = [(list(words), numbers.tolist()) for words, numbers in columns]
            texts = [[words[i] for i in numbers] for words, numbers in listed]
            rows = zip(*texts, strict=True)
            hashes[name] = write_synced(folder / name, [table_bytes(header_row, rows)])
    if header.epsilon_micro:
        told = statistics_text(header.statistics, header.epsilon_micro)
        hashes[STATISTICS] = write_synced(folder / STATISTICS, [told])
    manifest = _manifest(graph, header, hashes)
    hashes[README] = write_synced(folder / README, [readme(manifest)])
    manifest["sha256"] = dict(hashes)
    digest = write_synced(folder / MANIFEST, [manifest_text(manifest)])
    sync_folder(folder)
    return {MANIFEST: digest, **hashes}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """Return the text of manifest.json."""
    return _ROW_OF_NUMBERS.sub(_on_one_line, json.dumps(manifest, indent=2)) + "\n"


_ROW_OF_NUMBERS: Final = re.compile(r"\[\n[\d,\s]+\]")
"""In indented JSON; no text has a line break of its own there."""


def _on_one_line(row: re.Match[str]) -> str:
    return f"[{' '.join(row.group()[1:-1].split())}]"


def write_audit(
    folder: Path,
    ids: Sequence[str],
    originals: Sequence[str],
    behind: NDArray[np.integer[Any]],
    audit: Audit,
) -> dict[str, str]:
    """Write the private audit for its owner; return each file's sha256.

    Parameters
    ----------
    ids:
        The released id of each vertex.
    originals:
        The id of each true vertex.
    behind:
        The true vertex of each released one; below 0 for an inserted one, which maps to nothing.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names, order = ordered(ids)
    columns = [(names, np.arange(len(names))), ([*originals, ""], np.maximum(behind, -1)[order])]
    hashes = {
        MAPPING: write_synced(
            folder / MAPPING, csv_blocks(("released_id", "original_id"), columns)
        ),
        AUDIT: write_synced(folder / AUDIT, [audit.text()]),
    }
    sync_folder(folder)
    return hashes


def write_synced(path: Path, texts: Iterable[str | bytes]) -> str:
    """Write a file of mode 0600, fsync it, and return its sha256."""
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        for text in texts:
            data = text if isinstance(text, bytes) else text.encode()
            digest.update(data)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


Column = tuple[Sequence[str], NDArray[np.integer[Any]]]
"""Distinct texts, and by row the number of the text that stands there."""


def csv_blocks(header: Sequence[str], columns: Sequence[Column]) -> Iterator[bytes]:
    r"""Yield a table of numbered texts as CSV, quoted by RFC 4180.

    Examples
    --------
    >>> columns = [(["x", "y, z"], np.array([1, 0])), (["", "u"], np.array([0, 1]))]
    >>> b"".join(csv_blocks(["a", "b"], columns))
    b'a,b\n"y, z",\nx,u\n'
    """
    yield ",".join(map(_quoted, header)).encode() + b"\n"
    ends = [b","] * (len(columns) - 1) + [b"\n"]
    fields = [_fields(texts, end) for (texts, _), end in zip(columns, ends, strict=True)]
    letters = np.concatenate([letters for letters, _ in fields])
    lengths = [of_texts for _, of_texts in fields]
    begins = np.split(_begins(np.concatenate(lengths)), np.cumsum([*map(len, lengths)])[:-1])
    widths = [np.unique(each) for each in lengths]
    for begin in range(0, len(columns[0][1]), ROWS_AT_ONCE):
        numbers = [of_rows[begin : begin + ROWS_AT_ONCE] for _, of_rows in columns]
        if all(len(each) == 1 for each in widths):  # As those of edges.
            tables = [x.view(f"V{w[0]}") for (x, _), w in zip(fields, widths, strict=True)]
            text = np.empty(len(numbers[0]), [(f"{j}", x.dtype) for j, x in enumerate(tables)])
            for j, (table, at) in enumerate(zip(tables, numbers, strict=True)):
                text[f"{j}"] = table.take(at)
        else:
            first, size = (
                np.column_stack([x.take(at) for x, at in zip(known, numbers, strict=True)]).ravel()
                for known in (begins, lengths)
            )
            text = letters.take(np.arange(size.sum()) + np.repeat(first - _begins(size), size))
        yield text.tobytes()


def _begins(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where texts of these lengths begin, one after the other."""
    return np.cumsum(lengths) - lengths


def listed(width: int, rows: Sequence[Sequence[str]]) -> list[Column]:
    """Return rows of so many texts as columns; all texts may differ."""
    return [([row[j] for row in rows], np.arange(len(rows))) for j in range(width)]


def _fields(texts: Sequence[str], end: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return quoted texts, ended, as letters, and the length of each."""
    if isinstance(texts, Ids):
        plain = np.frombuffer(texts.text().encode(), dtype=np.uint8).reshape(-1, ID_DIGITS)
        letters = np.insert(plain, ID_DIGITS, ord(end), axis=1)
        return letters.reshape(-1), np.full(len(letters), ID_DIGITS + len(end))
    together = "".join(texts)
    if any(mark in together for mark in _QUOTED):
        texts = [_quoted(text) for text in texts]
    each = texts if together.isascii() else [text.encode() for text in texts]
    lengths = np.fromiter(map(len, each), dtype=np.int64, count=len(each)) + len(end)
    joined = end.decode().join([*texts, ""]).encode()
    return np.frombuffer(joined, dtype=np.uint8), lengths


_QUOTED: Final = ',"\r\n'
"""A text without any of these marks is never quoted."""


def _quoted(text: str) -> str:
    buffer = io.StringIO()
    # An empty field stands after it, since a lonely empty one would be quoted.
    csv.writer(buffer, lineterminator="\n").writerow((text, ""))
    return buffer.getvalue().removesuffix(",\n")


_Table = tuple[tuple[str, ...], list[Column]]
"""Names of columns, and the columns in the order in which rows are published."""


def _vertices(graph: AttributedGraph, names: Sequence[str], order: NDArray[np.int64]) -> _Table:
    columns: list[Column] = [(names, np.arange(len(names)))]
    columns += [(texts, graph.codes[order, j]) for j, texts in enumerate(graph.categories)]
    return ("id", *graph.schema.attributes), columns


def _edges(graph: AttributedGraph, names: Sequence[str], order: NDArray[np.int64]) -> _Table:
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    keys = edge_keys(rank[graph.edges])
    # In a sequence vertices are in the order of their ids.
    if np.any(keys[1:] < keys[:-1]):
        keys.sort()
    return ("source", "target"), [(names, keys >> 32), (names, keys & 0xFFFFFFFF)]


def ordered(ids: Sequence[str]) -> tuple[Sequence[str], NDArray[np.int64]]:
    """Return ids in their order, and where each of them was."""
    if isinstance(ids, Ids):
        return ids.ordered()
    order = sorted(range(len(ids)), key=ids.__getitem__)
    return [ids[v] for v in order], np.array(order, dtype=np.int64)


def _spent(header: ReleaseHeader) -> dict[str, Any]:
    """Return the manifest's entry on statistics: cost, or omission."""
    if header.statistics_omitted:
        return {"statistics": {"epsilon_micro": 0, "omitted": True}}
    spent = header.epsilon_micro
    return {"statistics": {"epsilon_micro": spent}} if spent else {}


def _manifest(
    graph: AttributedGraph, header: ReleaseHeader, hashes: Mapping[str, str]
) -> dict[str, Any]:
    schema = graph.schema
    nominal, lag = header.nominal_time_us, header.lag
    tables = (VERTICES, EDGES)
    return {
        "format": FORMAT,
        "release_id": header.release_id,
        "sequence_id": header.sequence_id,
        "nominal_time": None if nominal is None else rfc3339(nominal),
        "params": header.params.to_mapping(),
        "guarantee": dict(header.guarantee),
        "schema": {
            "quasi_identifiers": list(schema.quasi_identifiers),
            "sensitive": schema.sensitive,
            "sensitive_values": sorted(schema.sensitive_values),
        },
        "values": header.values,
        **({} if schema.ties == "any" else {"ties": schema.ties_told}),
        **({"about": dict(header.about)} if header.about else {}),
        "vertices": graph.n_vertices,
        "edges": graph.n_edges,
        "lag": "none" if lag is None else lag,
        "age": header.age,
        "unchanged": all(header.before.get(name) == hashes[name] for name in tables),
        **_pairs(graph, header.planned),
        **_generalized(graph, header.generalized),
        **_spent(header),
        **({} if header.cut is None else {"cut": header.cut}),
        "sha256": dict(hashes),
    }


def _generalized(
    graph: AttributedGraph, named: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, Any]:
    """Return what a manifest says of groups of values."""
    shown = {
        name: {texts[code] for code in np.unique(graph.codes[:, j])}
        for j, (name, texts) in enumerate(
            zip(graph.schema.attributes, graph.categories, strict=True)
        )
    }
    found = {
        name: {group: list(values) for group, values in of_name.items() if group in shown[name]}
        for name, of_name in named.items()
    }
    found = {name: of_name for name, of_name in found.items() if of_name}
    return {"generalized": found} if found else {}


def _pairs(graph: AttributedGraph, planned: Sequence[Planned] | None) -> dict[str, Any]:
    """Return the manifest's entry on pairs of classes: dark, and planned.

    Classes are in the order of their texts, which tells nothing of when they came.
    """
    _, first = np.unique(graph.qi_classes, return_index=True)
    names = [
        tuple(texts[code] for texts, code in zip(graph.categories[:-1], codes, strict=False))
        for codes in graph.codes[first].tolist()
    ]
    number = {name: i for i, name in enumerate(sorted(names))}
    rank = np.array([number[name] for name in names], dtype=np.int64)
    dark = dark_pairs(rank[graph.qi_classes], graph.edges)
    ages = None
    if planned is not None:
        known = [each for each in planned if each[0] in number and each[1] in number]
        if len(known) <= PAIRS_MAX:
            ages = sorted([*sorted((number[a], number[b])), ago] for a, b, ago in known)
    return {
        "classes": [list(name) for name in number],
        "dark": None if dark is None else dark.tolist(),
        "planned": ages,
    }
