"""Lets a sequence that began with t and epsilon above 0 go on with both 0, once.

    python -m lab.convert_promise FOLDER

FOLDER is `[state] folder` of a service that does not run, in today's format. Cohorts of the
default sequence have had equal rows all the time, so what is shown does not change: the parameters
of the sequence do, and the auditor's saved knowledge goes. At the next start the gate leads a new
auditor through all releases, each held to 0 and 0: if one of them is not safe so, nothing is
published. Releases that are out stay as they are, and manifests from now on say 0 and 0.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import msgspec

from ktsafe import PrivacyParams, Schema
from ktsafe.errors import KtsafeError
from ktsafe.sequence import SequenceOptions
from ktsafe.sequence.memory.state import META, state_from_pages
from ktsafe.state import keys
from ktsafe.state.database import Database
from ktsafe.state.folder import DATABASE, hold
from ktsafe.state.ledger import SequenceRecord
from ktsafe.state.ledger.ledger import COUNT, PAGES, SEQUENCE
from ktsafe.state.ledger.pages import Pages
from ktsafe.stream.config.places import STORE
from ktsafe.stream.release.sequence_inputs import inputs_digest, is_of_auditor

LATER: Final = ("values", "margin")
"""Options of sequences begun before there was a choice: pages name them, the digest does not."""

_ENDED: Final = (
    "None of today's options can continue this sequence: begin another (`ktsafe rebase`)."
)


def main() -> None:
    """Convert the sequence of the state in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    sequence = convert(parser.parse_args().folder)
    sys.stdout.write(f"sequence {sequence}: t = 0 and epsilon = 0\n")


def convert(folder: Path) -> str:
    """Convert the current sequence of a state; return its id.

    Raises
    ------
    SystemExit
        If there is no sequence, or none that goes on with equal rows.
    ktsafe.state.errors.StateLocked
        If a service runs.
    """
    store = folder / STORE
    if not (store / DATABASE).is_dir():
        raise SystemExit(f"{folder} has no state.")
    with hold(store), closing(Database(store / DATABASE, create=False)) as database:
        ledger = dict(database.scan_from(keys.LEDGER, b""))
        sequences = sorted(key for key in ledger if key.startswith(SEQUENCE))
        if not sequences or PAGES not in ledger:
            raise SystemExit("No sequence has begun: remove the state, and begin anew.")
        record = msgspec.json.decode(ledger[sequences[-1]], type=SequenceRecord)
        listed = Pages.unpacked(ledger[PAGES])
        rows = {name: database.get_many(keys.PAGES, [listed.key(name)])[0] for name in listed}
        pages = {name: page for name, page in rows.items() if page is not None}
        if pages.keys() != rows.keys() or not all(map(listed.holds, pages, pages.values())):
            raise SystemExit("The pages of the sequence do not read back as written.")
        meta, digest = converted_pages(pages, record.inputs_digest)
        kept = Pages({name: listed.listed(name) for name in listed if not is_of_auditor(name)})
        gone = listed.keys() - kept.keys()
        index = int.from_bytes(listed.listed(META)[16:], "big")
        after, writes = kept.changed([(META, meta)], index)
        n_sequences, n_releases, _ = msgspec.json.decode(ledger[COUNT])
        batch = database.batch()
        batch.write(
            keys.LEDGER,
            {
                sequences[-1]: msgspec.json.encode(
                    msgspec.structs.replace(record, inputs_digest=digest)
                ),
                PAGES: after.packed(),
                COUNT: msgspec.json.encode([n_sequences, n_releases, len(after)]),
            },
        )
        batch.write(keys.PAGES, {**dict.fromkeys(gone), **writes})
        database.commit(batch)
    return record.sequence_id


def converted_pages(pages: Mapping[str, bytes], digest: str) -> tuple[bytes, str]:
    """Return the page of what is fixed, and the digest, with both parameters 0."""
    meta = json.loads(pages[META])
    fixed = meta["fixed"]
    try:
        params = PrivacyParams.from_mapping(fixed["params"])
        state_from_pages(pages)
    except KtsafeError as error:
        raise SystemExit(_ENDED) from error
    if not params.sees_stars:
        raise SystemExit("Permanent groups go on with the package ktsafe_lab alone.")
    part = fixed["schema"]
    schema = Schema(
        tuple(part["quasi_identifiers"]),
        part["sensitive"],
        frozenset(part["sensitive_values"]),
        part["buckets"],
        groups=part.get("groups", {}),
    )
    for begun, frozen in _candidates(fixed["options"]):
        if inputs_digest(params, schema, begun) == digest:
            equal = dataclasses.replace(params, t=Fraction(0), epsilon=0)
            fixed["params"] = equal.to_mapping()
            return json.dumps(meta).encode(), inputs_digest(equal, schema, frozen)
    raise SystemExit(_ENDED)


def _candidates(options: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield what the digest may be of, and what it is of from now on."""
    for named in itertools.product([True, False], repeat=len(LATER)):
        absent = {name for name, is_named in zip(LATER, named, strict=True) if not is_named}
        told = {name: value for name, value in options.items() if name not in absent}
        then = SequenceOptions.from_mapping(told)
        frozen = {"window": "all", "options": then.to_fixed()}
        yield frozen, frozen
        # The greatest age was fixed, once.
        yield {**frozen, "options": {**then.to_fixed(), **then.to_free()}}, frozen


if __name__ == "__main__":
    main()
