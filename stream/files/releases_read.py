"""Read a release back from its bytes, for verifiers and readers.

Shares no code with the writer: what the verifier judges is what a reader would see. Every file that
is published is read; where two say the same, that is checked.

Words of errors may be changed. It stays free of the writer and reads only what it can check; a new
file of a release is named in `FILES`, a new field of the manifest is optional, so older releases
verify.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe import PrivacyParams
from ktsafe.connectors.base import MANIFEST, WITHDRAWN
from ktsafe.connectors.bundles import (
    MANIFEST_BYTES_MAX,
    is_safe_name,
    open_regular,
    read_regular,
)
from ktsafe.errors import KtsafeError
from ktsafe.graph.latest_graph import dark_pairs
from ktsafe.graph.numbering import Ids, are_distinct, classes_of, edge_keys
from ktsafe.reader.exports import README
from ktsafe.reader.folders import plain_columns, plain_edges
from ktsafe.seals import reason_of
from ktsafe.stream.files.release_tables import (
    EDGES_PARQUET,
    STATISTICS,
    VERTICES_PARQUET,
    ParquetUnreadable,
    Spent,
    Statistics,
    holds_table,
    read_statistics,
)

FILES: Final = frozenset(
    {"vertices.csv", "edges.csv", VERTICES_PARQUET, EDGES_PARQUET, STATISTICS, README}
)
"""Every file that a release may have beside its manifest."""
PLAIN_BYTES_MIN: Final = 1_000_000
"""Of a table of edges; to read less takes a CSV reader less time than it takes to load a kernel."""
MARKER_BYTES_MAX: Final = 65_536
"""Of the marker of a withdrawn release."""


class ReleaseUnreadable(KtsafeError):
    """The folder holds no intact release."""


class ManifestSchema(msgspec.Struct, frozen=True):
    """The `schema` part of a manifest."""

    quasi_identifiers: list[str]
    sensitive: str
    sensitive_values: list[str]

    @property
    def attributes(self) -> list[str]:
        """All attributes, in the order of the columns."""
        return [*self.quasi_identifiers, self.sensitive]


class StatedGuarantee(msgspec.Struct, frozen=True):
    """The `guarantee` part of a manifest."""

    w: int | str
    text: str
    cover: bool = False


class StatedLog(msgspec.Struct, frozen=True):
    """The `log` part of a seal."""

    size: int
    root: str


class StatedVerdict(msgspec.Struct, frozen=True):
    """The `verdict` part of a seal: see `ktsafe.verify.Verdict.digest`."""

    evidence: str
    sha256: str | None


class ManifestSeal(msgspec.Struct, frozen=True):
    """The `seal` part of a manifest."""

    before: str | None
    log: StatedLog
    verdict: StatedVerdict
    key: str
    signature: str


class Manifest(msgspec.Struct, frozen=True):
    """manifest.json; unknown fields are ignored, so formats may grow.

    Attributes
    ----------
    lag:
        Releases after which what a pair of classes shows is planned afresh at the latest; "none":
        there is no bound. None, as for most that follows: an older version wrote the manifest.
    age:
        How many releases ago the oldest of what pairs of classes show was planned; None also where
        that is not known.
    unchanged:
        Whether vertices and edges are those of the release before in the sequence.
    classes:
        The quasi-identifiers that vertices have, in the order of their texts.
    dark:
        Pairs of `classes` that have people on both sides and show no edge; None also where there
        are more than `ktsafe.graph.latest_graph.PAIRS_MAX`.
    planned:
        For pairs of `classes` how many releases ago what they show, or showed last, was chosen;
        None also where there are more than `PAIRS_MAX`.
    statistics:
        What the noisy counts beside the graph cost, or that they are omitted; None without any.
    generalized:
        For each attribute the groups of values that are published, and what each stands for; values
        that few people have are left out.
    values:
        Of the sensitive attribute: "exchanged" among the members of each cohort, or "in place".
    ties:
        Which rows count as ties: "any", "mutual" ones, or those of some kinds.
    about:
        What the owner says of releases: title, publisher, contact, terms, licence, where given.
    cut:
        Noise to all but the owner: see `ktsafe.stream.release.cut`.
    seal:
        What ties the release to those before it and to its owner; see `ktsafe.seals`.
    """

    format: int
    release_id: str
    sequence_id: str
    nominal_time: str | None
    params: dict[str, int | str]
    guarantee: StatedGuarantee
    schema: ManifestSchema
    vertices: int
    edges: int
    sha256: dict[str, str]
    lag: int | str | None = None
    age: int | None = None
    unchanged: bool | None = None
    classes: list[tuple[str, ...]] | None = None
    dark: list[tuple[int, int]] | None = None
    planned: list[tuple[int, int, int]] | None = None
    statistics: Spent | None = None
    generalized: dict[str, dict[str, list[str]]] = {}
    values: str = "in place"
    ties: str | list[str] = "any"
    about: dict[str, str] = {}
    cut: str | None = None
    seal: ManifestSeal | None = None

    @property
    def promised(self) -> PrivacyParams:
        """The parameters that the release claims to keep."""
        # Manifests once told two numbers of the search as well; they never were a promise.
        told = {k: v for k, v in self.params.items() if k not in {"gamma", "s"}}
        return PrivacyParams.from_mapping(told)

    @property
    def has_exchanged_values(self) -> bool:
        """Whether vertices show sensitive values of other members of their cohorts."""
        return self.values == "exchanged"


@dataclasses.dataclass(frozen=True, eq=False)
class Release:
    """A release as published.

    Attributes
    ----------
    ids:
        Released id by position.
    kinds, kind_of:
        The distinct rows of attribute values, and by position, int64, which of them it shows.
    edges:
        Integers, shape (m, 2): positions.
    statistics:
        Noisy counts of the true graph, if the release has them.
    """

    manifest: Manifest
    ids: Sequence[str]
    kinds: Sequence[tuple[str, ...]]
    kind_of: NDArray[np.int64]
    edges: NDArray[np.integer[Any]]
    statistics: Statistics | None = None

    @property
    def params(self) -> PrivacyParams:
        """The parameters that the release claims to keep."""
        return self.manifest.promised

    @cached_property
    def columns(self) -> Mapping[str, list[str]]:
        """For each attribute its value by position."""
        rows = self.kind_of.tolist()
        shown = {name: [kind[j] for kind in self.kinds] for j, name in self._attributes()}
        return {name: [texts[kind] for kind in rows] for name, texts in shown.items()}

    def _attributes(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.manifest.schema.attributes)

    def classes(self) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
        """Return each vertex's class, and the quasi-identifiers of all classes."""
        coded, meanings = self.codes()
        names = self.manifest.schema.quasi_identifiers
        of = classes_of([np.zeros(len(coded), dtype=np.int64), *coded[:, : len(names)].T])
        one = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.int64)
        one[of] = np.arange(len(of))
        texts = [[meanings[name][code] for code in coded[one, j]] for j, name in enumerate(names)]
        return of, list(zip(*texts, strict=True)) if names else [()] * len(one)

    def quasi_identifiers(self) -> NDArray[np.int64]:
        """Return coded quasi-identifiers, shape (n, d-1): equal codes iff equal texts."""
        return self.codes()[0][:, :-1]

    def is_sensitive(self) -> NDArray[np.bool_]:
        """Return whether each vertex shows a sensitive value, shape (n,)."""
        sensitive = frozenset(self.manifest.schema.sensitive_values)
        coded, meanings = self.codes()
        is_one = [text in sensitive for text in meanings[self.manifest.schema.sensitive]]
        return np.array(is_one, dtype=np.bool_)[coded[:, -1]]

    def codes(self) -> tuple[NDArray[np.int64], dict[str, list[str]]]:
        """Return all attributes as numbers, and what the numbers mean.

        Returns
        -------
        tuple
            int64, shape (n, d), and for each attribute, in the order of the columns, the value of
            every number. Numbers follow the order of the texts, so they depend on nothing else.
        """
        return self._codes

    @cached_property
    def _codes(self) -> tuple[NDArray[np.int64], dict[str, list[str]]]:
        meanings = {
            name: sorted({kind[j] for kind in self.kinds}) for j, name in self._attributes()
        }
        coded = np.zeros((len(self.kinds), len(meanings)), dtype=np.int64)
        for j, texts in enumerate(meanings.values()):
            number = {text: code for code, text in enumerate(texts)}
            coded[:, j] = [number[kind[j]] for kind in self.kinds]
        return coded[self.kind_of], meanings


