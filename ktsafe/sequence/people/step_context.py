"""What is fixed for a whole sequence, and what every step of one release is given."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any

import numpy as np

from ktsafe.graph import MISSING, Schema
from ktsafe.params import PrivacyParams
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceSpec:
    """Schema, parameters and options of a sequence.

    Attributes
    ----------
    schema, params, options:
        Of the releases.
    forming:
        Parameters for new cohorts: at least m members, nothing but equality.
    """

    schema: Schema
    params: PrivacyParams
    options: SequenceOptions
    forming: PrivacyParams

    @classmethod
    def of(cls, schema: Schema, params: PrivacyParams, options: SequenceOptions) -> SequenceSpec:
        """Derive the parameters of new cohorts."""
        forming = dataclasses.replace(params, k=params.group_size_min, t=Fraction(0), epsilon=0)
        return cls(schema, params, options, forming)

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
