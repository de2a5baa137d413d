"""Every vertex number: whose it is, whether the person exists, and the coded attributes.

A number is held while the vertex exists, has a tombstone, or an edge register hangs on it. The
smallest free number is given out next, so a store that was loaded again numbers like the one that
never stopped.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe import MISSING, Schema
from ktsafe.errors import InvalidGraph
from ktsafe.state.edge_rows import column
from ktsafe.state.keys import NUMBER_MAX, keyed_hash
from ktsafe.state.registers import Mark
from ktsafe.state.snapshot import Values

MEMO_MAX: Final = 1 << 14
"""Raw values per attribute whose category is remembered; numbers to be bucketed may be many."""


class Told(NamedTuple):
    """An attribute of every vertex number: codes, int32, and what each stands for.

    `values` are the same before groups; None if the attribute has none.
    """

    codes: NDArray[np.int32]
    texts: tuple[str, ...]
    values: Values | None = None


class VertexTable:
    """The person of every number.

    Parameters
    ----------
    secret:
        Key of the hash under which absent persons are remembered.
    """

    def __init__(self, schema: Schema, secret: bytes) -> None:
        self.numbers: dict[str, int] = {}  # of the vertices that exist
        self.labels: list[str | bytes | None] = []  # by number; None: the number is free
        self.exists = bytearray()
        self.downs: dict[int, Mark] = {}
        self.lives = array("q")  # by number; -1 while the vertex does not exist
        self.n_lives = 0  # given so far
        self.n_ended = 0  # lives that ended so far
        self.codes = [array("i") for _ in schema.attributes]
        # Before groups, so the values of a group can be counted.
        self.categories = [[schema.ungrouped(name, None)] for name in schema.attributes]
        self._schema = schema
        self.secret = secret
        self._absent: dict[bytes, int] = {}
        self._free: list[int] = []
        self._code_of: list[dict[str, int]] = [{texts[0]: 0} for texts in self.categories]
        self._memos: list[dict[str | None, int]] = [{None: 0} for _ in schema.attributes]

    @property
    def n_existing(self) -> int:
        """Number of vertices that exist."""
        return len(self.numbers)

    @property
    def n_held(self) -> int:
        """Number of vertex numbers in use."""
        return len(self.numbers) + len(self._absent)

    def find(self, vertex_id: str | bytes) -> int | None:
        """Return the number of a person, None if nothing is remembered."""
        if isinstance(vertex_id, bytes):
            return self._absent.get(vertex_id)
        number = self.numbers.get(vertex_id)
        # Hashing is worth while only if somebody is remembered by a hash.
        if number is None and self._absent:
            return self._absent.get(self.alias(vertex_id))
        return number

    def alias(self, vertex_id: str | bytes) -> bytes:
        """Return the keyed hash under which an absent person is remembered; of one, itself."""
        if isinstance(vertex_id, bytes):
            return vertex_id
        return keyed_hash(self.secret, vertex_id)

    def allocate(self, vertex_id: str | bytes) -> int:
        """Give the smallest free number to a person of whom nothing is remembered."""
        label = self.alias(vertex_id)
        number = self._numbered(label)
        self._absent[label] = number
        return number

    def join(self, vertex_id: str) -> int:
        """Give a number to a person of whom nothing is remembered, and who exists from now on."""
        number = self._numbered(vertex_id)
        self._begin(number, vertex_id)
        return number

    def release(self, number: int) -> None:
        """Free the number of a person of whom nothing is to be remembered."""
        label = self.labels[number]
        assert isinstance(label, bytes)
        del self._absent[label]
        self.labels[number] = None
        heapq.heappush(self._free, number)

    def appear(self, number: int, vertex_id: str) -> None:
        """The vertex exists from now on, under its id, and with a new life."""
        label = self.labels[number]
        assert isinstance(label, bytes)
        del self._absent[label]
        self.labels[number] = vertex_id
        self._begin(number, vertex_id)

    def live_again(self, number: int) -> None:
        """What was known of the vertex is deleted, and it exists all the same: by later news."""
        self.n_ended += 1
        self._begin_life(number)

    def vanish(self, number: int) -> bytes:
        """The vertex exists no more; its id is forgotten. Returns the keyed hash in its place."""
        vertex_id = self.labels[number]
        assert isinstance(vertex_id, str)
        del self.numbers[vertex_id]
        label = self.alias(vertex_id)
        self.labels[number] = label
        self._absent[label] = number
        self.exists[number] = False
        self.lives[number] = -1
        self.n_ended += 1
        return label

    def gone(self, ids: Iterable[str], n_lives: int) -> list[bool]:
        """Return for each person whether no life among the first `n_lives` goes on."""
        numbers, lives = self.numbers, self.lives
        return [
            (number := numbers.get(vertex_id)) is None or lives[number] >= n_lives
            for vertex_id in ids
        ]

    def load(
        self,
        numbers: NDArray[np.int64],
        labels: Sequence[str | bytes],
        lives: NDArray[np.int64],
        downs: Mapping[int, Mark],
        n_lives: int,
    ) -> None:
        """Fill an empty table; all attributes are missing then.

        Parameters
        ----------
        numbers:
            Of the vertices that are held, ascending, shape (n,).
        labels, lives:
            Of each its id, or the keyed hash if it does not exist, and its life, or -1.
        downs:
            By number, the marks of those that were deleted.

        Raises
        ------
        ValueError
            If a number, a label or a life comes twice, or a number or a life is out of range.
        """
        ends = numbers[[0, -1]].tolist() if len(numbers) else [0, -1]
        if ends[0] < 0 or ends[1] > NUMBER_MAX or (np.diff(numbers) <= 0).any():
            raise ValueError("vertex numbers do not ascend")
        size = ends[1] + 1
        exists = np.fromiter((type(label) is str for label in labels), np.bool_, len(labels))
        known = lives[exists]
        if (lives[~exists] >= 0).any() or (np.diff(np.sort(known)) == 0).any():
            raise ValueError("a life is missing, double or impossible")
        if len(known) and not 0 <= known.min() <= known.max() < n_lives:
            raise ValueError("a life is missing, double or impossible")
        self.labels = list(labels)
        if size != len(labels):
            self.labels = [None] * size
            for number, label in zip(numbers.tolist(), labels, strict=True):
                self.labels[number] = label
            self._free = np.setdiff1d(np.arange(size), numbers).tolist()
        both: dict[Any, int] = dict(zip(labels, numbers.tolist(), strict=True))
        for place in np.flatnonzero(~exists).tolist():
            label = labels[place]
            assert isinstance(label, bytes)
            self._absent[label] = both[label]
        for label in self._absent:
            del both[label]
        self.numbers = both
        if self.n_held != len(labels):
            raise ValueError("two vertices are the same person")
        self.exists = bytearray(_spread(exists, numbers, size, 0).astype(np.uint8).tobytes())
        self.lives, self.n_lives = array("q", _spread(lives, numbers, size, -1).tobytes()), n_lives
        self.downs.update(downs)
        self.codes = [array("i", bytes(4 * size)) for _ in self.codes]

    def load_codes(
        self, position: int, numbers: NDArray[np.int64], codes: NDArray[np.int32]
    ) -> None:
        """Give loaded vertices the codes of the attribute at a position of the schema."""
        spread = _spread(codes, numbers, len(self.labels), 0)
        self.codes[position] = array("i", spread.tobytes())

    def coded(self, position: int, values: Sequence[str | None]) -> list[int]:
        """Return the codes of raw values of the attribute at a position of the schema."""
        try:
            return list(map(self._memos[position].__getitem__, values))
        except KeyError:
            code_of = {value: self._code(position, value) for value in dict.fromkeys(values)}
            return list(map(code_of.__getitem__, values))

    def _numbered(self, label: str | bytes) -> int:
        if self._free:
            number = heapq.heappop(self._free)
            self.labels[number] = label
            return number
        number = len(self.labels)
        assert number <= NUMBER_MAX
        self.labels.append(label)
        self.exists.append(False)
        self.lives.append(-1)
        for codes in self.codes:
            codes.append(0)
        return number

    def _begin(self, number: int, vertex_id: str) -> None:
        self.numbers[vertex_id] = number
        self.exists[number] = True
        self._begin_life(number)

    def _begin_life(self, number: int) -> None:
        self.lives[number] = self.n_lives
        self.n_lives += 1

    def set_codes(self, number: int, values: Iterable[tuple[int, str | None]]) -> None:
        """Code raw values of attributes, given by their positions in the schema."""
        memos, codes = self._memos, self.codes
        for position, value in values:
            code = memos[position].get(value)
            codes[position][number] = self._code(position, value) if code is None else code

    def _code(self, position: int, value: str | None) -> int:
        memo = self._memos[position]
        code = memo.get(value)
        if code is None:
            assert value is not None
            category = self._ungrouped(self._schema.attributes[position], value)
            known = self._code_of[position]
            code = known.get(category)
            if code is None:
                code = known[category] = len(self.categories[position])
                self.categories[position].append(category)
            if len(memo) < MEMO_MAX:
                memo[value] = code
        return code

    def told(self, position: int) -> Told:
        """Return the attribute at a position of the schema as releases tell it, in groups.

        A code of a group is the same for ever, since categories only grow.
        """
        name, texts = self._schema.attributes[position], tuple(self.categories[position])
        codes = column(self.codes[position])
        if name not in self._schema.groups:
            return Told(codes, texts)
        number: dict[str, int] = {}
        groups = [self._schema.group(name, text) for text in texts]
        group_of = [number.setdefault(group, len(number)) for group in groups]
        return Told(np.array(group_of, dtype=np.int32)[codes], tuple(number), (codes, texts))

    def _ungrouped(self, name: str, value: str) -> str:
        try:
            return self._schema.ungrouped(name, value)
        except InvalidGraph:
            # The event layer refuses such values; one that is stored anyway counts as missing.
            return MISSING


def _spread(
    values: NDArray[Any], numbers: NDArray[np.int64], size: int, blank: int
) -> NDArray[Any]:
    """Return values by vertex number, `blank` where a number is free."""
    spread = np.full(size, blank, dtype=values.dtype)
    spread[numbers] = values
    return spread
