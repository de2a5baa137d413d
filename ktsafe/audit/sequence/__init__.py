"""The independent auditor of sequences of releases.

It recomputes everything from the releases' bytes and the private mapping, with code of its own. It
may not get help: what it imports of ours is listed in tests/ktsafe/audit/sequence/test_parts.py,
which fails with anything else. So some things are written twice.
"""

from ktsafe.audit.sequence.audited_release import AuditedRelease, CodedTexts
from ktsafe.audit.sequence.auditor import Promise, SequenceAuditor, Window
from ktsafe.audit.sequence.containment import Declared, TrueGraph
from ktsafe.audit.sequence.saved_state import UnknownSavedState
from ktsafe.audit.sequence.windows import KINDS, Findings, Violation

__all__ = [
    "KINDS",
    "AuditedRelease",
    "CodedTexts",
    "Declared",
    "Findings",
    "Promise",
    "SequenceAuditor",
    "TrueGraph",
    "UnknownSavedState",
    "Violation",
    "Window",
]
