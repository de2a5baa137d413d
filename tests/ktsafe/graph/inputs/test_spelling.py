"""Ids and values have one text, whatever they came in as."""

import datetime
import decimal
import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.spelling import EXACT_MAX, code_text, id_text, spelt_twice, value_text
from ktsafe.graph.schema_check import likeness

SPELLINGS = [
    ("1", [1, 1.0, "1.0", " 1 ", '"1"', "1.00", np.int8(1), np.float32(1), decimal.Decimal("1.0")]),
    ("-3", [-3, -3.0, "-3.0"]),
    ("0", [0, -0.0, "0.0", "-0.0"]),
    ("0.5", [0.5, "0.5", decimal.Decimal("0.50"), np.float64(0.5)]),
    ("true", [True, "True", "TRUE", "true", np.bool_(True)]),
    ("false", [False, "False", "FALSE", "false"]),
    ("007", ["007", " 007"]),
    ("007.0", ["007.0"]),
    ("ill", ["ill", "ill ", "'ill'", '" ill"', "''ill' '"]),
    ("2026-01-31", ["2026-01-31", datetime.date(2026, 1, 31), np.datetime64("2026-01-31")]),
    ("2026-01-31T06:00:00", [np.datetime64("2026-01-31T06", "ns"), np.datetime64("2026-01-31T06")]),
    ("NULL", ["NULL"]),
    (None, [None, float("nan"), "", "  ", '""', decimal.Decimal("nan"), np.datetime64("NaT")]),
]


@pytest.mark.parametrize(("text", "spellings"), SPELLINGS)
def test_a_value_has_one_text(text: str | None, spellings: list[object]) -> None:
    """Types, blanks, quotes, whole fractions and booleans make no difference; words do."""
    assert [value_text(value) for value in spellings] == [text] * len(spellings)
    assert [id_text(value) for value in spellings] == [text] * len(spellings)


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, {1}, b"x", object(), 1j, float("inf"), np.timedelta64(1, "ns")]
)
def test_what_has_no_text_is_refused(value: object) -> None:
    """Lists, bytes and infinity are no values; the value is not repeated."""
    with pytest.raises(InvalidGraph):
        value_text(value)
    with pytest.raises(InvalidGraph):
        id_text(value)


def test_ids_whose_digits_are_lost_are_refused() -> None:
    """From 2**53 on a float may stand for its neighbour; a whole number or a text does not."""
    assert id_text(EXACT_MAX + 2) == id_text(str(EXACT_MAX + 2)) == str(EXACT_MAX + 2)
    assert id_text(float(EXACT_MAX - 1)) == str(EXACT_MAX - 1)
    for lost in (float(EXACT_MAX + 2), f"{EXACT_MAX + 2}.0", float(EXACT_MAX + 1)):
        with pytest.raises(InvalidGraph, match="2\\*\\*53"):
            id_text(lost)
    assert value_text(float(EXACT_MAX + 2)) == "9007199254740994.0"


@pytest.mark.parametrize("mark", ["\n", "\0", "\u2028", "\u202e", "\x1b"])
def test_ids_are_of_one_line(mark: str) -> None:
    """Mappings, logs and terminals could not carry others; ends are cut, values are not judged."""
    with pytest.raises(InvalidGraph, match="An id holds an end of line") as caught:
        id_text(f"secret{mark}x")
    assert "secret" not in str(caught.value)
    assert id_text("ann\r\n") == "ann"
    assert value_text(f"a{mark}x") == f"a{mark}x"


def test_ids_of_other_kinds_have_a_text() -> None:
    """Grids of networkx are numbered by pairs, and databases have UUIDs."""
    assert id_text((0, 1)) == "(0, 1)"
    assert id_text(uuid.UUID(int=7)) == "00000000-0000-0000-0000-000000000007"


@given(st.one_of(st.text(), st.integers(), st.floats(allow_infinity=False), st.booleans()))
def test_a_text_is_its_own_text(value: object) -> None:
    """Whoever reads what was written reads the same: spelling twice changes nothing."""
    text = value_text(value)
    if text is not None:
        assert value_text(text) == text
        assert likeness(text) == likeness(str(value)) or not isinstance(value, str)


@given(st.text(), st.text())
def test_values_that_become_one_text_are_alike(one: str, other: str) -> None:
    """Nothing that the spelling merges escapes the comparison of spellings."""
    if value_text(one) is not None and value_text(one) == value_text(other):
        assert likeness(one) == likeness(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "+1"),
        ("10", "1e1"),
        ("7", "007"),
        ("1.0", "TRUE"),
        ("yes", "1"),
        ("0", "no"),
        ("True", "true"),
        ("ill", "ILL"),
        ("ill", "ill "),
        ("not known", "NOT  KNOWN"),
    ],
)
def test_other_spellings_are_alike(one: str, other: str) -> None:
    """What a program does to a column when it writes it again is noticed."""
    assert likeness(one) == likeness(other)


@pytest.mark.parametrize(
    ("one", "other"), [("ill", "well"), ("1", "2"), ("1", "10"), ("ill", "ills"), ("a", "b")]
)
def test_other_words_are_not_alike(one: str, other: str) -> None:
    """No letter is guessed."""
    assert likeness(one) != likeness(other)


def test_two_spellings_in_one_column_are_told() -> None:
    """Of two values that become one text nobody knows whether they are one."""
    given_ = ["747", "747.0", "5 ", "5", None]
    assert spelt_twice(given_, map(id_text, given_)) == {"747"}
    assert spelt_twice([1, "1"], ["1", "1"]) == {"1"}


def test_codes_stay_as_they_are() -> None:
    """Of a column that is no number only blanks at the ends are cut."""
    assert [code_text(text) for text in ("1.0", " 250.0", "True", "")] == [
        "1.0",
        "250.0",
        "True",
        None,
    ]
