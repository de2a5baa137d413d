"""Reads releases from folders, every byte against the digests of the manifest."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import KtsafeError
from ktsafe.reader.published import StudiedRelease, StudiedTable
from ktsafe.reader.series import Releases
from ktsafe.seals import WITHDRAWN, SealCheck, check_seals, public_key, reason_of


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
