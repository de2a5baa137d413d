"""The strict verifier beyond stars: other radii, the induced reading, and certificates."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify import Verdict
from ktsafe.verify import verify as stars
from ktsafe.verify.verifier import coded
from ktsafe_lab.verify_hops.certificate import checked_orbits
from ktsafe_lab.verify_hops.protection_sets import protection_sets


@dataclasses.dataclass(frozen=True, eq=False)
class WiderVerdict(Verdict):
    """What was found of a release beyond stars.

    Attributes
    ----------
    ps_undecided:
        int64, shape (n,): sensitive vertices of whom it stayed undecided whether they are members;
        they count against alpha. Others that stayed undecided count nowhere, which is the worse
        case for k and for alpha.
    undecided_pairs:
        Pairs of vertices whose edit distance stayed undecided.
    evidence:
        "definition": the counts are those of the maximal protection sets. "certificate": a
        verified automorphism proves that every protection set is a union of its orbits; the
        counts are those of the vertex's own orbit, at most the true size and, if no orbit exceeds
        alpha, at least the true share.
    """

    ps_undecided: NDArray[np.int64] | None = None
    undecided_pairs: int = 0
    evidence: Literal["definition", "certificate"] = "definition"

    @cached_property
    def is_too_sensitive(self) -> NDArray[np.bool_]:
        """Whether the sensitive share of PS(v) exceeds alpha, bool, shape (n,)."""
        more = 0 if self.ps_undecided is None else self.ps_undecided
        alpha = self.params.alpha
        part, whole = self.ps_sensitive + more, self.ps_size + more
        return part * alpha.denominator > whole * alpha.numerator


def verify(
    quasi_identifiers: ArrayLike,
    is_sensitive: ArrayLike,
    edges: ArrayLike,
    params: PrivacyParams,
    *,
    certificate: ArrayLike | None = None,
    workers: int | None = None,
) -> WiderVerdict:
    """Judge a release as `ktsafe.verify` does, for any radius and reading.

    Parameters
    ----------
    certificate:
        Integers, shape (n,): a permutation of the vertices that is claimed to be an automorphism.
        It is checked, and the verdict then rests on its orbits.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold.
    """
    if params.sees_stars and certificate is None:
        found = stars(quasi_identifiers, is_sensitive, edges, params, workers=workers)
        size = found.n_vertices, found.n_edges
        return WiderVerdict(params, *size, found.ps_size, found.ps_sensitive)
    flags = np.asarray(is_sensitive).reshape(-1, 1)
    given = coded(quasi_identifiers, flags, edges)
    size = len(given.classes), len(given.ties.edges)
    if certificate is None:
        sets = protection_sets(given, params, workers=workers)
        counts = sets.certain[0], sets.certain[1]
        undecided = sets.undecided[1] if sets.undecided_pairs else None
        return WiderVerdict(params, *size, *counts, undecided, sets.undecided_pairs)
    orbits = checked_orbits(certificate, given.classes, given.ties.edges)
    sensitive = np.bincount(orbits, weights=given.flags[:, 0]).astype(np.int64)
    counts = np.bincount(orbits)[orbits], sensitive[orbits]
    return WiderVerdict(params, *size, *counts, evidence="certificate")


def verify_graph(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    certificate: ArrayLike | None = None,
    workers: int | None = None,
) -> WiderVerdict:
    """Verify an attributed graph; see `verify`."""
    codes, flags = graph.codes[:, :-1], graph.is_sensitive
    return verify(codes, flags, graph.edges, params, certificate=certificate, workers=workers)
