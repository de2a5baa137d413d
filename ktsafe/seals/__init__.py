"""Seals of releases: digests, signatures, and the log of a sequence."""

from ktsafe.seals.seals import (
    WITHDRAWN,
    SealCheck,
    Signature,
    check_seals,
    log_root,
    merkle_root,
    public_key,
    read_seal,
    reason_of,
    signed_bytes,
)

__all__ = [
    "WITHDRAWN",
    "SealCheck",
    "Signature",
    "check_seals",
    "log_root",
    "merkle_root",
    "public_key",
    "read_seal",
    "reason_of",
    "signed_bytes",
]
