"""Releases together, or one by itself: friends that are known, and candidates.

What is known of friends, and shown of them, stands side by side, release by release, so the
nearest candidate is the one with the least sum of distances.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import banded
from ktsafe.assess.attacks.common.history import History, VertexKinds
from ktsafe.assess.attacks.common.nearest import Standing
from ktsafe.assess.attacks.common.result import Result, standing_result
from ktsafe.numbering import classes_of
from ktsafe.params import PrivacyParams

Numbers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Together:
    """At least one release, and the attacked people of the last one.

    Candidates of a person are the ids that are in the same releases as the person's own, with the
    same published quasi-identifiers.

    Attributes
    ----------
    history:
        The releases and the truth.
    places:
        The targets' places among the vertices of the last release, shape (targets,).
    classes:
        A number for each id; ids of one number are each other's candidates, shape (n_ids,).
    """

    history: History
    places: Numbers
    classes: Numbers

    @classmethod
    def of(cls, history: History) -> Together:
        """Return the releases with the targets of the last case."""
        tuples = [history.tuples_of_ids(i) for i in range(len(history.cases))]
        return cls(history, history.cases[-1].places, classes_of(tuples))

    def among(self, is_target: NDArray[np.bool_]) -> Together:
        """Return the same with these targets only."""
        return dataclasses.replace(self, places=self.places[is_target])

    @cached_property
    def own(self) -> Numbers:
        """The number of each target's id, shape (targets,)."""
        return self.history.ids[-1][self.places]

    @cached_property
    def vertices(self) -> Numbers:
        """The targets' vertices of the last true graph, shape (targets,)."""
        return self.history.cases[-1].original_of[self.places]

    @cached_property
    def people(self) -> Numbers:
        """The number of each target, shape (targets,)."""
        return self.history.persons[-1][self.vertices]

    @cached_property
    def candidates(self) -> Numbers:
        """How many candidates each target has, shape (targets,)."""
        sizes: Numbers = np.bincount(self.classes)[self.classes[self.own]]
        return sizes

    @property
    def by_chance(self) -> float:
        """Expected share of targets found by a uniform guess among their candidates."""
        return float((1 / self.candidates).mean()) if len(self.own) else 0.0

    def known(
        self, kinds: VertexKinds | None = None, worth: Sequence[Numbers | None] | None = None
    ) -> sparse.csr_matrix:
        """Return the counts of each target's true friends; see `History.known`."""
        history = self.history
        of_each = worth or [None] * len(history.cases)
        rows = [history.known(i, kinds, each)[self.people] for i, each in enumerate(of_each)]
        return sparse.hstack(rows, format="csr")

    def seen(self, kinds: VertexKinds | None = None) -> sparse.csr_matrix:
        """Return the counts of each id's released neighbours; see `History.seen`."""
        n = len(self.history.cases)
        return sparse.hstack([self.history.seen(i, kinds) for i in range(n)], format="csr")

    def guessed(
        self, attack: str, params: PrivacyParams, standing: Standing, *, is_promised: bool = False
    ) -> Result:
        """Return the share of targets found by naming the nearest candidate.

        See `standing_result`; the control is a uniform guess among the candidates.
        """
        chances = standing.chances
        degrees = self.history.cases[-1].original.degrees[self.vertices]
        bands = banded(degrees, self.candidates, chances)
        return standing_result(
            attack,
            params,
            standing,
            control=self.by_chance,
            bands=bands,
            is_promised=is_promised,
        )
