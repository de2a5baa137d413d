"""Counts of a true graph with noise: differentially private for one tie.

The noise is discrete Laplace noise, drawn exactly (Canonne, Kamath and Steinke, 2020, algorithm 2)
from bytes that follow from a secret: whole numbers and fractions only, so no property of floating
point weakens it, and a table that is made again after a crash has the same noise.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph

MICRO: Final = 1_000_000
"""Epsilon is counted in millionths, so that it adds up without rounding."""
VALUES_MAX: Final = 100
"""An attribute with more published values has no table of ties: it would be mostly noise."""
DEGREE_BINS: Final = (0, *(2**i for i in range(20)))
"""The least degree of each bin. They do not depend on the data."""

Cell = tuple[str | None, ...]
"""Values; None stands for every value that no published vertex has."""


@dataclasses.dataclass(frozen=True, slots=True)
class NoisyTable:
    """Counts with discrete Laplace noise of one scale.

    Attributes
    ----------
    of:
        "people", "ties" or "degrees".
    by:
        The attribute; None for degrees, whose cells are the bins of `DEGREE_BINS`.
    cells:
        What each count is of: a value, or a pair of values in order, None last.
    counts:
        Noisy, so a small count may be negative.
    scale:
        Of the noise: P(x) is proportional to exp(-|x| / scale).
    """

    of: str
    by: str | None
    cells: Sequence[Cell]
    counts: Sequence[int]
    scale: Fraction


class SecretBytes:
    """An endless stream of bytes that follow from a secret, and whole numbers drawn from it.

    Parameters
    ----------
    secret:
        16 to 64 bytes.
    what:
        Names the stream: streams of other names are independent.
    """

    def __init__(self, secret: bytes, what: str) -> None:
        assert len(secret) >= 16
        self._secret, self._what = secret, what.encode()
        self._n_blocks, self._left = 0, b""

    def below(self, bound: int) -> int:
        """Return a uniform whole number from 0 to `bound` - 1."""
        n_bytes = max(1, (bound.bit_length() + 7) // 8)
        top = 256**n_bytes // bound * bound
        while True:
            drawn = int.from_bytes(self._take(n_bytes), "big")
            if drawn < top:
                return drawn % bound

    def _take(self, n: int) -> bytes:
        while len(self._left) < n:
            block = b"%d/" % self._n_blocks + self._what
            self._left += hashlib.blake2b(block, key=self._secret).digest()
            self._n_blocks += 1
        taken, self._left = self._left[:n], self._left[n:]
        return taken


def discrete_laplace(scale: Fraction, source: SecretBytes) -> int:
    """Return a whole number x with probability proportional to exp(-|x| / scale).

    Examples
    --------
    >>> source = SecretBytes(bytes(32), "example")
    >>> [abs(discrete_laplace(Fraction(1, 50), source)) for _ in range(3)]
    [0, 0, 0]
    """
    t, s = scale.numerator, scale.denominator
    while True:
        u = source.below(t)
        if not _is_exp(u, t, source):
            continue
        v = 0
        while _is_exp(1, 1, source):
            v += 1
        size = (u + t * v) // s
        is_negative = source.below(2) == 1
        if size or not is_negative:
            return -size if is_negative else size


def _is_exp(numerator: int, denominator: int, source: SecretBytes) -> bool:
    """Return true with probability exp(-numerator / denominator), which is at most 1 in size."""
    k = 1
    while source.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def noisy_tables(
    truth: AttributedGraph, published: AttributedGraph, epsilon_micro: int, source: SecretBytes
) -> list[NoisyTable]:
    """Return noisy counts of a true graph, by the values that a published graph shows.

    All tables of ties and degrees together cost `epsilon_micro` for one tie; all tables of people
    together cost as much for whether one person is counted with a value.

    Parameters
    ----------
    published:
        Names the cells. Its values are public, so the cells tell nothing.
    epsilon_micro:
        At least 1, in millionths of epsilon.
    """
    names = truth.schema.quasi_identifiers
    epsilon = Fraction(epsilon_micro, MICRO)
    values = {name: _values(published, j) for j, name in enumerate(names)}
    of_ties = [name for name in names if len(values[name]) <= VALUES_MAX]
    tables: list[NoisyTable] = []
    for j, name in enumerate(names):
        at = _places(truth, j, values[name])
        cells: list[Cell] = [(value,) for value in (*values[name], None)]
        true = np.bincount(at, minlength=len(cells))
        scale = len(names) / epsilon
        tables.append(_with_noise("people", name, cells, true, scale, source))
        if name not in of_ties:
            continue
        low, high = np.triu_indices(len(cells))
        ends = np.sort(at[truth.edges], axis=1)
        square = np.zeros((len(cells), len(cells)), dtype=np.int64)
        np.add.at(square, (ends[:, 0], ends[:, 1]), 1)
        pairs: list[Cell] = [(cells[a][0], cells[b][0]) for a, b in zip(low, high, strict=True)]
        # One tie is in one cell of each table.
        scale = (len(of_ties) + 1) / epsilon
        tables.append(_with_noise("ties", name, pairs, square[low, high], scale, source))
    # One tie moves two people from a bin to another: four counts, by one each.
    degrees = np.bincount(truth.edges.reshape(-1), minlength=truth.n_vertices)
    bins = np.searchsorted(DEGREE_BINS, degrees, side="right") - 1
    true = np.bincount(bins, minlength=len(DEGREE_BINS))
    bounds: list[Cell] = [(str(least),) for least in DEGREE_BINS]
    scale = 4 * (len(of_ties) + 1) / epsilon
    return [*tables, _with_noise("degrees", None, bounds, true, scale, source)]


def _with_noise(
    of: str,
    by: str | None,
    cells: Sequence[Cell],
    true: NDArray[np.integer],
    scale: Fraction,
    source: SecretBytes,
) -> NoisyTable:
    counts = [count + discrete_laplace(scale, source) for count in true.tolist()]
    return NoisyTable(of, by, cells, counts, scale)


def _values(graph: AttributedGraph, column: int) -> list[str]:
    """Return the values of an attribute that vertices have, in the order of their texts."""
    texts = graph.categories[column]
    return sorted(texts[code] for code in np.unique(graph.codes[:, column]).tolist())


def _places(graph: AttributedGraph, column: int, values: Sequence[str]) -> NDArray[np.int64]:
    """Return for every vertex where its value is among `values`; behind all others: nowhere."""
    place: Mapping[str, int] = {text: i for i, text in enumerate(values)}
    of_code = [place.get(text, len(values)) for text in graph.categories[column]]
    found: NDArray[np.int64] = np.array(of_code, dtype=np.int64)[graph.codes[:, column]]
    return found
