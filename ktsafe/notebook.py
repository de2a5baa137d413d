"""What objects show of themselves in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and texts as a table of HTML.

    Examples
    --------
    >>> print(html_table([("ties", "a < b")]))
    <table><tr><th style='text-align:left'>ties</th><td style='text-align:left'>a &lt; b</td></tr></table>
    """  # noqa: E501 -- one line of HTML
    inside = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table>{inside}</table>"
