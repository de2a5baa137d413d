"""Rotation and lowering: inserted edges are exchanged for others, and taken back.

Between two classes, inserted edges are dropped that match vertices with one another; among the
same vertices other edges are released instead, ties that are held back before all. Who loses one
neighbour and gains another of the same class *rotates*: no location changes, so any k members of a
cohort may do so, and a tie that goes in this way costs nothing. Where all members of a cohort lose
one and gain none, it is *lowered*: the counterpart of a raise.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.gate.cover import visible_changes
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.ties import _rotating_core as core
from ktsafe.sequence.ties.pairing import matched_by_slack
from ktsafe.sequence.ties.pool import Kinds, Pool, pool_of

CHANCES = 4096
"""Random numbers for a choice of groups."""

ROUNDS_MAX = 3
"""Rotations between two classes in one release."""


def rotate(state: State, pairs: set[Tie], least: int, rng: np.random.Generator) -> None:
    """Rotate ties in and lower cohorts, between the given pairs of classes and those with ties.

    Parameters
    ----------
    least:
        Members of a cohort that must visibly change alike.
    """
    kinds = Kinds(state, visible_changes(state))
    # Where most can be taken back comes first: of a cohort of which some have changed, fewer than
    # `least` others may be left, and these can do nothing more in this release.
    by_edges = sorted(
        pairs | state.held_between.keys(),
        key=lambda pair: (-len(state.between.get(pair, ())), pair),
    )
    for pair in by_edges:
        for _ in range(ROUNDS_MAX):
            pool = pool_of(state, pair, kinds, least, rng)
            if pool is None or not _rotate_once(state, pool, kinds, rng):
                break


def _rotate_once(state: State, pool: Pool, kinds: Kinds, rng: np.random.Generator) -> bool:
    """Drop a matching of the pool and release what takes its place; return whether that helped."""
    # Step 1: which vertices lose an edge.
    rows, ties = _held_ties(state, pool)
    mate, served = core.covering(
        *pool.compressed(), pool.part, pool.need, pool.size, ties, rng.random(CHANCES)
    )
    published = [(row, *tie) for row, tie in zip(rows, ties.tolist(), strict=True)]
    published = [
        tie for tie, is_served in zip(published, served.tolist(), strict=True) if is_served
    ]
    busy = {pool.cohort[pool.part[end]] for _, *ends in published for end in ends}
    # Step 2: which of them gain none.
    lowered = _lowered(state, pool, mate, busy)
    dropped = _linked(pool, mate, busy | lowered)
    if not dropped:
        return False
    # Step 3: what the others gain.
    tied = {end for _, *ends in published for end in ends}
    sides: list[list[int]] = [[], []]
    for end in sorted(end for edge in dropped for end in edge):
        if end not in tied and pool.cohort[pool.part[end]] not in lowered:
            sides[state.cls(pool.places[end]) != pool.pair[0]].append(pool.places[end])
    losing = [pool.places[end] for edge in dropped for end in edge]
    sides = sides[: len(set(pool.pair))]
    replacements = matched_by_slack(state, pool.pair, sides, losing, rng)
    if replacements is None:
        return False
    # Step 4: all at once.
    for u, v in dropped:
        state.drop_edge(state.adjacent[pool.places[u]][pool.places[v]])
    for row, u, v in published:
        state.unhold(row)
        state.add_edge(pool.places[u], pool.places[v], is_true=True)
    for u, v in replacements:
        state.add_edge(u, v, is_true=False)
    for place in losing:
        kinds.add(place, (pool.pair, state.cohort(place) in lowered))
    state.count("rotated", len(published))
    state.count("replaced", len(replacements))
    state.count("lowered", len(dropped) - len(published) - len(replacements))
    return True


def _held_ties(state: State, pool: Pool) -> tuple[list[int], NDArray[np.int64]]:
    """Return the ties that are held back between vertices of the pool, the oldest first."""
    number = {place: i for i, place in enumerate(pool.places)}
    rows, ties = [], []
    for row in sorted(
        state.held_between.get(pool.pair, ()),
        key=lambda row: (state.held.get(row, st.HELD_SINCE), row),
    ):
        u, v = state.held_places(row)
        is_new = v not in state.adjacent[u] and (min(u, v), max(u, v)) not in state.lost
        if u in number and v in number and is_new:
            rows.append(row)
            ties.append((number[u], number[v]))
    return rows, np.array(ties, dtype=np.int64).reshape(-1, 2)


def _lowered(state: State, pool: Pool, mate: NDArray[np.int64], busy: set[int]) -> set[int]:
    """Return cohorts to lower: covered as a whole, equally many members of either class."""
    covered: defaultdict[int, int] = defaultdict(int)
    for part in pool.part[mate >= 0].tolist():
        covered[pool.cohort[part]] += 1
    sides: dict[int, dict[int, int]] = {cls: {} for cls in pool.pair}
    for label, count in sorted(covered.items()):
        if label not in busy and count == len(state.members[label]):
            sides[state.cls(state.members[label][0])][label] = count
    reached = [_subset_sums(side) for side in sides.values()]
    if len(reached) == 1:
        total = max(total for total in reached[0] if total % 2 == 0)
    else:
        total = max(reached[0].keys() & reached[1].keys())
    return {label for sums in reached for label in sums[total]}


def _subset_sums(sizes: dict[int, int]) -> dict[int, list[int]]:
    """Return every sum that some of the sizes make, with the labels that make it."""
    sums: dict[int, list[int]] = {0: []}
    for label, size in sizes.items():
        for total, labels in list(sums.items()):
            sums.setdefault(total + size, [*labels, label])
    return sums


def _linked(pool: Pool, mate: NDArray[np.int64], wanted: set[int]) -> list[Tie]:
    """Return the matched edges that the wanted cohorts depend on, directly or through others."""
    edges = [(u, v) for u, v in enumerate(mate.tolist()) if u < v]
    links: defaultdict[int, set[int]] = defaultdict(set)
    for u, v in edges:
        a, b = pool.cohort[pool.part[u]], pool.cohort[pool.part[v]]
        links[a].add(b)
        links[b].add(a)
    reached, front = set(wanted), list(wanted)
    while front:
        new = links[front.pop()] - reached
        reached |= new
        front += new
    return [(u, v) for u, v in edges if pool.cohort[pool.part[u]] in reached]
