"""Sybils: accounts of the attacker are counted out among the candidates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams, Schema
from ktsafe.assess.attacks import Case
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases
from tests.ktsafe.assess.attacks.sybils import left

SCHEMA = Schema(("sex",), "health", frozenset({"ill"}))
K, MARGIN = 4, 2
PARAMS = PrivacyParams(k=K)


def naive_left(case: Case, accounts: set[int]) -> list[int]:
    """Return how many vertices that show the same as each target are not the attacker's."""
    texts = naive.qi_texts(case.released)
    stars = [(texts[v], naive.star(case.released, v, "marginal")) for v in range(len(texts))]
    behind = case.original_of.tolist()
    return [
        sum(stars[u] == stars[v] and behind[u] not in accounts for u in range(len(texts)))
        for v in range(len(texts))
        if behind[v] >= 0 and behind[v] not in accounts
    ]


@settings(max_examples=40, deadline=None)
@given(cases(), st.sets(st.integers(0, 13), max_size=4))
def test_who_is_left_is_counted_pair_by_pair(case: Case, accounts: set[int]) -> None:
    """Those who show the same and are not the attacker's own, the target included."""
    expected = naive_left(case, accounts)
    assert left(case, np.array(sorted(accounts), dtype=int)) == expected


def published(newcomers: int, planted: int) -> tuple[Case, np.ndarray]:
    """Return a release of a sequence to which newcomers and planted accounts came in two slots.

    There is a crowd of others from the beginning, so that somebody is published. Nobody waits until
    others are alike: only until they are enough.
    """
    rng = np.random.default_rng(0)
    crowd = [("f", "well")] * 20
    sequence = SequenceEngine.begin(
        SCHEMA,
        PARAMS,
        SequenceOptions(sybil_margin=MARGIN, birth_wait_max=0),
        joined(0, crowd),
        rng,
    )
    people = [("m", "well")] * (newcomers + planted)
    half = len(people) // 2
    sequence.advance(joined(20, people[:half]), rng)
    sequence.advance(joined(20 + half, people[half:]), rng)
    released = sequence.released()
    texts = [*crowd, *people]
    original = released.graph.from_codes(
        SCHEMA,
        [["f", "m"], ["ill", "well"]],
        np.array([["fm".index(sex), 1] for sex, _ in texts]),
        np.zeros((0, 2), dtype=int),
    )
    # Those planted are among the last: keys are people's numbers here.
    return Case(original, released.graph, released.keys), np.arange(20 + newcomers, len(texts))


def joined(first: int, people: list[tuple[str, str]]) -> Changes:
    """Return people who join, numbered from `first`."""
    none = np.zeros((0, 2), dtype=np.int64)
    return Changes(
        joined=np.arange(first, first + len(people)),
        joined_values=people,
        left=none[:, 0],
        changed=none[:, 0],
        changed_values=[],
        ties_added=none,
        ties_removed=none,
    )


@pytest.mark.parametrize("planted", range(MARGIN + 1))
def test_accounts_within_the_margin_leave_k_candidates(planted: int) -> None:
    """Whatever newcomers are published with, k of their candidates are not the attacker's."""
    for newcomers in range(1, 4 * K):
        case, accounts = published(newcomers, planted)
        assert min(left(case, accounts), default=K) >= K, newcomers


def test_accounts_beyond_the_margin_find_people() -> None:
    """The positive control: with enough accounts of one kind a newcomer is left alone."""
    for planted in range(MARGIN + 1, 4 * K):
        case, accounts = published(1, planted)
        if np.isin(case.original_of, accounts).any():
            assert min(left(case, accounts)) == 1
            break
    else:
        pytest.fail("nobody was published")
