"""The true ids of past releases: the gate needs them to judge a sequence; the state keeps them.

Nothing can be released without them: releases are judged together, by the people behind them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ktsafe.connectors.regular_files import is_passing
from ktsafe.errors import KtsafeError
from ktsafe.state.database import RESTORE
from ktsafe.state.errors import StateCorrupted
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.stream.files.certificates import CERTIFICATE, read_certificate
from ktsafe.stream.files.private_audits import read_owners
from ktsafe.stream.files.releases_write import MAPPING


def current_releases(releases: list[ReleaseRecord]) -> list[ReleaseRecord]:
    """Return the releases of the sequence of the last one."""
    return [each for each in releases if each.sequence_id == releases[-1].sequence_id]


def check_there(releases: Iterable[ReleaseRecord], audit_dir: Path) -> None:
    """Check, in an instant, that every release has its mapping.

    Raises
    ------
    StateCorrupted
        If one is gone.
    """
    for release in releases:
        if not (audit_dir / release.release_id / MAPPING).is_file():
            raise _lost(release)


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
        raise _lost(release) from error
    if len(owners) != release.n_vertices:
        raise _lost(release)
    return owners


def check_history(releases: Iterable[ReleaseRecord], audit_dir: Path) -> None:
    """Read the private mappings of past releases, and their certificates where there are any.

    Raises
    ------
    StateCorrupted
        If something is gone, or does not read back as it was written.
    """
    for release in releases:
        owners = owners_of(release, audit_dir)
        certificate = audit_dir / release.release_id / CERTIFICATE
        if certificate.exists():
            try:
                read_certificate(certificate, list(owners))
            except KtsafeError as error:
                raise _lost(release) from error


def _lost(release: ReleaseRecord) -> StateCorrupted:
    return StateCorrupted("read who is who", f"the private audit of {release.release_id}", RESTORE)
