"""Counts of a true graph with noise: differentially private for one tie.

The noise is discrete Laplace noise, drawn exactly (Canonne, Kamath and Steinke, 2020, algorithm 2)
from bytes that follow from a secret: whole numbers and fractions only, so no property of floating
point weakens it, and a table that is made again after a crash has the same noise.

Shares may be tuned, and tables added with a bound `moved` that
tests/ktsafe/statistics/test_noisy_tables.py attacks; both change bytes of releases. No floats, and
no cell that depends on the data: the epsilon would not hold.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph

MICRO: Final = 1_000_000
"""Epsilon is counted in millionths, so it adds up without rounding."""
VALUES_MAX: Final = 100
"""An attribute with more published values has no table of ties: it would be mostly noise."""
CELLS_MAX: Final = 5_000
"""Of a table of ties across two attributes: with more it would be mostly noise."""
SHARES_OF_TIES: Final = {"ties": 4, "across": 2, "degrees": 4, "changes of ties": 2}
SHARES_OF_PEOPLE: Final = {"people": 2, "changes of people": 1}
"""How tables share the epsilon of a release: each has its share of the sum over all that it has."""
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
        "people", "ties", "across", "degrees", "changes of ties", "changes of people".
    by:
        The attribute; None for changes, and degrees, whose cells are the bins of `DEGREE_BINS`.
    cells:
        What each count is of: a value, or two values; None last.
    counts:
        Noisy, so a small count may be negative.
    scale:
        Of the noise: P(x) is proportional to exp(-|x| / scale).
    across:
        Of "across", the second attribute: counted is how often somebody with a value of the first
        has a neighbour with a value of the second. So each tie counts twice.
    """

    of: str
    by: str | None
    cells: Sequence[Cell]
    counts: Sequence[int]
    scale: Fraction
    across: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TrueChanges:
    """Ties and people begun and ended since the release before, in numbers.

    A person that left and came back counts as both, and so do the ties.
    """

    ties_gained: int
    ties_lost: int
    people_joined: int
    people_left: int


class SecretBytes:
    """An endless stream of bytes from a secret, and whole numbers.

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
    """Return true with probability exp(-numerator / denominator).

    The ratio is at most 1 in size.
    """
    k = 1
    while source.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def noisy_tables(
    truth: AttributedGraph,
    published: AttributedGraph,
    epsilon_micro: int,
    source: SecretBytes,
    changes: TrueChanges | None = None,
) -> list[NoisyTable]:
    """Return noisy counts of a true graph, by a published graph's values.

    All tables of ties and degrees together cost `epsilon_micro` for one tie; all tables of people
    together cost as much for whether one person is counted with its values.

    Parameters
    ----------
    published:
        Names the cells. Its values are public, so the cells tell nothing.
    epsilon_micro:
        At least 1, in millionths of epsilon.
    changes:
        Since the release before; None: there is no such table.
    """
    exact = [*_of_people(truth, published), *_of_ties(truth, published)]
    if changes is not None:
        for of, cells, counts in (
            ("changes of people", ("joined", "left"), (changes.people_joined, changes.people_left)),
            ("changes of ties", ("gained", "lost"), (changes.ties_gained, changes.ties_lost)),
        ):
            # A person that left and came back is in both counts.
            exact.append(_Exact(of, None, [(cell,) for cell in cells], np.array(counts), 2))
    epsilon = Fraction(epsilon_micro, MICRO)
    tables = []
    for shares in (SHARES_OF_PEOPLE, SHARES_OF_TIES):
        own = [table for table in exact if table.of in shares]
        whole = sum(shares[table.of] for table in own)
        for table in own:
            scale = table.moved * Fraction(whole, shares[table.of]) / epsilon
            noisy = [n + discrete_laplace(scale, source) for n in table.counts.tolist()]
            told = NoisyTable(table.of, table.by, table.cells, noisy, scale, table.across)
            tables.append(told)
    return tables


@dataclasses.dataclass(frozen=True, slots=True)
class _Exact:
    """A table without noise.

    `moved` bounds how far one tie, or one person, moves its counts.
    """

    of: str
    by: str | None
    cells: Sequence[Cell]
    counts: NDArray[np.integer]
    moved: int
    across: str | None = None


def _of_people(truth: AttributedGraph, published: AttributedGraph) -> Iterator[_Exact]:
    """Yield people by each value."""
    for j, name in enumerate(truth.schema.quasi_identifiers):
        values = _values(published, j)
        at = _places(truth, j, values)
        cells: list[Cell] = [(value,) for value in (*values, None)]
        yield _Exact("people", name, cells, np.bincount(at, minlength=len(cells)), 1)


def _of_ties(truth: AttributedGraph, published: AttributedGraph) -> Iterator[_Exact]:
    """Yield ties by attributes' values, by two attributes, and degrees."""
    names = truth.schema.quasi_identifiers
    values = {name: _values(published, j) for j, name in enumerate(names)}
    at = {name: _places(truth, j, values[name]) for j, name in enumerate(names)}
    told = [name for name in names if len(values[name]) <= VALUES_MAX]
    for name in told:
        known = (*values[name], None)
        low, high = np.triu_indices(len(known))
        ends = np.sort(at[name][truth.edges], axis=1)
        square = np.zeros((len(known), len(known)), dtype=np.int64)
        np.add.at(square, (ends[:, 0], ends[:, 1]), 1)
        pairs: list[Cell] = [(known[a], known[b]) for a, b in zip(low, high, strict=True)]
        yield _Exact("ties", name, pairs, square[low, high], 1)
    both = np.concatenate((truth.edges, truth.edges[:, ::-1]))
    for first, second in itertools.combinations(told, 2):
        rows, columns = (*values[first], None), (*values[second], None)
        if len(rows) * len(columns) > CELLS_MAX:
            continue
        square = np.zeros((len(rows), len(columns)), dtype=np.int64)
        np.add.at(square, (at[first][both[:, 0]], at[second][both[:, 1]]), 1)
        pairs = list(itertools.product(rows, columns))
        # A tie is counted from either end.
        yield _Exact("across", first, pairs, square.reshape(-1), 2, second)
    # One tie moves two people from a bin to another: four counts, by one each.
    degrees = np.bincount(truth.edges.reshape(-1), minlength=truth.n_vertices)
    bins = np.searchsorted(DEGREE_BINS, degrees, side="right") - 1
    bounds: list[Cell] = [(str(least),) for least in DEGREE_BINS]
    yield _Exact("degrees", None, bounds, np.bincount(bins, minlength=len(bounds)), 4)


def _values(graph: AttributedGraph, column: int) -> list[str]:
    """Return an attribute's values that vertices have, by their texts."""
    texts = graph.categories[column]
    return sorted(texts[code] for code in np.unique(graph.codes[:, column]).tolist())


def _places(graph: AttributedGraph, column: int, values: Sequence[str]) -> NDArray[np.int64]:
    """Return for every vertex where its value is among `values`.

    Behind all others: nowhere.
    """
    place: Mapping[str, int] = {text: i for i, text in enumerate(values)}
    of_code = [place.get(text, len(values)) for text in graph.categories[column]]
    found: NDArray[np.int64] = np.array(of_code, dtype=np.int64)[graph.codes[:, column]]
    return found
