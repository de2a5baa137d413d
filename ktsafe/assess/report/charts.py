"""Charts of the report as SVG, with texts for screen readers.

They need no script. Sizes may be changed; a class of a line or an area has its style in the
templates, and every chart its text (tests/ktsafe/assess/report/test_pages.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

WIDTH: Final = 360
HEIGHT: Final = 190
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 24
LABELS_MAX: Final = 9
"""Labels under a chart: more would run into each other on a phone."""

DOTS_MAX: Final = 60
"""Moments of a line that get a dot each: more would be a thick line, and a large file."""

SERIES: Final = ("true", "shown", "third")
"""Classes of the lines of a chart, in order."""

Pair = tuple[str, float | None, float | None]


def node(tag: str, *children: ET.Element | str, **attributes: str) -> ET.Element:
    """Return an element; its text is escaped when it is written.

    `class_` stands for class, and underscores in names for hyphens.
    """
    named = {name.rstrip("_").replace("_", "-"): text for name, text in attributes.items()}
    element = ET.Element(tag, named)
    for child in children:
        if isinstance(child, ET.Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + child
        else:
            element.text = (element.text or "") + child
    return element


def columns(rows: Sequence[Pair], says: str) -> ET.Element:
    """Return two columns a row, truth left, release right, from 0.

    Parameters
    ----------
    rows:
        Label, true share and released share.
    says:
        What the chart shows, in words.
    """
    top = max((value for _, *pair in rows for value in pair if value is not None), default=0.0)
    chart, y = _frame(says, 0.0, top or 1.0, percent=True)
    step = (WIDTH - LEFT - RIGHT) / max(len(rows), 1)
    wide = min(step * 0.38, 26)
    for i, (_, *pair) in enumerate(rows):
        middle = LEFT + (i + 0.5) * step
        for value, x, of in zip(pair, (middle - wide, middle), ("true", "shown"), strict=True):
            if value is not None:
                height = y(0.0) - y(value)
                chart.append(_rect(x, y(value), wide, height, of))
    _labels(
        chart, [label for label, *_ in rows], [LEFT + (i + 0.5) * step for i in range(len(rows))]
    )
    return chart


def lines(
    series: Sequence[tuple[str, Sequence[float | None]]],
    labels: Sequence[str],
    says: str,
    *,
    level: float | None = None,
    percent: bool = False,
    places: Sequence[float] | None = None,
    bands: Sequence[Sequence[tuple[float, float]]] = (),
) -> ET.Element:
    """Return lines over moments, at most three; None leaves a gap.

    Parameters
    ----------
    series:
        The class of a line ("true", "shown" or "third") and its values.
    labels:
        A label per moment; the first, the last and some between are shown.
    level:
        A value to compare with, drawn dashed.
    percent:
        Whether the values are shares.
    places:
        Where the moments lie, from 0 to 1; by default they are equally spaced.
    bands:
        For each line the least and the greatest value at each moment, drawn below it.
    """
    known = [v for _, values in series for v in (*values, level) if v is not None]
    chart, y = _frame(says, min(0.0, *known, 0.0), max(known, default=1.0) or 1.0, percent=percent)
    wide, last = WIDTH - LEFT - RIGHT - 8, max(len(labels) - 1, 1)
    at = [i / last for i in range(len(labels))] if places is None else places
    x = [LEFT + 4 + wide * place for place in at]
    if level is not None:
        chart.append(_line(LEFT, y(level), WIDTH - RIGHT, y(level), "level"))
    for (of, _), bounds in zip(series, bands, strict=False):
        there = [f"{x[i]:.1f},{y(low):.1f}" for i, (low, _) in enumerate(bounds)]
        back = [f"{x[i]:.1f},{y(high):.1f}" for i, (_, high) in enumerate(bounds)]
        points = " ".join([*there, *reversed(back)])
        chart.append(node("polygon", points=points, class_=f"band {of}"))
    for of, values in series:
        run: list[str] = []
        for i, value in enumerate([*values, None]):
            if value is not None:
                run.append(f"{x[i]:.1f},{y(value):.1f}")
            elif run:
                chart.append(node("polyline", points=" ".join(run), class_=of))
                run = []
        for i, value in enumerate(values if len(values) <= DOTS_MAX else ()):
            if value is not None:
                cx, height = f"{x[i]:.1f}", f"{y(value):.1f}"
                chart.append(node("circle", cx=cx, cy=height, r="2", class_=of))
    _labels(chart, labels, x)
    return chart


class RiskPoint(msgspec.Struct, frozen=True):
    """Share of people found, with some ties and people (seeds) known."""

    ties: float
    seeds: float
    targets: int
    value: float
    interval: tuple[float, float]


class RiskCurve(msgspec.Struct, frozen=True):
    """Shares known, ascending, a point for each pair; `control`: the best guess."""

    ties: list[float]
    seeds: list[float]
    control: float
    points: list[RiskPoint]


def risk_curve(found: RiskCurve) -> ET.Element:
    """Return found people by known ties, a band per seeds' share."""
    values = [
        (style, [each.value for each in found.points if each.seeds == seeds])
        for style, seeds in zip(SERIES, found.seeds, strict=False)
    ]
    bands = [[each.interval for each in found.points if each.seeds == of] for of in found.seeds]
    labels = [f"{ties:.0%}" for ties in found.ties]
    says = "Share of people found by the share of the true ties that the attacker knows; dashed: "
    says += f"the baseline, {found.control:.3f}; bands hold all draws"
    level, places = found.control, found.ties
    return lines(values, labels, says, level=level, percent=True, places=places, bands=bands)


def band(first: int, last: int) -> str:
    """Return the bounds of a band as text."""
    return f"{first}" if first == last else f"{first}-{last}"


