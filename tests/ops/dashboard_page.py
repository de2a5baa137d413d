"""Draws the panels of a dashboard from Prometheus' data, where no Grafana can be run.

Places, titles and expressions are those of the dashboard; the drawing is plain.
"""

from __future__ import annotations

import datetime
import math
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from ktsafe.assess.report.charts import node
from tests.ops import dashboards
from tests.ops.prometheus import Prometheus

WIDTH, HEIGHT = 400, 120
COLOURS = ("#1f5fbf", "#b34700", "#17633a", "#8a1c7c", "#6b5900", "#0b7285", "#9b1c1c", "#545b66")
STYLE = """
* { box-sizing: border-box }
body { margin: 1rem; font: 13px/1.35 system-ui, sans-serif; color: #1a1d21 }
h1 { font-size: 1.4rem; margin: 0 } p { margin: .2rem 0 .6rem; max-width: 60rem; color: #545b66 }
.grid { display: grid; grid-template-columns: repeat(24, 1fr); gap: .5rem }
.panel { border: 1px solid #c9ced6; border-radius: .3rem; padding: .4rem .6rem }
.panel { min-width: 0; overflow: hidden }
h2 { grid-column: 1 / -1; font-size: 1rem; margin: .6rem 0 0 } h3 { font-size: .9rem; margin: 0 }
.value { font-size: 1.5rem; font-weight: 600 } svg { width: 100%; height: 7.5rem; display: block }
.range { color: #545b66; font-size: .8rem } .legend { font-size: .8rem; overflow-wrap: anywhere }
"""


class Span:
    """A stretch of time that is drawn."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end
        self.step = max(1.0, round((end - start) / 200))


class Line(NamedTuple):
    """One series: what is drawn of it, and in which unit it is told."""

    name: str
    points: list[tuple[float, float]]
    unit: str

    @property
    def last(self) -> str:
        """The last number."""
        return _number(self.points[-1][1], self.unit) if self.points else "unknown"


def dashboard_page(dashboard: dict[str, Any], server: Prometheus, span: Span) -> str:
    """Return a document with all panels of a dashboard."""
    cells = [
        node("h2", panel["title"]) if panel["type"] == "row" else _panel(panel, server, span)
        for panel in sorted(
            dashboard["panels"], key=lambda p: (p["gridPos"]["y"], p["gridPos"]["x"])
        )
    ]
    widths = {panel["gridPos"]["w"] for panel in dashboard["panels"]}
    spans = "".join(f".w{w} {{ grid-column: span {w} }}" for w in sorted(widths))
    body = node(
        "body",
        node("h1", dashboard["title"]),
        node("p", dashboard["description"]),
        node("p", f"Drawn from Prometheus, {moment(span.start)} to {moment(span.end)}."),
        node("div", *cells, class_="grid"),
    )
    head = node("head", node("meta", charset="utf-8"), node("style", STYLE + spans))
    return written(node("html", head, body, lang="en"))


def _panel(panel: dict[str, Any], server: Prometheus, span: Span) -> ET.Element:
    series = []
    for target in panel["targets"]:
        expression = dashboards.filled_in(target["expr"])
        for found in server.series(expression, span.start, span.end, span.step):
            name = _legend(target["legendFormat"], found["metric"])
            points = [(float(t), float(v)) for t, v in found["values"] if math.isfinite(float(v))]
            series.append(Line(name or "value", points, _unit(panel, name)))
    shown = node("div", node("h3", panel["title"]), class_=f"panel w{panel['gridPos']['w']}")
    if panel["type"] != "stat":
        shown.extend(_chart(series, span))
        return shown
    by_name = panel["options"]["textMode"] == "name"
    last = [line.name if by_name else line.last for line in series]
    shown.append(node("div", ", ".join(last), class_="value"))
    return shown


def _chart(series: list[Line], span: Span) -> list[ET.Element]:
    known = [v for line in series for _, v in line.points]
    low, high = min([0.0, *known]), max([0.0, *known])
    chart = node("svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none")
    legend = []
    for i, line in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        placed = " ".join(
            f"{(t - span.start) / (span.end - span.start) * WIDTH:.1f},"
            f"{HEIGHT - 2 - (v - low) / ((high - low) or 1) * (HEIGHT - 4):.1f}"
            for t, v in line.points
        )
        drawn = {"points": placed, "stroke": colour, "stroke-width": "1.5", "fill": "none"}
        chart.append(ET.Element("polyline", drawn | {"vector-effect": "non-scaling-stroke"}))
        words = f"\N{BLACK SQUARE} {line.name}: {line.last}"
        legend.append(node("div", words, style=f"color: {colour}"))
    if not known:
        return [chart, node("div", "no number yet", class_="range")]
    unit = series[0].unit
    words = f"{_number(low, unit)} to {_number(high, unit)}"
    return [chart, node("div", words, class_="range"), node("div", *legend, class_="legend")]


def _unit(panel: dict[str, Any], name: str) -> str:
    """Return the unit of a series: its own, or that of its panel."""
    unit: str = panel["fieldConfig"]["defaults"]["unit"]
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"] == {"id": "byName", "options": name}:
            unit = {p["id"]: p["value"] for p in override["properties"]}.get("unit", unit)
    return unit


def _legend(form: str, labels: dict[str, str]) -> str:
    for name, value in labels.items():
        form = form.replace("{{" + name + "}}", value)
    return form


def _number(value: float, unit: str) -> str:
    match unit:
        case "percentunit":
            return f"{value:.1%}"
        case "dateTimeAsIso" | "dateTimeFromNow" | "dateTimeAsLocal":
            return moment(value / 1000)
        case "bytes" | "decbytes":
            return f"{value / 2**20:,.1f} MiB"
        case "s" if abs(value) >= 120:
            return f"{'-' if value < 0 else ''}{duration(abs(value))}"
        case "none" | "short":
            return f"{value:,.4g}"
        case _:
            return f"{value:,.3g} {unit}"


def written(root: ET.Element) -> str:
    """Return a whole document as HTML."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def moment(seconds: float) -> str:
    """Return a moment for people, in UTC."""
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """Return a duration for people, in its two greatest units."""
    left = max(round(seconds), 0)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
