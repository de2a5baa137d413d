"""Departures are invisible: nothing that is shown of a place changes because its owner left."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.audit.sequence import Promise, SequenceAuditor
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from tests.ktsafe.sequence import naive
from tests.ktsafe.sequence.test_audited import audited
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

LEAVING = {"ties": 2, "leaves": 4, "joins": 2}
MOVING = {"ties": 2, "moves": 60}
Release = naive.Release
UNCHANGED, GONE = "unchanged", "gone"


def changes(before: Release, after: Release, ids: list[int]) -> dict[int, tuple[object, ...]]:
    """Return what is visibly different of some ids: values, and kinds of neighbours."""
    (old, old_ties), (new, new_ties) = before, after
    found: dict[int, tuple[object, ...]] = {}
    for v in ids:
        gained = Counter(new[u][:-1] for u in new_ties.get(v, set()) - old_ties[v])
        lost = Counter(old[u][:-1] for u in old_ties[v] - new_ties.get(v, set()))
        values = UNCHANGED if new.get(v) == old[v] else (old[v], new[v]) if v in new else GONE
        found[v] = (values, frozenset(gained.items()), frozenset(lost.items()))
    return found


def owners(sequence: SequenceEngine) -> dict[int, int]:
    """Return the person behind each published id."""
    released = sequence.released()
    keys = released.keys.tolist()
    return {i: key for i, key in zip(released.ids.tolist(), keys, strict=True) if key >= 0}


@pytest.mark.parametrize("activity", [LEAVING, MOVING])
def test_who_leaves_is_as_hard_to_find_as_who_stays(activity: dict[str, int]) -> None:
    """No value of the place changes; it vanishes, gains or loses only as k of its kind do."""
    world, rng = World(160, 300, 5, sensitive=0.3), np.random.default_rng(0)
    sequence = world.begin()
    n_left = n_changed = 0
    for _ in range(10):
        before, was = naive.published(sequence), owners(sequence)
        step = sequence.advance(world.change(**activity), rng)
        after, now = naive.published(sequence), owners(sequence)
        left = sorted(i for i, key in was.items() if now.get(i) != key)
        assert sorted(step.vacated.tolist()) == left
        for own in left:
            alike = [v for v, shown in before[0].items() if shown[:-1] == before[0][own][:-1]]
            change = changes(before, after, alike)
            assert change[own][0] in (UNCHANGED, GONE)
            if change[own] != (UNCHANGED, frozenset(), frozenset()):
                n_changed += 1
                assert sum(x == change[own] for x in change.values()) >= PARAMS.k
        n_left += len(left)
    assert n_left >= 10
    assert n_changed


def kept_of(sequence: SequenceEngine, first: Release, ids: list[int]) -> list[float]:
    """Return which share of the neighbours that ids had in a release they have now."""
    ties, former = naive.published(sequence)[1], first[1]
    return [len(former[v] & ties.get(v, set())) / max(1, len(former[v])) for v in ids]


def test_a_leaver_looks_like_the_stayer_it_would_have_been() -> None:
    """Twin sequences, one without three people: their places keep as many neighbours in both.

    Beside all other places, over five releases, through dark turns and new plans.
    """
    apart = np.zeros((6, 5))
    for seed in range(len(apart)):
        world = World(120, 400, seed)
        begun = world.begin(max_age=3, sybil_margin=0, margin=0)
        pages, first = dict(begun.pages()), naive.published(begun)
        behind = {key: own for own, key in owners(begun).items()}
        left = np.random.default_rng(seed).choice(sorted(behind), 3, replace=False).tolist()
        places = [behind[key] for key in left]
        others = [own for own in behind.values() if own not in places]
        for sign, leavers in ((1, left), (-1, [])):
            twin = SequenceEngine.from_pages(dict(pages))
            for release in range(apart.shape[1]):
                gone = Changes(left=np.array([] if release else leavers, dtype=np.int64))
                twin.advance(gone, np.random.default_rng([seed, release]))
                beside = float(np.mean(kept_of(twin, first, others)))
                mine = float(np.mean(kept_of(twin, first, places)))
                apart[seed, release] += sign * (mine - beside)
    # Six pairs of twins differ by .06 at most; where a leaver's ties do not return, by .3 to .5.
    assert np.abs(apart.mean(axis=0)).max() < 0.15


def test_what_was_vacated_is_undone_with_the_release() -> None:
    """The list is of the last release only, and the same after recovery from pages."""
    world = World(60, 90, 7)
    sequence = world.begin()
    again = SequenceEngine.from_pages(dict(sequence.pages()))
    change = world.change(leaves=3)
    steps = [s.advance(change, np.random.default_rng(1)) for s in (sequence, again)]
    assert steps[0].vacated.tolist() == steps[1].vacated.tolist()
    assert len(steps[0].vacated) > 0
    nothing = sequence.advance(world.change(ties=0), np.random.default_rng(2))
    assert nothing.vacated.tolist() == []


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 14), st.sampled_from(["well", "ill", "hurt", "-", "left", "y"])),
        min_size=10,
        max_size=40,
    ),
    st.integers(1, 5),
)
def test_the_auditor_refuses_no_release_for_a_value(
    events: list[tuple[int, str]], per_release: int
) -> None:
    """Whatever is updated, hidden, moved or left: no place that was left changes alone."""
    people = dict.fromkeys(range(15), ("x", "1", "well"))
    first = Changes(joined=np.arange(15), joined_values=list(people.values()))
    options = SequenceOptions(effort="fast", margin=0)
    sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, first, np.random.default_rng(0))
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    assert auditor.extend(audited(sequence)).is_safe
    for start in range(0, len(events), per_release):
        left, changed = set(), {}
        for key, what in events[start : start + per_release]:
            if key not in people or key in left:
                continue
            if what == "left":
                left.add(key)
            else:
                a, b, s = changed.get(key, people[key])
                changed[key] = (what, b, s) if what == "y" else (a, b, what)
        changed = {key: values for key, values in changed.items() if key not in left}
        people = {key: x for key, x in (people | changed).items() if key not in left}
        changes = Changes(
            left=np.array(sorted(left), dtype=np.int64),
            changed=np.array(sorted(changed), dtype=np.int64),
            changed_values=[changed[key] for key in sorted(changed)],
        )
        sequence.advance(changes, np.random.default_rng(start))
        found = auditor.extend(audited(sequence)).violations
        assert all(each.kind.startswith("linked_") for each in found), found


@pytest.mark.parametrize("stays", [False, True])
def test_company_is_never_kept_by_a_place_that_was_left_alone(stays: bool) -> None:
    """Who hides behind a "-" that is there already changes nothing, so company would be alone."""
    first = Changes(joined=np.arange(6), joined_values=[("x", "1", "well")] * 6)
    options = SequenceOptions(effort="fast", margin=0)
    params = dataclasses.replace(PARAMS, k=6, alpha=Fraction(1, 6))
    sequence = SequenceEngine.begin(SCHEMA, params, options, first, np.random.default_rng(0))
    steps = [{0: "ill"}, {1: "-"}, {} if stays else {2: "-", 3: "-"}, {1: "ill"}]
    left = [[], [], [4, 5] if not stays else [3, 4, 5], []]
    for i, (values, gone) in enumerate(zip(steps, left, strict=True)):
        before = naive.published(sequence)[0]
        changes = Changes(
            left=np.array(gone, dtype=np.int64),
            changed=np.array(sorted(values), dtype=np.int64),
            changed_values=[("x", "1", values[key]) for key in sorted(values)],
        )
        sequence.advance(changes, np.random.default_rng(i))
    after = naive.published(sequence)[0]
    owned = owners(sequence)
    changed = [v for v in after if after[v] != before[v]]
    assert bool(changed) == stays
    assert any(v in owned for v in changed) == stays
    assert all(after[v][-1] == "-" for v in changed)
