"""Convert the sequence of a state: its pages to version 1, and t and epsilon to 0.

Cohorts of the default sequence have had equal rows all the time, so what is shown does not change:
the parameters of the sequence do, and the auditor's saved knowledge goes. At the next start the
gate leads a new auditor through all releases, each held to 0 and 0: if one of them is not safe so,
nothing is published. Releases that are out stay as they are, and manifests from now on say 0 and 0.

In pages of version 8 every place showed the sensitive value of its owner. In version 7 a turn took
.8 `max_age` releases, and was not saved. In version 6 the kt-tree of waiting people was saved, too.
In version 5 ties had no beginning, and no pair of classes the release in which it was planned.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ktsafe import PrivacyParams, Schema
from ktsafe.errors import KtsafeError
from ktsafe.sequence import SequenceOptions
from ktsafe.sequence.memory.column_table import FREE, ColumnTable
from ktsafe.sequence.memory.sequence_tables import (
    ClearedEdgeTable,
    HiddenTieTable,
    PlaceTable,
    ReleasedEdgeTable,
)
from ktsafe.sequence.memory.state import META, VERSION, state_from_pages
from ktsafe.sequence.memory.turns import Turns, share_of_turn
from ktsafe.state import keys
from ktsafe.state.database import Database
from ktsafe.state.folder import DATABASE, hold
from ktsafe.state.ledger import SequenceRecord
from ktsafe.state.ledger.ledger import COUNT, PAGES, SEQUENCE
from ktsafe.state.ledger.records import NextPages, Pages
from ktsafe.stream.config.places import STORE
from ktsafe.stream.release.sequence_inputs import inputs_digest, is_of_auditor

LATER: Final = ("values", "margin")
"""Options of sequences begun before there was a choice: pages name them, the digest does not."""
AT_DEFAULT: Final = ("aim", *LATER)
"""Options that earlier digests named only where they were not at their defaults."""
FORMER: Final = {
    "alpha_reserve": "0",
    "real_floor": None,
    "births": "withhold",
    "qi_change": "hold",
}
"""Options that are no more, each with its default, which earlier digests name."""

VERSIONS: Final = range(5, 10)
ADDED: Final[dict[type[ColumnTable], tuple[int, int | None]]] = {
    PlaceTable: (9, None),
    ReleasedEdgeTable: (6, 0),
    HiddenTieTable: (6, 0),
    ClearedEdgeTable: (6, 0),
}
"""Since which version a table has its last column, and what it holds in older rows; None: their
own numbers."""

_ENDED: Final = (
    "None of today's options can continue this sequence: begin another (`ktsafe rebase`)."
)


def convert(folder: Path) -> str:
    """Convert the current sequence of a state; return its id, "" where none has begun.

    Raises
    ------
    SystemExit
        If none can go on with equal rows.
    ktsafe.state.store_base.StateLocked
        If a service runs.
    """
    store = folder / STORE
    with hold(store), closing(Database(store / DATABASE, create=False)) as database:
        ledger = dict(database.scan_from(keys.LEDGER, b""))
        sequences = sorted(key for key in ledger if key.startswith(SEQUENCE))
        if not sequences or PAGES not in ledger:
            return ""
        record = msgspec.json.decode(ledger[sequences[-1]], type=SequenceRecord)
        listed = Pages.unpacked(ledger[PAGES])
        rows = {name: database.get_many(keys.PAGES, [listed.key(name)])[0] for name in listed}
        pages = {name: page for name, page in rows.items() if page is not None}
        if pages.keys() != rows.keys() or not all(map(listed.holds, pages, pages.values())):
            raise SystemExit("The pages of the sequence do not read back as written.")
        own = {name: page for name, page in pages.items() if not is_of_auditor(name)}
        converted, digest = converted_pages(own, record.inputs_digest)
        coming = NextPages(listed, int.from_bytes(listed.listed(META)[16:], "big"))
        for name, page in {**dict.fromkeys(own), **converted}.items():
            coming.take(name, page)
        after, writes = coming.end()
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
        batch.write(keys.PAGES, writes)
        database.commit(batch)
    return record.sequence_id


def converted_pages(pages: Mapping[str, bytes], digest: str) -> tuple[dict[str, bytes], str]:
    """Return the pages, and the digest, with both parameters 0."""
    try:
        pages = upgraded(pages)
        meta = json.loads(pages[META])
        fixed = meta["fixed"]
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
        groups=part["groups"],
    )
    for options in _candidates(fixed["options"]):
        if digest in _digests(params, schema, options):
            equal = dataclasses.replace(params, t=Fraction(0), epsilon=0)
            fixed["params"] = equal.to_mapping()
            pages[META] = json.dumps(meta, sort_keys=True).encode()
            return pages, inputs_digest(equal, schema, options)
    raise SystemExit(_ENDED)


def upgraded(pages: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return pages of versions 5 to 9 as version 1 has them.

    Ages count from now where none is known, and what an older version showed in place stays there.
    """
    found, meta = dict(pages), json.loads(pages[META])
    fixed, version = meta["fixed"], meta["version"]
    told = fixed["options"].items()
    options = {name: x for name, x in told if (name, x) not in FORMER.items()}
    fixed["options"] = options
    fixed["schema"].setdefault("groups", {})
    found[META] = json.dumps(meta, sort_keys=True).encode()
    if version == VERSION:
        return found
    if version not in VERSIONS:
        raise SystemExit(_ENDED)
    meta["version"] = VERSION
    if version < ADDED[PlaceTable][0]:
        options["values"] = "in place"
    options.setdefault("margin", 0)
    for table, (since, value) in ADDED.items():
        if version < since:
            found |= _wider(table, found, value)
    if "turns" not in meta:
        max_age = SequenceOptions.from_mapping(options).max_age
        share = share_of_turn(0.0, max_age)
        n = min(meta["release"] + 1, max_age + 2) + 1
        meta["turns"] = Turns([share * i for i in range(n)]).to_mapping()
    is_planned = "planned" in meta
    ages = meta.setdefault("planned", [])
    found[META] = json.dumps(meta, sort_keys=True).encode()
    if not is_planned:
        state, _ = state_from_pages(found)
        ages += [[*classes, meta["release"]] for classes in sorted(state.between(state.edges))]
        found[META] = json.dumps(meta, sort_keys=True).encode()
    return found


