"""Cuts of kt-tree nodes in two, a level at a time.

Ways and `COLUMNS_TRIED` may be changed, and with them the bytes of releases;
tests/ktsafe/anonymization/test_tree_cuts.py cuts node by node and must find the same leaves. Both
sides keep their least size and alpha.

    in turn: at a border of one of the widest neighbour counts, if no cohort is lost by that;
             at any place of the widest one; with sensitive members spread evenly; at any price
    of all places where both sides are large enough and satisfy alpha, the one after which they
    deviate least from their medians

A large class has a thousand small nodes, each of which would take a dozen calls of numpy.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph.numbering import small
from ktsafe.params import PrivacyParams

COLUMNS_TRIED = 8
"""Widest neighbour counts at whose borders a node may be cut. With 32 F1 of fb-reed98 and cora is
no higher."""


class Way(NamedTuple):
    """A way of cutting.

    Attributes
    ----------
    at_border:
        Only between different counts, those of other columns than the widest, too.
    wastes:
        Even if a cohort fewer fits into the sides, each of which deviates more.
    is_mixed:
        By count, but of each hundred members equally many are sensitive.
    """

    at_border: bool
    wastes: bool
    is_mixed: bool


CUTS: Final = (
    Way(at_border=True, wastes=False, is_mixed=False),
    Way(at_border=False, wastes=False, is_mixed=False),
    Way(at_border=False, wastes=False, is_mixed=True),
    Way(at_border=False, wastes=True, is_mixed=True),
)
"""Ways that are tried in turn."""

AT_BORDERS: Final = (CUTS[0], Way(at_border=True, wastes=True, is_mixed=False))
"""Those of a tree that is kept."""


class _Nodes(NamedTuple):
    """Some nodes, with members that stand one node after the other.

    Attributes
    ----------
    columns:
        int32, shape (columns, n): neighbour counts of all rows.
    is_sensitive:
        bool, shape (n,).
    members:
        int64: rows.
    sizes, least:
        int64, shape (nodes,): their members, and how many each side of a cut has at least.
    """

    columns: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    least: NDArray[np.int64]


class _Cuts(NamedTuple):
    """Where nodes are cut.

    Attributes
    ----------
    order:
        int64, shape (members,): the members of each node as they stand after the cut.
    n_lower:
        int64, shape (nodes,): how many of them are the first side; 0: the node is a leaf.
    """

    order: NDArray[np.int64]
    n_lower: NDArray[np.int64]


def leaves_of(
    rows: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    params: PrivacyParams,
    nodes: list[NDArray[np.int64]] | None = None,
    ways: tuple[Way, ...] = CUTS,
    least: list[int] | None = None,
) -> list[NDArray[np.int64]]:
    """Return the leaves below given nodes or a root, as row positions.

    Those of greater counts come first.

    Parameters
    ----------
    rows:
        int32, shape (n, columns): neighbour counts.
    is_sensitive:
        bool, shape (n,).
    params:
        k and alpha are used.
    nodes:
        None: one node of all rows.
    ways:
        How nodes may be cut.
    least:
        How many members a leaf below each node has at least. None: k.
    """
    nodes = [np.arange(len(rows))] if nodes is None else nodes
    members, columns = np.concatenate(nodes), np.ascontiguousarray(rows.T)
    sizes = np.array([len(node) for node in nodes], dtype=np.int64)
    first = np.cumsum(sizes) - sizes
    fewest = np.full(len(nodes), params.k) if least is None else np.array(least)
    borders = [first[1:]]
    while len(first):
        is_large = sizes >= 2 * fewest
        first, sizes, fewest = first[is_large], sizes[is_large], fewest[is_large]
        at = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        cuts = _cut(_Nodes(columns, is_sensitive, members[at], sizes, fewest), params, ways)
        members[at] = members[at][cuts.order]
        is_cut = cuts.n_lower > 0
        n_lower, first, sizes = cuts.n_lower[is_cut], first[is_cut], sizes[is_cut]
        borders.append(first + n_lower)
        first = np.concatenate((first, first + n_lower))
        sizes = np.concatenate((n_lower, sizes - n_lower))
        fewest = np.tile(fewest[is_cut], 2)
    return np.split(members, np.sort(np.concatenate(borders)))[::-1]


def bearable(sizes: NDArray[np.int64], params: PrivacyParams) -> NDArray[np.int64]:
    """Return the sensitive members allowed in groups of given sizes.

    Smaller ones than k have fewer who may leave, and may have as many as one of k.
    """
    counted = np.maximum(sizes, params.k)
    most: NDArray[np.int64] = counted * params.alpha.numerator // params.alpha.denominator
    return most


def _cut(nodes: _Nodes, params: PrivacyParams, ways: tuple[Way, ...]) -> _Cuts:
    """Return where nodes of at least 2 k members are cut."""
    sizes, members = nodes.sizes, nodes.members
    spread = _spread(nodes)
    widest = np.argsort(-spread, axis=0, kind="stable")[:COLUMNS_TRIED]
    found = _Cuts(np.arange(len(members)), np.zeros_like(sizes))
    for way in ways:
        for column in widest if way.at_border else widest[:1]:
            is_open = found.n_lower == 0
            if way.at_border:
                is_open &= spread[column, np.arange(len(sizes))] > 0
            if not is_open.any():
                continue
            at = np.flatnonzero(np.repeat(is_open, sizes))
            own = members[at]
            n = sizes[is_open]
            count, k = nodes.columns[np.repeat(column[is_open], n), own], nodes.least[is_open]
            order, n_lower = _best(count, nodes.is_sensitive[own], n, k, params, way)
            is_cut = np.repeat(n_lower > 0, n)
            found.order[at[is_cut]] = at[order[is_cut]]
            found.n_lower[is_open] = n_lower
    return found


def _spread(nodes: _Nodes) -> NDArray[np.int64]:
    """Return members' distances from their node's median, (columns, nodes)."""
    width = 1 + int(nodes.columns.max(initial=0))
    node = np.repeat(np.arange(len(nodes.sizes)) * width, nodes.sizes)
    last = np.cumsum(nodes.sizes)
    spread = np.empty((len(nodes.columns), len(nodes.sizes)), dtype=np.int64)
    for i, column in enumerate(nodes.columns):
        counts = np.sort(small(node + column[nodes.members]), kind="stable") - node
        spread[i] = _deviation(_upto(counts), last - nodes.sizes, last)
    return spread


def _best(
    count: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    least: NDArray[np.int64],
    params: PrivacyParams,
    way: Way,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return nodes' members in order, and sizes of their lower sides.

    `count` and `is_sensitive` are those of the members, one node after the other; 0 is returned
    for a node that cannot be cut in this way.
    """
    node = np.repeat(np.arange(len(sizes)), sizes)
    k = least[node]
    order = _order(count, is_sensitive, node, is_mixed=way.is_mixed)
    count, last = count[order], np.cumsum(sizes)
    # The cut after each member: how many are below it in its node, and above.
    lower = np.arange(1, len(count) + 1) - (last - sizes)[node]
    upper = sizes[node] - lower
    sensitive = _upto(is_sensitive[order])
    n_lower = sensitive[1:] - sensitive[last - sizes][node]
    n_upper = sensitive[last][node] - sensitive[1:]
    fits = (lower >= k) & (upper >= k)
    fits &= (n_lower <= bearable(lower, params)) & (n_upper <= bearable(upper, params))
    if not way.wastes:
        fits &= lower // k + upper // k == (lower + upper) // k
    if way.at_border:
        # That the last of a node stands beside another one does not matter: it has none above.
        fits[:-1] &= count[:-1] < count[1:]
    at = np.flatnonzero(fits)
    upto, border = _upto(count), at + 1
    off = _deviation(upto, border - lower[at], border)
    off += _deviation(upto, border, border + upper[at])
    best = at[np.lexsort((np.abs(lower - upper)[at], off, node[at]))]
    best = best[np.diff(node[best], prepend=-1) != 0]
    found = np.zeros_like(sizes)
    found[node[best]] = lower[best]
    return order, found


def _order(
    count: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    node: NDArray[np.int64],
    *,
    is_mixed: bool,
) -> NDArray[np.int64]:
    """Return each node's members in the order of their cut."""
    if not is_mixed:
        return _stable(node, count)
    kind = 2 * node + is_sensitive
    order = _stable(kind, count)
    n_alike = np.bincount(kind)
    place = np.arange(len(order)) - (np.cumsum(n_alike) - n_alike)[kind[order]]
    share = np.empty(len(order))
    share[order] = (place + 0.5) / n_alike[kind[order]]
    return np.lexsort((share, node))


def _stable(node: NDArray[np.int64], count: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return members by node, then by count; equal ones keep their order."""
    return np.argsort(small(node * (1 + int(count.max())) + count), kind="stable")


def _upto(values: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the sum of all values before each, and of all."""
    upto = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=upto[1:])
    return upto


def _deviation(
    upto: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the sums of distances from medians of ascending runs.

    Of others: by how much the sums of their halves differ.
    """
    half = (last - first) // 2
    lower, upper = upto[first + half] - upto[first], upto[last] - upto[last - half]
    deviation: NDArray[np.int64] = np.abs(upper - lower)
    return deviation
