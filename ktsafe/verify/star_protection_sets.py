"""Protection sets of stars, counted by several threads.

Results never depend on how the work is divided.

Sizes of parts, and when histograms are dense, may be tuned (tests/ktsafe/verify/test_verifier.py
compares blocks and threads); what is compared follows Definition 3 and nothing else.
"""

from __future__ import annotations

import dataclasses
import os
import queue
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ktsafe.params import PrivacyParams
from ktsafe.verify import _stars_core as core
from ktsafe.verify._attribute_distance_core import Locations, WideRows
from ktsafe.verify.checked_ties import CheckedTies

Part = TypeVar("Part")
Result = TypeVar("Result")


def threads_for(workers: int | None) -> int:
    """Return how many threads to use; None asks for one per core."""
    return workers or os.cpu_count() or 1


def ranges(n: int, parts: int) -> list[tuple[int, int]]:
    """Return begin and stop of equal ranges of 0..n - 1."""
    return [(n * i // parts, n * (i + 1) // parts) for i in range(parts)]


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """Return what the work gives for each part, in their order."""
    todo = list(parts)
    if min(threads, len(todo)) <= 1:
        return [work(part) for part in todo]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, todo))


# A checked graph, and the counts of its protection sets: what judges take and return.


@dataclasses.dataclass(frozen=True, eq=False)
class Coded:
    """A checked graph as `ktsafe.verify` codes it.

    Attributes
    ----------
    columns:
        int32, shape (n, q): the number of each attribute value, numbered through.
    offsets:
        int64, shape (q + 1,): attribute a has the columns offsets[a]..offsets[a + 1] - 1.
    classes:
        int64, shape (n,): class of equal quasi-identifiers.
    ties:
        The edges.
    flags:
        bool, shape (n, f).
    """

    columns: NDArray[np.int32]
    offsets: NDArray[np.int64]
    classes: NDArray[np.int64]
    ties: CheckedTies
    flags: NDArray[np.bool_]


# Protection sets for one hop in the walk reading: stars.
#
# The edit distance of two stars is twice the difference of their degrees, so locations (class,
# degree, histogram) are sorted, and each is compared with those of its class within a band of
# sizes.

COLUMNS_MAX = 512
"""Attribute values beyond which histograms are kept as runs rather than as a dense matrix."""

CELLS_MAX = 2**28
"""Greatest dense histogram matrix, in int16 cells."""

PAIRS_PER_TASK = 20_000_000
"""Pairs of locations that are worth handing to another thread."""

VERTICES_PER_TASK = 20_000
"""Vertices that are."""

# Scaled distances of narrow rows are summed in int16.
assert 2 * core.NARROW_SIZE_MAX**2 < 2**15


