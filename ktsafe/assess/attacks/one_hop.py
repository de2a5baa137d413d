"""One hop: an attacker with true neighbours names the likest vertex.

The attacker knows the quasi-identifier tuples of all true neighbours and the person's published
tuple, ranks the released vertices of that tuple by how far their released neighbours are from what
is known, and names the nearest.

Source: the degree and neighbourhood attacks of Liu and Terzi, "Towards identity anonymization on
graphs" (SIGMOD 2008), and Zhou and Pei, "Preserving privacy in social networks against
neighborhood attacks" (ICDE 2008), with the paper's attributes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.nearest import (
    LACK_WEIGHS_3,
    ONLY_ADDED,
    SAME,
    Standing,
    neighbour_counts,
    standings,
)
from ktsafe.assess.attacks.common.result import Result, standing_result
from ktsafe.params import PrivacyParams

Rows = tuple[sparse.csr_matrix, sparse.csr_matrix]


def one_hop(case: Case, params: PrivacyParams) -> list[Result]:
    """Return how many people are found by their true one-hop neighbourhood.

    Five distances between known and released neighbours:

    - `marginal`: L1 of the counts of every attribute's values, plus the difference of degrees;
    - `joint`: L1 of the counts of quasi-identifier tuples;
    - `joint3`: the same, a missing neighbour weighing 3 (ties are rather added than hidden);
    - `added`: the same, one missing neighbour outweighing all surplus (ties are only added);
    - `degree`: the difference of degrees alone.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k; the best rank is sought up to 3 k.

    Returns
    -------
    list of Result
        One per distance, see `standing_result`.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.datasets.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> found = one_hop(Case(graph, *ids_removed(graph, rng)), PrivacyParams(k=10))
    >>> [result.attack for result in found]
    ['one_hop.marginal', 'one_hop.joint', 'one_hop.joint3', 'one_hop.added', 'one_hop.degree']
    >>> found[1].value > 0.9
    True
    """
    classes = case.tuples[1]
    own = case.places
    (marginal,) = standings(*marginal_rows(case), own, classes, [SAME])
    joint, joint3, added = standings(
        *joint_rows(case), own, classes, [SAME, LACK_WEIGHS_3, ONLY_ADDED]
    )
    (degree,) = standings(*degree_rows(case), own, classes, [SAME])
    found = {
        "marginal": marginal,
        "joint": joint,
        "joint3": joint3,
        "added": added,
        "degree": degree,
    }
    return [guess_result(f"one_hop.{name}", case, params, it) for name, it in found.items()]


def guess_result(
    attack: str,
    case: Case,
    params: PrivacyParams,
    standing: Standing,
    *,
    is_promised: bool = True,
) -> Result:
    """Return the share found by the nearest candidate, and its details.

    See `standing_result`; the control is a uniform guess among the released vertices of the
    published tuple.
    """
    bands = case.bands(standing.chances)
    return standing_result(
        attack, params, standing, control=case.by_chance, bands=bands, is_promised=is_promised
    )


def joint_rows(case: Case, worth: NDArray[np.int64] | None = None) -> Rows:
    """Return the counts of neighbours' tuples.

    Known of each target, shown by each vertex.

    `worth` is what each of `released.indices` counts. Default: 1.
    """
    true, shown, size = case.tuples
    known = neighbour_counts(case.original, true, size)[case.people]
    return known, neighbour_counts(case.released, shown, size, worth)


def marginal_rows(case: Case, worth: NDArray[np.int64] | None = None) -> Rows:
    """Return the counts of neighbours' values, attribute by attribute, and their number."""
    true, shown, sizes = case.values
    known, seen = (list(rows) for rows in zip(degree_rows(case, worth), strict=True))
    for j, size in enumerate(sizes[:-1]):
        known.append(neighbour_counts(case.original, true[:, j], size)[case.people])
        seen.append(neighbour_counts(case.released, shown[:, j], size, worth))
    return sparse.hstack(known, format="csr"), sparse.hstack(seen, format="csr")


def degree_rows(case: Case, worth: NDArray[np.int64] | None = None) -> Rows:
    """Return the numbers of neighbours alone."""
    known = sparse.csr_matrix(case.original.degrees[case.people].reshape(-1, 1))
    alike = np.zeros(case.released.n_vertices, dtype=np.int64)
    return known, neighbour_counts(case.released, alike, 1, worth)
