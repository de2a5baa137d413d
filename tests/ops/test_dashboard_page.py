"""The drawing of dashboards where there is no Grafana."""

from __future__ import annotations

import re
from typing import Any

from tests.ops import dashboards
from tests.ops.dashboard_page import Span, dashboard_page

SPAN = Span(1e9, 1e9 + 100)


class Stub:
    """Answers every question with one series that rises, with a gap."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def series(self, expression: str, start: float, end: float, step: float) -> list[Any]:
        self.asked.append(expression)
        values = [[start, "1"], [start + 50, "NaN"], [end, "3"]]
        return [{"metric": {"what": "people"}, "values": values}]


def test_every_panel_is_drawn_from_its_own_expressions() -> None:
    """Each dashboard's panels are there by title, each expression was asked, and drawn or told."""
    for dashboard in dashboards.dashboards():
        server = Stub()
        page = dashboard_page(dashboard, server, SPAN)  # type: ignore[arg-type]
        panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
        assert re.findall("<h3>(.*?)</h3>", page) == [
            panel["title"]
            for panel in sorted(panels, key=lambda p: (p["gridPos"]["y"], p["gridPos"]["x"]))
        ]
        assert len(server.asked) == sum(len(panel["targets"]) for panel in panels)
        charts = sum(len(p["targets"]) for p in panels if p["type"] != "stat")
        lines = re.findall('points="([^"]*)"', page)
        assert len(lines) == charts
        assert set(lines) == {"0.0,79.3 400.0,2.0"}
