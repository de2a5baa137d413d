"""The auditor against the definition, set by set, after every prefix of random sequences."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import Promise, SequenceAuditor, profiles
from tests.ktsafe.audit.sequence.naive_sequence import (
    Plain,
    changed_alike,
    histories,
    k_deltas,
    people_among,
    published_view,
    small_params,
)


def counted(findings):
    return {violation.kind: violation.count for violation in findings.violations}


@settings(max_examples=150, deadline=None)
@given(histories(), small_params())
def test_nobody_who_fails_by_the_definition_passes(history, params):
    """Who fails k over any set W is told, and who fails alpha has no certificate."""
    auditor = SequenceAuditor(Promise("all", cover=True), examples_max=100)
    for i in range(len(history)):
        prefix = history[: i + 1]
        found = counted(auditor.extend(prefix[-1].audited(i, params)))
        view = published_view(prefix, params)
        few, rich = view.failing(params, len(prefix))
        told_few = found.get("too_few_candidates", 0)
        assert told_few == len(few)
        assert told_few + found.get("undecided", 0) >= len(few | rich)
        deltas = k_deltas(prefix, params)
        assert found.get("change_uncovered", 0) == sum(x < params.k for x in deltas.values())


@settings(max_examples=150, deadline=None)
@given(histories(relink=True), small_params(), st.randoms(use_true_random=False))
def test_people_among_candidates_are_counted_as_they_are_today(history, params, rng):
    """How many candidates of all releases are people, and sensitive ones, wherever values stand."""
    auditor = SequenceAuditor(Promise("all", cover=True))
    for i in range(len(history)):
        prefix = [r for r in history[: i + 1] if r.sequence_id == history[i].sequence_id]
        release = history[i].audited(i, params)
        value_at = list(range(len(release.ids)))
        rng.shuffle(value_at)
        release = dataclasses.replace(release, value_at=np.array(value_at, dtype=np.int64))
        at = {v: release.ids[place] for v, place in zip(release.ids, value_at, strict=True)}
        figures = auditor.extend(release).figures.published
        found = people_among(prefix, params, at)
        counts = [len(people) for people, _ in found.values()]
        counted = figures.candidates_real_leavers_known
        assert counted.vertices == len(counts)
        assert counted.min == min(counts, default=None)
        assert counted.below_k == sum(x < params.k for x in counts)
        shares = [Fraction(len(ill), len(people)) for people, ill in found.values()]
        of_people = figures.alpha_real_leavers_known
        assert of_people.above_alpha == sum(x > params.alpha for x in shares)
        assert of_people.max == (round(float(max(shares)), 6) if shares else None)


@settings(max_examples=150, deadline=None)
@given(histories(), small_params())
def test_former_changes_are_judged_with_the_candidates_of_today(history, params):
    """Whenever a release is added: how many changed alike, how sensitive, and who lost cover."""
    auditor = SequenceAuditor(Promise("all", cover=True), examples_max=100)
    covered: dict[tuple[int, str], int] = {}
    for i in range(len(history)):
        prefix = history[: i + 1]
        findings = auditor.extend(prefix[-1].audited(i, params))
        ever = {v for release in prefix for v, flag in release.sensitive.items() if flag}
        alike = {
            (at, v): who
            for at in range(1, len(prefix))
            for v, who in changed_alike(prefix, params, at).items()
        }
        figures = findings.figures.changes
        numbers = [len(who) for who in alike.values()]
        shares = [Fraction(len(who & ever), len(who)) for who in alike.values()]
        assert figures.k_delta_all.vertices == len(numbers)
        assert figures.k_delta_all.min == min(numbers, default=None)
        assert figures.k_delta_all.below_k == sum(x < params.k for x in numbers)
        assert figures.alpha_alike.above_alpha == sum(x > params.alpha for x in shares)
        lost = {
            v for (at, v), x in covered.items() if x >= params.k and len(alike[at, v]) < params.k
        }
        assert counted(findings).get("cover_lost", 0) == len(lost)
        covered = {key: len(who) for key, who in alike.items()}


@settings(max_examples=60, deadline=None)
@given(histories(), small_params(), st.integers(1, 5))
def test_locations_compared_in_parts_are_those_compared_together(history, params, at_once):
    """However many pairs are compared at a time, by however many threads, what is found stays."""
    found = []
    for workers, pairs in ((1, profiles.PAIRS_AT_ONCE), (1, at_once), (3, at_once)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(profiles, "PAIRS_AT_ONCE", pairs)
            auditor = SequenceAuditor(Promise("all", cover=True), workers=workers)
            each = [auditor.extend(release.audited(i, params)) for i, release in enumerate(history)]
            found.append(([(one.violations, one.figures) for one in each], auditor.work))
    assert found[0] == found[1] == found[2]


def split_after_a_change() -> list[Plain]:
    """Return a sequence in which a, c gain one tie and b, d another, and then a and b move."""
    people = (
        dict.fromkeys("abcd", ("x",))
        | dict.fromkeys("efgh", ("y",))
        | dict.fromkeys("ijkl", ("z",))
    )
    moved = people | dict.fromkeys("ab", ("w",))
    ties = {frozenset(pair) for pair in ("ae", "cf", "bi", "dj", "eg", "fh", "ik", "jl")}
    return [
        Plain("s", tuples, dict.fromkeys(people, False), edges, dict.fromkeys(people), 1)
        for tuples, edges in ((people, set()), (people, ties), (moved, ties))
    ]


def test_a_later_split_that_separates_who_changed_alike_is_found():
    """All have two candidates in every release and together, and two alike when they changed."""
    history = split_after_a_change()
    params = PrivacyParams(k=2, t=1, epsilon=10, alpha=1)
    auditor = SequenceAuditor(Promise("all", cover=True))
    for i, release in enumerate(history[:2]):
        assert auditor.extend(release.audited(i, params)).violations == ()
    trial = auditor.copy()
    findings = trial.extend(history[2].audited(2, params))
    (violation,) = findings.violations
    assert (violation.kind, sorted(violation.examples)) == ("cover_lost", list("abcd"))
    assert findings.figures.changes.k_delta.vertices == 0
    assert findings.figures.changes.k_delta_all.min == 1
    # Whoever goes on from there is not told of it twice, and figures still do.
    findings = trial.extend(history[2].audited(3, params))
    assert findings.violations == ()
    assert findings.figures.changes.k_delta_all.below_k == 4
    # The copy was a trial: what was audited before goes on untouched.
    assert auditor.extend(history[1].audited(2, params)).violations == ()


@settings(max_examples=100, deadline=None)
@given(histories(), small_params())
def test_candidate_sets_and_atoms_are_those_of_the_definition(history, params):
    """CS_all is the intersection itself; atoms are the vertices that no release tells apart."""
    auditor = SequenceAuditor()
    for i in range(len(history)):
        prefix = history[: i + 1]
        auditor.extend(prefix[-1].audited(i, params))
        view = published_view(prefix, params)
        names = list(auditor._numbering)
        candidates = auditor._published
        assert {names[v] for v in candidates.known} == view.objects
        atoms = {names[v]: int(candidates.atom_of[v]) for v in candidates.known}
        pairs = candidates.pairs
        everything = tuple(range(len(prefix)))
        for v in view.objects:
            row = slice(pairs.pointer[atoms[v]], pairs.pointer[atoms[v] + 1])
            similar = set(pairs.member[row].tolist())
            found = {u for u in view.objects if atoms[u] in similar}
            assert found == view.candidates(v, everything)
            alike = {u for u in view.objects if view.history(u) == view.history(v)}
            assert {u for u in view.objects if atoms[u] == atoms[v]} == alike


@settings(max_examples=100, deadline=None)
@given(histories(relink=True), small_params())
def test_newcomers_are_counted_with_the_real_candidates_of_their_first_release(history, params):
    """Who has an owner and is shown first, after a sequence's first release, and who is like it."""
    auditor = SequenceAuditor(Promise("all", cover=False))
    for i in range(len(history)):
        last = history[i]
        found = auditor.extend(last.audited(i, params)).figures.newcomers
        own = [r for r in history[: i + 1] if r.sequence_id == last.sequence_id]
        former = set().union(*(r.tuples for r in own[:-1]))
        people = {v for v, owner in last.owners.items() if owner is not None}
        view, whole = published_view(own, params), tuple(range(len(own)))
        real = [
            len(view.candidates(v, whole) & people)
            for v in (people - former if len(own) > 1 else ())
        ]
        assert found.vertices == len(real)
        assert found.min == min(real, default=None)
        assert found.below_k == sum(x < params.k for x in real)