def _wider(
    table: type[ColumnTable], pages: Mapping[str, bytes], value: int | None
) -> Iterator[tuple[str, bytes]]:
    """Yield the pages of a table with its last column."""
    n = 0
    for name in sorted(name for name in pages if name.startswith(f"{table.name}/")):
        rows = np.frombuffer(pages[name], dtype=np.int64).reshape(-1, len(table.columns) - 1)
        held = n + np.arange(len(rows)) if value is None else np.full(len(rows), value)
        last = np.where(rows[:, 0] != FREE, held, FREE)
        yield name, np.column_stack((rows, last)).tobytes()
        n += len(rows)


def _candidates(told: Mapping[str, Any]) -> Iterator[SequenceOptions]:
    """Yield the options with which a sequence may have begun."""
    for named in itertools.product([True, False], repeat=len(LATER)):
        absent = {name for name, is_named in zip(LATER, named, strict=True) if not is_named}
        there = {name: value for name, value in told.items() if name not in absent}
        yield SequenceOptions.from_mapping(there)


def _digests(params: PrivacyParams, schema: Schema, options: SequenceOptions) -> Iterator[str]:
    """Yield the digests that a sequence of these options has or had."""
    yield inputs_digest(params, schema, options)
    initial = SequenceOptions()
    told = {
        name: value
        for name, value in {**options.to_mapping(), **FORMER}.items()
        if name not in AT_DEFAULT or value != getattr(initial, name)
    }
    # The greatest age was fixed, once.
    for free in ({"max_age"}, set[str]()):
        frozen = {name: value for name, value in told.items() if name not in free}
        inputs = {
            "params": params.to_mapping(),
            "mechanism": {"window": "all", "options": frozen},
            "quasi_identifiers": list(schema.quasi_identifiers),
            "sensitive": schema.sensitive,
            "sensitive_values": sorted(schema.sensitive_values),
            "buckets": {name: list(edges) for name, edges in sorted(schema.buckets.items())},
            **({"groups": schema.groups} if schema.groups else {}),
        }
        yield hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
