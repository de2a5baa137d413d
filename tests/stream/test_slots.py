"""Release slots."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.stream.ingest.events import TIME_US_MAX, TIME_US_MIN
from ktsafe.stream.slots import MonthlySlots, parse_slots, rfc3339

DAY_US = 86_400_000_000
moments = st.integers(TIME_US_MIN + 400 * DAY_US, TIME_US_MAX - 400 * DAY_US)
series = st.sampled_from(["1s", "15m", "6h", "1d", "14d", "2w", "month"]).map(parse_slots)


@given(series, moments)
def test_neighbouring_slots_enclose_a_moment(slots, moment):
    """`before` < moment <= `at_or_after`, and nothing lies between the two slots."""
    before, after = slots.before(moment), slots.at_or_after(moment)
    assert before < moment <= after
    assert slots.at_or_after(before + 1) == after
    assert slots.distance(before, after) == 1


@given(series, moments)
def test_a_slot_is_its_own_slot(slots, moment):
    """A moment that is a slot belongs to that slot."""
    slot = slots.at_or_after(moment)
    assert slots.at_or_after(slot) == slot
    assert slots.before(slot + 1) == slot


def test_months_begin_at_the_first():
    """Monthly slots follow the calendar, leap years included."""
    slots = MonthlySlots()
    slot = slots.at_or_after(1_706_800_000_000_000)  # 2024-02-01T15:06:40Z
    assert rfc3339(slot) == "2024-03-01T00:00:00Z"
    assert rfc3339(slots.before(slot)) == "2024-02-01T00:00:00Z"


@pytest.mark.parametrize("text", ["", "1", "0s", "-1d", "1y", "month2", "1.5h", "10000000000s"])
def test_other_texts_are_refused(text):
    """What names no series of slots is refused with examples of what does."""
    with pytest.raises(ValueError, match="such as"):
        parse_slots(text)
