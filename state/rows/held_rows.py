"""What the store holds of rows of tables, as it is written.

See `ktsafe.state.rows.resolving`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from ktsafe.state.marks import way_of

PAIR: Final = b"p"
"""What the keys of pairs begin with."""
BEFORE_ALL_US: Final = -(2**62)


class HeldPerson(msgspec.Struct, array_like=True, tag="p", frozen=True, gc=False):
    """What a row of a person says."""

    position: int | None
    alias: bytes
    attributes: dict[str, str | None]


class HeldTie(msgspec.Struct, array_like=True, tag="t", frozen=True, gc=False):
    """What a row of a tie says.

    Both ends, its kind, and whether it goes one way.
    """

    position: int | None
    source: bytes
    target: bytes
    kind: str | None
    is_directed: bool

    @property
    def pair(self) -> bytes | None:
        """The key of the pair that it names.

        None if both ends are one person.
        """
        if self.source < self.target:
            return PAIR + self.source + self.target
        return None if self.source == self.target else PAIR + self.target + self.source

    @property
    def mark(self) -> Mark:
        """Its kind, and its way."""
        return self.kind, way_of(self.source, self.target, is_directed=self.is_directed)


Held: TypeAlias = HeldPerson | HeldTie
Mark: TypeAlias = tuple[str | None, int]
Marks: TypeAlias = list[tuple[str | None, int, int]]
"""The marks of a pair and how many rows say each."""


class Named(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A person's id while present, and the keys of its rows."""

    id: str | None
    rows: tuple[bytes, ...]


class Clock(msgspec.Struct, array_like=True, frozen=True):
    """Progress of stamps, and cleared tables."""

    time_us: int = BEFORE_ALL_US
    n_changes: int = 0
    cleared: dict[bytes, int] = {}


held_of: Final = msgspec.msgpack.Decoder(Held)
named_of: Final = msgspec.msgpack.Decoder(Named)
marks_of: Final = msgspec.msgpack.Decoder(Marks)
clock_of: Final = msgspec.msgpack.Decoder(Clock)
