"""What must not change from one release of a sequence to the next."""

from __future__ import annotations

import msgspec

from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit.audited_release import AuditedRelease
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend
from ktsafe.sequence_audit.findings import Violations


class Continuity(CopyOnExtend):
    """Follows the heads of releases.

    Attributes
    ----------
    sequence_ids:
        Of the sequences so far, the current one last.
    params:
        Of the current sequence.
    """

    def __init__(self) -> None:
        self.sequence_ids: tuple[str, ...] = ()
        self.params = PrivacyParams()
        self._release_ids: frozenset[str] = frozenset()
        self._schema = b""

    @property
    def n_releases(self) -> int:
        """How many releases with ids of their own there were."""
        return len(self._release_ids)

    def enter(self, release: AuditedRelease, found: Violations) -> bool:
        """Check the head of the next release; return whether it begins a new sequence."""
        if release.release_id in self._release_ids:
            found.whole("release_repeated")
        if release.unmatched:
            found.whole("mapping_incomplete", release.unmatched)
        self._release_ids |= {release.release_id}
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
