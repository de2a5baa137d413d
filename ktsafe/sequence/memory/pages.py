"""The state of a sequence as named pages of bytes, and back.

`meta` is JSON: what is fixed, counters, classes and categories. Every other page holds up to
`ROWS_PER_PAGE` rows of one table, little-endian int64.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ktsafe.errors import KtsafeError
from ktsafe.sequence.memory.state import State

META = "meta"
VERSION = 7
OLDER = (6, 5)
"""In version 6 the kt-tree of waiting people was saved, too. In version 5 ties had no beginning,
and no pair of classes the release in which it was planned."""
GONE = ("kt_nodes/", "kt_pivots/", "kt_members/")
"""Pages of version 6 and before that are not kept."""


class SequenceCorrupted(KtsafeError):
    """The pages of a sequence are not what was saved."""


def state_pages(state: State, fixed: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of all pages."""
    meta = {
        "version": VERSION,
        "fixed": fixed,
        **state.meta(),
        "rows": {table.name: table.n for table in state.tables},
    }
    yield META, json.dumps(meta, sort_keys=True).encode()
    for table in state.tables:
        yield from table.pages()


def state_from_pages(pages: Mapping[str, bytes]) -> tuple[State, dict[str, Any]]:
    """Return the state and what is fixed.

    Raises
    ------
    SequenceCorrupted
        If pages are missing or do not fit each other.
    """
    try:
        meta = json.loads(pages[META])
        if meta["version"] not in {VERSION, *OLDER}:
            raise ValueError
        are_older = meta["version"] == OLDER[-1]
        state = State(len(meta["categories"]))
        for table in state.tables:
            names = sorted(name for name in pages if name.startswith(f"{table.name}/"))
            table.load([pages[name] for name in names], are_older=are_older)
            if table.n != meta["rows"][table.name]:
                raise ValueError
        state.take(meta)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise SequenceCorrupted(
            "The saved state of the sequence is damaged.",
            hint="Restore it from a backup, or begin a new sequence.",
        ) from error
    return state, meta["fixed"]
