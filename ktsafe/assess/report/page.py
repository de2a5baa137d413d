"""The private report as one HTML document.

Nothing to load, nothing that runs, made to print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

from ktsafe.assess.report import charts
from ktsafe.assess.report.rendering import rendered
from ktsafe.assess.report.words import DRIFT, KINDS
from ktsafe.audit.freshness import AGE_MAX, RECENT
from ktsafe.stream.files.verdict import BROKEN
from ktsafe.stream.formatting import number, percent, text_of

PRIVATE: Final = (
    "Private: this report tells what is true and what is inserted. It is for the owner of the "
    "network, never for readers of its releases."
)
Keys = list[tuple[str, str]]


def page(content: Mapping[str, Any]) -> str:
    """Return the page of a report, from what `ktsafe.assess.report.content` gives."""
    bands, curve = content["utility"]["degree_bands"], content["safety"]["risk_curve"]
    heads = [] if curve is None else [f"{seeds:.0%} seeds" for seeds in curve["seeds"]]
    return rendered(
        "report.html",
        content=content,
        private=PRIVATE,
        k=next(row["value"] for row in content["parameters"] if row["name"] == "k"),
        kinds=KINDS,
        broken_kinds=sorted(BROKEN),
        scale_top=_scale_top,
        degree_rows=[(charts.band(row), row["original"], row["released"]) for row in bands or ()],
        curve_heads=heads,
        curve_keys=list(zip(charts.SERIES, heads, strict=False)),
        risk_chart=None if curve is None else charts.risk_curve(curve),
        fresh_rows=_freshness(content["freshness"]) if content["freshness"] else [],
        drift=_drift(content["drift"]),
    )


def _scale_top(attacks: Sequence[Mapping[str, Any]]) -> float:
    return charts.scale_top(
        [x for each in attacks for x in (each["interval"][1], each["promise"], each["control"])]
    )


def _freshness(found: Mapping[str, Any]) -> list[list[str]]:
    """Return how far the last release follows changes, by age."""
    rows = []
    for age, new in found["ties"].items():
        if not any(found[name][age]["count"] for name in ("ties", "ended", "newcomers", "leavers")):
            continue
        name = f"up to {AGE_MAX}" if age == RECENT else age
        shares = [found[of][age]["shown"] for of in ("ended", "newcomers", "leavers")]
        first = [name, number(new["count"]), percent(new["shown"]), text_of(new["ratio"])]
        rows.append([*first, *map(percent, shares)])
    return rows


def _drift(rows: Sequence[Mapping[str, Any]]) -> list[tuple[ET.Element, str, Keys]]:
    """Return how the figures went over the releases.

    Charts with their titles and keys.
    """
    labels = [(row["nominal_time"] or row["release_id"])[:10] for row in rows]
    return [
        (
            charts.lines(
                [(style, [row[key] for row in rows]) for style, key, _ in lines],
                labels,
                about,
                level=1.0 if title.startswith("Cost") else None,
                percent=title != "Size",
            ),
            title,
            [(style, word) for style, _, word in lines if word],
        )
        for title, about, lines in DRIFT
        if any(row[key] is not None for row in rows for _, key, _ in lines)
    ]
