"""The constants from one release of a sequence to the next."""

from __future__ import annotations

import msgspec

from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit.audited_release import AuditedRelease
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend
from ktsafe.sequence_audit.findings import Violations


class Continuity(CopyOnExtend):
    """Follows the heads of releases.

    Parameters
    ----------
    keeps_ids:
        Whether all ids of releases are kept. Without them ids have to ascend, as those of a service
        do: one that does not counts as repeated.

    Attributes
    ----------
    sequence_ids:
        Of the sequences so far, the current one last.
    params:
        Of the current sequence.
    """

    NOT_SAVED = frozenset({"_keeps_ids"})

    def __init__(self, *, keeps_ids: bool = True) -> None:
        self._keeps_ids = keeps_ids
        self.sequence_ids: tuple[str, ...] = ()
        self.params = PrivacyParams()
        # All of them; or how many there were, and the greatest.
        self._release_ids: frozenset[str] | tuple[int, str] = frozenset()
        self.resume()
        self._schema = b""

    def resume(self) -> None:
        """Drop the ids that an earlier version saved."""
        ids = self._release_ids
        if isinstance(ids, frozenset) and not self._keeps_ids:
            self._release_ids = (len(ids), max(ids, default=""))

    @property
    def n_releases(self) -> int:
        """How many releases with ids of their own there were."""
        ids = self._release_ids
        return len(ids) if isinstance(ids, frozenset) else ids[0]

    def enter(self, release: AuditedRelease, found: Violations) -> bool:
        """Check the head of the next release.

        Return whether it begins a new sequence.
        """
        if not self._is_new(release.release_id):
            found.whole("release_repeated")
        if release.unmatched:
            found.whole("mapping_incomplete", release.unmatched)
        schema = msgspec.json.encode(release.schema, order="sorted")
        if self.sequence_ids[-1:] == (release.sequence_id,):
            if release.params != self.params:
                found.whole("params_changed")
            if schema != self._schema:
                found.whole("schema_changed")
            return False
        if release.sequence_id in self.sequence_ids:
            found.whole("sequence_reopened")
        self.sequence_ids = (*self.sequence_ids, release.sequence_id)
        self.params, self._schema = release.params, schema
        return True

    def _is_new(self, release_id: str) -> bool:
        """Note the id of a release; return whether it was never used."""
        ids = self._release_ids
        if isinstance(ids, frozenset):
            self._release_ids = ids | {release_id}
            return release_id not in ids
        number, last = ids
        if release_id <= last:
            return False
        self._release_ids = (number + 1, release_id)
        return True
