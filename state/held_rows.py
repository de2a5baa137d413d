"""What the store holds of rows of tables, as it is written.

See `ktsafe.state.rows`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

import msgspec

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
        """Its kind, and its way.

        0 is none, 1 from the smaller alias, 2 to it.
        """
        way = 0 if not self.is_directed else 1 if self.source < self.target else 2
        return self.kind, way


Held: TypeAlias = HeldPerson | HeldTie
Mark: TypeAlias = tuple[str | None, int]
Marks: TypeAlias = list[tuple[str | None, int, int]]
"""The marks of a pair and how many rows say each."""


class Named(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A person's id while present, and the keys of its rows."""

    id: str | None
    rows: tuple[bytes, ...]


class Clock(msgspec.Struct, array_like=True, frozen=True):
    """Progress of stamps, cleared tables, and the definition of a tie."""

    time_us: int = BEFORE_ALL_US
    n_changes: int = 0
    cleared: dict[bytes, int] = {}
    ties: str | frozenset[str] = "any"


held_of: Final = msgspec.msgpack.Decoder(Held)
named_of: Final = msgspec.msgpack.Decoder(Named)
marks_of: Final = msgspec.msgpack.Decoder(Marks)
clock_of: Final = msgspec.msgpack.Decoder(Clock)


def is_tie(marks: Collection[Mark], ties: str | frozenset[str]) -> bool:
    """Return whether a pair with these marks of rows is a tie.

    Parameters
    ----------
    ties:
        As `Schema.ties`: any of them, both ways (or none), or one of some kinds.

    Examples
    --------
    >>> one, other = ("follows", 1), ("follows", 2)
    >>> [is_tie([one], "any"), is_tie([one], "mutual"), is_tie([one, other], "mutual")]
    [True, False, True]
    >>> is_tie([one, (None, 0)], frozenset({"friend"}))
    False
    """
    if ties == "any":
        return bool(marks)
    if ties == "mutual":
        ways = {way for _, way in marks}
        return 0 in ways or len(ways) == 2
    return any(kind in ties for kind, _ in marks if kind is not None)
