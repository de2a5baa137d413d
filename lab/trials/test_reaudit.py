"""The auditor apart finds what it is asked for, and passes what keeps its promise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lab.trials.reaudit import Read, Tally, judge

PROMISE = {"k": 3, "t": "1/10", "alpha": "1/3", "epsilon": 0}
RING = {f"{i}{x}": {f"{i}{y}" for y in "abc" if y != x} for i in range(4) for x in "abc"}
"""Twelve ids in triangles: everybody is alike."""


def release(friends: dict[str, set[str]] = RING, *, ill: str = "", odd: str = "") -> Read:
    """Return a release of people of one kind, some of them ill, one of another kind."""
    kinds = {name: ("odd" if name == odd else "even",) for name in friends}
    flags = {name: name in ill.split() for name in friends}
    return Read("r", PROMISE, kinds, flags, {name: set(them) for name, them in friends.items()})


def without(one: str, two: str) -> dict[str, set[str]]:
    """Return the triangles without one tie."""
    found = {name: set(them) for name, them in RING.items()}
    found[one].discard(two)
    found[two].discard(one)
    return found


def judged(*releases: Read) -> Tally:
    """Judge all windows."""
    return judge(releases, PROMISE)


def test_equal_releases_keep_their_promise() -> None:
    """Three windows of two releases, twelve ids each, and nothing wrong."""
    tally = judged(release(), release())
    assert (tally.violations, tally.judged, tally.least, tally.changes) == (0, 36, 12, 0)


def test_a_release_of_nobody_asks_nothing() -> None:
    """Before anybody is published there is nothing to judge."""
    tally = judged(release({}), release())
    assert (tally.violations, tally.judged) == (0, 24)


def test_a_kind_of_ones_own_leaves_one_candidate() -> None:
    """Somebody odd is alone, and its two neighbours are alike with each other only."""
    tally = judged(release(odd="0a"))
    assert tally.least == 1
    assert tally.below_k == 3


def test_one_release_can_split_what_another_keeps() -> None:
    """Two people of another degree have each other, at that release and in the window."""
    tally = judged(release(), release(without("0a", "0b")))
    assert (tally.below_k, tally.least) == (4, 2)
    assert (tally.changes, tally.alike_below_k, tally.least_alike) == (2, 2, 2)


@pytest.mark.parametrize(("ill", "over"), [("0a 0b 0c 1a", 0), ("0a 0b 0c 1a 1b", 12)])
def test_alpha_is_a_bound_of_the_candidates(ill: str, over: int) -> None:
    """A third of twelve may be ill, and no more; whoever sees it sees it of all of them."""
    tally = judged(release(ill=ill))
    assert tally.above_alpha == over
    assert tally.greatest == Fraction(len(ill.split()), 12)


def test_alpha_is_judged_in_windows_also() -> None:
    """A share that is kept in each release, and not among those who are alike in both.

    At the first release three people are away, who are ill later.
    """
    away = {name: them for name, them in RING.items() if name[0] != "0"}
    tally = judged(release(away), release(ill="0a 0b 0c"))
    assert (tally.above_alpha, tally.greatest) == (3, 1)
    assert tally.below_k == 0


def test_who_changed_alike_is_counted_over_all_releases() -> None:
    """Six people lose a tie together, and a later release splits them into four and two."""
    friends = without("0a", "0b")
    for one, two in (("1a", "1b"), ("2a", "2b")):
        friends[one].discard(two)
        friends[two].discard(one)
    assert judged(release(), release(friends)).alike_below_k == 0
    later = {name: set(them) for name, them in friends.items()}
    later["0a"].discard("0c")
    later["0c"].discard("0a")
    tally = judged(release(), release(friends), release(later))
    assert tally.alike_below_k > 0
    assert tally.least_alike == 1
