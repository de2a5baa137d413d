"""Ranks of integers, differences of sets of keys, and ids.

`np.unique`, `np.union1d` and `np.setdiff1d` hash, or sort from scratch, for up to 90 times as long
as it takes to sort what is in order already, or nearly.

Mechanism and judges both use it, so only arithmetic on numbers belongs here, and only what
tests/ktsafe/graph/test_numbering.py compares with numpy. The order of results settles bytes of
releases.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TABLE_MIN = 1024
"""Room for a table of ranks, however few numbers there are."""
AT_ONCE = 100_000
"""Ids that are made, or read, together."""
ID_DIGITS = 16
Whole = TypeVar("Whole", bound=np.integer[Any])


def small(values: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Return integers from 0, in 16 bits if they fit.

    So numpy sorts them in a tenth of the time, if equal ones shall keep their order.

    Examples
    --------
    >>> [small(np.array([3, most])).dtype.name for most in (65535, 65536)]
    ['uint16', 'int64']
    """
    return values.astype(np.uint16) if values.max(initial=0) < 2**16 else values


def ranks(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the rank of each integer among the distinct ones.

    Int64, of the same shape (n,).

    Examples
    --------
    >>> ranks(np.array([7, -1, 7, 30])).tolist()
    [1, 0, 1, 2]
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    least = int(values.min())
    top = int(values.max()) - least
    if top <= 4 * len(values) + TABLE_MIN:
        # A table beats sorting a million rows by far.
        shifted = values - values.dtype.type(least)
        present = np.zeros(top + 1, dtype=np.int64)
        present[shifted] = 1
        return (np.cumsum(present) - 1)[shifted]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.cumsum(np.append(False, ordered[1:] != ordered[:-1]))
    return found


def classes_of(columns: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.int64]:
    """Return a number for each distinct row of some columns.

    Its rank, int64, shape (rows,).

    The first column counts most.

    Examples
    --------
    >>> classes_of([np.array([1, 0, 1]), np.array([5, 9, 5])]).tolist()
    [1, 0, 1]
    """
    numbers = ranks(columns[0])
    for column in columns[1:]:
        # Renumbered after each column, so products stay inside int64.
        more = ranks(column)
        numbers = ranks(numbers * (int(more.max(initial=0)) + 1) + more)
    return numbers


def are_distinct(values: NDArray[np.integer[Any]]) -> bool:
    """Return whether no integer is there twice.

    Examples
    --------
    >>> are_distinct(np.array([3, 1, 2])), are_distinct(np.array([3, 1, 3]))
    (True, False)
    """
    ordered = np.sort(values, kind="stable")
    return not (ordered[1:] == ordered[:-1]).any()


def union(arrays: Sequence[NDArray[Whole]]) -> NDArray[Whole]:
    """Return the distinct integers of arrays, ascending.

    Examples
    --------
    >>> union([np.array([1, 5]), np.array([1, 3])]).tolist()
    [1, 3, 5]
    """
    ordered: NDArray[Whole] = np.sort(np.concatenate(arrays), kind="stable")
    return np.delete(ordered, np.flatnonzero(ordered[1:] == ordered[:-1]))


class CameAndWent(NamedTuple):
    """Keys that came and keys that went, ascending.

    Examples
    --------
    >>> first = CameAndWent(np.array([3, 5]), np.array([7]))
    >>> came, went = first.then(CameAndWent(np.array([7]), np.array([2, 5])))
    >>> came.tolist(), went.tolist()
    ([3], [2])
    """

    came: NDArray[np.int64]
    went: NDArray[np.int64]

    def then(self, later: Self) -> CameAndWent:
        """Return what came and went in two steps on the whole."""
        back, again = later.went, later.came
        came = np.setdiff1d(self.came, back), np.setdiff1d(again, self.went)
        went = np.setdiff1d(self.went, again), np.setdiff1d(back, self.came)
        return CameAndWent(*(np.sort(np.concatenate(each)) for each in (came, went)))


def came_and_went(before: NDArray[np.int64], after: NDArray[np.int64]) -> CameAndWent:
    """Return keys only in `after` and only in `before`, ascending.

    Neither may have a key twice. Keys that ascend in runs take a fraction of the time.

    Examples
    --------
    >>> came, went = came_and_went(np.array([1, 5, 9]), np.array([9, 1, 3]))
    >>> came.tolist(), went.tolist()
    ([3], [5])
    """
    now = np.sort(after, kind="stable")
    both = np.concatenate((before, now))
    both.sort(kind="stable")
    is_alone = np.ones(len(both), dtype=np.bool_)
    is_other = both[1:] != both[:-1]
    is_alone[1:] &= is_other
    is_alone[:-1] &= is_other
    alone = both[is_alone]
    is_new = np.append(now, -1)[np.searchsorted(now, alone)] == alone
    return CameAndWent(alone[is_new], alone[~is_new])


class Ids(Sequence[str]):
    """Numbers as ids of 16 hexadecimal digits, made on demand.

    As texts they would take nine times the memory.

    Parameters
    ----------
    numbers:
        Integers, shape (n,), from 0 to 2**64 - 1.

    Examples
    --------
    >>> list(Ids(np.array([10, 2**63], dtype=np.uint64)))
    ['000000000000000a', '8000000000000000']
    """

    def __init__(self, numbers: NDArray[np.integer[Any]]) -> None:
        self.numbers = numbers.astype(np.uint64)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Ids | None:
        """Return texts as ids.

        None if one is not 16 hexadecimal digits as they are written.
        """
        numbers = np.empty(len(texts), dtype=np.uint64)
        for begin in range(0, len(texts), AT_ONCE):
            some = texts[begin : begin + AT_ONCE]
            joined = "".join(some)
            try:
                octets = bytes.fromhex(joined)
            except ValueError:
                return None
            # Spaces and capital letters can be read as well.
            if set(map(len, some)) != {ID_DIGITS} or octets.hex() != joined:
                return None
            numbers[begin : begin + len(some)] = np.frombuffer(octets, dtype=">u8")
        return cls(numbers)

    def __eq__(self, other: object) -> bool:
        """Return whether these are equal texts in order, listed or as ids."""
        if isinstance(other, Ids):
            return np.array_equal(self.numbers, other.numbers)
        return isinstance(other, list) and list(self) == other

    def __hash__(self) -> int:
        """Fail, as that of a list does."""
        raise TypeError("unhashable type: 'Ids'")

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return Ids(self.numbers[at]) if isinstance(at, slice) else f"{int(self.numbers[at]):016x}"

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), AT_ONCE):
            octets = self.numbers[begin : begin + AT_ONCE].astype(">u8").tobytes()
            yield from octets.hex(",", 8).split(",")

    def text(self) -> str:
        """Return all ids, one after the other."""
        return self.numbers.astype(">u8").tobytes().hex()

    def ordered(self) -> tuple[Ids, NDArray[np.int64]]:
        """Return the ids in order, and where each of them was."""
        order = np.argsort(self.numbers, kind="stable")
        return Ids(self.numbers[order]), order


