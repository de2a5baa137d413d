"""The lattice of settings of a graph, and the search in it.

A setting has a level for each quasi-identifier, or leaves it out.

The search goes upwards from the coarsest settings, by neighbours.

How it searches may be changed: tests/ktsafe/assess/generalization/test_advice.py searches all of
small lattices. What the owner wants to keep is never left out.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Self

import numpy as np

from ktsafe.assess.generalization.levels import Declared, Level, levels_of
from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph, Schema

Levels = tuple[int, ...]
"""For each quasi-identifier which of its levels; one beyond the last: it is left out."""
Merit = tuple[int, float]

STARTS_MAX = 64
"""Sets of attributes that are tried; of more, those with most and with fewest attributes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Lattice:
    """All ways to tell the people of a graph.

    Attributes
    ----------
    graph:
        The true graph, as its schema tells it.
    levels:
        For each quasi-identifier its levels, the finest first.
    """

    graph: AttributedGraph
    levels: tuple[tuple[Level, ...], ...]

    @classmethod
    def of(
        cls,
        graph: AttributedGraph,
        k: int,
        declared: Mapping[str, Sequence[Declared]] | None = None,
    ) -> Self:
        """Return the lattice of a graph.

        Parameters
        ----------
        graph:
            The true graph.
        k:
            Values that fewer people have are not named.
        declared:
            Levels that the owner gives, by attribute.

        Raises
        ------
        InvalidGraph
            If levels are declared for what is no quasi-identifier, or do not fit it.
        """
        given, names = declared or {}, graph.schema.quasi_identifiers
        if unknown := sorted(set(given) - set(names)):
            msg = f"Levels are declared for {unknown[0]!r}, which is no quasi-identifier."
            raise InvalidGraph(msg)
        found = [levels_of(graph, j, k, given.get(name, ())) for j, name in enumerate(names)]
        return cls(graph, tuple(found))

    @property
    def finest(self) -> Levels:
        """Everything told as it is."""
        return (0,) * len(self.levels)

    @property
    def size(self) -> int:
        """How many settings there are."""
        return math.prod(len(levels) + 1 for levels in self.levels)

    def is_kept(self, levels: Levels, j: int) -> bool:
        """Whether quasi-identifier j is told at all."""
        return levels[j] < len(self.levels[j])

    def kept(self, levels: Levels) -> list[str]:
        """Return the names of the quasi-identifiers that are told."""
        names = self.graph.schema.quasi_identifiers
        return [name for j, name in enumerate(names) if self.is_kept(levels, j)]

    def told(self, levels: Levels) -> float:
        """Return the entropy of each attribute, as a share of its greatest."""
        return sum(
            some[level].bits / some[0].bits if some[0].bits else 1.0
            for some, level in zip(self.levels, levels, strict=True)
            if level < len(some)
        )

    def schema(self, levels: Levels) -> Schema:
        """Return the schema that tells people so."""
        schema = self.graph.schema
        chosen = {
            name: some[level]
            for name, some, level in zip(schema.quasi_identifiers, self.levels, levels, strict=True)
            if level < len(some)
        }
        buckets = {name: level.borders for name, level in chosen.items() if level.borders}
        if schema.sensitive in schema.buckets:
            buckets[schema.sensitive] = schema.buckets[schema.sensitive]
        return dataclasses.replace(
            schema,
            quasi_identifiers=tuple(chosen),
            buckets=buckets,
            groups={name: level.groups for name, level in chosen.items() if level.groups},
        )

    def at(self, levels: Levels) -> AttributedGraph:
        """Return the graph as a setting tells it."""
        graph = self.graph
        kept = [j for j in range(len(levels)) if self.is_kept(levels, j)]
        chosen = [self.levels[j][levels[j]] for j in kept]
        columns = [level.of_code[graph.codes[:, j]] for level, j in zip(chosen, kept, strict=True)]
        return AttributedGraph(
            self.schema(levels),
            (*(level.texts for level in chosen), graph.categories[-1]),
            np.column_stack((*columns, graph.codes[:, -1])).astype(np.int32),
            graph.indptr,
            graph.indices,
        )


def to_check(lattice: Lattice, levels: Levels, declared: Collection[str]) -> list[str]:
    """Return the groups made without knowing their meaning, for the owner.

    Parameters
    ----------
    declared:
        Attributes whose levels the owner gave.
    """
    found = []
    names = lattice.graph.schema.quasi_identifiers
    for name, some, level in zip(names, lattice.levels, levels, strict=True):
        if name in declared or not 0 < level < len(some):
            continue
        if some[level].borders:
            found.append(
                f"`{name}` is told in ranges. If its numbers are codes, list it in `nominal`."
            )
        else:
            made = [text for text in some[level].texts if text not in some[0].texts]
            found.append(
                f"`{name}` has groups of values whose ties are alike, whatever they mean: "
                f"{'; '.join(made)}. Others: `--hierarchies`, or `--keep {name}`."
            )
    return found


def starts(shape: Sequence[int], keep: Sequence[bool]) -> list[Levels]:
    """Return the coarsest setting of each attribute set, largest first.

    Parameters
    ----------
    shape:
        Levels of each attribute; it is left out where its level is that number.
    keep:
        Which attributes are told in any case.
    """
    free = [j for j, is_kept in enumerate(keep) if not is_kept]
    sizes: Iterator[int] = iter(range(len(free) + 1))
    if 2 ** len(free) > STARTS_MAX:
        sizes = iter((0, 1, len(free) - 1, len(free)))
    return [
        tuple(n if j in left_out else n - 1 for j, n in enumerate(shape))
        for size in sizes
        for left_out in itertools.combinations(free, size)
    ]


def climbed(
    shape: Sequence[int],
    begin: Sequence[Levels],
    keep: Sequence[bool],
    merit: Callable[[Levels], Merit],
) -> Levels:
    """Return a setting that no neighbour beats.

    A neighbour differs by one level of one attribute.

    The best of each number of attributes is climbed from, so a set of attributes that begins
    badly is not lost for good.
    """
    best_of: dict[int, Levels] = {}
    for levels in begin:
        n = sum(level < size for level, size in zip(levels, shape, strict=True))
        if n not in best_of or merit(levels) > merit(best_of[n]):
            best_of[n] = levels
    tops = [_climbed(shape, levels, keep, merit) for levels in best_of.values()]
    return max(tops, key=merit)


def _climbed(
    shape: Sequence[int],
    levels: Levels,
    keep: Sequence[bool],
    merit: Callable[[Levels], Merit],
) -> Levels:
    while True:
        best = max((levels, *_neighbours(shape, levels, keep)), key=merit)
        if best == levels:
            return levels
        levels = best


def _neighbours(shape: Sequence[int], levels: Levels, keep: Sequence[bool]) -> Iterator[Levels]:
    for j, level in enumerate(levels):
        for near in (level - 1, level + 1):
            if 0 <= near <= shape[j] - keep[j]:
                yield (*levels[:j], near, *levels[j + 1 :])
