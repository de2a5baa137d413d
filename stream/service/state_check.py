"""Check that a state or backup is as it was written.

Every byte that a service would read is read.

A backup is made of a state that passes, so rot is not carried into it. What this finds sound a
service starts with; what a service refuses, this names.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ktsafe import Schema
from ktsafe.connectors.base import WITHDRAWN, Misconfigured, ReleaseBundle, SinkConflict
from ktsafe.connectors.bundles import digest_regular
from ktsafe.state.database import RESTORE
from ktsafe.state.inspection import Examined, examine
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.state.recovery import of_another_schema, schema_digest
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.files.private_audits import check_history, check_recorded, noted
from ktsafe.stream.files.releases_write import AUDIT
from ktsafe.stream.maintenance.backup import Parts, unconfirmed
from ktsafe.stream.release.known_releases import (
    OpenReader,
    compare,
    gone,
    read_known,
    unjudgeable,
)
from ktsafe.stream.release.sequence_inputs import check_inputs, is_saved

if TYPE_CHECKING:
    from ktsafe.stream.config.settings import Settings

_SENT_AGAIN = "It would be sent again if the sink lost the release. Remove its folder."


def check_parts(parts: Parts, schema: Schema) -> Examined:
    """Check store, staged bytes and private audits of an unchanging state.

    Raises
    ------
    StateCorrupted
        If a byte is not as it was written.
    StateUnusable, StateMismatch
    """
    found = examine(parts.store, schema)
    _check_staged(found.releases, parts.staging)
    current = found.releases[-1].sequence_id if found.releases else None
    for release in found.releases:
        # Releases that are judged together need all their mappings; others may have been removed.
        is_needed = release.has_audit and bool(found.pages) and release.sequence_id == current
        folder = parts.audits / release.release_id
        noted(folder)
        if is_needed or folder.exists():
            check_recorded(release, parts.audits)
        if is_needed and AUDIT not in release.audit:
            check_history([release], parts.audits)  # An older version recorded no sha256.
    return found


def check_configured(
    found: Examined, parts: Parts, settings: Settings, frozen: Mapping[str, Any]
) -> None:
    """Compare a state's and sequence's beginnings with the configuration.

    A start of the service compares the same.

    Raises
    ------
    StateMismatch
    """
    if found.schema_digest != schema_digest(settings.schema):
        raise of_another_schema(parts.store)
    if found.sequence is not None:
        check_inputs(found.sequence, settings.params, settings.schema, frozen)


def check_sink(open_reader: OpenReader, found: Examined, parts: Parts) -> list[str]:
    """Compare every byte at the sink with the ledger.

    Return the releases that are gone from it.

    A sink that is ahead of a restored state is no error: a service makes its releases again.

    Raises
    ------
    SinkConflict
        If a release was changed, or one is gone that no other can be judged without, because no
        auditor was saved.
    Unavailable, Misconfigured
        If the sink cannot be read.
    """
    last = found.releases[-1] if found.releases else None
    look = functools.partial(_check_marker, audits=parts.audits)
    try:
        present, known = read_known(open_reader, found.sequence, last, look)
    except Misconfigured:
        if found.releases:
            raise
        return []  # Nothing was published yet, and perhaps there is no folder.
    compare(found.releases, present, known)
    missing = gone(found.releases, present)
    is_needed = found.pages and not is_saved(found.pages)
    if last and last.release_id in missing and is_needed and not _is_sendable(last, found, parts):
        raise unjudgeable(last.release_id)
    return missing


def _check_staged(releases: list[ReleaseRecord], staging: Path) -> None:
    """Check staged bytes.

    Those that no sink has confirmed must be there, others may be.
    """
    fixed = unconfirmed(releases)
    for release in releases:
        folder = staging / release.release_id
        for name, expected in release.files.items() if release in fixed or folder.exists() else ():
            path = folder / name
            if not path.is_file() or digest_regular(path) != expected:
                hint = RESTORE if release in fixed else _SENT_AGAIN
                raise StateCorrupted("check staged bytes", str(path), hint)


def _check_marker(bundle: ReleaseBundle, audits: Path) -> None:
    """Compare a withdrawn release's marker with its note."""
    marker, path = noted(audits / bundle.release_id), bundle.folder / WITHDRAWN
    if marker is not None and not (path.is_file() and path.read_bytes() == marker):
        hint = "it was withdrawn, and its marker does not say so as noted. Withdraw it again."
        raise SinkConflict("check release", f"release {bundle.release_id}", hint)


def _is_sendable(last: ReleaseRecord, found: Examined, parts: Parts) -> bool:
    """Whether a service sends a last release again after its loss."""
    is_current = found.sequence is not None and last.sequence_id == found.sequence.sequence_id
    is_withdrawn = noted(parts.audits / last.release_id) is not None
    return is_current and not is_withdrawn and (parts.staging / last.release_id).exists()
