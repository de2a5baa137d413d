"""What is fixed for a whole sequence, and what every step of one release is given."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from ktsafe.graph import Schema
from ktsafe.params import PrivacyParams
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """Schema, parameters and options of a sequence.

    Attributes
    ----------
    schema, params, options:
        Of the releases.
    forming:
        Parameters for new cohorts: at least m members, alpha less its reserve, nothing but
        equality.
    """

    schema: Schema
    params: PrivacyParams
    options: SequenceOptions
    forming: PrivacyParams

    @classmethod
    def of(cls, schema: Schema, params: PrivacyParams, options: SequenceOptions) -> Frame:
        """Derive the parameters of new cohorts."""
        alpha = params.alpha * (1 - options.alpha_reserve)
        forming = dataclasses.replace(
            params, k=params.group_size_min, t=Fraction(0), epsilon=0, alpha=alpha
        )
        return cls(schema, params, options, forming)


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """The release in the making.

    Attributes
    ----------
    state:
        What the sequence remembers; changed in place.
    frame:
        What is fixed.
    rng:
        The only randomness.
    """

    state: State
    frame: Frame
    rng: np.random.Generator

    def is_sensitive(self, code: int) -> bool:
        """Whether a code of the sensitive attribute counts as sensitive."""
        return self.state.codes.sensitive[code] in self.frame.schema.sensitive_values

    def has_sensitive_value(self, row: int) -> bool:
        """Whether the true sensitive value of a person is a sensitive one."""
        return self.is_sensitive(self.state.people.sensitive[row])
