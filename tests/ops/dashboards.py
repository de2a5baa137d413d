"""Reads what dashboards and rules ask of Prometheus."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.ops.tools import ROOT

DASHBOARDS = sorted((ROOT / "ops/grafana/dashboards").glob("*/*.json"))
RULES = ROOT / "ops/prometheus/rules/ktsafe.yml"
RULE_TESTS = sorted((ROOT / "ops/prometheus/tests").glob("*.yml"))
CONFIG = ROOT / "ops/prometheus/prometheus.yml"

FILLED_IN = {"$job": "ktsafe", "$instance": ".+", "$__rate_interval": "1m", "$window": "2s"}
"""What the variables of a dashboard stand for."""

_METRIC = re.compile(r"\b(?:ktsafe|process)_[a-z_]+\b")


def dashboards() -> list[dict[str, Any]]:
    """Return every dashboard."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in DASHBOARDS]


def panels() -> Iterator[dict[str, Any]]:
    """Yield every panel that shows data."""
    for dashboard in dashboards():
        yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def expressions() -> list[str]:
    """Return the PromQL of every panel."""
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def metric_names(text: str) -> set[str]:
    """Return the metrics that a text names."""
    return set(_METRIC.findall(text))


def filled_in(expression: str) -> str:
    """Return a panel's expression as Grafana sends it, over short times."""
    for name, value in FILLED_IN.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression
