"""Small parts of a report's page: texts of figures, rows, charts with a caption."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

from ktsafe.stream.watching.status_html import Child, cell, document, node, prose, table

NOT_MEASURED: Final = "not measured"
STYLES: Final = (importlib.resources.files("ktsafe.stream.report") / "report.css").read_text(
    "utf-8"
)
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def report_page(title: str, body: Sequence[ET.Element]) -> str:
    """Return a page that loads nothing from anywhere."""
    return document(title, body, STYLES, Content_Security_Policy=_POLICY)


def section(title: str, *parts: Child, name: str) -> ET.Element:
    """Return a part of the page with its heading and the name that links lead to."""
    return node("section", node("h2", title), *parts, id=name)


def rows_of(names: Sequence[str], rows: Sequence[Sequence[Child]], **attributes: str) -> ET.Element:
    """Return a table of texts or elements."""
    cells = [
        node("tr", *(cell(name, each) for name, each in zip(names, row, strict=True)))
        for row in rows
    ]
    return table(names, cells, **attributes)


def figure(chart: ET.Element, title: str, *keys: tuple[str, str]) -> ET.Element:
    """Return a chart with its title and what its colours mean."""
    caption = [
        node("strong", title),
        *(node("span", says, class_=f"key {of}") for of, says in keys),
    ]
    return node("figure", node("figcaption", *caption), chart)


def quiet(text: str) -> ET.Element:
    """Return a remark; `code` in it is marked as in Markdown."""
    return node("p", *prose(text), class_="quiet")


def band(row: dict[str, Any]) -> str:
    """Return the bounds of a band as text."""
    return f"{row['from']}" if row["from"] == row["to"] else f"{row['from']}-{row['to']}"