def meter(value: float, says: str) -> ET.Element:
    """Return a bar from 0 to 1."""
    chart = _svg(says, 100, 8, "meter")
    chart.append(_rect(0, 0, 100, 8, "ground"))
    chart.append(_rect(0, 0, 100 * min(max(value, 0.0), 1.0), 8, "true"))
    return chart


def interval(
    value: float,
    low: float,
    high: float,
    control: float,
    bound: float | None,
    says: str,
    *,
    top: float = 1.0,
) -> ET.Element:
    """Return a figure with its interval on a scale to `top`.

    A thin mark is the control, a dashed one the bound.
    """
    chart = _svg(says, 100, 12, "meter")
    x = [min(max(each / top, 0.0), 1.0) * 98 + 1 for each in (low, high, value, control)]
    chart.append(_rect(0, 5, 100, 2, "ground"))
    chart.append(_rect(x[0], 3, max(x[1] - x[0], 0.5), 6, "spread"))
    chart.append(_line(x[3], 1, x[3], 11, "control"))
    if bound is not None:
        at = min(bound / top, 1.0) * 98 + 1
        chart.append(_line(at, 0, at, 12, "bound"))
    chart.append(_rect(x[2] - 0.75, 1, 1.5, 10, "true"))
    return chart


def mixing_chart(
    cells: Sequence[tuple[tuple[int, int], float, float]], says: str, *, much: float = 0.2
) -> ET.Element:
    """Return a square for each two values.

    Filled up to its line, it has as many edges as ties.

    An empty square is not shown; a full one has twice as many edges as ties, or more.

    Parameters
    ----------
    cells:
        Two values, as numbers from 1 in ascending order; true ties, above 0; released edges.
    says:
        What the chart shows, in words.
    much:
        The relative error beyond which a square is coloured as wrong.
    """
    n = max((pair[1] for pair, *_ in cells), default=1)
    step = (HEIGHT - TOP - BOTTOM) / n
    chart = _svg(says, WIDTH, HEIGHT, "chart")
    for (column, row), true, released in cells:
        x, y = LEFT + (column - 1) * step, TOP + (row - 1) * step
        side = step * 0.9
        chart.append(_rect(x, y, side, side, "ground"))
        height = side * min(released / true, 2.0) / 2
        is_wrong = abs(released - true) > much * true
        chart.append(_rect(x, y + side - height, side, height, "off" if is_wrong else "shown"))
        chart.append(_line(x, y + side / 2, x + side, y + side / 2, "right"))
    for i in range(n):
        middle = (i + 0.45) * step
        chart.append(_text(LEFT - 6, TOP + middle + 4, str(i + 1), "end"))
        chart.append(_text(LEFT + middle, HEIGHT - 8, str(i + 1), "middle"))
    return chart


def scale_top(values: Sequence[float | None]) -> float:
    """Return a round end for a scale of shares.

    1, or less, a little above the greatest.
    """
    greatest = max((value for value in values if value is not None), default=1.0)
    greatest *= 1.1  # So that the greatest does not lie on the end.
    steps = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
    return next((step for step in steps if greatest <= step), 1.0)


class _Scale:
    """From values to heights in the chart."""

    def __init__(self, low: float, high: float) -> None:
        self._low = low
        self._per_value = (HEIGHT - TOP - BOTTOM) / ((high - low) or 1.0)

    def __call__(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self._low) * self._per_value


def _frame(says: str, low: float, high: float, *, percent: bool) -> tuple[ET.Element, _Scale]:
    """Return a chart with three marks on its left, and its scale."""
    step = _round_step((high - low) / 3)
    high = low + step * math.ceil(round((high - low) / step, 9))
    scale = _Scale(low, high)
    chart = _svg(says, WIDTH, HEIGHT, "chart")
    for i in range(round((high - low) / step) + 1):
        value = low + i * step
        chart.append(_line(LEFT, scale(value), WIDTH - RIGHT, scale(value), "grid"))
        text = f"{100 * value:.3g}%" if percent else f"{value:,.10g}"
        chart.append(_text(LEFT - 4, scale(value) + 4, text, "end"))
    return chart, scale


def _round_step(least: float) -> float:
    """Return the next of 1, 2, 5, 10, or their fractions."""
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least * (1 - 1e-9))


def _labels(chart: ET.Element, labels: Sequence[str], x: Sequence[float]) -> None:
    """Write evenly chosen labels under a chart, each in place."""
    longest = max(map(len, labels), default=0)
    room = LABELS_MAX if longest <= 4 else 6 if longest <= 7 else 4
    stride = -(-len(labels) // room) or 1
    for i in range(0, len(labels), stride):
        # Half of a label at the right edge would lie outside of the chart.
        anchor = "middle" if x[i] < WIDTH - RIGHT - 8 else "end"
        chart.append(_text(x[i], HEIGHT - 8, labels[i], anchor))


def _svg(says: str, width: int, height: int, of: str) -> ET.Element:
    return node(
        "svg",
        node("title", says),
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=says,
        class_=of,
        **({"preserveAspectRatio": "none"} if of == "meter" else {}),
    )


def _rect(x: float, y: float, width: float, height: float, of: str) -> ET.Element:
    sides = {"x": x, "y": y, "width": width, "height": height}
    return node("rect", class_=of, **{name: f"{side:.1f}" for name, side in sides.items()})


def _line(x1: float, y1: float, x2: float, y2: float, of: str) -> ET.Element:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return node("line", class_=of, **{name: f"{end:.1f}" for name, end in ends.items()})


def _text(x: float, y: float, text: str, anchor: str) -> ET.Element:
    return node("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
