"""What is fixed for a whole sequence."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from ktsafe.graph import Schema
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """Schema and parameters of a sequence.

    Attributes
    ----------
    schema, params:
        Of the releases.
    forming:
        Parameters for new cohorts: at least m members, alpha less its reserve, nothing but
        equality.
    effort:
        How hard cohorts are searched.
    """

    schema: Schema
    params: PrivacyParams
    forming: PrivacyParams
    effort: Effort

    @classmethod
    def of(cls, schema: Schema, params: PrivacyParams, reserve: Fraction, effort: Effort) -> Frame:
        """Derive the parameters of new cohorts."""
        alpha = params.alpha * (1 - reserve)
        forming = dataclasses.replace(
            params, k=params.group_size_min, t=Fraction(0), epsilon=0, alpha=alpha
        )
        return cls(schema, params, forming, effort)

    def is_sensitive(self, text: str) -> bool:
        """Whether a text of the sensitive attribute counts as sensitive."""
        return text in self.schema.sensitive_values
