"""The private figures of one release: what it cost, how private and how useful it is."""

from ktsafe.audit.originals import Traced, trace
from ktsafe.audit.release import audit_release, changed_values, cost_parts

__all__ = ["Traced", "audit_release", "changed_values", "cost_parts", "trace"]
