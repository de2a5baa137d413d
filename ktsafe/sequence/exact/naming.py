"""Which neighbours vertices want: values that are wanted become classes, so that wants agree.

A vertex lacks so many neighbours of each value, attribute by attribute: *stubs*, ends of edges yet
to be. Which values come together in one neighbour is free. The stubs of class a for class b and
those of b for a become edges with one another, so they should be equally many.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.sequence.exact import _stubs_core as core

STEPS_PER_STUB = 100
"""Exchanges of values that are tried."""

CODES_MAX = 2**20
"""Combinations of values, and pairs of classes, beyond which stubs are not named."""

Named = dict[tuple[int, int], NDArray[np.int64]]
"""For two classes the vertices of the first that want the second, as often as they do."""


@dataclasses.dataclass(frozen=True, eq=False)
class Lacking:
    """What vertices lack.

    Attributes
    ----------
    space:
        The columns in which neighbours are counted.
    cls:
        int64, shape (n,): the class of each vertex.
    residual:
        int64, shape (n, columns): the neighbours it lacks; equally many for each attribute.
    """

    space: QuasiIdentifierSpace
    cls: NDArray[np.int64]
    residual: NDArray[np.int64]

    @property
    def can_be_named(self) -> bool:
        """Whether there are few enough combinations."""
        widths = np.diff(self.space.offsets).astype(np.float64)
        return max(float(widths.prod()), float(self.space.n_classes**2)) <= CODES_MAX

    def surplus(self) -> NDArray[np.int64]:
        """Return how much more often each value wants each other than it is wanted by it.

        int64, shape (columns, columns), antisymmetric; no exchange of values changes it.
        """
        of_class = np.zeros((self.space.n_classes, self.space.n_columns), dtype=np.int64)
        np.add.at(of_class, self.cls, self.residual)
        wanted = indicators(self.space).T @ of_class
        surplus: NDArray[np.int64] = wanted - wanted.T
        return surplus


def indicators(space: QuasiIdentifierSpace) -> NDArray[np.int64]:
    """Return for each class a row with a one in each column in which it counts."""
    one_hot = np.zeros((space.n_classes, space.n_columns), dtype=np.int64)
    np.put_along_axis(one_hot, space.columns, 1, axis=1)
    return one_hot


def named(lacking: Lacking, rng: np.random.Generator) -> Named | None:
    """Choose which class each stub wants; None where a combination that nobody has remains."""
    space, residual = lacking.space, lacking.residual
    n_classes, q = space.columns.shape
    weights, class_of = _codes(space)
    count = residual[:, : space.offsets[1]].sum(axis=1)
    start = np.concatenate(([0], np.cumsum(count)))
    owner = np.repeat(np.arange(len(count)), count)
    digits = np.zeros((len(owner), q), dtype=np.int64)
    for j in range(q):
        part = residual[:, space.offsets[j] : space.offsets[j + 1]]
        values = np.repeat(np.tile(np.arange(part.shape[1]), len(part)), part.reshape(-1))
        digits[:, j] = values[np.lexsort((rng.random(len(owner)), owner))] * weights[j]
    cls = lacking.cls[owner]
    wanted = class_of[digits.sum(axis=1)]
    if q > 1 and len(owner):
        counts = np.zeros((n_classes, n_classes), dtype=np.int64)
        exists = wanted != core.NO_CLASS
        np.add.at(counts, (cls[exists], wanted[exists]), 1)
        # Who wants very much of one class finds no counterparts, or only others like that.
        most = 2 + 2 * count // n_classes
        random = rng.integers(1 << 63, size=1, dtype=np.uint64)
        steps = STEPS_PER_STUB * len(owner)
        core.reconcile(start, lacking.cls, digits, class_of, counts, most, steps, random)
        wanted = class_of[digits.sum(axis=1)]
    if (wanted == core.NO_CLASS).any():
        return None
    pair = cls * n_classes + wanted
    order = np.lexsort((rng.random(len(owner)), pair))
    bounds = np.searchsorted(pair[order], np.arange(n_classes**2 + 1))
    return {
        divmod(number, n_classes): owner[order[bounds[number] : bounds[number + 1]]]
        for number in range(n_classes**2)
    }


def _codes(space: QuasiIdentifierSpace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the weight of each attribute's values in a code, and the class of each code."""
    widths = np.diff(space.offsets)
    weights = np.concatenate(([1], np.cumprod(widths)[:-1])).astype(np.int64)
    class_of = np.full(int(widths.prod()), core.NO_CLASS, dtype=np.int64)
    values = space.columns - space.offsets[:-1]
    class_of[(values * weights).sum(axis=1)] = np.arange(space.n_classes)
    return weights, class_of
