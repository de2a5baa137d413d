"""Cohorts begin with a margin: as many people may leave, and k are left among the candidates.

The oracle counts people from releases and truth alone, by the definition, with no code of ours.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, nbinom

from ktsafe import PrivacyParams
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.sequence_options import margin_for
from ktsafe.sequence.step_context import SequenceSpec
from tests.ktsafe.sequence import naive
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

MARGIN = 2
SLOT = {"ties": 3, "joins": 6, "leaves": 4, "ill": 3, "moves": 3}


class Seen:
    """All releases so far, and whose each place is today."""

    def __init__(self) -> None:
        self.history: list[naive.Release] = []
        self.similar: list[dict[int, set[int]]] = []
        self.owner: dict[int, int] = {}
        self.value_at: dict[int, int] = {}
        self.cohort: dict[int, int] = {}
        self.first: dict[int, set[int]] = {}

    def see(self, sequence: SequenceEngine) -> None:
        """Look at one more release."""
        self.history.append(naive.published(sequence))
        self.similar.append(naive.protection_sets(self.history[-1], PARAMS))
        released = sequence.released()
        ids, keys = released.ids.tolist(), released.keys.tolist()
        assert released.value_at is not None
        self.owner = {v: key for v, key in zip(ids, keys, strict=True) if key >= 0}
        self.value_at = {v: ids[at] for v, at in zip(ids, released.value_at, strict=True)}
        self.cohort = dict(zip(ids, sequence.cohorts().tolist(), strict=True))
        for label in set(self.cohort.values()) - self.first.keys():
            self.first[label] = {v for v in ids if self.cohort[v] == label}

    def people_among(self, v: int) -> set[int]:
        """Return the people who might be v, by all releases since v appeared."""
        found = set(self.owner)
        for similar in self.similar:
            found &= similar[v] if v in similar else self.owner.keys() - similar.keys()
        return found

    def are_sensitive(self, people: set[int]) -> set[int]:
        """Return whose own value was ever shown as sensitive, wherever it stood."""
        ill = SCHEMA.sensitive_values
        ever = {v for shown, _ in self.history for v, values in shown.items() if values[-1] in ill}
        return {v for v in people if self.value_at[v] in ever}

    def lost(self, label: int) -> int:
        """Return how many of those who began a cohort left it."""
        return len(self.first[label] - self.owner.keys())


def followed(margin: int, seed: int = 3, releases: int = 6) -> list[tuple[int, int, int, int]]:
    """Return for each person and release: candidates, sensitive ones, who left, who began.

    Candidates are people; who left and who began are those of the person's cohort.
    """
    world, rng = World(90, 150, seed, sensitive=0.2), np.random.default_rng(seed)
    sequence, seen, rows = world.begin(margin=margin), Seen(), []
    for i in range(releases):
        if i:
            sequence.advance(world.change(**SLOT), rng)
        seen.see(sequence)
        for v in seen.owner:
            people, label = seen.people_among(v), seen.cohort[v]
            n_ill, n_first = len(seen.are_sensitive(people)), len(seen.first[label])
            rows.append((len(people), n_ill, seen.lost(label), n_first))
    return rows


def broken(rows: list[tuple[int, int, int, int]]) -> int:
    """Count who has fewer than k people or too sensitive ones while the margin is not used up."""
    return sum(
        n_people < PARAMS.k or n_ill > PARAMS.alpha * n_people
        for n_people, n_ill, n_lost, _ in rows
        if n_lost < MARGIN
    )


def test_while_a_margin_lasts_k_candidates_are_people_and_alpha_holds_of_them() -> None:
    """Whoever leaves, joins, turns ill or moves; and afterwards it does not, so it is needed."""
    rows = followed(MARGIN)
    assert broken(rows) == 0
    assert {0, 1, MARGIN} <= {n_lost for _, _, n_lost, _ in rows}
    assert min(n_first for *_, n_first in rows) == PARAMS.k + MARGIN - 1


def test_a_margin_that_is_ignored_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cohorts of k people, whatever is asked for: the oracle sees who has fewer."""
    begun = SequenceSpec.of

    def without(*given: object) -> SequenceSpec:
        *others, options = given
        assert isinstance(options, SequenceOptions)
        return begun(*others, dataclasses.replace(options, margin=0))  # type: ignore[arg-type]

    monkeypatch.setattr(SequenceSpec, "of", staticmethod(without))
    assert broken(followed(MARGIN)) > 0


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, 12, 20, 50, 100])
def test_the_default_margin_is_seldom_used_up(size: int) -> None:
    """Where one in twenty leaves at most one cohort in a hundred loses more than its margin."""
    margin = margin_for(size)
    assert binom.sf(margin, size + margin, 1 / 20) < 0.011
    assert size == 1 or binom.sf(margin - 1, size + margin - 1, 1 / 20) > 0.0005


