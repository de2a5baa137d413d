"""kt-safe anonymization of attributed graphs: arrays in, arrays out.

Only `ktsafe.reader` and `ktsafe.graph.inputs` read files, and nothing here reads a clock, the
environment or a global random state, but for where compiled kernels are kept (`ktsafe.kernels`).
Each name is loaded when it is first asked for: for the errors alone nobody waits for the compiler.

A name in `__all__` is a promise to users of the library: it has a home in `_load`, an example that
runs (docs/library.md, tests/test_examples.py), and does not change its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Names
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ktsafe.anonymization.anonymization import Anonymized, anonymize
    from ktsafe.anonymization.request import AnonymizeOptions
    from ktsafe.errors import (
        BelowMinimumUtility,
        Infeasible,
        InvalidGraph,
        InvalidParams,
        KtsafeError,
        NotKTSafe,
    )
    from ktsafe.graph import MISSING, AttributedGraph, Schema
    from ktsafe.graph.inputs.inspected import inspect
    from ktsafe.params import PrivacyParams
    from ktsafe.protection.protect import protect
    from ktsafe.protection.protected import Protected
    from ktsafe.protection.snapshots import Sequence
    from ktsafe.reader import read

__all__ = [
    "MISSING",
    "AnonymizeOptions",
    "Anonymized",
    "AttributedGraph",
    "BelowMinimumUtility",
    "Infeasible",
    "InvalidGraph",
    "InvalidParams",
    "KtsafeError",
    "NotKTSafe",
    "PrivacyParams",
    "Protected",
    "Schema",
    "Sequence",
    "__version__",
    "anonymize",
    "inspect",
    "protect",
    "read",
]


def loads(package: dict[str, Any], homes: Mapping[str, Names[str]]) -> Callable[[str], Any]:
    """Return a `__getattr__` that loads a package's name when first asked.

    The compiler takes a second to load, and the errors of a package are needed without it.

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


_load = loads(
    globals(),
    {
        "ktsafe.errors": (
            "Infeasible",
            "InvalidGraph",
            "InvalidParams",
            "KtsafeError",
            "NotKTSafe",
            "BelowMinimumUtility",
        ),
        "ktsafe.graph": ("MISSING", "AttributedGraph", "Schema"),
        "ktsafe.graph.inputs.inspected": ("inspect",),
        "ktsafe.anonymization.request": ("AnonymizeOptions",),
        "ktsafe.params": ("PrivacyParams",),
        "ktsafe.protection": ("Protected", "protect"),
        "ktsafe.protection.snapshots": ("Sequence",),
        "ktsafe.anonymization.anonymization": ("Anonymized", "anonymize"),
        "ktsafe.reader": ("read",),
    },
)


def __getattr__(name: str) -> Any:
    """Load a public name."""
    if name == "__version__":
        return import_module("importlib.metadata").version("ktsafe")
    return _load(name)