def why_withdrawn(folder: Path) -> str | None:
    """Return why the owner withdrew a release, None if it did not."""
    if not (folder / WITHDRAWN).exists():
        return None
    try:
        return reason_of(read_regular(folder / WITHDRAWN, MARKER_BYTES_MAX))
    except OSError:
        return reason_of(b"")


def release_folders(folders: Iterable[Path]) -> list[Path]:
    """Return the release folders among paths and their children, by name."""
    found: list[Path] = []
    for folder in folders:
        if (folder / "manifest.json").exists():
            found.append(folder)
            continue
        children = sorted(path.parent for path in folder.glob("*/manifest.json"))
        # A folder without any release is handed on, to be refused with its name.
        found.extend(children or [folder])
    return found


def manifest_sha256(folder: Path) -> str:
    """Return the SHA-256 of a release's manifest.

    Raises
    ------
    ReleaseUnreadable
        If there is none.
    """
    return hashlib.sha256(read_regular(folder / MANIFEST, MANIFEST_BYTES_MAX)).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a release folder.

    Raises
    ------
    ReleaseUnreadable
        If there is none, or it is no manifest.
    """
    path = folder / "manifest.json"
    try:
        manifest = msgspec.json.decode(read_regular(path, MANIFEST_BYTES_MAX), type=Manifest)
    except OSError as error:
        msg = f"{folder} holds no readable manifest.json."
        hint = "Name release folders, or a folder that holds some."
        raise ReleaseUnreadable(msg, hint=hint) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{path} is no release manifest ({error})."
        raise ReleaseUnreadable(msg, hint="Fetch the release again.") from error
    if not is_safe_name(manifest.release_id):
        # Its private audit lies in a folder of this name.
        msg = f"{path} names a release_id that is no plain file name."
        raise ReleaseUnreadable(msg, hint="Do not use this copy: ktsafe writes no such id.")
    if manifest.format != 1:
        msg = f"{path} has format {manifest.format}, this version reads format 1."
        raise ReleaseUnreadable(msg, hint="Upgrade ktsafe.")
    return manifest


def read_release(folder: Path | str) -> Release:
    """Return the release in `folder`, every byte checked against the manifest.

    Raises
    ------
    ReleaseUnreadable
        If files are missing, do not match their sha256, or do not hold what the manifest says.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if unknown := set(manifest.sha256) - FILES:
        # What cannot be read cannot be judged, and would be published unseen.
        msg = f"The manifest in {folder} lists {min(unknown)!r}, which this version cannot read."
        raise ReleaseUnreadable(msg, hint="Upgrade ktsafe.")
    read: dict[str, bytes] = {}
    for name, expected in manifest.sha256.items():
        data = _content(folder / name, expected)
        if name.endswith(".csv"):
            read[name] = data
    if missing := {"vertices.csv", "edges.csv"} - set(manifest.sha256):
        raise ReleaseUnreadable(f"The manifest in {folder} does not list {min(missing)}.")
    ids, kinds, kind_of = _vertices(folder, manifest, read["vertices.csv"])
    if not (are_distinct(ids.numbers) if isinstance(ids, Ids) else len(set(ids)) == len(ids)):
        raise ReleaseUnreadable(f"{folder / 'vertices.csv'} lists an id twice.")
    edges = _edges(folder, manifest, ids, read.pop("edges.csv"))
    if (len(ids), len(edges)) != (manifest.vertices, manifest.edges):
        msg = f"The counts in the manifest of {folder} are not those of its files."
        raise ReleaseUnreadable(msg)
    _check_simple(folder / "edges.csv", edges)
    statistics = _statistics(folder, manifest, kinds)
    release = Release(manifest, ids, kinds, kind_of, edges, statistics)
    _check_dark(folder, release)
    return release


