"""What the report says of conclusions: worst first, and what not to conclude."""

from __future__ import annotations

import pytest
from msgspec import convert

from ktsafe.assess.report.charts import mixing_chart
from ktsafe.assess.report.page import page
from ktsafe.assess.report.score import concluded
from ktsafe.stream.files.audit_model import Conclusions
from tests.ktsafe.assess.report.examples import Page, private


def row(of: str, ranks: list[int], true: float, released: float) -> dict[str, object]:
    """Return a figure by age as audits have it."""
    return {"of": of, "by": "age", "ranks": ranks, "true": true, "released": released}


EMPTY = row("ties", [1, 4], 787, 0)
LEANING = [
    EMPTY,
    row("assortativity", [], 0.256, 0.378),
    row("ties", [2, 3], 100, 70),
    row("ties a person", [4], 11.1, 4.1),
]
FIGURES = {
    "conclusions": 39,
    "wrong_share": 0.102564,
    "median_error": 0.1,
    "mixing_error": 0.2,
    "cells": 15,
    "cells_empty": 1,
    "mixing": {"age": [EMPTY, row("ties", [1, 1], 50, 49)]},
    "worst": LEANING,
}


def test_each_kind_of_wrong_conclusion_is_warned_of() -> None:
    """Overstated likeness, pairs that look as if they had no ties, and what leans one way."""
    found = concluded(convert(FIGURES, Conclusions))
    assert found is not None
    assert [each["says"] for each in found["worst"]][:2] == [
        "ties between values 1 and 4 of age",
        "assortativity by age",
    ]
    told = found["not_to_conclude"]
    assert len(told) == 4
    assert "in the release more than in truth" in told[0]
    assert "1 of 15 pairs of values with ties show none" in told[1]
    assert "age in ties: 2 are too few" in told[2]
    assert "age in ties a person: 1 are too few" in told[3]


def test_audits_that_do_not_tell_are_passed_over() -> None:
    """An audit without utility has no rows: the page has no such part."""
    assert concluded(None) is None
    content = {**private(), "conclusions": None}
    assert "What readers conclude" not in Page(page(content)).words


def test_a_square_is_filled_by_edges_over_ties() -> None:
    """To its line where both are equal, not at all where nothing is shown, and never beyond it."""
    cells = [((1, 1), 50.0, 50.0), ((1, 2), 50.0, 0.0), ((2, 2), 50.0, 400.0)]
    chart = mixing_chart(cells, "ties")
    drawn = [each for each in chart if each.tag == "rect"]
    whole = float(drawn[0].attrib["height"])
    shares = [float(each.attrib["height"]) / whole for each in drawn[1::2]]
    assert shares == pytest.approx([0.5, 0.0, 1.0], abs=0.01)
    assert [each.attrib["class"] for each in drawn[1::2]] == ["shown", "off", "off"]


def test_the_page_tells_them_after_the_structure() -> None:
    """The worst is in words, and mixing is a picture for each attribute."""
    found = Page(page({**private(), "conclusions": concluded(convert(FIGURES, Conclusions))}))
    assert "10.3% are wrong by more than 20%" in found.words
    assert "What not to conclude" in found.words
    assert "Edges over ties between values of age" in found.words
