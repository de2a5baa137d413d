"""The ledger: all releases, and their bytes for ever.

What others may use is listed here; how it is kept stands in `ledger` and `records`.
"""

from ktsafe.state.ledger.ledger import EMPTY, MANIFEST, Ledger, LedgerStorage
from ktsafe.state.ledger.records import (
    Erased,
    NamedPages,
    PendingCut,
    ReleaseRecord,
    SequenceRecord,
    Status,
    Writes,
)

__all__ = [
    "EMPTY",
    "MANIFEST",
    "Erased",
    "Ledger",
    "LedgerStorage",
    "NamedPages",
    "PendingCut",
    "ReleaseRecord",
    "SequenceRecord",
    "Status",
    "Writes",
]
