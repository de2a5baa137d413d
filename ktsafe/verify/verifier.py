"""The strict verifier: whether a released graph is kt-safe, by the definition and nothing else.

It is the gate before publication and must not inherit an anonymizer's mistake. So it starts from
plain arrays, validates them itself, shares no helper and no kernel with the anonymizer, and decides
on integers only.

Source: Definitions 2 to 5 of the paper. For n = 1 hop and the walk reading a neighbourhood is a
star, so the edit distance of two is twice the difference of their degrees: that is decided here.
Other radii and the induced reading are decided by `ktsafe.verify.hops`; any of them by a
certificate, where one is given (`ktsafe.verify.certificate`). *Departure*: the protection set is
the maximal one, so it is unique. Beware of `t`: classical t-closeness bounds the sensitive
attribute; here it bounds the non-sensitive attributes of neighbourhoods.
"""

from __future__ import annotations

import os
import queue
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify import _stars_core as core
from ktsafe.verify.certificate import checked_orbits
from ktsafe.verify.hops import Coded, protection_sets
from ktsafe.verify.verdict import Failure, Verdict

__all__ = ["Failure", "Verdict", "verify", "verify_flags", "verify_graph"]

N_MAX = 2**31 - 1
"""Vertices beyond which 2 * size_1 * size_2 could leave int64."""

COLUMNS_MAX = 512
"""Attribute values beyond which histograms are kept as runs rather than as a dense matrix."""

CELLS_MAX = 2**28
"""Greatest dense histogram matrix, in int16 cells."""

PAIRS_PER_TASK = 20_000_000
"""Pairs of locations that are worth handing to another thread."""


def verify(
    quasi_identifiers: ArrayLike,
    is_sensitive: ArrayLike,
    edges: ArrayLike,
    params: PrivacyParams,
    *,
    certificate: ArrayLike | None = None,
    workers: int | None = None,
) -> Verdict:
    """Compute every vertex's maximal protection set and compare it with k and alpha.

    u is in PS(v) iff QI(u) = QI(v), the edit distance of their neighbourhoods is at most epsilon
    (for stars: 2 * |deg(v) - deg(u)|), and for every attribute and each L = 1..n
    sum |c1 * n2 - c2 * n1| <= 2 * t * n1 * n2, where c are the value counts and n the numbers of
    vertices within L hops, the vertex itself included.

    Parameters
    ----------
    quasi_identifiers:
        Integers, shape (n, q), one column per attribute; any codes, q may be 0.
    is_sensitive:
        bool, shape (n,).
    edges:
        Integers in 0..n-1, shape (m, 2): each undirected edge once, in either direction.
    params:
        What to check.
    certificate:
        Integers, shape (n,): a permutation of the vertices that is claimed to be an automorphism.
        It is checked, and the verdict then rests on its orbits (`Verdict.evidence`).
    workers:
        Threads to use; None means one per core. The result does not depend on it.

    Returns
    -------
    Verdict
        Counts per vertex, and whether the release is kt-safe.

    Raises
    ------
    InvalidGraph
        If the arrays do not describe a simple graph.
    NotKTSafe
        If the certificate does not hold.

    Complexity
    ----------
    For stars O(q * (n + m)) plus one comparison per pair of distinct locations (QI, degree,
    histogram) of the same QI whose degrees differ by at most epsilon / 2. For others see
    `ktsafe.verify.hops`. With a certificate O(q * n + m log m).
    """
    sensitive = np.asarray(is_sensitive)
    if sensitive.ndim != 1:
        raise InvalidGraph("The sensitive flags must be booleans of shape (n,).")
    qi, flags, pairs = _checked(quasi_identifiers, sensitive.reshape(-1, 1), edges)
    if certificate is not None:
        found = _orbit_counts(qi, flags, pairs, certificate)
        return Verdict(params, len(qi), len(pairs), found[0], found[1], evidence="certificate")
    if params.sees_stars:
        found = _star_counts(qi, flags, pairs, params, workers)
        return Verdict(params, len(qi), len(pairs), found[0], found[1])
    sets = protection_sets(_coded(qi, flags, pairs), params, workers=workers)
    undecided = sets.undecided[1] if sets.undecided_pairs else None
    size, sensitive = sets.certain
    return Verdict(params, len(qi), len(pairs), size, sensitive, undecided, sets.undecided_pairs)


