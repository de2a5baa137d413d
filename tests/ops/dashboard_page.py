"""Draws the panels of a dashboard from Prometheus' data, where no Grafana can be run.

Places, titles and expressions are those of the dashboard; the drawing is plain.
"""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree as ET

from stream.status_html import moment, node, written
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
    unit = panel["fieldConfig"]["defaults"]["unit"]
    series: list[tuple[str, list[tuple[float, float]]]] = []
    for target in panel["targets"]:
        expression = dashboards.filled_in(target["expr"])
        for found in server.series(expression, span.start, span.end, span.step):
            points = [(float(t), float(v)) for t, v in found["values"]]
            series.append((_legend(target["legendFormat"], found["metric"]), points))
    shown = node("div", node("h3", panel["title"]), class_=f"panel w{panel['gridPos']['w']}")
    if panel["type"] == "stat":
        last = [points[-1][1] for _, points in series]
        shown.append(node("div", ", ".join(_number(v, unit) for v in last), class_="value"))
        return shown
    shown.extend(_chart(series, unit, span))
    return shown


def _chart(
    series: list[tuple[str, list[tuple[float, float]]]], unit: str, span: Span
) -> list[ET.Element]:
    known = [v for _, points in series for _, v in points if math.isfinite(v)]
    low, high = min([0.0, *known]), max([0.0, *known])
    chart = node("svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none")
    legend = []
    for i, (name, points) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        placed = " ".join(
            f"{(t - span.start) / (span.end - span.start) * WIDTH:.1f},"
            f"{HEIGHT - 2 - (v - low) / ((high - low) or 1) * (HEIGHT - 4):.1f}"
            for t, v in points
            if math.isfinite(v)
        )
        line = {"points": placed, "stroke": colour, "stroke-width": "1.5", "fill": "none"}
        chart.append(ET.Element("polyline", line | {"vector-effect": "non-scaling-stroke"}))
        finite = [v for _, v in points if math.isfinite(v)]
        last = _number(finite[-1], unit) if finite else "unknown"
        words = f"\N{BLACK SQUARE} {name or 'value'}: {last}"
        legend.append(node("div", words, style=f"color: {colour}"))
    words = f"{_number(low, unit)} to {_number(high, unit)}" if known else "no number yet"
    return [chart, node("div", words, class_="range"), node("div", *legend, class_="legend")]


def _legend(form: str, labels: dict[str, str]) -> str:
    for name, value in labels.items():
        form = form.replace("{{" + name + "}}", value)
    return form


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "unknown"
    match unit:
        case "percentunit":
            return f"{value:.1%}"
        case "dateTimeAsIso" | "dateTimeFromNow" | "dateTimeAsLocal":
            return moment(value / 1000)
        case "bytes" | "decbytes":
            return f"{value / 2**20:,.1f} MiB"
        case _:
            return f"{value:,.3g} {'' if unit in {'none', 'short'} else unit}".strip()
