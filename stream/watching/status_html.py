"""Elements of reports.

They are built as a tree, so that all text is escaped when it is written.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

Child = ET.Element | str
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


def table(names: Sequence[str], rows: Sequence[ET.Element], **attributes: str) -> ET.Element:
    """Return a table with these heads; its rows are of cells of the same names."""
    head = node("thead", node("tr", *(node("th", name, scope="col") for name in names)))
    return node("table", head, node("tbody", *rows), **attributes)


def cell(name: str, *content: Child) -> ET.Element:
    """Return a cell; on a phone, where heads are not shown, its name stands beside it."""
    return node("td", node("span", *content), data_label=name)


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
