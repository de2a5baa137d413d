"""The strict verifier beyond stars: other radii, the induced reading, and certificates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ktsafe.params import PrivacyParams
from ktsafe.verify.star_protection_sets import Coded, ProtectionCounts
from ktsafe_lab.verify_hops.certificate import checked_orbits
from ktsafe_lab.verify_hops.protection_sets import protection_sets


def judge(
    coded: Coded, params: PrivacyParams, certificate: ArrayLike | None, workers: int | None
) -> ProtectionCounts:
    """Count protection sets, as `ktsafe.verify` asks for them.

    With a certificate the counts are those of the vertex's own orbit.
    """
    if certificate is None:
        sets = protection_sets(coded, params, workers=workers)
        undecided = sets.undecided if sets.undecided_pairs else None
        return ProtectionCounts(sets.certain, undecided, sets.undecided_pairs)
    orbits = checked_orbits(certificate, coded.classes, coded.edges)
    counts = [np.bincount(orbits)] + [
        np.bincount(orbits, weights=flag).astype(np.int64) for flag in coded.flags.T
    ]
    return ProtectionCounts(
        np.array(counts, dtype=np.int64).reshape(1 + coded.flags.shape[1], -1)[:, orbits]
    )
