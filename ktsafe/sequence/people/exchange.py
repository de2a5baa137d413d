"""Members of a new cohort exchange sensitive values, once.

Each place shows a drawn member's.

Who shows whose value never changes. So a value that changes changes at the place that shows it; the
place of somebody who left goes on to show what it did, and so does the one that shows the leaver's
value.
"""

from __future__ import annotations

import numpy as np

from ktsafe.attributes.exchanged_values import of_purpose, places_of_values
from ktsafe.sequence.people.step_context import StepContext


def exchange_values(context: StepContext, first_cohort: int) -> None:
    """Let the members of each cohort from a number on exchange values.

    None was released yet.
    """
    state = context.state
    if context.spec.options.values == "in place":
        return
    places = np.flatnonzero(state.places.cohort >= first_cohort)
    drawn = places_of_values(state.places.cohort[places], of_purpose(context.rng, "values"))
    state.exchange_values(places, places[drawn])
