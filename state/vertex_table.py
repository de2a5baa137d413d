"""Every vertex number: whose it is, whether the person exists, and the coded attributes.

A number is held while the vertex exists, has a tombstone, or an edge register hangs on it. The
smallest free number is given out next, so a store that was loaded again numbers like the one that
never stopped.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable

from ktsafe import MISSING, Schema
from ktsafe.errors import InvalidGraph
from state.keys import NUMBER_MAX, keyed_hash
from state.registers import Mark


class VertexTable:
    """Who every number is.

    Parameters
    ----------
    secret:
        Key of the hash under which persons are remembered who do not exist.
    """

    def __init__(self, schema: Schema, secret: bytes) -> None:
        self.labels: list[str | bytes | None] = []  # None: the number is free
        self.exists = bytearray()
        self.downs: dict[int, Mark] = {}
        self.codes = [array("i") for _ in schema.attributes]
        self.categories = [[MISSING] for _ in schema.attributes]
        self._schema = schema
        self._secret = secret
        self._present: dict[str, int] = {}
        self._absent: dict[bytes, int] = {}
        self._free: list[int] = []
        self._code_of: list[dict[str, int]] = [{MISSING: 0} for _ in schema.attributes]

    @property
    def n_existing(self) -> int:
        """Number of vertices that exist."""
        return len(self._present)

    @property
    def n_held(self) -> int:
        """Number of vertex numbers in use."""
        return len(self._present) + len(self._absent)

    def find(self, vertex_id: str) -> int | None:
        """Return the number of a person, None if nothing is remembered."""
        number = self._present.get(vertex_id)
        if number is None and self._absent:
            return self._absent.get(keyed_hash(self._secret, vertex_id))
        return number

    def allocate(self, vertex_id: str) -> int:
        """Give the smallest free number to a person of whom nothing is remembered."""
        label = keyed_hash(self._secret, vertex_id)
        if self._free:
            number = heapq.heappop(self._free)
            self.labels[number] = label
        else:
            number = len(self.labels)
            assert number <= NUMBER_MAX
            self.labels.append(label)
            self.exists.append(False)
            for column in self.codes:
                column.append(0)
        self._absent[label] = number
        return number

    def release(self, number: int) -> None:
        """Free the number of a person of whom nothing is to be remembered."""
        label = self.labels[number]
        assert isinstance(label, bytes)
        del self._absent[label]
        self.labels[number] = None
        heapq.heappush(self._free, number)

    def appear(self, number: int, vertex_id: str) -> None:
        """The vertex exists from now on, under its id."""
        label = self.labels[number]
        assert isinstance(label, bytes)
        del self._absent[label]
        self.labels[number] = vertex_id
        self._present[vertex_id] = number
        self.exists[number] = True

    def vanish(self, number: int) -> bytes:
        """The vertex exists no more; its id is forgotten. Returns the keyed hash in its place."""
        vertex_id = self.labels[number]
        assert isinstance(vertex_id, str)
        del self._present[vertex_id]
        label = keyed_hash(self._secret, vertex_id)
        self.labels[number] = label
        self._absent[label] = number
        self.exists[number] = False
        return label

    def load(self, entries: Iterable[tuple[int, str | bytes, Mark | None]]) -> None:
        """Fill an empty table from (number, label, down), numbers ascending.

        Raises
        ------
        ValueError
            If a number or a label comes twice, or a number is out of range.
        """
        for number, label, down in entries:
            if not len(self.labels) <= number <= NUMBER_MAX:
                raise ValueError("vertex numbers do not ascend")
            while len(self.labels) < number:
                self._free.append(len(self.labels))
                self.labels.append(None)
            self.labels.append(label)
            if down is not None:
                self.downs[number] = down
            if isinstance(label, str):
                self._present[label] = number
            else:
                self._absent[label] = number
        if self.n_held != len(self.labels) - len(self._free):
            raise ValueError("two vertices are the same person")
        self.exists = bytearray(isinstance(label, str) for label in self.labels)
        self.codes = [array("i", bytes(4 * len(self.labels))) for _ in self.codes]

    def set_code(self, number: int, position: int, value: str | None) -> None:
        """Code the raw value of the attribute at a position of the schema."""
        self.codes[position][number] = self._code(position, value)

    def _code(self, position: int, value: str | None) -> int:
        if value is None:
            return 0
        known = self._code_of[position]
        name = self._schema.attributes[position]
        # Raw numbers of a bucketed attribute are too many to remember; its buckets are few.
        category = self._category(name, value) if name in self._schema.buckets else value
        code = known.get(category)
        if code is not None:
            return code
        if category is value:
            category = self._category(name, value)
        if category not in known:
            known[category] = len(self.categories[position])
            self.categories[position].append(category)
        known[value] = known[category]
        return known[value]

    def _category(self, name: str, value: str) -> str:
        try:
            return self._schema.category(name, value)
        except InvalidGraph:
            # The event layer refuses such values; one that is stored anyway counts as missing.
            return MISSING