_EDGE_HEADER = ["source", "target"]


def _vertices(
    folder: Path, manifest: Manifest, data: bytes
) -> tuple[Sequence[str], Sequence[tuple[str, ...]], NDArray[np.int64]]:
    """Return ids, distinct other rows, and each vertex's number of its."""
    header = ["id", *manifest.schema.attributes]
    if VERTICES_PARQUET not in manifest.sha256 and (found := plain_columns(data, header)):
        return found
    rows = _rows(folder / "vertices.csv", data, header)
    _check_parquet(folder, manifest, VERTICES_PARQUET, header, rows)
    kinds = [tuple(row[1:]) for row in rows]
    number = {kind: i for i, kind in enumerate(dict.fromkeys(kinds))}
    kind_of = np.fromiter(map(number.__getitem__, kinds), np.int64, len(kinds))
    return [row[0] for row in rows], list(number), kind_of


def _edges(
    folder: Path, manifest: Manifest, ids: Sequence[str], data: bytes
) -> NDArray[np.integer[Any]]:
    """Return the ends of all edges, shape (m, 2), in file order."""
    is_plain = EDGES_PARQUET not in manifest.sha256 and len(data) >= PLAIN_BYTES_MIN
    if is_plain and isinstance(ids, Ids) and (found := plain_edges(data, ids)) is not None:
        return found
    path = folder / "edges.csv"
    rows = _rows(path, data, _EDGE_HEADER)
    _check_parquet(folder, manifest, EDGES_PARQUET, _EDGE_HEADER, rows)
    position = {name: v for v, name in enumerate(ids)}
    if not position.keys() >= {name for row in rows for name in row}:
        raise ReleaseUnreadable(f"{path} names a vertex that vertices.csv does not list.")
    pairs = [(position[a], position[b]) for a, b in rows]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _check_simple(path: Path, edges: NDArray[np.integer[Any]]) -> None:
    """Refuse loops and repeated edges, naming the file."""
    if (edges[:, 0] == edges[:, 1]).any():
        raise ReleaseUnreadable(f"{path} lists an edge from a vertex to itself.")
    keys = edge_keys(edges)
    if not (keys[1:] > keys[:-1]).all() and not np.diff(np.sort(keys)).all():
        raise ReleaseUnreadable(f"{path} lists an edge twice.")


