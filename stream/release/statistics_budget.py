"""What the statistics of a release may cost: an equal share for each release of a year.

In any 365 days all releases together cost no more than the epsilon per year: the ledger knows what
each one cost, across sequences, too. A release beyond that has no statistics.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ktsafe.state.ledger import ReleaseRecord
from ktsafe.stream.slots import Slots

YEAR_US: Final = 365 * 86_400 * 1_000_000


def share_micro(per_year_micro: int, slots: Slots, slot_us: int) -> int:
    """Return what one release may cost where every slot of 365 days has a release."""
    first = slots.at_or_after(slot_us - YEAR_US + 1)
    n_releases = slots.distance(first, slot_us) + 1
    return per_year_micro // max(1, n_releases)


def spent_micro(releases: Iterable[ReleaseRecord], slot_us: int) -> int:
    """Return what the releases of the 365 days up to a slot cost together."""
    return sum(r.epsilon_micro for r in releases if r.slot_us > slot_us - YEAR_US)