def verify_graph(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    certificate: ArrayLike | None = None,
    workers: int | None = None,
) -> Verdict:
    """Verify an attributed graph; see `verify`."""
    return verify(
        graph.codes[:, :-1],
        graph.is_sensitive,
        graph.edges,
        params,
        certificate=certificate,
        workers=workers,
    )


def verify_flags(
    quasi_identifiers: ArrayLike,
    flags: ArrayLike,
    edges: ArrayLike,
    params: PrivacyParams,
    *,
    certificate: ArrayLike | None = None,
    workers: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count who is in each protection set: everybody, and those with each of several flags.

    Parameters are those of `verify`, but for `flags`: bool, shape (n, f).

    Returns
    -------
    tuple
        int64, shape (n,): |PS(v)|; and int64, shape (f, n): its members that carry each flag. Only
        members that are certain count; with a certificate, those of the vertex's own orbit.
    """
    qi, checked, pairs = _checked(quasi_identifiers, flags, edges)
    if certificate is not None:
        found = _orbit_counts(qi, checked, pairs, certificate)
    elif params.sees_stars:
        found = _star_counts(qi, checked, pairs, params, workers)
    else:
        found = protection_sets(_coded(qi, checked, pairs), params, workers=workers).certain
    return found[0], found[1:]


def _coded(qi: NDArray[np.int64], flags: NDArray[np.bool_], pairs: NDArray[np.int32]) -> Coded:
    """Return the checked graph in the form of `ktsafe.verify.hops`."""
    columns, offsets, classes = _columns(qi)
    return Coded(columns, offsets, classes, pairs, flags)


def _orbit_counts(
    qi: NDArray[np.int64],
    flags: NDArray[np.bool_],
    pairs: NDArray[np.int32],
    certificate: ArrayLike,
) -> NDArray[np.int64]:
    """Return the size of each vertex's orbit and its flagged members, shape (1 + flags, n)."""
    orbits = checked_orbits(certificate, _columns(qi)[2], pairs)
    counts = [np.bincount(orbits)] + [
        np.bincount(orbits, weights=flag).astype(np.int64) for flag in flags.T
    ]
    return np.array(counts, dtype=np.int64).reshape(1 + flags.shape[1], -1)[:, orbits]


def _star_counts(
    qi: NDArray[np.int64],
    flags: NDArray[np.bool_],
    pairs: NDArray[np.int32],
    params: PrivacyParams,
    workers: int | None,
) -> NDArray[np.int64]:
    """Return |PS(v)| and its flagged members for n = 1 walk, int64, shape (1 + flags, n)."""
    n, q = qi.shape
    sizes = np.bincount(pairs.reshape(-1), minlength=n).astype(np.int64) + 1
    columns, offsets, classes = _columns(qi)
    band = params.epsilon // 2
    n_columns = int(offsets[-1])
    is_dense = n_columns <= COLUMNS_MAX and n * n_columns <= CELLS_MAX
    narrow_max = core.NARROW_SIZE_MAX if is_dense else 0

    weights = np.random.default_rng(0).integers(0, 2**64, size=max(n_columns, 1), dtype=np.uint64)
    hashes = core.neighbourhood_hashes(pairs, columns, weights)
    histograms = (
        core.narrow_histograms(pairs, columns, sizes, n_columns)
        if is_dense
        else np.zeros((n, 0), dtype=np.int16)
    )
    # A pair is compared wide iff its greater size is; both of its ends then need a row.
    row, wide = _wide_rows(np.flatnonzero(sizes > narrow_max - band), pairs, columns)

    # Class, then size, then hash: locations become runs, bands become ranges.
    key = classes * (int(sizes.max(initial=1)) + 1) + sizes
    order = np.lexsort((hashes, key))
    is_wide_row = np.where(sizes > narrow_max, row, -1)
    starts = core.starts_location(order, key, hashes, histograms, is_wide_row, wide, q)
    first = np.flatnonzero(starts)
    vertices = order[first]
    location_of = np.empty(n, dtype=np.int64)
    location_of[order] = np.cumsum(starts) - 1
    counts = [np.bincount(location_of[chosen], minlength=len(first)) for chosen in flags.T]
    locations = core.Locations(
        np.bincount(location_of, minlength=len(first)).astype(np.int64),
        np.array(counts, dtype=np.int64).reshape(len(counts), len(first)),
        *_segments(classes[vertices], sizes[vertices], band),
        np.ascontiguousarray(histograms[vertices].T),
        offsets,
        row[vertices],
    )
    found = _scan(locations, wide, params, narrow_max, workers or os.cpu_count() or 1)
    return found[:, location_of]


def _checked(
    quasi_identifiers: ArrayLike, flags: ArrayLike, edges: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int32]]:
    """Return the three inputs as arrays, or raise InvalidGraph."""
    flagged = np.asarray(flags)
    qi = np.asarray(quasi_identifiers)
    pairs = np.asarray(edges)
    if flagged.ndim != 2 or not (flagged.size == 0 or flagged.dtype == np.bool_):
        raise InvalidGraph("The sensitive flags must be booleans, one per vertex.")
    n = len(flagged)
    if n > N_MAX:
        raise InvalidGraph(f"At most {N_MAX} vertices can be verified exactly.")
    if qi.ndim != 2 or len(qi) != n or not (qi.size == 0 or np.issubdtype(qi.dtype, np.integer)):
        raise InvalidGraph("The quasi-identifiers must be integers of shape (n, q).")
    if qi.size and qi.dtype == np.uint64 and int(qi.max()) > np.iinfo(np.int64).max:
        raise InvalidGraph("A quasi-identifier code exceeds int64.")
    if pairs.size == 0:
        return qi.astype(np.int64), flagged.astype(np.bool_), np.zeros((0, 2), dtype=np.int32)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise InvalidGraph("The edges must be integers of shape (m, 2).")
    if int(pairs.min()) < 0 or int(pairs.max()) >= n:
        raise InvalidGraph("An edge names a vertex that does not exist.")
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise InvalidGraph("A vertex has an edge to itself.")
    narrow = np.ascontiguousarray(pairs, dtype=np.int32)
    low = np.minimum(narrow[:, 0], narrow[:, 1]).astype(np.int64)
    keys = np.sort(low * n + np.maximum(narrow[:, 0], narrow[:, 1]))
    if np.any(keys[1:] == keys[:-1]):
        raise InvalidGraph("An edge is given twice.")
    return qi.astype(np.int64), flagged.astype(np.bool_), narrow


