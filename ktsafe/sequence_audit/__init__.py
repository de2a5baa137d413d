"""The independent auditor of sequences of releases.

It recomputes everything from the releases' bytes and the private mapping, with code of its own: it
imports nothing of the anonymizer or of the sequence engine, and of the verifier only the strict
verdict on single releases.
"""

from ktsafe.sequence_audit.audited_release import AuditedRelease, CodedTexts
from ktsafe.sequence_audit.auditor import Promise, SequenceAuditor, Window
from ktsafe.sequence_audit.containment import Declared, TrueGraph
from ktsafe.sequence_audit.findings import KINDS, Findings, Violation
from ktsafe.sequence_audit.saved_state import UnknownSavedState

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
