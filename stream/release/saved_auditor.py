"""The auditor of the gate across restarts: what it has learned is durable with each release.

It is kept as pages beside those of the mechanism, so the ledger has a digest of each, and they
change in the write that stages the release. An auditor that was saved needs no former release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from ktsafe.sequence_audit import SequenceAuditor, UnknownSavedState
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

PREFIX: Final = "auditor/"
"""Of the names of the pages."""


def is_saved(names: Iterable[str]) -> bool:
    """Whether pages of these names hold an auditor."""
    return any(name.startswith(PREFIX) for name in names)


class SavedAuditor:
    """What was saved of the auditor of one sequence, release by release.

    Parameters
    ----------
    pages:
        The pages of the last staged release of the sequence; none before its first.
    """

    def __init__(self, pages: Mapping[str, bytes]) -> None:
        own = {name: page for name, page in pages.items() if name.startswith(PREFIX)}
        self._digests = {name: _digest(page) for name, page in own.items()}
        self._next = self._digests
        # Until it is read: afterwards the auditor itself knows.
        self._pages: Mapping[str, bytes] = own

    def read_into(self, auditor: SequenceAuditor, key: bytes) -> bool:
        """Let a new auditor go on from what was saved; return whether it knows anything now."""
        pages = {name.removeprefix(PREFIX): page for name, page in self._pages.items()}
        self._pages = {}
        if not pages:
            return False
        try:
            auditor.resume_from(pages, key)
        except UnknownSavedState:
            log.warning("the saved auditor is of another version: it is led through all releases")
            return False
        return True

    def changed(self, auditor: SequenceAuditor, key: bytes) -> dict[str, bytes | None]:
        """Return the pages that differ from those of the last staged release, None if one goes."""
        pages = {f"{PREFIX}{name}": page for name, page in auditor.saved(key).items()}
        self._next = {name: _digest(page) for name, page in pages.items()}
        gone: dict[str, bytes | None] = dict.fromkeys(self._digests.keys() - pages.keys())
        return gone | {
            name: page
            for name, page in pages.items()
            if self._next[name] != self._digests.get(name)
        }

    def end_build(self, *, staged: bool) -> None:
        """Take what was saved last for what is durable, if the release is staged."""
        if staged:
            self._digests = self._next


def _digest(page: bytes) -> bytes:
    return hashlib.blake2b(page, digest_size=16).digest()
