"""Decoding of events: each bad input has its reason, and no reason repeats a value."""

import datetime
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.graph.inputs.spelling import id_text
from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.events import MalformedEvent, has_repeated_key

BIDI_AND_LINES = [chr(c) for c in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
STEERING = ["\x00", "\x1f", "\n", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\u202e", "\u2066"]
"""What ends a line for some readers, steers terminals, or turns text round."""


@pytest.mark.parametrize("bad", ["", "x" * 1025, "é" * 600, *(f"a{c}b" for c in STEERING)])
def test_ids_that_cannot_be_carried_are_refused(bad):
    """Empty, overlong and control-character ids are refused."""
    with pytest.raises(MalformedEvent) as caught:
        events.checked_id(bad)
    assert caught.value.reason == "bad_id"


@pytest.mark.parametrize("character", STEERING)
def test_values_that_cannot_be_carried_are_refused(character):
    """A row of a published file is one line for every reader, and shows what it holds."""
    with pytest.raises(MalformedEvent) as caught:
        events.attribute_text(f"a{character}b")
    assert caught.value.reason == "bad_attribute"


@pytest.mark.parametrize("text", ["a\u200cb\u200dc", "\u200fx", "=1+1", "@ann", "-2+3"])
def test_letters_of_every_script_and_formulas_are_accepted(text):
    """Joiners and marks belong to names; what a spreadsheet makes of a text is not its fault."""
    assert events.checked_id(text) == events.attribute_text(text) == text


@given(
    st.text(
        st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="".join(BIDI_AND_LINES)),
        min_size=1,
        max_size=200,
    )
)
def test_other_ids_are_accepted(vertex_id):
    """Any other text is an id, whatever its script, spelt as by every door."""
    event = events.decode(json.dumps({"type": "vertex.delete", "id": vertex_id}).encode())
    assert event.id == vertex_id
    text = id_text(vertex_id)
    if text is None:
        with pytest.raises(MalformedEvent):
            events.checked_id(vertex_id)
    else:
        assert events.checked_id(vertex_id) == text


def test_times_in_both_forms_mean_the_same():
    """RFC 3339, with any offset, and epoch milliseconds agree; the record's timestamp is last."""
    moment = 1_767_225_600_123
    for time in (
        moment,
        float(moment),
        1.767225600123e12,
        "2026-01-01T00:00:00.123Z",
        "2026-01-01T02:00:00.123+02:00",
    ):
        event = events.decode(
            json.dumps({"type": "vertex.delete", "id": "a", "time": time}).encode()
        )
        assert events.time_us(event.time, 7) == moment * 1000
    assert events.time_us(None, moment) == moment * 1000


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-12-31T23:59:60Z", "2026-12-31T23:59:59.999999Z"),
        ("2016-12-31t23:59:60.5z", "2016-12-31T23:59:59.999999Z"),
        ("2026-06-30 18:59:60-05:00", "2026-06-30T23:59:59.999999Z"),
        ("2027-01-01T05:29:60+05:30", "2026-12-31T23:59:59.999999Z"),
    ],
)
def test_a_leap_second_is_the_end_of_its_minute(text, last):
    """RFC 3339 has it, at the end of a month by UTC."""
    value = json.dumps({"type": "vertex.delete", "id": 'a \\" :60', "time": text}).encode()
    event = events.decode(value)
    moment = datetime.datetime.fromisoformat(last)
    assert (event.id, event.time) == ('a \\" :60', moment)


@pytest.mark.parametrize(
    "text",
    ["2026-12-30T23:59:60Z", "2026-12-31T23:58:60Z", "2026-12-31T23:59:60", "9999-12-31T23:59:60Z"],
)
def test_other_minutes_have_no_leap_second(text):
    """Sixty-one seconds at any other time, or without an offset, are a mistake."""
    with pytest.raises(MalformedEvent, match="bad_time"):
        events.decode(json.dumps({"type": "vertex.delete", "id": "a", "time": text}).encode())


REPEATED = [
    b'{"type":"vertex.delete","type":"vertex.delete","id":"a"}',
    b'{"type":"vertex.delete","id":"a","id" : "a"}',
    b'{"type":"vertex.delete","id":"a","i\\u0064":"b"}',
    b'{"type":"vertex.delete","id":"a","time":null,"time":1767225600000}',
    b'{"type":"vertex.upsert","id":"a","attributes":{"x":"y","x":"y"}}',
    b'{"type":"vertex.upsert","id":"a","attributes":{},"attributes":{}}',
    b'{"type":"vertex.upsert","id":"a","more":{"x":[{"y":1,"y":2}]}}',
    b'{"type":"vertex.upsert","id":"a","odd":1e999,"more":1,"more":2}',
]


@pytest.mark.parametrize("value", REPEATED)
def test_a_key_given_twice_is_refused(value):
    """Which of both is meant is not known; equal values, and fields that are ignored, too."""
    with pytest.raises(MalformedEvent, match="repeated_key"):
        events.decode(value)


NOT_REPEATED = [
    b'{"type":"vertex.delete","id":"a\\"b","id2":"\\u0022\\\\"}',
    b'{"type":"vertex.upsert","id":"a","attributes":{"id":"a","type":"b"},"more":{"id":[{"id":1},{"id":1}]}}',
    b'{"type":"vertex.upsert","id":"a","time":null,"attributes":{"":"","b":null,"c":"\\n"}}',
    b'{"type":"vertex.upsert","id":"a","odd":1e999,"more":1}',
]


@pytest.mark.parametrize("value", NOT_REPEATED)
def test_quotes_and_names_of_other_objects_repeat_nothing(value):
    """A quote in a text is none of a key, and each object has its own keys."""
    events.decode(value)


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
)


@given(tree=st.dictionaries(st.text(max_size=2), trees, max_size=4), ascii_only=st.booleans())
def test_repeated_keys_are_found_in_any_text(tree, ascii_only):
    """No document that a writer makes has one; with one key more that is there already it has."""
    try:
        value = json.dumps(tree, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    assert not has_repeated_key(value)
    for key in tree:
        again = json.dumps(key, ensure_ascii=ascii_only).encode()
        assert has_repeated_key(value[:-1] + b"," + again + b":1}")


OUTSIDE = [10**30, -(10**30), 253_402_300_800_000, -62_135_596_800_001, 0, 1_767_225_600]


@pytest.mark.parametrize("time", OUTSIDE)
def test_times_outside_the_calendar_are_refused(time):
    """A time that no calendar year holds is refused, and a number before 1990: seconds, mostly."""
    with pytest.raises(MalformedEvent) as caught:
        events.time_us(time, None)
    assert caught.value.reason == "bad_time"


def test_a_file_event_without_time_is_malformed():
    """Where the record has no timestamp the event must carry its time."""
    with pytest.raises(MalformedEvent) as caught:
        events.time_us(None, None)
    assert caught.value.reason == "no_time"


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), (3, "3"), (1.5, "1.5"), (3.0, "3"), (True, "true"), (None, None), (" ", None)],
)
def test_attribute_values_become_text(value, text):
    """Scalars are stored as the text that every door gives them."""
    assert events.attribute_text(value) == text