def star_protection_sets(
    coded: Coded, params: PrivacyParams, *, workers: int | None = None
) -> NDArray[np.int64]:
    """Return protection sets' sizes and flagged members for stars.

    |PS(v)| and its flagged members, n = 1 walk, int64, shape (1 + flags, n).
    """
    # What kernels are compiled for, and what they do not check.
    assert coded.columns.dtype == coded.ties.edges.dtype == np.int32
    assert coded.flags.shape[0] == len(coded.classes) == len(coded.columns)
    n, q = coded.columns.shape
    columns, offsets, classes = coded.columns, coded.offsets, coded.classes
    adjacency, flags = coded.ties.adjacency, coded.flags
    sizes = np.diff(adjacency[0]) + 1
    band = params.epsilon // 2
    n_columns = int(offsets[-1])
    is_dense = n_columns <= COLUMNS_MAX and n * n_columns <= CELLS_MAX
    narrow_max = core.NARROW_SIZE_MAX if is_dense else 0

    weights = np.random.default_rng(0).integers(0, 2**64, size=max(n_columns, 1), dtype=np.uint64)
    hashes = core.neighbourhood_hashes(*adjacency, columns, weights)
    histograms = np.zeros((n, n_columns if is_dense else 0), dtype=np.int16)
    threads = threads_for(workers)
    if is_dense:
        parts = ranges(n, min(threads, 1 + n // VERTICES_PER_TASK))
        count = core.narrow_histograms
        in_threads(lambda at: count(*adjacency, columns, histograms, *at), parts, threads)
    # A pair is compared wide iff its greater size is; both of its ends then need a row.
    hubs = np.flatnonzero(sizes > narrow_max - band)
    row = np.full(n, -1, dtype=np.int64)
    row[hubs] = np.arange(len(hubs))
    wide = WideRows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    if len(hubs):  # Most networks have none, and a kernel takes seconds to compile.
        wide = WideRows(*core.wide_rows(hubs, *adjacency, columns))

    # Class, then size, then hash: locations become runs, bands become ranges.
    key = classes * (int(sizes.max(initial=1)) + 1) + sizes
    order = _order(classes, key, hashes, threads)
    is_wide_row = np.where(sizes > narrow_max, row, -1)
    starts = core.starts_location(order, key, hashes, histograms, is_wide_row, wide, q)
    first = np.flatnonzero(starts)
    vertices = order[first]
    location_of = np.empty(n, dtype=np.int64)
    location_of[order] = np.cumsum(starts) - 1
    counts = [np.bincount(location_of[chosen], minlength=len(first)) for chosen in flags.T]
    locations = Locations(
        np.bincount(location_of, minlength=len(first)).astype(np.int64),
        np.array(counts, dtype=np.int64).reshape(len(counts), len(first)),
        *_segments(classes[vertices], sizes[vertices], band),
        np.ascontiguousarray(histograms[vertices].T),
        offsets,
        row[vertices],
    )
    found = np.vstack((locations.multiplicity[np.newaxis], locations.flagged))
    # Of equal neighbourhoods only a collision of hashes makes two locations.
    if params.t or band or _collide(starts, key[order], hashes[order]):
        found = found + _scan(locations, wide, params, narrow_max, threads)
    return found[:, location_of]


def _collide(starts: NDArray[np.bool_], key: NDArray[np.int64], hashes: NDArray[np.uint64]) -> bool:
    """Return whether a location has the key and hash of the former."""
    is_alike = (key[1:] == key[:-1]) & (hashes[1:] == hashes[:-1])
    return bool((starts[1:] & is_alike).any())


def _order(
    classes: NDArray[np.int64], key: NDArray[np.int64], hashes: NDArray[np.uint64], threads: int
) -> NDArray[np.int64]:
    """Return vertices by key, then hash; keys ascend with classes."""
    order = np.argsort(classes, kind="stable")
    of_class = np.bincount(classes)
    ends = np.cumsum(of_class)
    # Small classes are sorted together.
    cuts = ends[np.diff(ends // VERTICES_PER_TASK, append=-1) != 0]
    members = np.split(order, cuts[:-1])
    by_class = in_threads(lambda at: at[np.lexsort((hashes[at], key[at]))], members, threads)
    return np.concatenate(by_class)


def _segments(
    classes: NDArray[np.int64], sizes: NDArray[np.int64], band: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return segment_of, segment_start, segment_size and segment_stop of sorted locations.

    `segment_stop[s]` is the first later segment of another class or outside the size band.
    """
    n = len(classes)
    new = np.ones(n, dtype=np.bool_)
    new[1:] = (classes[1:] != classes[:-1]) | (sizes[1:] != sizes[:-1])
    first = np.flatnonzero(new)
    segment_class, segment_size = classes[first], sizes[first]
    # Classes are laid so far apart that a band never reaches into the next one.
    stride = int(sizes.max(initial=0)) + band + 1
    position = segment_class * stride + segment_size
    stop = np.searchsorted(position, position + band, side="right")
    return np.cumsum(new) - 1, np.append(first, n), segment_size, stop.astype(np.int64)


def _scan(
    locations: Locations,
    wide: WideRows,
    params: PrivacyParams,
    narrow_max: int,
    workers: int,
) -> NDArray[np.int64]:
    """Return members, and flagged ones, at similar locations, (1 + flags, locations)."""
    n, rows = len(locations.multiplicity), 1 + len(locations.flagged)
    tolerance = (params.t.numerator, params.t.denominator)
    band_stop = locations.segment_start[locations.segment_stop[locations.segment_of]]
    work = np.cumsum(band_stop - np.arange(n))
    n_tasks = 1 + int(work[-1] if n else 0) // PAIRS_PER_TASK
    cuts = np.searchsorted(work, np.arange(1, n_tasks) * PAIRS_PER_TASK)
    bounds = np.concatenate(([0], cuts, [n]))

    # One accumulator per running task, since a task counts into locations of other tasks.
    workers = min(workers, n_tasks)
    partial = [np.zeros((rows, n), dtype=np.int64) for _ in range(workers)]
    free: queue.SimpleQueue[NDArray[np.int64]] = queue.SimpleQueue()
    for counts in partial:
        free.put(counts)

    def scan(begin: int, stop: int) -> None:
        found = free.get()
        try:
            core.scan_bands(locations, wide, tolerance, narrow_max, begin, stop, found)
        finally:
            free.put(found)

    tasks = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    in_threads(lambda at: scan(*at), tasks, workers)
    found: NDArray[np.int64] = np.sum(partial, axis=0)
    return found
