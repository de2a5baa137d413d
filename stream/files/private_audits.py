"""Private audits in files: ids, claims, deferred people, and notes of withdrawals.

Hints may be reworded. Files are taken only if the ledger knows their sha256; what is changed goes
beside the old file first and takes its place after the ledger recorded it (`PARTIAL`).
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import Declared
from ktsafe.connectors.base import WITHDRAWN
from ktsafe.connectors.bundles import digest_regular, is_passing, sync_folder
from ktsafe.errors import InvalidGraph, KtsafeError
from ktsafe.state.database import RESTORE
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.certificates import VALUES, value_places
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.files.releases_write import AUDIT, MAPPING, write_synced

_Kind = TypeVar("_Kind")


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
    return value_places(place / VALUES, release.ids)


def read_declared(folder: Path, release_id: str) -> Declared:
    """Return what the release's private audit says that it holds back.

    An audit without such a part, as of a single release, declares what it says it deleted.

    Raises
    ------
    InvalidGraph
        If audit.json is there but is none.
    """
    audit = _told(folder, release_id)
    cost = audit.cost
    return audit.declared or Declared(withheld=cost.deleted_vertices, held_ties=cost.deleted_edges)


def read_vacated(folder: Path, release_id: str) -> tuple[str, ...]:
    """Return the ids left since the release before, by its private audit.

    Mappings do not keep them: the ids of departed people are blanked.

    Raises
    ------
    InvalidGraph
        If audit.json is there but is none.
    """
    return _told(folder, release_id).vacated


class _Deleted(msgspec.Struct, frozen=True):
    """What a single release lacks."""

    deleted_vertices: int = 0
    deleted_edges: int = 0


class _Told(msgspec.Struct, frozen=True):
    """Parts of an audit for judges; it may be handwritten."""

    cost: _Deleted = _Deleted()
    declared: Declared | None = None
    vacated: tuple[str, ...] = ()


def _told(folder: Path, release_id: str) -> _Told:
    path = place_of(folder, release_id, AUDIT) / AUDIT
    return _read(path, _Told) if path.exists() else _Told()


def read_audit(path: Path) -> Audit:
    """Return the private audit of a release.

    Raises
    ------
    InvalidGraph
        If there is none, or it is no audit. Its content is not repeated.
    """
    return _read(path, Audit)


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})."
        hint = "--map takes the private audit folder, with audit.json in a folder per release."
        raise InvalidGraph(msg, hint=hint) from error
    except (ValueError, msgspec.DecodeError) as error:
        hint = "Audits of `ktsafe anonymize` and of the service have all figures."
        raise InvalidGraph(f"{path} is no readable audit: {error}.", hint=hint) from error


# The private audits of past releases.
#
# The gate judges a sequence by them; the state keeps them.
#
# Nothing can be released without them: releases are judged together, by the people behind them. The
# ledger has the sha256 of every file, so a changed file is not taken for the mapping.
#
# new bytes in <file>.partial ──▶ their sha256 in the ledger ──▶ <file>.partial becomes <file>
# a crash here: the next start does the last step

PARTIAL: Final = ".partial"
"""Ends the name of a file that takes another one's place once it is whole."""


def check_there(releases: Iterable[ReleaseRecord], audit_dir: Path) -> None:
    """Check quickly that every release has its mapping, unless let go.

    Raises
    ------
    StateCorrupted
        If one is gone.
    """
    for release in releases:
        if release.has_audit and not (audit_dir / release.release_id / MAPPING).is_file():
            raise lost(release)


def finish_rewrites(releases: Iterable[ReleaseRecord], audit_dir: Path) -> None:
    """Put crashed rewrites in place, if the ledger knows them.

    The ledger knows files by their sha256.

    Else it is removed: it may name a person that was deleted since.
    """
    recorded = {release.release_id: release.audit for release in releases}
    for partial in audit_dir.glob(f"*/*{PARTIAL}"):
        name = partial.name.removesuffix(PARTIAL)
        if digest_regular(partial) == recorded.get(partial.parent.name, {}).get(name):
            partial.replace(partial.with_name(name))
            sync_folder(partial.parent)
        else:
            partial.unlink()


