"""Reads figures out of nested JSON, where any part may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def at(figures: Any, path: str) -> Any:
    """Return what stands at a path of names with points between.

    None where nothing does.

    Examples
    --------
    >>> at({"cost": {"total": 3}}, "cost.total")
    3
    >>> at({"cost": {}}, "cost.total") is None
    True
    """
    found = figures
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def share(part: int | None, whole: int | None) -> float | None:
    """Return a part of a whole.

    None where either is unknown, or the whole is nothing.
    """
    return None if part is None or not whole else round(part / whole, 6)
