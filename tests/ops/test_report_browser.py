"""Reports in a real browser: by day, by night, on a phone and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ktsafe.assess.report.dossier import Context, dossier
from ktsafe.assess.report.page import page, public_content, public_page
from tests.ktsafe.assess.report.examples import private, told
from tests.ops.browser import CONTRAST, Browser, browser

LOOKS = {
    "desk": (1280, 800, "light", "screen"),
    "night": (1280, 800, "dark", "screen"),
    "phone": (320, 640, "light", "screen"),
    "phone at night": (390, 844, "dark", "screen"),
    "paper": (680, 960, "light", "print"),
    "paper at night": (680, 960, "dark", "print"),
}
KINDS = ("history", "public")


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a report of a history and a public one, in files."""
    folder = tmp_path_factory.mktemp("reports")
    history = private(3)
    history["utility"]["attribute_mix"]["w" * 80] = history["utility"]["attribute_mix"]["club"]
    texts = {
        "history": page(history),
        "public": public_page(public_content(told(), rng=np.random.default_rng(0))),
    }
    for kind, text in texts.items():
        (folder / f"{kind}.html").write_text(text, encoding="utf-8")
    return {kind: folder / f"{kind}.html" for kind in texts}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("look", LOOKS)
def test_nothing_is_wider_than_the_screen_and_all_can_be_read(
    window: Browser, files: dict[str, Path], look: str, kind: str
) -> None:
    """One scrolls down, never sideways; every word stands out (WCAG: 4.5), also on paper."""
    window.look(*LOOKS[look])  # type: ignore[arg-type]
    window.complaints()
    window.open(files[kind].as_uri())
    width = window.ask("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    assert width <= LOOKS[look][0]
    assert [item for item in window.ask(CONTRAST) if item[0] < 4.5] == []
    ground = window.ask("getComputedStyle(document.body).backgroundColor")
    is_dark = LOOKS[look][2:] == ("dark", "screen")
    assert (ground == "rgb(255, 255, 255)") is not is_dark
    assert window.complaints() == []


CUT = """
[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().width > 0)
.filter(e => e.getBoundingClientRect().right > innerWidth + 1
  || (getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1))
.map(e => e.outerHTML.slice(0, 80))
"""


def test_a_dossier_is_printed_on_a4_and_nothing_is_cut_off(window: Browser, tmp_path: Path) -> None:
    """Between the margins of A4 (180 mm, 680 pixels) every element ends; all sheets are A4."""
    report = private(2)
    long = Context(purpose="Friendship " * 60, recipients="x" * 300, roles={"officer": "y" * 90})
    report["dossier"] = dossier(long, report)
    path = tmp_path / "dossier.html"
    path.write_text(page(report), encoding="utf-8")
    window.look(680, 1000, media="print")
    window.open(path.as_uri())
    assert window.ask(CUT.strip()) == []
    printed = window.printed()
    sheets = re.findall(rb"/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]", printed)
    assert printed.startswith(b"%PDF")
    assert len(sheets) >= 3
    assert {(round(float(w)), round(float(h))) for w, h in sheets} <= {(595, 842), (596, 843)}


def test_safety_and_utility_stand_side_by_side(window: Browser, files: dict[str, Path]) -> None:
    """On a desk both answers are on the first screen; on a phone one follows the other."""
    tops = "['safety', 'utility'].map(n => document.getElementById(n).getBoundingClientRect().top)"
    window.look(1280, 800)
    window.open(files["history"].as_uri())
    safety, utility = window.ask(tops)
    assert safety == utility
    assert safety < 300
    window.look(320, 640)
    window.open(files["history"].as_uri())
    safety, utility = window.ask(tops)
    assert safety < utility


def test_charts_have_a_size_and_nothing_is_asked_for(
    window: Browser, files: dict[str, Path]
) -> None:
    """Every chart is drawn in its place; the page asks for nothing but itself."""
    window.look(390, 844)
    window.requested()
    window.open(files["history"].as_uri())
    assert {url for url in window.requested() if url.startswith("http")} == set()
    boxes = window.ask(
        "[...document.querySelectorAll('svg.chart')].map(s => s.getBoundingClientRect())"
        ".map(b => [b.width, b.height])"
    )
    assert len(boxes) >= 8
    assert all(250 < width <= 390 and 100 < height < 300 for width, height in boxes)