def _statistics(
    folder: Path, manifest: Manifest, kinds: Sequence[tuple[str, ...]]
) -> Statistics | None:
    """Return the statistics; refuse unaccounted costs and unpublished values."""
    spent = manifest.statistics
    stated = spent is not None and spent.epsilon_micro > 0
    if stated != (STATISTICS in manifest.sha256) or (spent is not None and stated == spent.omitted):
        raise ReleaseUnreadable(f"The manifest in {folder} does not say what {STATISTICS} costs.")
    if spent is None or not stated:
        return None
    path = folder / STATISTICS
    try:
        found = read_statistics(path)
    except (OSError, ValueError) as error:
        raise ReleaseUnreadable(f"{path} holds no statistics of this version.") from error
    if found.epsilon_micro != spent.epsilon_micro:
        raise ReleaseUnreadable(f"{path} and the manifest do not say the same of its cost.")
    known = manifest.schema.quasi_identifiers
    for table in found.tables:
        names = table.attributes()
        if not set(names) <= set(known):
            raise ReleaseUnreadable(f"{path} has a table of no quasi-identifier.")
        if not names:
            continue
        if {len(cell) for cell in table.cells} != {len(names)}:
            raise ReleaseUnreadable(f"{path} has cells of another number of values.")
        for name, values in zip(names, zip(*table.cells, strict=True), strict=True):
            if not set(values) <= {None, *(kind[known.index(name)] for kind in kinds)}:
                raise ReleaseUnreadable(f"{path} names a value that no published vertex has.")
    return found


def _check_dark(folder: Path, release: Release) -> None:
    """Refuse a manifest with a wrong list of dark pairs."""
    manifest = release.manifest
    if manifest.classes is None:
        return
    of, classes = release.classes()
    dark = dark_pairs(of, release.edges)
    stated = None if manifest.dark is None else [list(pair) for pair in manifest.dark]
    if manifest.classes != classes or stated != (None if dark is None else dark.tolist()):
        msg = f"The dark pairs of classes in the manifest of {folder} are not those of its files."
        raise ReleaseUnreadable(msg)


def _check_parquet(
    folder: Path, manifest: Manifest, name: str, header: list[str], rows: list[list[str]]
) -> None:
    """Refuse a release if its Parquet tables differ from its CSV."""
    if name not in manifest.sha256:
        return
    try:
        is_same = holds_table(folder / name, header, rows)
    except ParquetUnreadable as error:
        raise ReleaseUnreadable(error.message) from error
    if not is_same:
        raise ReleaseUnreadable(f"{folder / name} and the CSV file beside it do not say the same.")


def _content(path: Path, expected: str) -> bytes:
    """Return a file's bytes if they have the digest that is expected."""
    if not path.exists():
        raise ReleaseUnreadable(f"{path} is missing.", hint="Fetch the release again.")
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError:
        data = None
    if data is None or hashlib.sha256(data).hexdigest() != expected:
        msg = f"{path} does not match the sha256 in the manifest."
        raise ReleaseUnreadable(msg, hint="Fetch the release again.")
    return data


def _rows(path: Path, data: bytes, header: list[str]) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ReleaseUnreadable(f"{path} is no CSV file.") from error
    if not rows or rows[0] != header:
        raise ReleaseUnreadable(f"{path} does not begin with the columns {','.join(header)}.")
    if any(len(row) != len(header) for row in rows):
        raise ReleaseUnreadable(f"{path} has a row of another length than its header.")
    return rows[1:]
