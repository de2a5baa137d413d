"""Merging by maximum stamp: what one vertex remembers, and how a change alters it. Pure.

Existence is never stored. A register that cannot matter any more is dropped at once, so equal
histories leave equal registers whatever their order of arrival:

- `up` at or below `down` is dropped: the vertex exists iff `up` is left;
- an attribute at or below `down` is dropped: a re-created vertex starts blank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Mark: TypeAlias = tuple[int, int, int]
"""A stamp as the store holds it: (time_us, origin, offset), the origin a number in `Origins`."""

Origin: TypeAlias = tuple[str, int]
"""A topic and a partition of it."""


class Origins:
    """Numbers every (topic, partition) seen, so a stamp takes three integers.

    Numbers are given in order of arrival and never change; the *order* of stamps is that of
    topics and partitions themselves.
    """

    def __init__(self, names: Sequence[Origin] = ()) -> None:
        self.names: list[Origin] = list(names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, topic: str, partition: int) -> int:
        """Return the number of an origin, a new one if it was never seen."""
        name = (topic, partition)
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def ranks(self) -> NDArray[np.int64]:
        """Return the place of each number in the order of topics and partitions, int64."""
        ranks = np.empty(len(self.names), dtype=np.int64)
        ranks[sorted(range(len(self.names)), key=self.names.__getitem__)] = range(len(self.names))
        return ranks

    def later(self, mark: Mark, than: Mark) -> bool:
        """Whether one stamp is greater than another: by time, then topic, partition, offset."""
        if mark[0] != than[0]:
            return mark[0] > than[0]
        if mark[1] != than[1]:
            return self.names[mark[1]] > self.names[than[1]]
        return mark[2] > than[2]


class VertexRecord(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """All registers of one vertex, in the shape in which they are stored.

    Attributes
    ----------
    id:
        The person's id while the vertex exists, else None.
    alias:
        The keyed hash of the id while it does not exist, else None.
    up, down:
        The last change that made it exist, and the last that deleted it.
    attributes:
        By attribute number: the stamp and the raw value (None: missing).
    life:
        The number of this existence while it lasts, else None; never given again.
    """

    id: str | None = None
    alias: bytes | None = None
    up: Mark | None = None
    down: Mark | None = None
    attributes: dict[int, tuple[Mark, str | None]] = msgspec.field(default_factory=dict)
    life: int | None = None

    @property
    def label(self) -> str | bytes:
        """The one of `id` and `alias` that is there."""
        label = self.alias if self.id is None else self.id
        assert label is not None
        return label

    def upsert(self, mark: Mark, values: dict[int, str | None], origins: Origins) -> bool:
        """Merge an upsert; return whether anything changed (a redelivery changes nothing)."""
        if self.down is not None and not origins.later(mark, self.down):
            return False
        up, attributes = self.up, self.attributes
        # Most news are newer by time alone, and no attribute is newer than `up`.
        if up is None or mark[0] > up[0] or origins.later(mark, up):
            self.up = mark
            attributes.update((attribute, (mark, value)) for attribute, value in values.items())
            return True
        changed = False
        for attribute, value in values.items():
            if attribute not in attributes or origins.later(mark, attributes[attribute][0]):
                attributes[attribute] = (mark, value)
                changed = True
        return changed

    def delete(self, mark: Mark, origins: Origins) -> bool:
        """Merge a delete, dropping what it covers; return whether anything changed."""
        if self.down is not None and not origins.later(mark, self.down):
            return False
        self.down = mark
        if self.up is not None and not origins.later(self.up, mark):
            self.up = None
        self.attributes = {
            attribute: register
            for attribute, register in self.attributes.items()
            if origins.later(register[0], mark)
        }
        return True
