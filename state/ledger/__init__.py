"""The ledger: all releases, and their bytes for ever."""

from ktsafe.state.ledger.ledger import EMPTY, MANIFEST, Ledger, LedgerStorage
from ktsafe.state.ledger.records import (
    Erased,
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
    "PendingCut",
    "ReleaseRecord",
    "SequenceRecord",
    "Status",
    "Writes",
]