@pytest.mark.parametrize(("margin", "expected"), [(0, 3), (1, 4), (2, 4), (3, 5)])
def test_people_with_few_ties_begin_with_a_greater_margin(margin: int, expected: int) -> None:
    """Cohorts are larger in the half of a class with fewer ties, where there is a margin."""
    sequence = World(300, 900, 1).begin(margin=margin)
    released, cohorts = sequence.released(), sequence.cohorts()
    graph, keys = sequence.truth()
    degree = dict(zip(keys.tolist(), np.diff(graph.indptr).tolist(), strict=True))
    ties = [degree[key] for key in released.keys.tolist()]
    mean_of = np.bincount(cohorts, ties) / np.bincount(cohorts)
    sizes, many = np.bincount(cohorts), mean_of > np.median(mean_of)
    assert sizes.min() == expected
    assert (sizes[~many].mean() - sizes[many].mean() > 1) == (margin > 1)


def test_a_class_stays_whole_where_one_half_is_too_sensitive() -> None:
    """Of 20 people without ties seven are ill, of 20 others nobody: all cohorts bear alpha."""
    values = [("x", "1", "ill" if i < 7 else "well") for i in range(40)]
    ties = [(i, 20 + (i - 20 + step) % 20) for i in range(20, 40) for step in (1, 2)]
    first = Changes(joined=np.arange(40), joined_values=values, ties_added=np.sort(ties))
    options = SequenceOptions(effort="fast", margin=MARGIN, sybil_margin=0)
    sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, first, np.random.default_rng(0))
    cohorts, keys = sequence.cohorts(), sequence.released().keys
    assert len(keys) == 40
    alpha = SequenceSpec.of(SCHEMA, PARAMS, options).forming.alpha
    ill, size = np.bincount(cohorts[keys < 7], minlength=cohorts.max() + 1), np.bincount(cohorts)
    assert (ill * alpha.denominator <= size * alpha.numerator).all()


@pytest.mark.parametrize(
    ("going", "n_changed"),
    [([1] * 4, 0), ([1] * 5, 5), ([6], 0), ([7], 0), ([1] * 8, 8), ([8], 8)],
)
def test_a_group_moves_with_a_margin_and_leaves_k_people_or_none(
    going: list[int], n_changed: int
) -> None:
    """Of a cohort of eight five may go, as three stay; four, six or seven not, and all may."""
    joined = [("x", "1", "well")] * 8
    first = Changes(joined=np.arange(8), joined_values=joined)
    options, rng = SequenceOptions(effort="fast", margin=MARGIN), np.random.default_rng(0)
    sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, first, rng)
    assert len(set(sequence.cohorts().tolist())) == 1
    for people in np.split(np.arange(sum(going)), np.cumsum(going)[:-1]):
        moved = [("y", "1", "well")] * len(people)
        sequence.advance(Changes(changed=people, changed_values=moved), rng)
    released = sequence.released()
    shown = {key: released.graph.values(v)["a"] for v, key in enumerate(released.keys) if key >= 0}
    assert sum(text == "y" for text in shown.values()) == n_changed


def test_how_long_a_margin_lasts_follows_from_who_left_so_far() -> None:
    """It is the release with which the expected number of cohorts below k reaches one."""
    world, rng = World(150, 200, 2), np.random.default_rng(0)
    sequence = world.begin(margin=4)
    assert sequence.figures().margin_lasts is None
    n_left, n_stayed = Counter[int](), Counter[int]()
    for _ in range(2):
        # Who stays until a release has stayed one release more, and so has who leaves with it.
        before = sequence.released()
        n_stayed += Counter(sequence.cohorts()[before.keys >= 0].tolist())
        vacated = sequence.advance(world.change(leaves=3), rng).vacated
        n_left += Counter(sequence.cohorts()[np.isin(sequence.released().ids, vacated)].tolist())
        people = Counter(sequence.cohorts()[sequence.released().keys >= 0].tolist())
        assert min(people.values()) >= PARAMS.k
        lasts = sequence.figures().margin_lasts
        assert lasts is not None
        for releases, is_enough in ((lasts - 1, False), (lasts, True)):
            expected = 0.0
            for label, n in people.items():
                scale = n_stayed[label] + n_stayed.total() / n_left.total()
                share = scale / (scale + n * releases)
                expected += nbinom.sf(n - PARAMS.k, n_left[label] + 1, share)
            assert (expected >= 1) == is_enough
    while min(people.values()) >= PARAMS.k:
        sequence.advance(world.change(leaves=8), rng)
        owners = sequence.released().keys >= 0
        people = Counter(sequence.cohorts()[owners].tolist())
    assert sequence.figures().margin_lasts == 0
    assert world.begin(margin=0).figures().margin_lasts is None


def test_alpha_of_new_cohorts_is_a_share_that_can_be_held() -> None:
    """At most alpha of those who are left, whoever leaves; never nothing, and 1 stays 1."""
    options = SequenceOptions(margin=3)
    for k, alpha, expected in (
        (10, Fraction(1, 5), Fraction(2, 13)),
        (10, Fraction(1), Fraction(1)),
        (3, Fraction(1, 5), Fraction(1, 8)),
        (9_999, Fraction(1, 9_999), Fraction(1, 10_000)),
    ):
        spec = SequenceSpec.of(SCHEMA, PrivacyParams(k=k, alpha=alpha), options)
        assert spec.forming.alpha == expected
        assert spec.forming.group_size_min == spec.forming.k == max(k, int(1 / alpha)) + 3