def _columns(
    qi: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return (n, q) column numbers, the (q + 1,) first column of each attribute, and QI classes."""
    n, q = qi.shape
    columns = np.zeros((n, q), dtype=np.int32)
    offsets = np.zeros(q + 1, dtype=np.int64)
    classes = np.zeros(n, dtype=np.int64)
    for a in range(q):
        codes, n_values = _compact(qi[:, a])
        columns[:, a] = codes + offsets[a]
        offsets[a + 1] = offsets[a] + n_values
        # Both factors are at most n, so the product stays inside int64.
        classes, _ = _compact(classes * n_values + codes)
    return columns, offsets, classes


def _compact(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Renumber codes as 0..values-1 in ascending order."""
    n = len(codes)
    if n == 0:
        return codes, 0
    low, span = int(codes.min()), int(codes.max()) - int(codes.min()) + 1
    if span > 4 * n + 1024:
        values, inverse = np.unique(codes, return_inverse=True)
        return inverse.reshape(-1).astype(np.int64), len(values)
    present = np.zeros(span, dtype=np.bool_)
    present[codes - low] = True
    return (np.cumsum(present) - 1)[codes - low], int(np.count_nonzero(present))


def _wide_rows(
    vertices: NDArray[np.int64], pairs: NDArray[np.int32], columns: NDArray[np.int32]
) -> tuple[NDArray[np.int64], core.WideRows]:
    """Return each vertex's row number, -1 without one, and the rows of `vertices`."""
    row = np.full(len(columns), -1, dtype=np.int64)
    row[vertices] = np.arange(len(vertices))
    forth, back = row[pairs[:, 0]] >= 0, row[pairs[:, 1]] >= 0
    source = row[np.concatenate((pairs[forth, 0], pairs[back, 1]))]
    target = np.concatenate((pairs[forth, 1], pairs[back, 0]))
    indptr = np.zeros(len(vertices) + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=len(vertices)), out=indptr[1:])
    neighbours = target[np.argsort(source, kind="stable")]
    return row, core.WideRows(*core.wide_rows(vertices, indptr, neighbours, columns))


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
    locations: core.Locations,
    wide: core.WideRows,
    params: PrivacyParams,
    narrow_max: int,
    workers: int,
) -> NDArray[np.int64]:
    """Return |PS| and its flagged members per location, shape (1 + flags, locations)."""
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

    if workers == 1:
        scan(0, n)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(scan, bounds[:-1].tolist(), bounds[1:].tolist()))
    own = np.vstack((locations.multiplicity[np.newaxis], locations.flagged))
    for counts in partial:
        own += counts
    return own
