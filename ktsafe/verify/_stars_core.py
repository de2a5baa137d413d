"""Kernels of the strict verifier, in exact integers.

`BLOCK` and `SCAN` are for speed and may be tuned; `NARROW_SIZE_MAX` is what int16 holds.

Their inner loops use no float and allocate nothing.

They are private to the verifier; nothing of the anonymizer may import them, and they import nothing
of it. Bounds are checked by the caller.

A *column* is one value of one attribute: the values of all attributes are numbered through, those
of attribute a being `offsets[a]:offsets[a + 1]`. The *size* of a vertex is that of its closed
neighbourhood, degree + 1. Neighbourhood histograms come in two forms: narrow (a dense int16 matrix
for sizes up to `NARROW_SIZE_MAX`) and wide (sorted runs of (column, frequency), for hubs).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe.verify._attribute_distance_core import (
    Locations,
    WideRows,
    narrow_distances,
    scaled_limit,
    wide_similar,
)

NARROW_SIZE_MAX = 127
"""Greatest size whose scaled distance, at most 2 * size * size, stays inside int16."""

BLOCK = 1024
"""Locations compared at once: the scratch of a block stays in the first-level cache."""

SCAN = 64
"""Locations of a block that are looked at one by one once any of them is similar."""


@kernel
def adjacency(n: int, edges: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the compressed adjacency of n vertices.

    Each vertex has its neighbours in the order of the edges.
    """
    indptr = np.zeros(n + 1, dtype=np.int64)
    for e in range(edges.shape[0]):
        indptr[edges[e, 0] + 1] += 1
        indptr[edges[e, 1] + 1] += 1
    for v in range(n):
        indptr[v + 1] += indptr[v]
    place = indptr[:-1].copy()
    indices = np.empty(2 * edges.shape[0], dtype=np.int32)
    for e in range(edges.shape[0]):
        u = edges[e, 0]
        v = edges[e, 1]
        indices[place[u]] = v
        place[u] += 1
        indices[place[v]] = u
        place[v] += 1
    return indptr, indices


