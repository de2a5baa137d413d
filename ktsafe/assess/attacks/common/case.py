"""A release under attack: true graph, released graph, owners of vertices.

Bands may be tuned: they are labels of private figures. `ids_removed` and the checks of a mapping
serve every attack, so a fault here lets all of them find too little.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import are_distinct, edge_keys, ranks

DEGREE_BANDS = (0, 1, 4, 11, 31, 101)
CLASS_BANDS = (1, 10, 30, 100, 1000)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A release and the truth behind it, attributes coded alike in both.

    The attacker never sees `original_of`; it only judges the guesses.

    Attributes
    ----------
    original, released:
        The true graph and the released one, of one schema.
    original_of:
        int64, shape (released vertices,): the true vertex behind each, -1 for an inserted one.
    sample:
        int64: which of the `published` are attacked; None: all (see `sampled`).
    held_out:
        Booleans, shape (original vertices,): people who were taken out of the network, with their
        ties, before it was released. None: nobody.

    Raises
    ------
    InvalidGraph
        If the schemas differ, or the mapping names a vertex twice or one that does not exist.
    """

    original: AttributedGraph
    released: AttributedGraph
    original_of: NDArray[np.int64]
    sample: NDArray[np.int64] | None = None
    held_out: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        behind = np.asarray(self.original_of, dtype=np.int64)
        object.__setattr__(self, "original_of", behind)
        if self.original.schema.attributes != self.released.schema.attributes:
            raise InvalidGraph("The true graph and the release have different schemas.")
        named = behind[behind >= 0]
        if behind.shape != (self.released.n_vertices,) or (behind < -1).any():
            raise InvalidGraph("There must be one original, or -1, for every released vertex.")
        if len(named) and named.max() >= self.original.n_vertices:
            raise InvalidGraph("The mapping names an original that does not exist.")
        if not are_distinct(named):
            raise InvalidGraph("Two released vertices have the same original.")

    def sampled(self, targets_max: int, rng: np.random.Generator) -> Case:
        """Return the case with at most so many targets, drawn uniformly.

        Everything else is as before: candidates are all released vertices.
        """
        n = len(self.published)
        if n <= targets_max:
            return self
        drawn = np.sort(rng.choice(n, targets_max, replace=False))
        return dataclasses.replace(self, sample=drawn)

    @cached_property
    def shared(self) -> dict[str, NDArray[np.float64]]:
        """Shared intermediate results of several attacks, by name.

        The first attack that needs one puts it here.
        """
        return {}

    @cached_property
    def published(self) -> NDArray[np.int64]:
        """Released vertices that have an original, ascending."""
        return np.flatnonzero(self.original_of >= 0)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The targets' places among the released vertices, ascending, shape (targets,)."""
        return self.published if self.sample is None else self.published[self.sample]

    @cached_property
    def people(self) -> NDArray[np.int64]:
        """The true vertex behind each place, shape (targets,)."""
        return self.original_of[self.places]

    @cached_property
    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, ...]]:
        """Codes of true and released attribute values, and numbers of codes.

        The same text has the same code in both graphs.
        """
        true, shown, sizes = [], [], []
        for j, texts in enumerate(self.original.categories):
            code = {text: i for i, text in enumerate(texts)}
            for text in self.released.categories[j]:
                code.setdefault(text, len(code))
            table = np.array([code[text] for text in self.released.categories[j]], dtype=np.int64)
            true.append(self.original.codes[:, j].astype(np.int64))
            shown.append(table[self.released.codes[:, j]] if len(table) else true[-1][:0])
            sizes.append(len(code))
        return np.column_stack(true), np.column_stack(shown), tuple(sizes)

    @cached_property
    def tuples(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Tuple numbers of every true and every released vertex, and their number.

        Equal tuples have equal numbers across the two graphs.
        """
        true, shown, sizes = self.values
        both = np.concatenate((true, shown))
        number = np.zeros(len(both), dtype=np.int64)
        for j, size in enumerate(sizes[:-1]):
            number = ranks(number * size + both[:, j])
        return number[: len(true)], number[len(true) :], int(number.max(initial=-1)) + 1

    @cached_property
    def own_place(self) -> NDArray[np.int64]:
        """The place of every true vertex, -1 if withheld, (original vertices,)."""
        own = np.full(self.original.n_vertices, -1, dtype=np.int64)
        own[self.original_of[self.published]] = self.published
        return own

    @cached_property
    def published_tuple(self) -> NDArray[np.int64]:
        """The tuple number that each true vertex is or would be published.

        Attackers are taken to know how a person's quasi-identifier is published.
        """
        true, shown, _ = self.tuples
        published = true.copy()
        published[self.original_of[self.published]] = shown[self.published]
        return published

    @cached_property
    def is_true_edge(self) -> NDArray[np.bool_]:
        """Whether each released edge is a true tie, shape (released edges,)."""
        ends = self.original_of[self.released.edges]
        both = (ends >= 0).all(axis=1)
        true = np.zeros(len(ends), dtype=np.bool_)
        ties = np.append(np.sort(edge_keys(self.original.edges)), -1)
        keys = edge_keys(ends[both])
        true[both] = ties[np.searchsorted(ties[:-1], keys)] == keys
        return true

    @cached_property
    def class_sizes(self) -> NDArray[np.int64]:
        """Released vertices that share the target's published quasi-identifier, (targets,)."""
        shown = self.tuples[1]
        sizes: NDArray[np.int64] = np.bincount(shown)[shown[self.places]] if len(shown) else shown
        return sizes

    @cached_property
    def by_chance(self) -> float:
        """Expected share of targets found by a uniform guess in their class."""
        return float((1 / self.class_sizes).mean()) if len(self.places) else 0.0

    def bands(
        self, chances: NDArray[np.float64], among: NDArray[np.bool_] | None = None
    ) -> dict[str, tuple[int, float]]:
        """Return targets and mean chance by band of degree and class size.

        `chances` and `among` have shape (targets,). `among` marks the targets. Empty bands are
        left out.
        """
        picked = np.ones(len(chances), dtype=np.bool_) if among is None else among
        degrees = self.original.degrees[self.people]
        return banded(degrees[picked], self.class_sizes[picked], chances[picked])


def banded(
    degrees: NDArray[np.integer[Any]],
    sizes: NDArray[np.integer[Any]],
    chances: NDArray[np.float64],
) -> dict[str, tuple[int, float]]:
    """Return numbers and mean chances by band of degree and class size."""
    by_degree = _in_bands("degree", DEGREE_BANDS, degrees, chances)
    return by_degree | _in_bands("class size", CLASS_BANDS, sizes, chances)


def _in_bands(
    name: str,
    starts: tuple[int, ...],
    values: NDArray[np.integer[Any]],
    chances: NDArray[np.float64],
) -> dict[str, tuple[int, float]]:
    """Return number and mean chance of values in each band from `starts`."""
    band = np.searchsorted(np.array(starts), values, side="right") - 1
    out = {}
    for i, start in enumerate(starts):
        inside = chances[band == i]
        if len(inside):
            last = f"-{starts[i + 1] - 1}" if i + 1 < len(starts) else "+"
            text = f"{start}{last}" if last != f"-{start}" else f"{start}"
            out[f"{name} {text}"] = (len(inside), float(inside.mean()))
    return out


def ids_removed(
    original: AttributedGraph, rng: np.random.Generator
) -> tuple[AttributedGraph, NDArray[np.int64]]:
    """Return the positive control.

    The true graph in random order, and the original vertices.

    Every attack that works must break it.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0))
    >>> shown, behind = ids_removed(graph, np.random.default_rng(0))
    >>> bool((shown.degrees == graph.degrees[behind]).all())
    True
    """
    order = rng.permutation(original.n_vertices)
    return original.subgraph(order), order
