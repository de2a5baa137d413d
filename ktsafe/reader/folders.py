"""Releases in folders: tables from bytes, checked and compared.

Sizes may be tuned. Quick ways of reading must give what a CSV reader gives, or None
(tests/stream/files/test_releases_read.py), and every digest is compared first. `SURE` keeps readers
from trends that are noise.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidParams, KtsafeError
from ktsafe.graph.numbering import ID_DIGITS, Ids
from ktsafe.reader.estimates import Estimate, Floats, StudiedTable, estimate_of
from ktsafe.reader.published import StudiedRelease, check_asked, html_table
from ktsafe.seals import WITHDRAWN, SealCheck, check_seals, public_key, reason_of

# Reads a release's tables from bytes exactly as the service writes.

_EDGE_LINE: Final = 2 * ID_DIGITS + 2
"""Bytes of two ids of 16 digits, a comma and the end of the line."""
_DIGITS: Final = np.full(256, 16, dtype=np.uint64)
"""What each letter stands for; 16 if it is no digit of the service."""
_DIGITS[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16)
FIELD_MAX: Final = 131_072
"""Bytes of a field that a CSV reader takes."""


def plain_columns(
    data: bytes, header: Sequence[str]
) -> tuple[Ids, list[tuple[str, ...]], NDArray[np.int64]] | None:
    r"""Return ids, distinct other rows, and by line the number of its.

    They are what a CSV reader finds. None unless the file has this header, lines of as many fields
    that begin with an id of 16 digits and end with a newline, and nothing else that a CSV reader
    must look at.

    Examples
    --------
    >>> ids, kinds, kind_of = plain_columns(b"id,city\n000000000000000a,B\n", ["id", "city"])
    >>> list(ids), kinds, kind_of.tolist()
    (['000000000000000a'], [('B',)], [0])
    >>> plain_columns(b"id,city\na,B\n", ["id", "city"]) is None
    True
    """
    if len(header) < 2 or any("," in name for name in header):
        return None
    if any(mark in data for mark in (b'"', b"\r", b"\0")):
        return None
    first, *lines, end = data.split(b"\n")
    if first != ",".join(header).encode() or end:
        return None
    begin = ID_DIGITS + 1
    heads = b"".join([line[:begin] for line in lines])
    if heads.count(b",") != len(lines) or heads[ID_DIGITS::begin] != b"," * len(lines):
        return None
    rests = [line[begin:] for line in lines]
    number = {rest: i for i, rest in enumerate(dict.fromkeys(rests))}
    try:
        ids = Ids.of(heads.decode().split(",")[:-1])
        kinds = [tuple(rest.decode().split(",")) for rest in number]
    except UnicodeDecodeError:
        return None
    if ids is None or any(len(kind) != len(header) - 1 for kind in kinds):
        return None
    if max(map(len, number), default=0) > FIELD_MAX:
        return None
    return ids, kinds, np.fromiter(map(number.__getitem__, rests), np.int64, len(lines))


def plain_edges(data: bytes, ids: Ids) -> NDArray[np.int32] | None:
    r"""Return a CSV reader's result for edges between hexadecimal ids.

    None unless every byte is as the service writes it; then a CSV reader must say what it is.

    Examples
    --------
    >>> ids = Ids(np.array([11, 10]))
    >>> plain_edges(b"source,target\n000000000000000a,000000000000000b\n", ids)
    array([[1, 0]], dtype=int32)
    >>> plain_edges(b"source,target\na,b\n", ids) is None
    True
    """
    header = b"source,target\n"
    if not data.startswith(header) or (len(data) - len(header)) % _EDGE_LINE or not len(ids):
        return None
    # Most readers have small files, and kernels load slowly.
    from ktsafe.reader._lines_core import edge_ends  # noqa: PLC0415

    lines = np.frombuffer(data, dtype=np.uint8, offset=len(header)).reshape(-1, _EDGE_LINE)
    order = np.argsort(ids.numbers).astype(np.int32)
    ranked = ids.numbers[order]
    # The service draws ids below 2**62: first bits that all share would tell none apart.
    bits = min(len(ranked).bit_length(), 24)
    shift = np.uint64(max(int(ranked[-1]).bit_length() - bits, 0))
    firsts = np.arange(1 << bits, dtype=np.uint64) << shift
    begins = np.append(np.searchsorted(ranked, firsts), len(ranked)).astype(np.int32)
    edges = np.empty((len(lines), 2), dtype=np.int32)
    return edges if edge_ends(lines, _DIGITS, ranked, order, begins, shift, edges) else None


# Releases in folders: read, checked, and compared with error bars.

SHOWN_MAX = 20
"""Releases that a notebook lists, the last ones."""

SURE = 3.29
"""Standard deviations of the noise beyond which a direction is told: readers ask for dozens, and of
100 that are not there five would be outside of an interval of 95%."""
SURE_SHARE = 0.999
"""Share of draws that a direction must lie beyond, too: noise of few cells has heavy tails."""


@dataclasses.dataclass(frozen=True)
class Change(Estimate):
    """A difference, or a change per release, with its interval of 95%.

    Attributes
    ----------
    direction:
        "up" or "down" where an interval of 99.9% leaves no doubt, else "not told".
    """

    direction: Literal["up", "down", "not told"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Releases:
    """Releases in the order of their publication."""

    releases: Sequence[StudiedRelease]

    def __repr__(self) -> str:
        names = [each.release_id for each in self.releases[:: max(len(self) - 1, 1)]]
        return f"<Releases: {len(self)}, {' to '.join(names)}>"

    def _repr_html_(self) -> str:
        left_out = len(self) - SHOWN_MAX
        first = [("...", f"{left_out:,} earlier ones")] if left_out > 0 else []
        last = self.releases[-SHOWN_MAX:]
        return html_table([*first, *((each.release_id, each.size) for each in last)])

    def __len__(self) -> int:
        return len(self.releases)

    def __getitem__(self, i: int) -> StudiedRelease:
        return self.releases[i]

    def __iter__(self) -> Iterator[StudiedRelease]:
        return iter(self.releases)

    def estimate(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> list[Estimate]:
        """Return the figure of every release.

        Parameters are those of a single release.
        """
        return [each.estimate(figure, *values, by=by, across=across) for each in self.releases]

    def mean(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> Estimate:
        """Return the figure's mean over all releases that tell it.

        So turnover, the share of ties that come or go with a release, has a narrower interval than
        in any one of them. Count it never in the graph: pairs of classes that are hidden and
        planned afresh show ten times as much of it.
        """
        check_asked(figure, values, by, across)
        rows = [release.drawn(figure, values, by, across) for release in self.releases]
        told = [row for row in rows if not np.isnan(row[0])]
        if not told:
            return Estimate(float("nan"), None, None, "graph")
        n = min(map(len, told))
        drawn = np.mean([row[:n] for row in told], axis=0)
        if n == 1:
            return Estimate(float(drawn[0]), None, None, "graph")
        return estimate_of(drawn, figure)

    def difference(
        self,
        figure: str,
        *values: str,
        by: str | None = None,
        across: str | None = None,
        first: int = 0,
        last: int = -1,
    ) -> Change:
        """Return the figure of one release less that of an earlier one.

        The noise of each release is drawn afresh, so the interval is that of both together.
        """
        before, after = self._drawn(figure, values, by, across)[[first, last]]
        return _change(after - before)

    def trend(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> Change:
        """Return the figure's change from release to release, by least squares."""
        drawn = self._drawn(figure, values, by, across)
        if len(drawn) < 2:
            raise InvalidParams("A trend needs two releases.", hint="Read a folder of releases.")
        times = np.arange(len(drawn)) - (len(drawn) - 1) / 2
        return _change(times @ drawn / (times @ times))

    def _drawn(
        self, figure: str, values: tuple[str, ...], by: str | None, across: str | None
    ) -> Floats:
        """Return the figure in draws of every release: float64, shape (releases, draws)."""
        check_asked(figure, values, by, across)
        rows = [release.drawn(figure, values, by, across) for release in self.releases]
        # Without its tables a release tells no interval, nor does what it is compared with.
        n = min(map(len, rows))
        return np.array([row[:n] for row in rows])


