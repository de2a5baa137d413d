"""The private figures of one release.

What it cost, how private and how useful it is.
"""

from ktsafe.audit.originals import Traced, trace
from ktsafe.audit.release_audit import audit_release, audit_traced, changed_values, values_told
from ktsafe.audit.usefulness import Overlap, Usefulness, cost_parts, usefulness

__all__ = [
    "Overlap",
    "Traced",
    "Usefulness",
    "audit_release",
    "audit_traced",
    "changed_values",
    "cost_parts",
    "trace",
    "usefulness",
    "values_told",
]
