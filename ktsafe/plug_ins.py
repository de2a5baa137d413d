"""What installed packages add to ours.

Objects that they name in the metadata of their wheels.

A package offers an object in a group of entry points, in its pyproject.toml:

    [project.entry-points."ktsafe.strategies"]
    mine = "my_package.strategies:MINE"

Nothing of that package is imported before the object is asked for.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from ktsafe.errors import InvalidParams


def offered(group: str) -> list[str]:
    """Return the names of what installed packages offer in a group, sorted."""
    return sorted({point.name for point in entry_points(group=group)})


def found(group: str, name: str) -> EntryPoint | None:
    """Return what an installed package offers under a name; `load` imports it.

    Raises
    ------
    InvalidParams
        If two packages offer the name: which one is meant would depend on the installation.
    """
    points = {point.value: point for point in entry_points(group=group, name=name)}
    if len(points) > 1:
        msg = f"Several installed packages offer {name!r} in {group!r}."
        raise InvalidParams(msg, hint=f"Uninstall all but one of {', '.join(sorted(points))}.")
    return next(iter(points.values()), None)
