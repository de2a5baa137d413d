"""Pages from templates.

All text is escaped, and a page loads nothing from anywhere.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from typing import Any, Final
from xml.etree import ElementTree as ET

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from ktsafe.assess.report import charts
from ktsafe.stream.formatting import number, percent, text_of

_FOLDER: Final = importlib.resources.files("ktsafe.assess.report")
_MARKED: Final = re.compile(r"`([^`]+)`")


def rendered(template: str, /, **context: Any) -> str:
    """Return a page by the name of its template."""
    return environment().get_template(template).render(context)


@functools.cache
def environment() -> Environment:
    """Return what templates are rendered in: filters of figures, and charts."""
    found = Environment(
        loader=FunctionLoader(lambda name: (_FOLDER / "templates" / name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "band": charts.band,
        "number": number,
        "percent": percent,
        "prose": _prose,
        "text_of": text_of,
        "drawn": _drawn,
    }
    found.globals |= {
        "charts": charts,
        "style": Markup((_FOLDER / "report.css").read_text("utf-8")),  # noqa: S704 -- ours
    }
    return found


def _prose(text: str) -> Markup:
    """Return a text with `code` marked as in Markdown."""
    return Markup(_MARKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped


def _drawn(chart: ET.Element) -> Markup:
    """Return a chart as HTML.

    The tree escapes its text when it is written.
    """
    return Markup(ET.tostring(chart, encoding="unicode", method="html"))  # noqa: S704 -- escaped
