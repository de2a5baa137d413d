"""The constants of a sequence, and the context of one release's steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any

import numpy as np

from ktsafe.graph import MISSING, Schema
from ktsafe.params import DENOMINATOR_MAX, PrivacyParams
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

    def has_sensitive_value(self, row: int) -> bool:
        """Whether the true sensitive value of a person is a sensitive one."""
        return self.is_sensitive(self.state.people.sensitive[row])


def _share(part: Fraction, whole: int) -> Fraction:
    """Return a positive share, rounded down to what `PrivacyParams` holds."""
    share = part / whole
    if share.denominator <= DENOMINATOR_MAX:
        return share
    return Fraction(max(int(share * DENOMINATOR_MAX), 1), DENOMINATOR_MAX)
