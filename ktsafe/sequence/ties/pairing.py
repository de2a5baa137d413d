"""Perfect matchings that avoid the edges which are there already, or were a moment ago."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ktsafe.sequence.memory.state import State, Tie

ORDERS_MAX = 20
TRIES_MAX = 60
NEAR_MAX = 8


def matched_by_slack(
    state: State,
    classes: Tie,
    sides: list[list[int]],
    losing: Collection[int],
    rng: np.random.Generator,
) -> list[Tie] | None:
    """Match the places of two sides with each other, or those of a single side among themselves.

    Parameters
    ----------
    classes:
        The class of each side; equal for a single one.
    sides:
        Places, equally many on either side, or an even number.
    losing:
        Places that lose an inserted edge between these classes in the same move.

    Returns
    -------
    New edges, or None where random exchanges find none.
    """
    for _ in range(ORDERS_MAX):
        orders = [
            by_slack(state, side, cls, losing, rng)
            for side, cls in zip(sides, reversed(classes), strict=False)
        ]
        left, right = orders if len(orders) > 1 else (orders[0][::2], orders[0][1::2])
        pairs = paired(state, left, right, rng)
        if pairs is not None:
            return pairs
    return None


def by_slack(
    state: State, places: list[int], cls: int, losing: Collection[int], rng: np.random.Generator
) -> list[int]:
    """Order places that gain a neighbour of a class by what their cohorts can lose of it then.

    An edge between a cohort all of whose members could lose one and a cohort of which some could
    not cannot be taken back, so cohorts with slack are matched with one another. Members of a
    cohort stay together: the fewer cohorts depend on each other, the more can be lowered.
    """
    gaining, given_up = set(places), set(losing)
    own: dict[int, int] = {}
    slack: dict[int, int] = {}
    for label in sorted({state.cohort(place) for place in places}):
        for place in state.members[label]:
            inserted = sum(
                state.cls_of[other] == cls and not state.is_true(edge)
                for other, edge in state.adjacent[place].items()
            )
            own[place] = inserted + (place in gaining) - (place in given_up)
        slack[label] = min(own[place] for place in state.members[label])
    turn = dict(zip(slack, rng.random(len(slack)).tolist(), strict=True))
    noise = rng.random(len(places)).tolist()
    keyed = []
    for place, own_noise in zip(places, noise, strict=True):
        label = state.cohort(place)
        keyed.append((slack[label], turn[label], own[place], own_noise, place))
    return [place for *_, place in sorted(keyed, reverse=True)]


def paired(
    state: State, left: list[int], right: list[int], rng: np.random.Generator
) -> list[Tie] | None:
    """Match every place of `left` with one of `right` that it has no edge to, in order if possible.

    Returns None where random exchanges find none; `left` and `right` may not overlap.
    """
    partner = list(right)
    n = len(left)
    for i in range(n):
        if not _clash(state, left[i], partner[i]):
            continue
        for j in _candidates(n, i, rng):
            if (
                j != i
                and not _clash(state, left[i], partner[j])
                and not _clash(state, left[j], partner[i])
            ):
                partner[i], partner[j] = partner[j], partner[i]
                break
        else:
            return None
    return list(zip(left, partner, strict=True))


def _candidates(n: int, i: int, rng: np.random.Generator) -> list[int]:
    """Return positions to exchange i with: near ones first, then random ones."""
    near = [j for d in range(1, NEAR_MAX + 1) for j in (i - d, i + d) if 0 <= j < n]
    return near + [int(j) for j in rng.integers(0, n, TRIES_MAX)]


def _clash(state: State, u: int, v: int) -> bool:
    """Whether there can be no new edge; one that vanished in this release would not be new."""
    return u == v or v in state.adjacent[u] or (min(u, v), max(u, v)) in state.lost
