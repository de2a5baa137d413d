"""A sequence of releases that stays safe at any radius, also if all of them are linked.

Everybody has a place in a group of m places, for ever; the places of a group appear together, in
one class. Every release is mapped onto itself by the same shift of all groups, so the members of a
group cannot be told apart by the whole history of the graph: every protection set of every
release is a union of groups, and so is every intersection of them. Of each group at most the
share alpha was ever published as sensitive. And whatever a member visibly gains or loses, all
members of its group gain or lose in the same release.
"""

from __future__ import annotations

import dataclasses

from ktsafe.sequence import Released, Sequence
from ktsafe.sequence.aligned.aligned_step import ALIGNED
from ktsafe.sequence.aligned.orbits import shift_of


class AlignedSequence(Sequence):
    """The current release of permanent groups, and all that the next one depends on.

    `qi_change = "hold"` shows another quasi-identifier once all people of a group have changed to
    it.
    """

    recipe = ALIGNED

    def released(self) -> Released:
        """Return the current release with its shift; a whole scan."""
        return dataclasses.replace(super().released(), shift=shift_of(self._state, self._order()))
