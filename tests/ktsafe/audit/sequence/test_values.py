"""Changed values: counted as the definition says, and found where they tell that somebody left."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.audit.sequence import Promise, SequenceAuditor
from tests.ktsafe.audit.sequence import sticky
from tests.ktsafe.audit.sequence.naive_sequence import (
    Plain,
    histories,
    small_params,
    telling_values,
    values_alike,
)

TEXTS = {True: ("ill", "hurt"), False: ("well", "-")}


def with_texts(history: list[Plain], seed: int) -> list[Plain]:
    """Let every vertex show a text, which changes now and then, and some places be left."""
    rng = random.Random(seed)
    text: dict[str, str] = {}
    for release in history:
        for v, is_sensitive in release.sensitive.items():
            if text.get(v) not in TEXTS[is_sensitive] or rng.random() < 0.3:
                text[v] = rng.choice(TEXTS[is_sensitive])
        release.texts = {v: text[v] for v in release.tuples}
        release.vacated = tuple(v for v in sorted(release.tuples) if rng.random() < 0.1)
    return history


@settings(max_examples=200, deadline=None)
@given(histories(relink=True), small_params(), st.none() | st.integers(0, 2**32))
def test_every_prefix_is_judged_as_the_definition_says(history, params, seed):
    """Who changed alike, and whose change tells a departure, is who does naively."""
    if seed is not None:
        history = with_texts(history, seed)
    auditor = SequenceAuditor(Promise("all", cover=True), examples_max=100)
    for i, release in enumerate(history):
        found = auditor.extend(release.audited(i, params))
        own = [each for each in history[: i + 1] if each.sequence_id == release.sequence_id]
        now = [len(who) for who in values_alike(own, params, len(own) - 1).values()]
        figures = found.figures.values.k_value
        assert (figures.vertices, figures.min) == (len(now), min(now, default=None))
        every = [
            len(who) for at in range(1, len(own)) for who in values_alike(own, params, at).values()
        ]
        assert found.figures.values.k_value_all.vertices == len(every)
        below = sum(x < params.k for x in every)
        assert found.figures.values.k_value_all.below_k == below
        counted = {violation.kind: violation.count for violation in found.violations}
        assert counted.get("value_uncovered", 0) == len(telling_values(own, params))


def departing(
    changes: dict[str, str], left: set[str], exchanged: dict[str, str] | None = None
) -> list[str]:
    """Return the kinds found if, at the third release, owners left and some values changed.

    `exchanged` says where the values of some stand; others are in place.
    """
    steps = sticky.sticky(3)
    auditor = SequenceAuditor(Promise("all", cover=True))
    kinds: list[str] = []
    for i, step in enumerate(steps):
        release = step.release
        release.texts = {v: "ill" if flag else "well" for v, flag in release.sensitive.items()}
        if i == 2:
            release.texts |= changes
            release.sensitive |= {v: text == "ill" for v, text in changes.items()}
            release.owners |= dict.fromkeys(left)
        judged = release.audited(i, sticky.PARAMS)
        if exchanged is not None:
            at = [judged.ids.index(exchanged.get(v, v)) for v in judged.ids]
            judged = dataclasses.replace(judged, value_at=np.array(at))
        found = auditor.extend(judged)
        kinds += [violation.kind for violation in found.violations]
    return kinds


WHO, OTHER = sticky.member(0, 1), sticky.member(0, 2)
COHORT = [sticky.member(0, i) for i in range(sticky.SIZE)]


@pytest.mark.parametrize(
    ("changes", "left", "is_found"),
    [
        ({WHO: "well"}, {WHO}, True),
        ({WHO: "-"}, {WHO}, True),
        ({WHO: "well"}, set(), False),
        ({}, {WHO}, False),
        ({OTHER: "-", WHO: "-"}, {WHO}, False),
        ({OTHER: "-", WHO: "-"}, {WHO, OTHER}, True),
        ({OTHER: "fine", WHO: "fine"}, {WHO}, True),
        (dict.fromkeys([*COHORT, sticky.member(3, 1)], "fine"), {WHO}, True),
        (dict.fromkeys([v for v in COHORT if v != WHO], "fine"), {OTHER}, True),
        (dict.fromkeys(COHORT, "fine"), {OTHER}, True),
    ],
)
def test_a_value_that_changes_with_a_departure_is_found(changes, left, is_found):
    """Alone, or with too few: found. A person's own update, or company of one: not."""
    assert ("value_uncovered" in departing(changes, left)) == is_found


@pytest.mark.parametrize(
    ("changed", "left", "is_found"),
    [
        (WHO, WHO, False),
        (OTHER, WHO, True),
        (WHO, OTHER, True),
        (OTHER, OTHER, False),
    ],
)
def test_of_exchanged_values_the_person_counts_whose_it_is(changed, left, is_found):
    """The place of a leaver may show another value; that of the leaver's value may not."""
    swapped = {WHO: OTHER, OTHER: WHO}
    kinds = departing({changed: "fine"}, {left}, swapped)
    assert ("value_uncovered" in kinds) == is_found


def test_what_left_may_be_said_where_owners_are_erased():
    """The service blanks past mappings: then the private audit says which places were left."""
    for vacated, is_safe in ((), True), ((WHO,), False):
        auditor = SequenceAuditor(Promise("all", cover=True))
        steps = sticky.sticky(2)
        for step in steps:
            step.release.owners[WHO] = None
            step.release.texts = dict.fromkeys(step.release.tuples, "well")
            step.release.sensitive = dict.fromkeys(step.release.tuples, False)
        steps[1].release.texts[WHO] = "fine"
        steps[1].release.vacated = vacated
        found = [auditor.extend(s.release.audited(i, sticky.PARAMS)) for i, s in enumerate(steps)]
        assert found[-1].is_safe == is_safe


def test_a_release_without_anybody_is_judged_when_people_left():
    """Nobody is shown any more, and it is said whose places were left: no type goes wrong."""
    auditor = SequenceAuditor(Promise("all", cover=True))
    first = sticky.sticky(2)[0].release
    assert auditor.extend(first.audited(0, sticky.PARAMS)).is_safe
    nobody = Plain(first.sequence_id, {}, {}, set(), {}, first.n_attributes, vacated=(WHO,))
    auditor.extend(nobody.audited(1, sticky.PARAMS))
    assert auditor.n_releases == 2
