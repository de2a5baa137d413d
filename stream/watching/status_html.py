"""Elements of the status page and of reports.

They are built as a tree, so that all text is escaped when it is written.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

Child = ET.Element | str
CHART_WIDTH: Final = 240
CHART_HEIGHT: Final = 48
_MARGIN: Final = 4
_MARKED: Final = re.compile(r"(`[^`]+`|\*[^*]+\*)")


def node(tag: str, *children: Child, **attributes: str) -> ET.Element:
    """Return an element; `class_` stands for class, and underscores in names for hyphens."""
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


def prose(text: str) -> list[Child]:
    """Return a text whose `code` and *emphasis* are marked as in Markdown, in elements."""
    tags = {"`": "code", "*": "em"}
    return [
        node(tags[part[0]], part[1:-1]) if _MARKED.fullmatch(part) else part
        for part in _MARKED.split(text)
        if part
    ]


def written(root: ET.Element) -> str:
    """Return a whole document as HTML."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def document(title: str, body: Sequence[ET.Element], style: str, **headers: str) -> str:
    """Return a whole page that runs nothing; `headers` are what it says in place of HTTP's."""
    head = [
        node("meta", charset="utf-8"),
        *(
            node("meta", http_equiv=name.replace("_", "-"), content=x)
            for name, x in headers.items()
        ),
        node("meta", name="viewport", content="width=device-width, initial-scale=1"),
        node("meta", name="robots", content="noindex"),
        node("title", title),
        node("style", style),
    ]
    return written(node("html", node("head", *head), node("body", *body), lang="en"))


def tile(name: str, value: str, note: str = "", chart: ET.Element | None = None) -> ET.Element:
    """Return one figure with its name, a remark and a chart."""
    parts = [node("dt", name), node("dd", value, class_="value")]
    if chart is not None:
        parts.append(node("dd", chart, class_="chart"))
    if note:
        parts.append(node("dd", note, class_="note"))
    return node("div", *parts, class_="tile")


def table(names: Sequence[str], rows: Sequence[ET.Element], **attributes: str) -> ET.Element:
    """Return a table with these heads; its rows are of cells of the same names."""
    head = node("thead", node("tr", *(node("th", name, scope="col") for name in names)))
    return node("table", head, node("tbody", *rows), **attributes)


def cell(name: str, *content: Child) -> ET.Element:
    """Return a cell; on a phone, where heads are not shown, its name stands beside it."""
    return node("td", node("span", *content), data_label=name)


def sparkline(
    values: Sequence[float | None], says: str, *, level: float | None = None
) -> ET.Element:
    """Return a small line chart, its scale from 0 or the least value up.

    Parameters
    ----------
    values:
        Equally spaced; None leaves a gap.
    says:
        The text for screen readers.
    level:
        A value to compare with, drawn dashed.
    """
    known = [value for value in (*values, level) if value is not None]
    low, high = min(0.0, *known, 0.0), max(known, default=0.0)
    scale = (CHART_HEIGHT - 2 * _MARGIN) / ((high - low) or 1.0)
    step = (CHART_WIDTH - 2 * _MARGIN) / max(len(values) - 1, 1)

    def y(value: float) -> float:
        return CHART_HEIGHT - _MARGIN - (value - low) * scale

    chart = node(
        "svg",
        node("title", says),
        viewBox=f"0 0 {CHART_WIDTH} {CHART_HEIGHT}",
        role="img",
        aria_label=says,
        preserveAspectRatio="none",
    )
    if level is not None:
        ends = {"x1": "0", "x2": str(CHART_WIDTH), "y1": f"{y(level):.1f}", "y2": f"{y(level):.1f}"}
        chart.append(ET.Element("line", {"class": "level", **ends}))
    for points in _runs(values):
        placed = [(_MARGIN + i * step, y(value)) for i, value in points]
        if len(placed) == 1:  # A line of one point would not be seen.
            placed.append((placed[0][0] + 1, placed[0][1]))
        text = " ".join(f"{x:.1f},{height:.1f}" for x, height in placed)
        chart.append(node("polyline", points=text))
    return chart


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Return the stretches of known values, with their positions."""
    runs: list[list[tuple[int, float]]] = [[]]
    for i, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append((i, value))
    return [run for run in runs if run]


def moment(seconds: float) -> str:
    """Return a moment for people, in UTC."""
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def span(seconds: float) -> str:
    """Return a duration for people, in its two greatest units."""
    left = max(round(seconds), 0)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def size(count: int) -> str:
    """Return a number of bytes for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
