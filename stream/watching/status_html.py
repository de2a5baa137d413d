"""Elements of charts.

They are built as a tree, so that all text is escaped when it is written.
"""

from __future__ import annotations

import datetime
from xml.etree import ElementTree as ET

Child = ET.Element | str


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


def written(root: ET.Element) -> str:
    """Return a whole document as HTML."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


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
