"""kt-safe anonymization of attributed graphs: arrays in, arrays out.

Nothing here reads a file, a clock, the environment or a global random state.
"""

from ktsafe.anonymize import Anonymized, AnonymizeOptions, anonymize
from ktsafe.errors import Infeasible, InvalidGraph, InvalidParams, KtsafeError, NotKTSafe
from ktsafe.graph import MISSING, AttributedGraph, Schema
from ktsafe.params import PrivacyParams
from ktsafe.protection import Protected, protect

__all__ = [
    "MISSING",
    "AnonymizeOptions",
    "Anonymized",
    "AttributedGraph",
    "Infeasible",
    "InvalidGraph",
    "InvalidParams",
    "KtsafeError",
    "NotKTSafe",
    "PrivacyParams",
    "Protected",
    "Schema",
    "anonymize",
    "protect",
]
