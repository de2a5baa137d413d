"""What an event does to the graph: four kinds of change, each with its stamp.

Changes are merged by maximum stamp (`ktsafe.state.store`), so their order of arrival does not
matter. Every event makes one, so they are what is made and let go of quickest.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Stamp(msgspec.Struct, frozen=True, order=True, gc=False):
    """When a change holds, with ties broken by where it was read: compared field by field."""

    time_us: int
    topic: str
    partition: int
    offset: int


class VertexUpsert(msgspec.Struct, frozen=True, gc=False):
    """The vertex exists from `stamp` on; given attributes take the given values (None: missing)."""

    stamp: Stamp
    id: str
    attributes: dict[str, str | None]


class VertexDelete(msgspec.Struct, frozen=True, gc=False):
    """The vertex and everything at or before `stamp` that hangs on it is gone."""

    stamp: Stamp
    id: str


class EdgeAdd(msgspec.Struct, frozen=True, gc=False):
    """The undirected edge is present from `stamp` on, as soon as and while both ends exist."""

    stamp: Stamp
    source: str
    target: str


class EdgeRemove(msgspec.Struct, frozen=True, gc=False):
    """The undirected edge is absent from `stamp` on."""

    stamp: Stamp
    source: str
    target: str


Change: TypeAlias = VertexUpsert | VertexDelete | EdgeAdd | EdgeRemove
