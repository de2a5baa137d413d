"""Private figures of one release: cost, privacy and use.

It judges, so it imports nothing that searches (`MAY_ENTER` in tests/test_layers.py). Figures are
for the owner alone; none goes into a release.
"""

from ktsafe.audit.cost import Cost, Overlap, Traced, Usefulness, cost_parts, trace, usefulness
from ktsafe.audit.release_audit import (
    ReleaseAudit,
    audit_release,
    audit_traced,
    changed_values,
    values_told,
)

__all__ = [
    "Cost",
    "Overlap",
    "ReleaseAudit",
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
