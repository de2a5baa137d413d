"""The constants of a sequence, and the context of one release's steps.

Constants of parts may be tuned: they matter in first releases only
(tests/ktsafe/sequence/test_parts_of_classes.py). Draws are made by `rng`, parts get `seeds`; their
order settles bytes. `SequenceSpec` is derived anew at each start and not saved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import MISSING, Schema
from ktsafe.graph.numbering import edge_ends, edge_keys
from ktsafe.params import DENOMINATOR_MAX, PrivacyParams
from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceSpec:
    """Schema, parameters and options of a sequence.

    Attributes
    ----------
    schema, params, options:
        Of the releases.
    margin:
        People beyond m, the least size of a cohort, that each new one begins with.
    forming:
        Parameters for new cohorts: at least m and the margin, nothing but equality.
    """

    schema: Schema
    params: PrivacyParams
    options: SequenceOptions
    margin: int
    forming: PrivacyParams

    @classmethod
    def of(cls, schema: Schema, params: PrivacyParams, options: SequenceOptions) -> SequenceSpec:
        """Derive the parameters of new cohorts.

        Of those who are left in a cohort when as many left as its margin is, at most a share alpha
        is sensitive, whoever left: of n at the beginning `alpha * n * m / (m + margin)`.
        """
        assert options.margin is not None
        m, margin = params.group_size_min, options.margin
        alpha = params.alpha if params.alpha == 1 else _share(params.alpha * m, m + margin)
        forming = dataclasses.replace(params, k=m + margin, alpha=alpha, t=Fraction(0), epsilon=0)
        return cls(schema, params, options, margin, forming)

    @property
    def configured(self) -> frozenset[str]:
        """The texts of attributes that the configuration names, and the missing value."""
        return self.schema.sensitive_values | {MISSING}


@dataclasses.dataclass(frozen=True, slots=True)
class StepContext:
    """The release in the making.

    Attributes
    ----------
    state:
        What the sequence remembers; changed in place.
    spec:
        What is fixed.
    rng:
        The only randomness.
    executor:
        Works on parts side by side, if given; the release is the same without.
    """

    state: State
    spec: SequenceSpec
    rng: np.random.Generator
    executor: Executor | None = None

    @property
    def run(self) -> Callable[..., Iterator[Any]]:
        """What applies a function to the arguments of each part, in order."""
        return map if self.executor is None else self.executor.map

    def seeds(self, parts: int) -> list[int]:
        """Draw a seed for each part."""
        drawn: list[int] = self.rng.integers(2**63, size=parts).tolist()
        return drawn

    def is_sensitive(self, code: int) -> bool:
        """Whether a code of the sensitive attribute counts as sensitive."""
        return self.state.codes.sensitive[code] in self.spec.schema.sensitive_values

    @property
    def sensitive_codes(self) -> NDArray[np.bool_]:
        """Which codes of the sensitive attribute count as sensitive."""
        return np.array(list(map(self.is_sensitive, range(len(self.state.codes.sensitive)))))

    def has_sensitive_value(self, row: int) -> bool:
        """Whether the true sensitive value of a person is a sensitive one."""
        return self.is_sensitive(self.state.people.sensitive[row])


def _share(part: Fraction, whole: int) -> Fraction:
    """Return a positive share, rounded down to what `PrivacyParams` holds."""
    share = part / whole
    if share.denominator <= DENOMINATOR_MAX:
        return share
    return Fraction(max(int(share * DENOMINATOR_MAX), 1), DENOMINATOR_MAX)


# Two parts of a class that would hold most ties.
#
# A pair of classes goes dark as a whole, so without parts a network of one class would have
# releases without edges. Parts are drawn, and published nowhere: both have the quasi-identifiers of
# the class. Each is a class of its own to cohorts and rows, so what is equal towards both is equal
# towards it.


HELD_MAX = 0.5
"""Share of all ties that a pair of classes may hold. Of a pair with less, parts cost more ties in
every release than they save in one of ten (decision 90)."""

COHORTS_MIN = 20
"""Cohorts that a class must be enough for to be parted: of fewer, newcomers would wait longer."""


def part_largest(context: StepContext) -> None:
    """Part the class with too many ties, if any, at random."""
    people, ties = context.state.people, context.state.hidden_ties
    classes, held = np.unique(edge_keys(people.cls[ties.pairs(ties.used())]), return_counts=True)
    if held.max(initial=0) <= HELD_MAX * held.sum():
        return
    rows = people.used()
    of_pair = [rows[people.cls[rows] == cls] for cls in edge_ends(classes[[held.argmax()]])[0]]
    largest = max(of_pair, key=len)
    if len(largest) < COHORTS_MIN * context.spec.forming.k:
        return
    second = context.state.codes.part(int(people.cls[largest[0]]))
    people.write(context.rng.permutation(largest)[: len(largest) // 2], cls=second)


def parted(
    context: StepContext, rows: NDArray[np.int64], classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the part of a class for people that join or change.

    Who has a place or a part of the class already keeps it; for others it is drawn.

    Parameters
    ----------
    context:
        The release in the making.
    rows:
        int64, shape (n,): their rows, -1 of those who join.
    classes:
        int64, shape (n,): their classes.
    """
    state, codes = context.state, context.state.codes
    if not codes.second:
        return classes
    first, second = np.array(list(codes.second.items()), dtype=np.int64).T
    whole = np.arange(len(codes.classes))
    whole[second] = first
    place = np.append(state.people.place, NOBODY)[rows]
    own = np.append(state.people.cls, NOBODY)[rows]
    own = np.where(place != NOBODY, np.append(state.places.cls, NOBODY)[place], own)
    other = np.arange(len(codes.classes))
    other[first] = second
    drawn = np.where(context.rng.random(len(rows)) < 0.5, classes, other[classes])
    return np.where((own != NOBODY) & (whole[own] == classes), own, drawn)