@kernel
def neighbourhood_hashes(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    columns: NDArray[np.int32],
    weights: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    """Return vertices' sums of closed neighbourhoods' weights, modulo 2**64.

    Equal histograms have equal sums; the converse is only likely and is never relied on.
    """
    n, n_columns = columns.shape
    own = np.zeros(n, dtype=np.uint64)
    for v in range(n):
        for a in range(n_columns):
            own[v] += weights[columns[v, a]]
    hashes = own.copy()
    for v in range(n):
        for i in range(indptr[v], indptr[v + 1]):
            hashes[v] += own[indices[i]]
    return hashes


@kernel
def narrow_histograms(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    columns: NDArray[np.int32],
    histograms: NDArray[np.int16],
    begin: int,
    stop: int,
) -> None:
    """Count the histograms (n, columns) of vertices that are no hubs.

    The vertices are begin..stop - 1.

    Rows of vertices above `NARROW_SIZE_MAX` stay as they are, and so do all others: concurrent
    calls may share the histograms.
    """
    n_columns = columns.shape[1]
    for v in range(begin, stop):
        if indptr[v + 1] - indptr[v] >= NARROW_SIZE_MAX:
            continue
        for a in range(n_columns):
            histograms[v, columns[v, a]] += 1
        for i in range(indptr[v], indptr[v + 1]):
            for a in range(n_columns):
                histograms[v, columns[indices[i], a]] += 1


@kernel
def wide_rows(
    vertices: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    columns: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return pointer, column and count of the runs of `vertices`' closed neighbourhoods."""
    n_columns = columns.shape[1]
    n_members = 0
    size_max = 1
    for v in vertices:
        size = indptr[v + 1] - indptr[v] + 1
        n_members += size
        size_max = max(size_max, size)
    pointer = np.zeros(vertices.shape[0] * n_columns + 1, dtype=np.int64)
    column = np.empty(n_columns * n_members, dtype=np.int32)
    count = np.empty(n_columns * n_members, dtype=np.int64)
    # Of the type that others sort, too: a sort is compiled for each.
    members = np.empty(size_max, dtype=np.int64)
    filled = 0
    for r in range(vertices.shape[0]):
        v = vertices[r]
        degree = indptr[v + 1] - indptr[v]
        for a in range(n_columns):
            members[0] = columns[v, a]
            for i in range(degree):
                members[i + 1] = columns[indices[indptr[v] + i], a]
            members[: degree + 1].sort()
            begin = filled
            for i in range(degree + 1):
                if filled > begin and column[filled - 1] == members[i]:
                    count[filled - 1] += 1
                else:
                    column[filled] = members[i]
                    count[filled] = 1
                    filled += 1
            pointer[r * n_columns + a + 1] = filled
    return pointer, column[:filled].copy(), count[:filled].copy()


@kernel
def starts_location(
    order: NDArray[np.int64],
    key: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    histograms: NDArray[np.int16],
    row: NDArray[np.int64],
    wide: WideRows,
    n_columns: int,
) -> NDArray[np.bool_]:
    """Return whether each vertex in `order` differs from the former.

    Equal hashes are confirmed value by value. Vertices that a collision keeps apart merely become
    two locations at distance 0, which changes no result.
    """
    n = order.shape[0]
    starts = np.ones(n, dtype=np.bool_)
    for i in range(1, n):
        u = order[i - 1]
        v = order[i]
        if key[u] != key[v] or hashes[u] != hashes[v]:
            continue
        equal = True
        if row[u] < 0:
            for c in range(histograms.shape[1]):
                if histograms[u, c] != histograms[v, c]:
                    equal = False
                    break
        else:
            x = wide.pointer[row[u] * n_columns]
            y = wide.pointer[row[v] * n_columns]
            length = wide.pointer[(row[u] + 1) * n_columns] - x
            equal = length == wide.pointer[(row[v] + 1) * n_columns] - y
            for e in range(length if equal else 0):
                if (
                    wide.column[x + e] != wide.column[y + e]
                    or wide.frequency[x + e] != wide.frequency[y + e]
                ):
                    equal = False
                    break
        starts[i] = not equal
    return starts


@inner_kernel
def scan_narrow(
    locations: Locations,
    i: int,
    begin: int,
    stop: int,
    sizes: tuple[int, int, int],
    scratch: NDArray[np.int16],
    found: NDArray[np.int64],
) -> None:
    """Add i's similar pairs with begin..stop - 1 to `found`.

    Both ends' counts grow.

    `sizes` holds the two sizes and the scaled limit; `found` has rows |PS| and one per flag.
    """
    size_1, size_2, limit = sizes
    while begin < stop:
        length = min(BLOCK, stop - begin)
        worst = scratch[1, :length]
        narrow_distances(locations, i, begin, size_1, size_2, scratch[0, :length], worst)
        for low in range(0, length, SCAN):
            part = worst[low : low + SCAN]
            hits = 0
            for j in range(part.shape[0]):
                hits += int(part[j] <= limit)
            if hits:
                for j in range(part.shape[0]):
                    if part[j] <= limit:
                        add_pair(locations, i, begin + low + j, found)
        begin += length


@inner_kernel
def add_pair(locations: Locations, i: int, j: int, found: NDArray[np.int64]) -> None:
    """Count location j into i's protection set, and conversely."""
    found[0, i] += locations.multiplicity[j]
    found[0, j] += locations.multiplicity[i]
    for f in range(locations.flagged.shape[0]):
        found[f + 1, i] += locations.flagged[f, j]
        found[f + 1, j] += locations.flagged[f, i]


@kernel
def scan_bands(
    locations: Locations,
    wide: WideRows,
    tolerance: tuple[int, int],
    narrow_size_max: int,
    begin: int,
    stop: int,
    found: NDArray[np.int64],
) -> None:
    """Compare locations begin..stop - 1 with later ones alike.

    Those of their class and size band.

    `tolerance` is t as (numerator, denominator). Every unordered pair is met exactly once over
    all calls, and its two ends are both counted, so `found`, shape (1 + flags, locations), must
    not be shared by concurrent calls.
    """
    n_columns = locations.offsets.shape[0] - 1
    scratch = np.empty((2, BLOCK), dtype=np.int16)
    for i in range(begin, stop):
        segment = locations.segment_of[i]
        size_1 = locations.segment_size[segment]
        for other in range(segment, locations.segment_stop[segment]):
            size_2 = locations.segment_size[other]
            limit = scaled_limit(size_1, size_2, tolerance[0], tolerance[1])
            first = max(i + 1, locations.segment_start[other])
            last = locations.segment_start[other + 1]
            if size_2 <= narrow_size_max:
                sizes = (size_1, size_2, limit)
                scan_narrow(locations, i, first, last, sizes, scratch, found)
            else:
                for j in range(first, last):
                    if wide_similar(
                        wide, n_columns, locations.row[i], locations.row[j], size_1, size_2, limit
                    ):
                        add_pair(locations, i, j, found)
