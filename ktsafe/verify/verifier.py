"""The strict verifier: judge a released graph by the definition alone.

Checks of the input may be added. Nothing may be imported from what searches
(tests/ktsafe/verify/test_independence.py), and limits are inclusive, as in the definition.

It is the gate before publication and must not inherit an anonymizer's mistake. So it starts from
plain arrays, validates them itself, shares no helper and no kernel with the anonymizer, and decides
on integers only.

Source: Definitions 2 to 5 of the paper. For n = 1 hop and the walk reading a neighbourhood is a
star, so the edit distance of two is twice the difference of their degrees: see
`ktsafe.verify.star_protection_sets`.
Other radii and the induced reading are refused here: `ktsafe_lab.verify_hops`, of another package,
judges them. *Departure*: the protection set is the maximal one, so it is unique.
Beware of `t`: classical t-closeness bounds the sensitive attribute; here it bounds the
non-sensitive attributes of neighbourhoods.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph, InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify.checked_ties import CheckedTies
from ktsafe.verify.kt_safe_verdict import Failure, Verdict
from ktsafe.verify.star_protection_sets import Coded, star_protection_sets

__all__ = ["Failure", "Verdict", "verify", "verify_graph"]

N_MAX = 2**31 - 1
"""Vertices beyond which 2 * size_1 * size_2 could leave int64."""

assert 2 * N_MAX**2 < 2**63


def verify(
    quasi_identifiers: ArrayLike,
    is_sensitive: ArrayLike,
    edges: ArrayLike | CheckedTies,
    params: PrivacyParams,
    *,
    flags: ArrayLike | None = None,
    workers: int | None = None,
) -> Verdict:
    """Compute maximal protection sets and compare with k and alpha.

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
        Integers in 0..n-1, shape (m, 2): each undirected edge once, in either direction. Or ties
        that were checked.
    params:
        What to check.
    flags:
        bool, shape (n, f): further flags whose carriers are counted in each set.
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
    InvalidParams
        If neighbourhoods are no stars, but of other hops or the induced reading.

    Complexity
    ----------
    For stars O(q * (n + m)) plus one comparison per pair of distinct locations (QI, degree,
    histogram) of the same QI whose degrees differ by at most epsilon / 2.

    Examples
    --------
    Two pairs of two: each vertex has four candidates, itself included, one of them sensitive.

    >>> params = PrivacyParams(k=4, alpha=0.25)
    >>> verdict = verify([[0]] * 4, [True, False, False, False], [(0, 1), (2, 3)], params)
    >>> verdict.is_safe, verdict.min_k, verdict.max_alpha
    (True, 4, Fraction(1, 4))
    """
    sensitive = np.asarray(is_sensitive)
    if sensitive.ndim != 1:
        raise InvalidGraph("The sensitive flags must be booleans of shape (n,).")
    columns = [sensitive] if flags is None else [sensitive, np.asarray(flags)]
    given = coded(quasi_identifiers, np.column_stack(columns), edges)
    if not params.sees_stars:
        msg = "Only stars (one hop, walk reading) are judged here."
        hint = "The package ktsafe-lab judges other neighbourhoods: ktsafe_lab.verify_hops."
        raise InvalidParams(msg, hint=hint)
    found = star_protection_sets(given, params, workers=workers)
    size = len(given.classes), len(given.ties.edges)
    return Verdict(params, *size, found[0], found[1], ps_flags=found[2:])


def verify_graph(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    workers: int | None = None,
) -> Verdict:
    """Verify an attributed graph; see `verify`.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(50, 100, rng=np.random.default_rng(0), n_tuples=2)
    >>> verify_graph(graph, PrivacyParams(k=10)).is_safe
    False
    """
    return verify(
        graph.codes[:, :-1],
        graph.is_sensitive,
        graph.edges,
        params,
        workers=workers,
    )


def coded(quasi_identifiers: ArrayLike, flags: ArrayLike, edges: ArrayLike | CheckedTies) -> Coded:
    """Return the checked graph as kernels take it.

    Parameters are those of `verify`, but for `flags`: bool, shape (n, f).

    Raises
    ------
    InvalidGraph
        If the arrays do not describe a simple graph.
    """
    flagged = np.asarray(flags)
    qi = np.asarray(quasi_identifiers)
    if flagged.ndim != 2 or not (flagged.size == 0 or flagged.dtype == np.bool_):
        raise InvalidGraph("The sensitive flags must be booleans, one per vertex.")
    n = len(flagged)
    if n > N_MAX:
        raise InvalidGraph(f"At most {N_MAX} vertices can be verified exactly.")
    if qi.ndim != 2 or len(qi) != n or not (qi.size == 0 or np.issubdtype(qi.dtype, np.integer)):
        raise InvalidGraph("The quasi-identifiers must be integers of shape (n, q).")
    if qi.size and qi.dtype == np.uint64 and int(qi.max()) > np.iinfo(np.int64).max:
        raise InvalidGraph("A quasi-identifier code exceeds int64.")
    ties = edges if isinstance(edges, CheckedTies) else CheckedTies.of(n, edges)
    if ties.n_vertices != n:
        raise InvalidGraph("The ties are of another number of vertices.")
    return Coded(*_columns(qi.astype(np.int64)), ties, flagged.astype(np.bool_))


def _columns(
    qi: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return columns (n, q), attributes' first columns (q + 1,), and classes."""
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
