"""A sequence of releases that stays safe at any radius, for whoever links all of them.

Everybody has a place in a group of m places, for ever; the places of a group appear together, in
one class. Every release is mapped onto itself by the same shift of all groups, so the members of a
group cannot be told apart by the whole history of the graph: every protection set of every
release is a union of groups, and so is every intersection of them. Of each group at most the
share alpha was ever published as sensitive. And whatever a member visibly gains or loses, all
members of its group gain or lose in the same release.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ktsafe.errors import InvalidParams
from ktsafe.graph import Schema
from ktsafe.params import PrivacyParams
from ktsafe.sequence import Changes, Released, Sequence, SequenceOptions
from ktsafe.sequence.aligned import aligned_step
from ktsafe.sequence.aligned.orbits import shift_of
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.step import Visible


def check_options(params: PrivacyParams, options: SequenceOptions) -> None:
    """Raise unless groups have room for as many people as the options ask for.

    Raises
    ------
    InvalidParams
    """
    alpha = params.alpha * (1 - options.alpha_reserve)
    m = dataclasses.replace(params, alpha=alpha).group_size_min
    if options.real_per_group is not None and not 1 <= options.real_per_group <= m:
        msg = f"There are {m} places in a group, so that 1 to {m} of them can be real."
        raise InvalidParams(msg, hint="That is k, or 1 / alpha if greater.")


class AlignedSequence(Sequence):
    """The current release of permanent groups, and all that the next one depends on.

    `qi_change = "hold"` shows another quasi-identifier once all people of a group have changed to
    it.
    """

    def __init__(
        self, state: State, schema: Schema, params: PrivacyParams, options: SequenceOptions
    ) -> None:
        super().__init__(state, schema, params, options)
        check_options(params, options)

    def released(self) -> Released:
        """Return the current release with its shift; a whole scan."""
        return dataclasses.replace(super().released(), shift=shift_of(self._state, self._order()))

    def check(self) -> None:
        """Check the certificate of all groups; a whole scan.

        Raises
        ------
        NotKTSafe
            If it does not hold.
        """
        aligned_step.check(self._state, self._frame, self._state.members)

    def _make(self, changes: Changes, rng: np.random.Generator) -> Visible:
        return aligned_step.make_release(self._state, self._frame, self.options, changes, rng)
