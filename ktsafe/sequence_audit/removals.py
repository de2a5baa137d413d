"""Places of people who left and whose ids vanish at once: one object for the verdict, two to see.

Brings together what is claimed (`successions`), what changes by itself (`exchanges`) and whom that
gives away (`exposure`).
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.candidates import Candidates
from ktsafe.sequence_audit.exchanges import Exchanges
from ktsafe.sequence_audit.exposure import Exposed, Exposure
from ktsafe.sequence_audit.figures import counts, sizes
from ktsafe.sequence_audit.profiles import Structure
from ktsafe.sequence_audit.release import AuditedRelease
from ktsafe.sequence_audit.successions import Named, Successions


class Removals:
    """The removals of a history, release by release."""

    def __init__(self) -> None:
        self._successions = Successions()
        self._exposure: Exposure | None = None
        self._last: Structure | None = None
        self._base = 0

    @property
    def seen(self) -> Candidates | None:
        """The candidates by published id, None before the first removal of a sequence."""
        return None if self._exposure is None else self._exposure.candidates

    def copy(self) -> Removals:
        """Return a record that goes on from here by itself."""
        other = copy.copy(self)
        other.__dict__.update(
            _successions=self._successions.copy(),
            _exposure=None if self._exposure is None else self._exposure.copy(),
        )
        return other

    def begin_sequence(self, base: int) -> None:
        """Begin a new sequence, whose ids have numbers from `base` on."""
        self._successions.begin_sequence()
        self._exposure = self._last = None
        self._base = base

    def named(
        self,
        release: AuditedRelease,
        numbers: NDArray[np.int64],
        n_numbers: int,
        people: Collection[Hashable],
    ) -> Named:
        """Return the objects of a release; parameters are those of `Successions.add`."""
        return self._successions.add(release, numbers, n_numbers, people)

    def exposed(
        self,
        release: AuditedRelease,
        numbers: NDArray[np.int64],
        n_numbers: int,
        structure: Structure,
        named: Named,
        published: Candidates,
    ) -> Exposed | None:
        """Add the release to the view by ids, which begins with the first removal of a sequence.

        Parameters
        ----------
        published:
            The candidates that are judged, without this release: until the first removal both views
            are the same.
        """
        last, self._last = self._last, structure
        if self._exposure is None and len(named.removed):
            assert last is not None
            self._exposure = Exposure(published, last.edges, last.tuple_now)
        if self._exposure is None:
            return None
        flags, k = release.is_sensitive, release.params.k
        return self._exposure.add(numbers, n_numbers, release.edges, structure, flags, k)

    def figures(
        self,
        release: AuditedRelease,
        people: NDArray[np.int64],
        judged: NDArray[np.int64],
        uncovered: NDArray[np.int64],
        made: tuple[Named, Exchanges, Exposed | None],
    ) -> dict[str, Any]:
        """Name the people whom removals leave with fewer than k, and count ids that vanished.

        Who fails what is judged is no victim of a removal, and is found as a violation.

        Parameters
        ----------
        people:
            int64: positions of the vertices with an owner.
        judged:
            int64, shape (n,): |CS_all| of each vertex as an object.
        uncovered:
            int64: positions of vertices whose change is uncovered whatever was removed.
        """
        named, exchanges, exposed = made
        k = release.params.k
        seen = judged if exposed is None else exposed.candidates
        below = people[(seen < k)[people] & (judged >= k)[people]]
        changed = np.zeros(0, dtype=np.int64) if exposed is None else exposed.changed
        changed = np.setdiff1d(np.intersect1d(changed, people), uncovered)
        vanished = self._successions.vanished
        vanished = vanished[vanished >= self._base]
        alone = 0
        if self._exposure is not None:
            alone = int(np.count_nonzero(sizes(self._exposure.candidates, vanished) < k))
        return {
            "successions": len(named.removed),
            "unconfirmed": named.unconfirmed,
            "exchanged_ties": exchanges.ties,
            "vanished": len(vanished),
            "vanished_below_k": alone,
            "candidates": counts(seen[people], k),
            "below_k": sorted(release.ids[v] for v in below.tolist()),
            "changed_below_k": sorted(release.ids[v] for v in changed.tolist()),
        }
