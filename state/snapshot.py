"""A snapshot: first a plain copy of the resident arrays, later the graph made from it.

Copying is all that has to happen at the checkpoint boundary. Sorting edges into a graph takes
longer and is done when the snapshot is asked for, on the frozen copy.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, Schema

Values: TypeAlias = tuple[NDArray[np.int32], tuple[str, ...]]
"""Codes, and the text of each."""


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
    arrays: FrozenArrays


@dataclasses.dataclass(frozen=True, eq=False)
class FrozenArrays:
    """Copies of the resident arrays; N vertex numbers, R edge rows, d attributes.

    Attributes
    ----------
    labels:
        The id of every number whose vertex exists; anything else for the others. Length N.
    exists:
        bool, shape (N,).
    codes:
        int32, shape (N, d), into `categories`.
    categories:
        Texts of the codes of each attribute, in the order in which they were first seen.
    low, high:
        int32, shape (R,): the ends of every edge row; -1 where a row is free.
    present:
        bool, shape (R,): whether the edge is there as soon as both ends exist.
    lives:
        int64, shape (N,): the life of every number whose vertex exists, -1 for the others.
    n_lives:
        How many lives were given so far.
    values:
        Of each attribute with groups the codes before groups, shape (N,), and their texts.
    lineage:
        Arrays of one lineage number vertices, codes and rows alike, so two of them can be
        compared position by position; others cannot.
    """

    schema: Schema
    labels: Sequence[str | bytes | None]
    exists: NDArray[np.bool_]
    codes: NDArray[np.int32]
    categories: tuple[tuple[str, ...], ...]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    present: NDArray[np.bool_]
    lives: NDArray[np.int64]
    n_lives: int
    lineage: object
    values: Mapping[str, Values] = dataclasses.field(default_factory=dict)

    def people_of_values(self) -> dict[str, Counter[str]]:
        """Return how many people have each value, of each attribute with groups."""
        found = {}
        for name, (codes, texts) in self.values.items():
            people = np.bincount(codes[self.exists], minlength=len(texts)).tolist()
            found[name] = Counter({x: n for x, n in zip(texts, people, strict=True) if n})
        return found

    def snapshot(self) -> GraphSnapshot:
        """Return the graph: vertices by number, categories sorted and only those in use.

        Equal stores give equal snapshots, whatever the order in which values were first seen.
        """
        numbers = np.flatnonzero(self.exists)
        position = np.full(len(self.exists), -1, dtype=np.int64)
        position[numbers] = np.arange(len(numbers))
        low, high = self.low[self.present], self.high[self.present]
        both = self.exists[low] & self.exists[high]
        edges = np.column_stack((position[low[both]], position[high[both]]))
        categories, codes = self._recoded(self.codes[numbers])
        ids = [self.labels[number] for number in numbers.tolist()]
        return GraphSnapshot(
            graph=AttributedGraph.from_codes(self.schema, categories, codes, edges),
            ids=[vertex_id for vertex_id in ids if isinstance(vertex_id, str)],
            lives=self.lives[numbers],
            n_lives=self.n_lives,
            arrays=self,
        )

    def _recoded(self, codes: NDArray[np.int32]) -> tuple[list[list[str]], NDArray[np.int32]]:
        categories: list[list[str]] = []
        out = np.empty_like(codes)
        for j, texts in enumerate(self.categories):
            used = np.flatnonzero(np.bincount(codes[:, j], minlength=len(texts))).tolist()
            used.sort(key=texts.__getitem__)
            table = np.zeros(len(texts), dtype=np.int32)
            table[used] = np.arange(len(used), dtype=np.int32)
            out[:, j] = table[codes[:, j]]
            categories.append([texts[code] for code in used])
        return categories, out
