"""Merging by maximum stamp: people's registers, and commits to them. Pure.

Existence is never stored. A register that cannot matter any more is dropped at once, so equal
histories leave equal registers whatever their order of arrival:

- `up` at or below `down` is dropped: the vertex exists iff `up` is left;
- an attribute at or below `down` is dropped: a re-created vertex starts blank.

Whatever is changed, any order of the same changes must leave the same registers
(tests/state/test_registers.py, test_conformance.py). The fields of `VertexRecord` and marks are a
format.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.state.changes import VertexDelete, VertexUpsert
from ktsafe.state.ledger import Writes

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
        """Return an origin's number, a new one if never seen."""
        name = (topic, partition)
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def ranks(self) -> NDArray[np.int64]:
        """Return each number's place among topics and partitions, int64."""
        ranks = np.empty(len(self.names), dtype=np.int64)
        ranks[sorted(range(len(self.names)), key=self.names.__getitem__)] = range(len(self.names))
        return ranks

    def later(self, mark: Mark, than: Mark) -> bool:
        """Whether one stamp is greater: by time, topic, partition, offset."""
        if mark[0] != than[0]:
            return mark[0] > than[0]
        if mark[1] != than[1]:
            return self.names[mark[1]] > self.names[than[1]]
        return mark[2] > than[2]


class VertexRecord(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Registers of one vertex, in their stored shape.

    Attributes
    ----------
    id:
        The person's id while the vertex exists, else None.
    up, down:
        The last change that made it exist, and the last that deleted it.
    attributes:
        By attribute number: the stamp and the raw value (None: missing).
    life:
        The number of this existence while it lasts, else None; never given again.
    """

    id: str | None = None
    up: Mark | None = None
    down: Mark | None = None
    attributes: dict[int, tuple[Mark, str | None]] = msgspec.field(default_factory=dict)
    life: int | None = None

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


MARK: Any = np.dtype([("time", "<i8"), ("origin", "<u4"), ("offset", "<i8")])
"""A mark by itself, as `packed_mark` stores it."""

packed_mark: Final = struct.Struct("<qIq").pack

_encode: Final = msgspec.msgpack.Encoder().encode
_decoder: Final = msgspec.msgpack.Decoder(VertexRecord)


def decoded(value: bytes) -> VertexRecord:
    """Return registers as stored.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If they do not read back as written.
    """
    record = _decoder.decode(value)
    if not (record.id is None) == (record.up is None) == (record.life is None):
        raise ValueError("a person exists by halves")
    return record


def encoded(record: VertexRecord) -> bytes:
    """Return registers as they are stored."""
    return _encode(record)


@dataclasses.dataclass(slots=True)
class AlteredPeople:
    """The people that a commit tells of.

    Attributes
    ----------
    records:
        Registers by keyed hash; those of whom nothing is remembered are added.
    numbers:
        Of the attributes in the schema; what is said of others is not kept.
    n_lives, n_ended:
        Lives given, and ended, so far.
    """

    records: dict[bytes, VertexRecord]
    numbers: Mapping[str, int]
    origins: Origins
    n_lives: int
    n_ended: int
    altered: dict[bytes, None] = dataclasses.field(default_factory=dict)
    n_new: int = 0
    n_downs: int = 0  # more than before
    _downs: dict[bytes, Mark] = dataclasses.field(default_factory=dict)

    def merge(
        self, changes: Iterable[tuple[bytes, Mark, VertexUpsert | VertexDelete]]
    ) -> tuple[Writes, Writes]:
        """Merge changes in order; return the rows of `people` and `downs`."""
        for alias, mark, change in changes:
            record = self.records.get(alias)
            if record is None:
                record = self.records[alias] = VertexRecord()
                self.n_new += 1
            if isinstance(change, VertexDelete):
                is_altered = self._delete(alias, record, mark)
            else:
                is_altered = self._upsert(record, mark, change)
            if is_altered:
                self.altered[alias] = None
        records, downs = self.records, self._downs
        return (
            {alias: _encode(records[alias]) for alias in self.altered},
            {alias: packed_mark(*mark) for alias, mark in downs.items()},
        )

    def _upsert(self, record: VertexRecord, mark: Mark, change: VertexUpsert) -> bool:
        numbers = self.numbers
        values = {numbers[name]: x for name, x in change.attributes.items() if name in numbers}
        if not record.upsert(mark, values, self.origins):
            return False
        if record.life is None:
            record.id, record.life = change.id, self._new_life()
        return True

    def _delete(self, alias: bytes, record: VertexRecord, mark: Mark) -> bool:
        is_first = record.down is None
        if not record.delete(mark, self.origins):
            return False
        self.n_downs += is_first
        self._downs[alias] = mark
        if record.life is not None:
            self.n_ended += 1
            # By later news the person exists all the same: then what was known is deleted.
            record.life = None if record.up is None else self._new_life()
            record.id = None if record.up is None else record.id
        return True

    def _new_life(self) -> int:
        self.n_lives += 1
        return self.n_lives - 1


def forget_downs(
    aliases: Sequence[bytes], values: Sequence[bytes | None]
) -> tuple[Writes, Writes, int]:
    """Forget that people were deleted, given their registers.

    Returns
    -------
    tuple
        What is to be written to `people` and to `downs`, and of how many nothing is remembered.
    """
    writes: Writes = {}
    for alias, value in zip(aliases, values, strict=True):
        if value is None:
            raise ValueError("a person has no registers")
        record = decoded(value)
        record.down = None
        writes[alias] = None if record.up is None else _encode(record)
    n_gone = sum(value is None for value in writes.values())
    return writes, dict.fromkeys(aliases), n_gone