def _change(drawn: Floats) -> Change:
    if len(drawn) == 1:
        return Change(float(drawn[0]), None, None, "graph", "not told")
    noise = np.abs(drawn[1:] - drawn[0])
    # Noise of few tables has heavier tails than their standard deviation tells.
    is_sure = abs(drawn[0]) > max(SURE * drawn[1:].std(), np.quantile(noise, SURE_SHARE))
    direction: Literal["up", "down"] = "up" if drawn[0] > 0 else "down"
    return Change(
        **dataclasses.asdict(estimate_of(drawn)), direction=direction if is_sure else "not told"
    )


# Reads releases from folders, every byte against the digests of the manifest.


class NotARelease(KtsafeError):
    """A folder holds no intact release."""


class Withdrawn(NotARelease):
    """The owner has withdrawn a release; the message has the reason."""


def read(
    folder: Path | str, *, key: Path | str | None = None, withdrawn: bool = False
) -> StudiedRelease | Releases:
    r"""Read a release, or a folder's releases, with all digests checked.

    Parameters
    ----------
    folder:
        With manifest.json; or with folders that have one, in the order of their names.
    key:
        The owner's public key, a PEM file. Each release must be signed by it, or named by a later
        one that is, and none may be missing between the first and the last.
    withdrawn:
        Read withdrawn releases, too: for audits alone. Otherwise those of a folder are left out,
        with a warning.

    Raises
    ------
    NotARelease
        If a file is missing, not as the manifest says, or the release was not published whole; or
        if chain or signatures do not hold.
    Withdrawn
        If the owner has withdrawn the release, or all of them.
    InvalidParams
        If the key is none.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> files = {"vertices.csv": "id,gender\na,f\nb,m\n", "edges.csv": "source,target\na,b\n"}
    >>> digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    >>> schema = {"quasi_identifiers": ["gender"]}
    >>> manifest = json.dumps({"release_id": "000001", "schema": schema, "sha256": digests})
    >>> for name, text in {**files, "manifest.json": manifest}.items():
    ...     _ = (folder / name).write_text(text)
    >>> read(folder).estimate("ties_between", "f", "m", by="gender")
    Estimate(value=1.0, low=None, high=None, source='graph')
    """
    folder = Path(folder)
    is_one = (folder / "manifest.json").exists()
    folders = [folder] if is_one else sorted(p.parent for p in folder.glob("*/manifest.json"))
    if not folders:
        raise NotARelease(
            "There is no release in this folder.",
            hint="It needs manifest.json, or folders with it.",
        )
    checks = _checked(folders, key)
    left = dict(zip(folders, checks, strict=True))
    for path in [] if withdrawn else folders:
        if (path / WITHDRAWN).exists():
            why = reason_of((path / WITHDRAWN).read_bytes())
            msg = f"Release {left.pop(path).release_id} was withdrawn: {why}"
            if not left:
                raise Withdrawn(msg, hint="Delete it. Audits read it with withdrawn=True.")
            warnings.warn(f"{msg} It is left out.", stacklevel=2)
    releases = [
        dataclasses.replace(_read_one(path), signature=check.signature)
        for path, check in left.items()
    ]
    return releases[0] if is_one else Releases(releases)


