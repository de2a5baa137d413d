"""The pages: well-formed, small, without scripts, and without ids or values of people."""

from __future__ import annotations

import re

import numpy as np
import pytest
from msgspec.structs import replace

from ktsafe.assess.report.page import page, public_content, public_page
from tests.ktsafe.assess.report.examples import Page, private, told

BYTES_MAX = 300_000


def pages():
    """Return every kind of page."""
    history = private(3)
    history["drift"] *= 400  # A century of months.
    return {
        "release": page(private()),
        "history": page(history),
        "public": public_page(public_content(told(), rng=np.random.default_rng(0))),
    }


@pytest.mark.parametrize("kind", ["release", "history", "public"])
def test_a_page_is_one_small_file_that_loads_and_runs_nothing(kind: str) -> None:
    """Every element is closed; no script, no frame, no picture, no address, no handler."""
    check_page(pages()[kind])


def check_page(text: str) -> None:
    """Assert that of the text of a page."""
    assert text.startswith("<!DOCTYPE html>")
    assert len(text.encode()) < BYTES_MAX
    found = Page(text)
    assert not {"script", "img", "iframe", "link", "object", "form"} & set(found.tags)
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert not [v for n, v in found.attributes if n in {"src", "href", "action", "xlink:href"}]
    assert "url(" not in text
    assert "@import" not in text
    assert "nan" not in re.findall(r"[a-z]+", " ".join(v or "" for _, v in found.attributes))


def test_the_scale_of_a_chart_is_that_of_its_head() -> None:
    """An area under the curve is drawn from 0 to 1, whatever the others are."""
    content = private()
    aucs = [
        replace(each, value=0.5, interval=(0.5, 0.5), control=0.5)
        for each in content["safety"]["attacks"]
        if each.measure == "auc"
    ]
    content["safety"]["attacks"] = aucs
    assert aucs
    text = page(content)
    assert "0 to 1<" in text
    assert text.count('<rect class="true" x="49.2"') >= len(aucs)


def test_the_first_screen_answers_both_questions() -> None:
    """Safety and utility come first, side by side, then who is least protected."""
    found = Page(page(private()))
    names = [value for name, value in found.attributes if name == "id"]
    assert names[:2] == ["safety", "utility"]
    wanted = {
        "risk-curve",
        "attacks",
        "structure",
        "least-protected",
        "waiting",
        "cost",
        "parameters",
    }
    assert wanted | {"assessment", "limits"} <= set(names)
    assert "drift" not in names
    assert "guarantee" in found.words


def test_hostile_names_stay_text() -> None:
    """Names of attributes come from outside: they are escaped."""
    content = private()
    mix = content["utility"]["attribute_mix"]
    mix["<script>alert(1)</script>"] = mix.pop("club")
    assert "script" not in Page(page(content)).tags


def test_charts_are_named_for_who_cannot_see_them() -> None:
    """Each has a label in words and a title."""
    found = Page(page(private(3)))
    assert found.tags.count("svg") == sum(name == "aria-label" for name, _ in found.attributes)
    assert found.tags.count("svg") == found.tags.count("title") - 1


@pytest.mark.parametrize("kind", ["release", "history"])
def test_every_line_and_area_of_a_chart_has_a_style(kind: str) -> None:
    """A line without a colour is not seen, and one that is filled is a blob."""
    text = pages()[kind]
    style, body = text.split("</style>", 1)
    drawn = set(re.findall(r'<(line|rect|circle|polyline)\b[^>]*\bclass="([a-z]+)"', body))
    assert {"polyline", "line", "rect"} <= {tag for tag, _ in drawn}
    for tag, name in drawn:
        rules = re.findall(rf"(?:^|[\s,])(?:{tag})?\.{name}\b[^{{]*{{([^}}]*)}}", style)
        named = "fill:" if tag in {"rect", "circle"} else "stroke:"
        assert any(named in rule for rule in rules), (tag, name)
    assert re.search(r"polyline \{[^}]*fill: none", style)
