"""Snapshot: arrays by vertex number, and the graph of them.

Attribute values are told as codes of categories.

`MEMO_MAX` may be tuned. Codes keep their meaning while a store is open, and arrays are never
altered: snapshots are compared position by position (`lineage`,
tests/stream/release/test_true_changes.py).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe import MISSING, AttributedGraph, Schema
from ktsafe.errors import InvalidGraph

MEMO_MAX: Final = 1 << 14
"""Raw values per attribute whose category is remembered; numbers to be bucketed may be many."""
Values: TypeAlias = tuple[NDArray[np.int32], tuple[str, ...]]
"""Codes, and the text of each."""


def pair_codes(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return codes of ties between these numbers, as if unconnected.

    A code is the lower number, the upper one, and whether the tie is there: 31, 31 and 1 bits.
    """
    return np.minimum(a, b) << 32 | np.maximum(a, b) << 1


def lower(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lower number of each tie."""
    return codes >> 32


def upper(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the upper number of each tie."""
    return (codes & 0xFFFFFFFF) >> 1


@dataclasses.dataclass(frozen=True, eq=False)
class GraphSnapshot:
    """The true graph at a checkpoint boundary, detached from the store.

    `ids[v]` is the person at vertex v of `graph`, and `lives[v]` (int64) the number of this
    existence: a person that is deleted and comes back has another one, and none is given twice;
    `n_lives` were given so far. Vertices are in the store's own order, which carries no meaning.
    `arrays` is what it was made from, for comparison with another snapshot.
    """

    graph: AttributedGraph
    ids: Sequence[str]
    lives: NDArray[np.int64]
    n_lives: int
    arrays: GraphArrays


@dataclasses.dataclass(frozen=True, eq=False)
class GraphArrays:
    """Graph by vertex number, immutable; N numbers, M ties, d attributes.

    Attributes
    ----------
    codes:
        int32, shape (N, d), into `categories`.
    categories:
        Texts of the codes of each attribute, in the order in which they were first seen.
    edges:
        int64, shape (M,), ascending: the codes of the ties that exist.
    lives:
        int64, shape (N,): the life of every number whose vertex exists, -1 for the others.
    n_lives:
        How many lives were given so far.
    values:
        Of each attribute with groups the codes before groups, shape (N,), and their texts.
    lineage:
        Arrays of one lineage number vertices and codes alike, so two of them can be compared
        position by position; others cannot, not even of one store.
    """

    schema: Schema
    codes: NDArray[np.int32]
    categories: tuple[tuple[str, ...], ...]
    edges: NDArray[np.int64]
    lives: NDArray[np.int64]
    n_lives: int
    lineage: object
    values: Mapping[str, Values] = dataclasses.field(default_factory=dict)

    @property
    def exists(self) -> NDArray[np.bool_]:
        """Whether there is a vertex of each number."""
        return self.lives >= 0

    def people_of_values(self) -> dict[str, Counter[str]]:
        """Return how many people have each value, of each attribute with groups."""
        found = {}
        for name, (codes, texts) in self.values.items():
            people = np.bincount(codes[self.exists], minlength=len(texts)).tolist()
            found[name] = Counter({x: n for x, n in zip(texts, people, strict=True) if n})
        return found

    def snapshot(self, ids: Sequence[str]) -> GraphSnapshot:
        """Return the graph: vertices by number, used categories sorted.

        Equal stores give equal snapshots, whatever the order in which values were first seen.

        Parameters
        ----------
        ids:
            Of the people who exist, by number.
        """
        numbers = np.flatnonzero(self.exists)
        categories, codes = self._recoded(self.codes[numbers])
        return GraphSnapshot(
            graph=AttributedGraph(self.schema, categories, codes, *self._adjacency(numbers)),
            ids=ids,
            lives=self.lives[numbers],
            n_lives=self.n_lives,
            arrays=self,
        )

    def _adjacency(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return `indptr` and `indices` of the graph, given its people's numbers.

        Ties ascend, so they are the upper half of its matrix as they are.
        """
        # Who only reads feeds has no graph to make, and a fifth of a second less to wait.
        from scipy.sparse import csr_array  # noqa: PLC0415

        n, m = len(numbers), len(self.edges)
        # The lower four bytes of a code: no array of eight for each tie is made.
        ends = (self.edges.astype("<i8", copy=False).view("<u4")[::2] >> 1).astype(np.int32)
        if n and numbers[-1] >= n:  # Else no number is free between others.
            position = np.full(len(self.lives), -1, dtype=np.int32)
            position[numbers] = np.arange(n, dtype=np.int32)
            ends = position[ends]
        begin = np.append(self.edges.searchsorted(numbers << 32), m).astype(np.int32)
        half = csr_array((np.ones(m, dtype=np.int8), ends, begin), shape=(n, n))
        both = half + half.T
        return both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False)

    def _recoded(
        self, codes: NDArray[np.int32]
    ) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.int32]]:
        categories: list[tuple[str, ...]] = []
        out = np.empty_like(codes)
        for j, texts in enumerate(self.categories):
            used = np.flatnonzero(np.bincount(codes[:, j], minlength=len(texts))).tolist()
            used.sort(key=texts.__getitem__)
            table = np.zeros(len(texts), dtype=np.int32)
            table[used] = np.arange(len(used), dtype=np.int32)
            out[:, j] = table[codes[:, j]]
            categories.append(tuple(texts[code] for code in used))
        return tuple(categories), out


class Told(NamedTuple):
    """An attribute of many vertices: codes, int32, and what each stands for.

    `values` are the same before groups; None if the attribute has none.
    """

    codes: NDArray[np.int32]
    texts: tuple[str, ...]
    values: Values | None = None


class Categories:
    """Categories of every attribute of a schema, by first sight.

    They only grow, so a code is the same for as long as the store is open.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        # Before groups, so the values of a group can be counted.
        self._texts = [[schema.ungrouped(name, None)] for name in schema.attributes]
        self._code_of: list[dict[str, int]] = [{texts[0]: 0} for texts in self._texts]
        self._memos: list[dict[str | None, int]] = [{None: 0} for _ in schema.attributes]

    def coded(self, position: int, values: Sequence[str | None]) -> list[int]:
        """Return codes of raw values of the attribute at a position."""
        try:
            return list(map(self._memos[position].__getitem__, values))
        except KeyError:
            return [self._code(position, value) for value in values]

    def told(self, position: int, codes: NDArray[np.int32]) -> Told:
        """Return the attribute at a position, in the groups of releases.

        A code of a group is the same for ever, since categories only grow.
        """
        name, texts = self._schema.attributes[position], tuple(self._texts[position])
        if name not in self._schema.groups:
            return Told(codes, texts)
        number: dict[str, int] = {}
        groups = [self._schema.group(name, text) for text in texts]
        group_of = [number.setdefault(group, len(number)) for group in groups]
        return Told(np.array(group_of, dtype=np.int32)[codes], tuple(number), (codes, texts))

    def _code(self, position: int, value: str | None) -> int:
        memo = self._memos[position]
        code = memo.get(value)
        if code is None:
            assert value is not None
            category = self._ungrouped(self._schema.attributes[position], value)
            texts = self._texts[position]
            code = self._code_of[position].setdefault(category, len(texts))
            if code == len(texts):
                texts.append(category)
            if len(memo) < MEMO_MAX:
                memo[value] = code
        return code

    def _ungrouped(self, name: str, value: str) -> str:
        try:
            return self._schema.ungrouped(name, value)
        except InvalidGraph:
            # The event layer refuses such values; one that is stored anyway counts as missing.
            return MISSING