def _checked(folders: Sequence[Path], key: Path | str | None) -> list[SealCheck]:
    """Return what the seals say.

    With a key refuse what it has not signed.
    """
    keys = [] if key is None else [public_key(Path(key).read_bytes())]
    try:
        checks = check_seals([(path / "manifest.json").read_bytes() for path in folders], keys)
    except (OSError, ValueError) as error:
        msg = "A folder holds no intact manifest."
        raise NotARelease(msg, hint="Get the release again.") from error
    for check in checks if keys else []:
        if check.problems:
            msg = f"Release {check.release_id} is not as it was published: {check.problems[0]}."
            raise NotARelease(msg, hint="Do not use it. Get all releases again, from the owner.")
    return checks


def _read_one(folder: Path) -> StudiedRelease:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        digests: Mapping[str, str] = manifest["sha256"]
        found = {name: (folder / Path(name).name).read_bytes() for name in digests}
        for name, content in found.items():
            if hashlib.sha256(content).hexdigest() != digests[name]:
                msg = f"{Path(name).name} of a release is not as its manifest says."
                raise NotARelease(msg, hint="Get the release again.")
        (ids,), columns = _table(found["vertices.csv"], 1)
        (sources, targets), _ = _table(found["edges.csv"], 2)
        position = {vertex: i for i, vertex in enumerate(ids)}
        ends = [(position[a], position[b]) for a, b in zip(sources, targets, strict=True)]
        tables = _tables(found.get("statistics.json"))
    except (OSError, ValueError, LookupError, StopIteration) as error:
        msg = "This folder holds no intact release."
        raise NotARelease(msg, hint="Get the release again.") from error
    return StudiedRelease(
        manifest,
        np.array(ids, dtype=np.str_),
        columns,
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        tables,
    )


def _table(content: bytes, n_keys: int) -> tuple[list[list[str]], dict[str, NDArray[np.str_]]]:
    """Return a table's columns that name rows, and others by name."""
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8"), newline=""))
    if any(len(row) != len(header) for row in rows):
        raise ValueError("A row has another length than its header.")
    columns = [[row[j] for row in rows] for j in range(len(header))]
    named = zip(header[n_keys:], columns[n_keys:], strict=True)
    return columns[:n_keys], {name: np.array(column, dtype=np.str_) for name, column in named}


def _tables(content: bytes | None) -> list[StudiedTable]:
    if content is None:
        return []
    return [
        StudiedTable(
            table["of"],
            table["by"],
            [tuple(cell) for cell in table["cells"]],
            np.array(table["counts"], dtype=np.int64),
            table["scale"][0] / table["scale"][1],
            table.get("across"),
        )
        for table in json.loads(content)["tables"]
    ]
