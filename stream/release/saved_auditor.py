"""The auditor of the gate across restarts.

What it has learned is durable with each release.

It is kept as pages beside those of the mechanism, so the ledger has a digest of each, and they
change in the write that stages the release. An auditor that was saved needs no former release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ktsafe.audit.sequence import SequenceAuditor, UnknownSavedState
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

PREFIX: Final = "auditor/"
"""Of the names of the pages."""


def is_of_auditor(name: str) -> bool:
    """Whether the page of this name is an auditor's."""
    return name.startswith(PREFIX)


def is_saved(names: Iterable[str]) -> bool:
    """Whether pages of these names hold an auditor."""
    return any(map(is_of_auditor, names))


def read_into(auditor: SequenceAuditor, pages: Mapping[str, bytes], key: bytes) -> bool:
    """Let a new auditor go on from what was saved.

    Return whether it knows anything now.

    Parameters
    ----------
    pages:
        The pages of the last staged release of the sequence; none before its first.
    """
    own = {name.removeprefix(PREFIX): pages[name] for name in filter(is_of_auditor, pages)}
    if not own:
        return False
    try:
        auditor.resume_from(own, key)
    except UnknownSavedState:
        log.warning("the saved auditor is of another version: it is led through all releases")
        return False
    return True


def pages_of(auditor: SequenceAuditor, key: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the pages of an auditor as it is now."""
    for name, page in auditor.pages(key):
        yield f"{PREFIX}{name}", page
