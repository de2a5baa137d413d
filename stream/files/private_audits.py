"""The private audit of a release in files: ids, claims, deferred people."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import Declared
from ktsafe.errors import InvalidGraph
from ktsafe.stream.files.certificates import (
    CERTIFICATE,
    VALUES,
    read_certificate,
    read_permutation,
)
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.files.releases_write import AUDIT, MAPPING

VACATED: Final = "vacated"
"""Where an audit lists the places that their owners left."""


def place_of(folder: Path, release_id: str, *names: str) -> Path:
    """Return the release's own folder, or `folder` with the file."""
    own = folder / release_id
    if not own.exists() and any((folder / name).exists() for name in names):
        return folder
    return own


def read_owners(folder: Path, release_id: str) -> dict[str, str | None]:
    """Return the person behind each released id.

    Raises
    ------
    InvalidGraph
        If there is no mapping of this release, or it is none. Its content is not repeated.
    """
    path = place_of(folder, release_id, MAPPING) / MAPPING
    rows = _pairs(path, ("released_id", "original_id"))
    owners = {released: original or None for released, original in rows}
    if len(owners) != len(rows):
        raise InvalidGraph(f"{path} lists a released id twice.")
    return owners


def _pairs(path: Path, header: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the rows of a private file of two columns.

    Raises
    ------
    InvalidGraph
        If it cannot be read or is no such file. Its content is not repeated.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})."
        hint = "--map takes the private audit folder, with mapping.csv in a folder per release."
        raise InvalidGraph(msg, hint=hint) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidGraph(f"{path} is no CSV file.") from error
    if not rows or tuple(rows[0]) != header:
        raise InvalidGraph(f"{path} does not begin with the columns {','.join(header)}.")
    if any(len(row) != 2 for row in rows):
        raise InvalidGraph(f"{path} has a row of another length than its header.")
    return [(first, second) for first, second in rows[1:]]


def read_shift(folder: Path, release: Release) -> NDArray[np.int64] | None:
    """Return the private certificate of a release.

    None for stars, which need none.

    Raises
    ------
    ReleaseUnreadable
        If there is none where one is needed, or it does not belong to the release.
    """
    if release.params.sees_stars:
        return None
    place = place_of(folder, release.manifest.release_id, CERTIFICATE)
    return read_certificate(place / CERTIFICATE, release.ids)


def read_value_places(folder: Path, release: Release) -> NDArray[np.int64] | None:
    """Return at which vertex the sensitive value of each one stands.

    None if values are in place.

    Raises
    ------
    ReleaseUnreadable
        If the release has exchanged values and nothing says where they stand.
    """
    if not release.manifest.has_exchanged_values:
        return None
    place = place_of(folder, release.manifest.release_id, VALUES)
    return read_permutation(place / VALUES, release.ids, VALUES)


def read_declared(folder: Path, release_id: str) -> Declared:
    """Return what the release's private audit says that it holds back.

    An audit without such a part, as of a single release, declares what it says it deleted.

    Raises
    ------
    InvalidGraph
        If audit.json is there but is none.
    """
    path = place_of(folder, release_id, AUDIT) / AUDIT
    audit = read_audit(path) if path.exists() else {}
    try:
        cost = audit.get("cost", {})
        part = audit.get("declared")
        if part is None:
            part = {
                "withheld": cost.get("deleted_vertices", 0),
                "held_ties": cost.get("deleted_edges", 0),
            }
        return msgspec.convert(part, Declared)
    except (AttributeError, msgspec.ValidationError) as error:
        raise InvalidGraph(f"{path} is no readable audit ({type(error).__name__}).") from error


def read_vacated(folder: Path, release_id: str) -> tuple[str, ...]:
    """Return the ids left since the release before, by its private audit.

    Mappings do not keep them: the ids of departed people are blanked.

    Raises
    ------
    InvalidGraph
        If audit.json is there but is none.
    """
    path = place_of(folder, release_id, AUDIT) / AUDIT
    audit = read_audit(path) if path.exists() else {}
    try:
        return msgspec.convert(audit.get(VACATED, ()), tuple[str, ...])
    except msgspec.ValidationError as error:
        raise InvalidGraph(f"{path} is no readable audit ({type(error).__name__}).") from error


def read_audit(path: Path) -> dict[str, Any]:
    """Return the private audit of a release.

    Raises
    ------
    InvalidGraph
        If there is none, or it is no audit. Its content is not repeated.
    """
    try:
        return msgspec.convert(json.loads(path.read_bytes()), dict[str, Any])
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})."
        hint = "--map takes the private audit folder, with audit.json in a folder per release."
        raise InvalidGraph(msg, hint=hint) from error
    except (ValueError, msgspec.ValidationError) as error:
        raise InvalidGraph(f"{path} is no readable audit ({type(error).__name__}).") from error
