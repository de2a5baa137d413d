"""What a feed is made of: events, or rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ktsafe import Schema
from ktsafe.state.changes import PersonRow, RowChange, Told
from ktsafe.state.errors import StateMismatch
from ktsafe.state.store import GraphStore
from ktsafe.stream.ingest.debezium import RowJudge, Tables
from ktsafe.stream.ingest.envelopes import Format
from ktsafe.stream.ingest.judge import Judge
from ktsafe.stream.ingest.judged import RecordJudge

FeedFormat: TypeAlias = Format | Tables
"""How events are wrapped in records; or the tables of a database whose rows they tell."""
UNKNOWN_ROW: Final = (
    "unknown_row",
    "no such row is held: give records their key, or the table its key, or REPLICA IDENTITY FULL",
)
"""Why a row is set aside that only a row of before explains."""


def judge_of(
    feed_format: FeedFormat,
    schema: Schema,
    kinds: Iterable[str],
    *,
    record_bytes_max: int,
    wall_us: Callable[[], int],
) -> RecordJudge:
    """Return what decides what records do, given known kinds."""
    if isinstance(feed_format, tuple):
        return RowJudge(feed_format, schema, record_bytes_max=record_bytes_max)
    return Judge(
        schema,
        record_bytes_max=record_bytes_max,
        event_format=feed_format,
        kinds=kinds,
        wall_us=wall_us,
    )


def check_made_of(store: GraphStore, *, rows: bool) -> None:
    """Refuse events for a graph of tables, or the reverse.

    Raises
    ------
    StateMismatch
    """
    if store.holds_rows == rows or (rows and store.is_blank):
        return
    hint = (
        "It was made of events, and what rows said is not known. Begin with a new state folder, "
        "and let the connector take its snapshot again."
        if rows
        else "It was made of rows of tables: give [[source.tables]] again."
    )
    raise StateMismatch("read the feed", "the state", hint)


def needs_held(change: Told) -> bool:
    """Whether a row says of something that it is as it was."""
    if not isinstance(change, RowChange):
        return False
    row = change.row
    if row is None or change.needs_former:
        return change.needs_former
    if isinstance(row, PersonRow):
        return row.id is None or bool(row.untold)
    return row.source is None or row.target is None
