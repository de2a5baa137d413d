"""Exchange of sensitive values within groups: a place hides its value's owner.

Which member gets whose is drawn uniformly among all permutations of the group. So whoever knows the
values of a whole group, and the place of none, learns of no place more than that. If everybody got
another one's (a derangement, a cyclic shift), a place would be known not to be that of a person who
has the value alone.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray


def of_purpose(rng: np.random.Generator, purpose: str) -> np.random.Generator:
    """Return a generator for one purpose.

    It follows from another one, which stays as it is.

    What the other one draws tells nothing of it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(of_purpose(rng, "values").random() == rng.random())
    False
    >>> bool(rng.random() == np.random.default_rng(1).random(2)[1])
    True
    """
    state = json.dumps(rng.bit_generator.state, sort_keys=True, default=lambda each: each.tolist())
    drawn = hashlib.sha256(f"{purpose} {state}".encode()).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big"))


def places_of_values(groups: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return for each member the member of its group showing its value.

    Parameters
    ----------
    groups:
        Integers, shape (n,): the group of each member.

    Examples
    --------
    >>> at = places_of_values(np.array([0, 1, 0, 1]), np.random.default_rng(0))
    >>> sorted(at[[0, 2]].tolist()), sorted(at[[1, 3]].tolist())
    ([0, 2], [1, 3])
    """
    # The order of each group in one permutation of all is uniform, and says nothing of others.
    by_chance = np.lexsort((rng.permutation(len(groups)), groups))
    at = np.empty(len(groups), dtype=np.int64)
    at[np.argsort(groups, kind="stable")] = by_chance
    return at
