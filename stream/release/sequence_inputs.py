"""Pages of a sequence in the ledger, its auditor's among them.

What the auditor learned is kept as pages beside those of the mechanism: the ledger has a digest of
each, and they change in the write that stages the release. An auditor that was saved needs no
former release.

What is fixed within a sequence is listed in `inputs_digest`: whatever is added or spelt otherwise
there makes every running sequence refuse its configuration, and needs lab/convert. Hints may be
reworded.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ktsafe import PrivacyParams, Schema
from ktsafe.audit.sequence import SequenceAuditor, UnknownSavedState
from ktsafe.state.ledger import Ledger, SequenceRecord
from ktsafe.state.store_base import StateMismatch
from ktsafe.stream.process.logs import get_logger

if TYPE_CHECKING:
    from ktsafe.sequence import SequenceOptions

log = get_logger(__name__)

PREFIX: Final = "auditor/"
"""Of the names of the pages."""


def is_of_auditor(name: str) -> bool:
    """Whether the page of this name is an auditor's."""
    return name.startswith(PREFIX)


def is_saved(names: Iterable[str]) -> bool:
    """Whether pages of these names hold an auditor."""
    return any(map(is_of_auditor, names))


def read_into(auditor: SequenceAuditor, pages: Mapping[str, bytes], key: bytes) -> bool:
    """Let a new auditor go on from what was saved.

    Return whether it knows anything now.

    Parameters
    ----------
    pages:
        The pages of the last staged release of the sequence; none before its first.
    """
    own = {name.removeprefix(PREFIX): pages[name] for name in filter(is_of_auditor, pages)}
    if not own:
        return False
    try:
        auditor.resume_from(own, key)
    except UnknownSavedState:
        log.warning("the saved auditor is of another version: it is led through all releases")
        return False
    return True


def pages_of(auditor: SequenceAuditor, key: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the pages of an auditor as it is now."""
    for name, page in auditor.pages(key):
        yield f"{PREFIX}{name}", page


# The constants of a sequence of releases, and its beginning.


def inputs_digest(params: PrivacyParams, schema: Schema, options: SequenceOptions) -> str:
    """Return the digest of everything that is fixed within a sequence."""
    inputs = {
        "params": params.to_mapping(),
        "options": options.to_fixed(),
        "quasi_identifiers": list(schema.quasi_identifiers),
        "sensitive": schema.sensitive,
        "sensitive_values": sorted(schema.sensitive_values),
        "buckets": {name: list(edges) for name, edges in sorted(schema.buckets.items())},
        "groups": schema.groups,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def ensure_sequence(
    ledger: Ledger,
    params: PrivacyParams,
    schema: Schema,
    options: SequenceOptions,
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
        sequence = new_sequence(inputs_digest(params, schema, options), now_us, seed=seed)
        ledger.start_sequence(sequence)
    check_inputs(sequence, params, schema, options)
    return sequence


def check_inputs(
    sequence: SequenceRecord, params: PrivacyParams, schema: Schema, options: SequenceOptions
) -> None:
    """Refuse to go on with a sequence that began with other inputs.

    Raises
    ------
    StateMismatch
        If parameters, options or schema are others.
    """
    if sequence.inputs_digest != inputs_digest(params, schema, options):
        hint = (
            "parameters, effort and aim, schema, buckets and groups are fixed within a sequence of "
            "releases, and the configuration differs from what this state began with. Restore the "
            "configuration; convert a state of an earlier build, once: `python -m lab.convert "
            "FOLDER`; or begin a new sequence with `ktsafe rebase`: readers can then link "
            "the old sequence to the new one."
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
