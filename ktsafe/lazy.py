"""A package's public names, loaded when they are first asked for.

The compiler takes a second to load, and the errors of a package are needed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def loads(package: dict[str, Any], homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    Parameters
    ----------
    package:
        The globals of the package; what was loaded stays there.
    homes:
        Modules, and the public names that each of them defines.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            message = f"module {package['__name__']!r} has no attribute {name!r}"
            raise AttributeError(message)
        package[name] = getattr(import_module(home_of[name]), name)
        return package[name]

    return load
