"""The page of `ktsafe-lab compare`.

What combinations of parameters would give, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ktsafe.assess.report import charts
from ktsafe.assess.report.page import PRIVATE, environment
from ktsafe.stream.files.report_texts import number, percent

Row = Mapping[str, Any]

PAGE: Final = """\
{% extends "base.html" %}
{% import "parts.html" as part %}
{% block title %}ktsafe: parameters compared{% endblock %}
{% block body %}
<header><h1>Which parameters?</h1><span class="quiet">{{ about }}</span></header>
<p class="private">{{ private }}</p>
<div class="charts">{{ part.figure(chart, "By number of the combination", keys) }}</div>
{% for title, names, rows in tables %}
<section id="{{ title | lower }}"><h2>{{ title }}</h2>{{ part.table(names, rows) }}</section>
{% endfor %}
{{ part.quiet("Nothing was published. Combinations that are not kt-safe are not in the chart.") }}
{% endblock %}
"""

SAFETY: Final = (
    ("unsafe", "unsafe_vertices", number),
    ("fewest real", "k_real_min", number),
    ("below k real", "k_real_share_below_k", percent),
    ("above alpha, real", "alpha_real_above", number),
)
UTILITY: Final = (
    ("precision", "edge_precision", percent),
    ("of true shown", "edge_recall", percent),
    ("F1 of ties", "edge_f1", number),
    ("people shown", "vertex_recall", percent),
    ("cost of ties", "edge_cost_share", number),
    ("degrees move", "degree_emd", number),
    ("communities", "ami", number),
    ("seconds", "seconds", number),
)


def comparison_page(rows: Sequence[Row], parameters: Sequence[str], written: str) -> str:
    """Return the page of a comparison.

    Parameters
    ----------
    rows:
        As `ktsafe_lab.compare.comparison.measured_cells` yields them, at least one.
    parameters:
        The names of the parameters of a row.
    written:
        When it is made, as text.
    """
    first = rows[0]
    varied = [name for name in parameters if any(row[name] != first[name] for row in rows)]
    alike = ", ".join(f"{name} {first[name]}" for name in parameters if name not in varied)
    size = f"{number(first.get('vertices'))} people, {number(first.get('edges'))} ties"
    numbered = list(enumerate(rows, 1))
    pairs = [
        (str(i), row.get("edge_f1"), _people_with_k(row)) for i, row in numbered if _is_safe(row)
    ]
    head = ["", *varied, "outcome"]

    def begin(i: int, row: Row) -> list[str]:
        return [str(i), *(str(row[name]) for name in varied), row["outcome"]]

    tables = [
        (
            title,
            [*head, *(name for name, _, _ in columns)],
            [
                [*begin(i, row), *(show(row.get(key)) for _, key, show in columns)]
                for i, row in numbered
            ],
        )
        for title, columns in (("Safety", SAFETY), ("Utility", UTILITY))
    ]
    return (
        environment()
        .from_string(PAGE)
        .render(
            about=f"{size}; {alike}; written {written}",
            private=PRIVATE,
            chart=charts.columns(
                pairs, "F1 of ties, and people with k real candidates, by combination"
            ),
            keys=[("true", "F1 of ties"), ("shown", "people with k real candidates")],
            tables=tables,
        )
    )


def _is_safe(row: Row) -> bool:
    return bool(row["outcome"] == "kt-safe")


def _people_with_k(row: Row) -> float | None:
    below = row.get("k_real_share_below_k")
    return None if below is None else 1 - below
