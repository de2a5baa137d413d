"""Friends' degrees: an attacker with the numbers of friends' ties.

Friends are known by quasi-identifiers and number of ties. A release that is safe for one hop keeps
the members of a cohort alike in whom they are tied to, not in how many ties those have.

Source: the vertex refinement query H2 of Hay et al., "Resisting structural re-identification in
anonymized social networks" (PVLDB 2008), with the paper's attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.history import History, VertexKinds
from ktsafe.assess.attacks.common.nearest import SAME, standings
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.common.together import Together
from ktsafe.params import PrivacyParams

WIDE, NARROW = 2.0, 1.2
"""The next band of degrees begins at so many times the beginning of one, or one above it."""
VARIANTS = {"wide": WIDE, "order": NARROW}
"""By what distance degrees are compared, and in which bands."""


def friends_degrees(
    history: History,
    params: PrivacyParams,
    name: str = "friends_degrees",
    variants: Iterable[str] = VARIANTS,
) -> list[Result]:
    """Return the people of the last release found by friends' degrees.

    Two distances between known and released friends, each added over the releases:

    - `wide`: L1 of counts by quasi-identifier tuple and band of degree, each twice as wide as the
      one before;
    - `order`: friends of a tuple are compared in the order of their degrees, each by the bands
      between the two (the earth mover's distance), a fifth as wide; one too many counts all of its
      bands.

    Parameters
    ----------
    history:
        The releases, or one, and the truth.
    params:
        Its k gives the promise 1/k, if it promises two hops; else there is none.
    name:
        What the results are called.
    variants:
        Which of `VARIANTS`.

    Returns
    -------
    list of Result
        One per distance, see `standing_result`. Nothing without releases.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.datasets import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 800, rng=rng)
    >>> history = History.of(Case(graph, *ids_removed(graph, rng)))
    >>> found = friends_degrees(history, PrivacyParams(k=10))
    >>> [result.attack for result in found]
    ['friends_degrees.wide', 'friends_degrees.order']
    >>> found[0].value > 0.9
    True
    """
    if not history.cases:
        return []
    it, is_promised = Together.of(history), params.n_hops >= 2
    results = []
    for variant in variants:
        kinds, n_bands = _by_band(history, VARIANTS[variant])
        known, seen = it.known(kinds), it.seen(kinds)
        if variant == "order":
            known, seen = (from_each_on(rows, n_bands) for rows in (known, seen))
        (found,) = standings(known, seen, it.own, it.classes, [SAME])
        results.append(it.guessed(f"{name}.{variant}", params, found, is_promised=is_promised))
    return results


def _by_band(history: History, width: float) -> tuple[VertexKinds, int]:
    """Return vertices' kinds by tuple and band of degree, and band number."""
    graphs = [graph for case in history.cases for graph in (case.original, case.released)]
    begins = begins_of_bands(max(int(graph.degrees.max(initial=0)) for graph in graphs), width)
    return history.split(lambda graph: bands(graph.degrees, begins), len(begins)), len(begins)


def begins_of_bands(most: int, width: float) -> list[int]:
    """Return each band's least degree; the last band holds `most`."""
    begins = [1]
    while begins[-1] < most:
        begins.append(max(begins[-1] + 1, int(begins[-1] * width)))
    return begins


def bands(degrees: NDArray[np.integer[Any]], begins: Sequence[int]) -> NDArray[np.int64]:
    """Return the band of each degree; 0 shares that of 1."""
    found: NDArray[np.int64] = np.searchsorted(begins, degrees, side="right") - 1
    return np.maximum(found, 0)


def from_each_on(rows: sparse.csr_matrix, n_bands: int) -> sparse.csr_matrix:
    """Return each tuple's number of friends in each band or above.

    Columns are tuples, each with its bands, ascending.
    """
    upwards = sparse.csr_matrix(np.tril(np.ones((n_bands, n_bands), dtype=np.int64)))
    n_tuples = rows.shape[1] // n_bands
    return (rows @ sparse.block_diag([upwards] * n_tuples, format="csr")).tocsr()