def check_recorded(release: ReleaseRecord, audit_dir: Path) -> None:
    """Compare the private audit of a past release with the ledger.

    Raises
    ------
    StateCorrupted
        If a file is gone or has changed.
    OSError
        If no file can be opened for now.
    """
    for name, expected in release.audit.items():
        path = audit_dir / release.release_id / name
        try:
            # What a crash left of a rewrite counts: `finish_rewrites` puts it in its place.
            places = (path, path.with_name(name + PARTIAL))
            found = {digest_regular(place) for place in places if place.exists()}
        except OSError as error:
            if is_passing(error):
                raise
            raise lost(release, name) from error
        if expected not in found:
            raise lost(release, name)


def owners_of(release: ReleaseRecord, audit_dir: Path) -> dict[str, str | None]:
    """Return the person behind each id of a past release.

    Raises
    ------
    StateCorrupted
        If the mapping is gone, or is not that of a release of this size.
    OSError
        If no file can be opened for now.
    """
    try:
        owners = read_owners(audit_dir, release.release_id)
    except KtsafeError as error:
        if is_passing(error.__cause__):
            raise error.__cause__ from None
        raise lost(release) from error
    if len(owners) != release.n_vertices:
        raise lost(release)
    return owners


def check_history(releases: Iterable[ReleaseRecord], audit_dir: Path) -> None:
    """Read the private mappings of past releases, and where their values stand.

    Raises
    ------
    StateCorrupted
        If something is gone, or does not read back as it was written.
    """
    for release in releases:
        owners = owners_of(release, audit_dir)
        path = audit_dir / release.release_id / VALUES
        if not path.exists():
            continue
        try:
            value_places(path, list(owners))
        except KtsafeError as error:
            raise lost(release, VALUES) from error


def lost(release: ReleaseRecord, name: str = MAPPING) -> StateCorrupted:
    """Return the error of a private audit that changed."""
    subject = f"the private audit of {release.release_id} ({name})"
    return StateCorrupted("read the mapping", subject, RESTORE)


# Withdrawn releases of a state.
#
# The private audit of each has a copy of its marker.
#
# The owner may delete a withdrawn release at the sink, with its marker. By the copy a service knows
# that it must not send the release again. Behind the marker stands its sha256, so that a damaged
# copy is told without the sink.

_SUM_BYTES: Final = 65
"""Of a sha256 in hexadecimal, and the end of its line."""


def note(audit: Path, marker: bytes) -> None:
    """Keep a release's marker in its private audit, synced.

    It replaces an earlier one.

    The folder is made where the audit was let go.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    audit.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written beside it and put in its place: whole, whatever happens.
    beside = audit / f".{WITHDRAWN}"
    write_synced(beside, [marker, _sum(marker)])
    beside.replace(audit / WITHDRAWN)
    sync_folder(audit)


def noted(audit: Path) -> bytes | None:
    """Return the marker in the private audit of a release.

    None if it was not withdrawn.

    Raises
    ------
    StateCorrupted
        If it is not as it was noted.
    """
    path = audit / WITHDRAWN
    if not path.exists():
        return None
    told = path.read_bytes()
    marker, told_sum = told[:-_SUM_BYTES], told[-_SUM_BYTES:]
    if told_sum != _sum(marker):
        raise StateCorrupted("check the audit", str(path), "Withdraw the release again.")
    return marker


def _sum(marker: bytes) -> bytes:
    return hashlib.sha256(marker).hexdigest().encode() + b"\n"


def marker(release_id: str, time: str, why: str) -> bytes:
    """Return the public marker of a withdrawn release."""
    told = {"release_id": release_id, "withdrawn": time, "why": why}
    return (json.dumps(told, indent=2) + "\n").encode()
