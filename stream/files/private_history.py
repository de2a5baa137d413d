"""The private audits of past releases.

The gate judges a sequence by them; the state keeps them.

Nothing can be released without them: releases are judged together, by the people behind them. The
ledger has the sha256 of every file, so a changed file is not taken for the mapping.

    new bytes in <file>.partial ──▶ their sha256 in the ledger ──▶ <file>.partial becomes <file>
                                                  a crash here: the next start does the last step
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ktsafe.connectors.regular_files import digest_regular, is_passing
from ktsafe.errors import KtsafeError
from ktsafe.state.database import RESTORE
from ktsafe.state.errors import StateCorrupted
from ktsafe.state.folder import sync_folder
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.stream.files.certificates import CERTIFICATE, VALUES, read_permutation
from ktsafe.stream.files.private_audits import read_owners
from ktsafe.stream.files.releases_write import MAPPING

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
    """Read the private mappings of past releases, and the permutations beside them.

    Raises
    ------
    StateCorrupted
        If something is gone, or does not read back as it was written.
    """
    for release in releases:
        owners = owners_of(release, audit_dir)
        for kind in (CERTIFICATE, VALUES):
            path = audit_dir / release.release_id / kind
            if not path.exists():
                continue
            try:
                read_permutation(path, list(owners), kind)
            except KtsafeError as error:
                raise lost(release, kind) from error


def lost(release: ReleaseRecord, name: str = MAPPING) -> StateCorrupted:
    """Return the error of a private audit that changed."""
    subject = f"the private audit of {release.release_id} ({name})"
    return StateCorrupted("read the mapping", subject, RESTORE)
