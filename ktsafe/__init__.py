"""kt-safe anonymization of attributed graphs: arrays in, arrays out.

Only `ktsafe.reader` and `ktsafe.inputs` read files, and nothing here reads a clock, the
environment or a global random state, but for where compiled kernels are kept
(`ktsafe.compiled_kernels`). Each name is loaded when it is first asked for: for the errors alone
nobody waits for the compiler.
"""

from typing import TYPE_CHECKING

from ktsafe.lazy import loads

if TYPE_CHECKING:
    from ktsafe.anonymization import Anonymized, anonymize
    from ktsafe.errors import (
        BelowMinimumUtility,
        Infeasible,
        InvalidGraph,
        InvalidParams,
        KtsafeError,
        NotKTSafe,
    )
    from ktsafe.graph import MISSING, AttributedGraph, Schema
    from ktsafe.inputs.inspecting import inspect
    from ktsafe.options import AnonymizeOptions
    from ktsafe.params import PrivacyParams
    from ktsafe.protection.protect import protect
    from ktsafe.protection.protected import Protected
    from ktsafe.protection.snapshots import Sequence
    from ktsafe.reader import read
    from ktsafe.version import __version__

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

__getattr__ = loads(
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
        "ktsafe.inputs.inspecting": ("inspect",),
        "ktsafe.options": ("AnonymizeOptions",),
        "ktsafe.params": ("PrivacyParams",),
        "ktsafe.protection": ("Protected", "protect"),
        "ktsafe.protection.snapshots": ("Sequence",),
        "ktsafe.anonymization": ("Anonymized", "anonymize"),
        "ktsafe.reader": ("read",),
        "ktsafe.version": ("__version__",),
    },
)