# Lists of edges, shape (m, 2): numbering, adjacency, and intersection.


EDGES_AT_ONCE = 4_000_000
"""Edges of a large graph that are looked at together: all would take as much room as the graph."""


def edge_keys(edges: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return a number for each edge, shape (m, 2).

    Smaller << 32 | greater, whatever its direction.

    Numbers ascend as edges do that are given as (smaller, greater).
    """
    u, v = edges.reshape(-1, 2).T
    keys: NDArray[np.int64] = np.minimum(u, v).astype(np.int64)
    keys <<= 32
    keys |= np.maximum(u, v).astype(np.int64, copy=False)
    return keys


def edge_ends(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ends of edges that `edge_keys` gave numbers, shape (m, 2)."""
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF))


def renumbered(
    number: NDArray[np.signedinteger], edges: NDArray[np.integer]
) -> NDArray[np.signedinteger]:
    """Return edges by other numbers of their ends, without lost ends.

    Parameters
    ----------
    number:
        Shape (n,): of each end, below 0 for none.

    Examples
    --------
    >>> renumbered(np.array([7, -1, 5]), np.array([[0, 1], [2, 0]])).tolist()
    [[5, 7]]
    """
    found, n = np.empty((len(edges), 2), dtype=number.dtype), 0
    for first in range(0, len(edges), EDGES_AT_ONCE):
        ends = number[edges[first : first + EDGES_AT_ONCE]]
        # One of two numbers is below 0 if all bits of both together are.
        ends = ends.compress((ends[:, 0] | ends[:, 1]) >= 0, axis=0)
        found[n : n + len(ends)] = ends
        n += len(ends)
    return found[:n]


def n_common_edges(edges: NDArray[np.integer], others: NDArray[np.integer]) -> int:
    """Return the number of edges in both of two lists, (m, 2).

    Each is counted once, in any direction.

    Examples
    --------
    >>> n_common_edges(np.array([[0, 1], [2, 1]]), np.array([[1, 2], [0, 2], [1, 0]]))
    2
    """
    n = 1 + int(max(edges.max(initial=-1), others.max(initial=-1)))
    known, found = _upper(n, edges), 0
    for first in range(0, len(others), EDGES_AT_ONCE):
        found += known.multiply(_upper(n, others[first : first + EDGES_AT_ONCE])).nnz
    return int(found)


def _upper(n: int, edges: NDArray[np.integer]) -> csr_array:
    """Return the upper half of the adjacency matrix of edges.

    How often each is given.
    """
    # Who only reads feeds has no graph to make, and a fifth of a second less to wait.
    from scipy.sparse import csr_array  # noqa: PLC0415

    u, v = edges.T.astype(np.int32)
    ends = np.minimum(u, v), np.maximum(u, v)
    return csr_array((np.ones(len(edges), dtype=np.int8), ends), shape=(n, n))


def adjacency(n: int, edges: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the compressed adjacency of an undirected edge list, neighbours ascending."""
    if len(edges) and (edges.min() < 0 or edges.max() >= n):
        msg = "An edge names a vertex that does not exist."
        raise InvalidGraph(msg)
    if np.any(edges[:, 0] == edges[:, 1]):
        msg = "A vertex has an edge to itself."
        raise InvalidGraph(msg, hint="Remove it: a tie joins two people.")
    half = _upper(n, edges)
    both = half + half.T
    # What is given twice is added up.
    if both.nnz < 2 * len(edges):
        msg = "An edge is given twice."
        raise InvalidGraph(msg)
    return both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False)


def sums_of_neighbours(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weight: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the total weight of each vertex's neighbours, modulo 2**64."""
    ends = np.arange(0, len(indices) + EDGES_AT_ONCE, EDGES_AT_ONCE)
    sums = np.zeros(len(indptr) - 1, dtype=np.int64)
    # Vertices whose neighbours begin in one stretch.
    for first, last in itertools.pairwise(np.searchsorted(indptr[:-1], ends).tolist()):
        near = indptr[first : last + 1]
        running = np.append(0, np.cumsum(weight[indices[near[0] : near[-1]]]))
        # Sums go round, and their differences come out all the same.
        sums[first:last] = np.diff(running[near - near[0]])
    return sums
