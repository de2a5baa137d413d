"""Inserted members are given the ties of people of their cohort, gathered where they are few."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.exact.dummy_ties import GATHERED_WEIGHT, DummyTies, dummy_ties
from ktsafe.exact.pair_program import Pair

SIZE = 5
"""Members of every cohort but the first, which has `FIRST`."""

FIRST = 3


def pair_of(ties: set[tuple[int, int]], n_a: int, n_b: int) -> Pair:
    """Return a pair of classes with so many cohorts; one class if n_b is 0."""
    sizes = np.array([FIRST] + [SIZE] * (n_a + n_b - 1))
    edges = np.array(sorted(ties), dtype=np.int32).reshape(-1, 2)
    return Pair.in_order(sizes, n_a, edges, np.ones(len(edges)))


def drawn(pair: Pair, inserted: list[int], seed: int, *, share: float = 1.0) -> DummyTies:
    """Return dummy ties of the given members, who show nothing yet."""
    is_inserted = np.isin(np.arange(len(pair.cohort)), inserted)
    return dummy_ties(pair, is_inserted, pair.edges[:0], share, np.random.default_rng(seed))


def neighbours(edges: np.ndarray, v: int) -> set[int]:
    """Return the other ends of the edges at v."""
    return {b if a == v else a for a, b in edges.tolist() if v in (a, b)}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), is_one=st.booleans(), share=st.sampled_from([0.0, 1.0]))
def test_where_ties_are_many_they_are_copies(seed: int, is_one: bool, share: float) -> None:
    """An inserted member has the very neighbours of a person of its cohort, each for one tie."""
    rng = np.random.default_rng(seed)
    everybody = range(FIRST + 3 * SIZE)
    near = [0, 1, *everybody[FIRST : FIRST + SIZE]]
    far = everybody[FIRST:] if is_one else everybody[FIRST + SIZE :]
    ties = {(min(u, v), max(u, v)) for u in near for v in far if u != v and rng.random() < 0.6}
    # Everybody at the other side has a tie.
    ties |= {(min(FIRST, v), max(FIRST, v)) for v in far if v != FIRST}
    pair = pair_of(ties, 4, 0) if is_one else pair_of(ties, 2, 2)
    found, weight = drawn(pair, [2], seed, share=share)
    assert neighbours(found, 2) in [neighbours(pair.edges, person) for person in (0, 1)]
    assert len(neighbours(found, 2)) == len(found)
    assert (weight == 1).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_ties=st.integers(1, 8))
def test_few_ties_are_gathered_in_whole_cohorts(seed: int, n_ties: int) -> None:
    """Every member of a cohort gets one before any gets another, and they weigh more.

    Only cohorts with a tie of a person are chosen: it has one in each of so many cohorts, and two
    inserted members are beside it.
    """
    rng = np.random.default_rng(seed)
    ends = FIRST + SIZE * rng.permutation(16)[:n_ties] + rng.integers(0, SIZE, n_ties)
    pair = pair_of({(0, v) for v in ends.tolist()}, 1, 16)
    found, weight = drawn(pair, [1, 2], seed)
    assert (weight == GATHERED_WEIGHT).all()
    assert set(found[:, 0].tolist()) == {1, 2}
    assert n_ties < len(found) <= 2 * n_ties
    count = Counter(found[:, 1].tolist())
    chosen = set(pair.cohort[found[:, 1]].tolist())
    assert chosen <= set(pair.cohort[ends].tolist())
    members = [[count[v] for v in np.flatnonzero(pair.cohort == c).tolist()] for c in chosen]
    assert sum(min(each) != max(each) for each in members) <= 1


def test_gathered_ties_are_where_people_have_theirs() -> None:
    """Of two cohorts one has thrice the ties of the other: so it has of the gathered ends."""
    ends = [FIRST, FIRST + 1, FIRST + 2, FIRST + SIZE]
    pair = pair_of({(0, v) for v in ends} | {(1, v) for v in ends}, 1, 3)
    pair.sizes[1:] = 20  # so that ties are few
    found = [drawn(pair, [2], seed).ties[:, 1] for seed in range(400)]
    assert abs(np.mean(pair.cohort[np.concatenate(found)] == 1) - 0.75) < 0.06


def test_gathered_ties_are_so_many_as_are_shown_of_people() -> None:
    """All of them can be shown: of ten ties of a person, half are dummies at a share of half."""
    ends = range(FIRST, FIRST + 10 * SIZE, SIZE)
    pair = pair_of({(person, v) for person in (0, 1) for v in ends}, 1, 10)
    counts = [len(drawn(pair, [2], seed, share=0.5).ties) for seed in range(200)]
    assert 4.5 < np.mean(counts) < 5.5
    assert not len(drawn(pair, [2], 0, share=0.0).ties)


def test_a_cohort_without_people_has_none() -> None:
    """There is nobody whose ties could be copied."""
    pair = pair_of({(FIRST, FIRST + SIZE)}, 2, 1)
    assert not len(drawn(pair, list(range(FIRST)), 0).ties)
