"""The constants of a sequence of releases, and its beginning."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any, Final

from ktsafe import PrivacyParams, Schema
from ktsafe.state.errors import StateMismatch
from ktsafe.state.ledger import Ledger, SequenceRecord

FREE: Final = "free"
"""In what the mechanism freezes, the key of the options that may change."""


def inputs_digest(params: PrivacyParams, schema: Schema, frozen: Mapping[str, Any]) -> str:
    """Return the digest of everything frozen within a sequence.

    `frozen` is the mechanism's part: its options. What a later version of the program added
    counts only where it is not at its default (`Mapped.to_fixed`): an upgrade ends no sequence.
    Options that may change ("free") do not count.
    """
    inputs = {
        "params": params.to_fixed(),
        "mechanism": {name: value for name, value in frozen.items() if name != FREE},
        "quasi_identifiers": list(schema.quasi_identifiers),
        "sensitive": schema.sensitive,
        "sensitive_values": sorted(schema.sensitive_values),
        "buckets": {name: list(edges) for name, edges in sorted(schema.buckets.items())},
        **({"groups": schema.groups} if schema.groups else {}),
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def ensure_sequence(
    ledger: Ledger,
    params: PrivacyParams,
    schema: Schema,
    frozen: Mapping[str, Any],
    now_us: int,
    *,
    seed: int | None = None,
) -> SequenceRecord:
    """Return the current sequence, started now if there is none.

    Raises
    ------
    StateMismatch
        If the state's sequence has other parameters or another schema.
    """
    sequence = ledger.sequence()
    if sequence is None:
        sequence = new_sequence(inputs_digest(params, schema, frozen), now_us, seed=seed)
        ledger.start_sequence(sequence)
    check_inputs(sequence, params, schema, frozen)
    return sequence


def check_inputs(
    sequence: SequenceRecord, params: PrivacyParams, schema: Schema, frozen: Mapping[str, Any]
) -> None:
    """Refuse to go on with a sequence that began with other inputs.

    Raises
    ------
    StateMismatch
        If parameters, options or schema are others.
    """
    if sequence.inputs_digest != inputs_digest(params, schema, frozen):
        hint = (
            "parameters, effort and aim, schema, buckets and groups are fixed within a sequence of "
            "releases, and the configuration differs from what this state began with, or a build "
            "before 0.1.0 began it, with t and epsilon above 0. Restore the configuration; convert "
            "the older state with `python -m lab.convert_promise`; or begin a new sequence with "
            "`ktsafe rebase`: readers can then link the old sequence to the new one."
        )
        raise StateMismatch("open state", f"sequence {sequence.sequence_id}", hint)


def new_sequence(digest: str, now_us: int, *, seed: int | None = None) -> SequenceRecord:
    """Return a fresh sequence with random id and secret.

    A test may fix the secret.
    """
    secret = secrets.token_bytes(32) if seed is None else hashlib.sha256(b"%d" % seed).digest()
    return SequenceRecord(
        sequence_id=secrets.token_hex(8),
        inputs_digest=digest,
        started_us=now_us,
        secret=secret.hex(),
    )
