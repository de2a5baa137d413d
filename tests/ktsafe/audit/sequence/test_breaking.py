"""A safe sequence passes, and every way of breaking it is seen."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import Declared, Promise, SequenceAuditor
from ktsafe.errors import InvalidGraph, InvalidParams
from tests.ktsafe.audit.sequence.sticky import PARAMS, SIZE, member, round_of, sticky


def kinds(steps, promise=None, *, truth=True, **changes):
    """Return the kinds of violation found in a sequence."""
    auditor = SequenceAuditor(promise)
    found = set()
    for i, step in enumerate(steps):
        release = step.release.audited(i, PARAMS)
        texts = ["yes" if flag else "no" for flag in release.is_sensitive]
        release = dataclasses.replace(release, sensitive_texts=texts, **changes.get(f"at_{i}", {}))
        findings = auditor.extend(release, step.truth() if truth else None)
        found |= {violation.kind for violation in findings.violations}
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_safe_sequence_passes_by_its_certificate(seed):
    """Whole cohorts that change together need no search, and tell nothing by age."""
    auditor = SequenceAuditor(Promise("all", cover=True))
    for i, step in enumerate(sticky(seed=seed)):
        findings = auditor.extend(step.release.audited(i, PARAMS), step.truth())
        assert findings.is_safe, findings.violations
        assert findings.checked.certificate
        assert findings.figures.persistence.age_auc in {None, 0.5}
        assert findings.figures.persistence.survival_auc in {None, 0.5}
        assert findings.figures.published.candidates.min >= SIZE
        changes = findings.figures.changes.k_delta
        assert (changes.vertices > 0) == (i > 0)


def drop_one_tie(steps):
    edge = min(map(sorted, steps[-1].release.edges))
    steps[-1].release.edges.discard(frozenset(edge))


def swap_members_of_two_cohorts(steps):
    """Two people of one tuple and of two cohorts change places in the last release."""
    a, b = member(0, 2), member(3, 2)
    name = {a: b, b: a}
    steps[-1].release.edges = {
        frozenset(name.get(v, v) for v in edge) for edge in steps[-1].release.edges
    }


def a_second_sensitive_member(steps):
    steps[-1].release.sensitive[member(0, 2)] = True


def another_sensitive_member_later(steps):
    """Every release by itself is safe; the ever-sensitive share is not."""
    for step in steps[2:]:
        step.release.sensitive[member(0, 1)] = False
        step.release.sensitive[member(0, 2)] = True


def part_of_a_cohort_leaves(steps):
    release = steps[-1].release
    for i in (3, 4):
        gone = member(0, i)
        for table in (release.tuples, release.sensitive, release.owners):
            del table[gone]
        release.edges = {edge for edge in release.edges if gone not in edge}
        steps[-1].true_edges = {edge for edge in steps[-1].true_edges if gone not in edge}


def too_few_newcomers(steps):
    for i in range(SIZE - 1):
        steps[-1].release.tuples[f"n{i}"] = ("0",)
        steps[-1].release.sensitive[f"n{i}"] = False
        steps[-1].release.owners[f"n{i}"] = f"new person {i}"


@pytest.mark.parametrize(
    ("breaks", "kind"),
    [
        (drop_one_tie, "too_few_candidates"),
        (swap_members_of_two_cohorts, "too_few_candidates"),
        (a_second_sensitive_member, "undecided"),
        (part_of_a_cohort_leaves, "too_few_candidates"),
        (too_few_newcomers, "too_few_candidates"),
    ],
)
def test_what_tells_members_apart_is_seen(breaks, kind):
    """Each break of the mechanism is named."""
    steps = sticky()
    assert kind not in kinds(steps)
    breaks(steps)
    assert kind in kinds(steps)


def test_the_certificate_asks_for_more_than_the_definition():
    """A second sensitive member in other releases costs the certificate, and so the verdict."""
    steps = sticky()
    another_sensitive_member_later(steps)
    auditor = SequenceAuditor()
    for i, step in enumerate(steps):
        findings = auditor.extend(step.release.audited(i, PARAMS))
        assert findings.is_safe == findings.checked.certificate == (i < 2)
    assert kinds(steps) == {"undecided"}


def test_a_switch_within_profiles_is_seen_by_cover_only():
    """Two members of each of two cohorts trade neighbours: no profile changes, the ties do."""
    steps = sticky(2)
    steps[1].release.edges = set(steps[0].release.edges)
    shown = next(
        (a, b, s)
        for a in range(6)
        for b in range(a + 1, 6)
        for s in range(SIZE - 1)
        if set(round_of(a, b, s)) <= steps[0].release.edges
    )
    a, b, s = shown
    other = b + 3 if b < 3 else b - 3  # Of the same tuple.
    out = [frozenset({member(a, i), member(b, (i + s) % SIZE)}) for i in (0, 1)]
    far = [frozenset({member(other, i), f"x{i}"}) for i in (0, 1)]
    for step in steps:
        # A cohort of strangers, so that the others have somebody to trade with.
        for i in range(SIZE):
            step.release.tuples[f"x{i}"] = step.release.tuples[member(a, 0)]
            step.release.sensitive[f"x{i}"] = False
            step.release.owners[f"x{i}"] = f"stranger {i}"
            step.release.edges.add(frozenset({member(other, i), f"x{i}"}))
        step.true_edges = set()
    edges = steps[1].release.edges
    edges -= {*out, *far}
    for i in (0, 1):
        edges.add(frozenset({member(a, i), member(other, i)}))
        edges.add(frozenset({f"x{i}", member(b, (i + s) % SIZE)}))
    assert kinds(steps, Promise("all", cover=False)) == set()
    assert kinds(steps, Promise("all", cover=True)) == {"change_uncovered"}


def test_held_back_truth_must_be_declared():
    """A missing tie, one missing for too long, a missing person, and outdated values are told."""
    steps = sticky()
    for step in steps[1:]:
        step.true_edges.add(frozenset({member(0, 0), member(0, 1)}))
    assert kinds(steps) == {"tie_missing"}
    for step in steps:
        step.declared = Declared(held_ties=1)
    assert kinds(steps) == set()
    for step in steps:
        step.declared = Declared(held_ties=1, lag_max=len(steps) - 2)
    assert kinds(steps) == {"tie_overdue"}


def test_people_and_values_must_be_the_true_ones():
    """Somebody withheld, somebody who left, an old tuple and a wrong sensitive value are told."""
    steps = sticky(1)
    release = steps[0].release.audited(0, PARAMS)
    texts = ["yes" if flag else "no" for flag in release.is_sensitive]
    release = dataclasses.replace(release, sensitive_texts=texts)
    truth = steps[0].truth()

    def found(truth):
        return {v.kind for v in SequenceAuditor().extend(release, truth).violations}

    assert found(truth) == set()
    more = dataclasses.replace(
        truth,
        people=[*truth.people, "newcomer"],
        values=[[*truth.values[0], "0"]],
        sensitive_texts=[*truth.sensitive_texts, "no"],
    )
    assert found(more) == {"person_missing"}
    assert found(dataclasses.replace(more, declared=Declared(withheld=1))) == set()
    renamed = dataclasses.replace(truth, people=["somebody else", *truth.people[1:]])
    assert found(renamed) == {"owner_unknown", "person_missing"}
    moved = dataclasses.replace(truth, values=[["9", *truth.values[0][1:]]])
    assert found(moved) == {"attribute_differs"}
    assert found(dataclasses.replace(moved, declared=Declared(held_changes=1))) == set()
    wrong = ["no" if text == "yes" else "yes" for text in truth.sensitive_texts]
    assert found(dataclasses.replace(truth, sensitive_texts=wrong)) == {"sensitive_differs"}


def test_masked_values_are_no_fault():
    """A value that is published as missing gives nothing away."""
    steps = sticky(1)
    release = steps[0].release.audited(0, PARAMS)
    release = dataclasses.replace(
        release,
        categories=[["-" if x == "0" else x for x in release.categories[0]]],
        sensitive_texts=["-"] * len(release.ids),
    )
    findings = SequenceAuditor().extend(release, steps[0].truth())
    assert findings.is_safe


def test_ids_keep_their_owners():
    """An id of somebody else, a dummy that becomes a person, and a person twice are told."""
    for change in ("other", "dummy", "twice"):
        steps = sticky(2)
        owners = steps[1].release.owners
        v = member(0, 0) if change != "dummy" else member(0, SIZE - 1)
        owners[v] = owners[member(0, 1)] if change == "twice" else "somebody else"
        found = kinds(steps, truth=False)
        assert "id_reassigned" in found
        assert ("owner_twice" in found) == (change == "twice")


def test_a_departure_is_no_violation():
    """The place of whoever leaves is kept; who knows it has fewer real candidates."""
    steps = sticky(2)
    steps[1].release.owners[member(0, 0)] = None
    auditor = SequenceAuditor()
    for i, step in enumerate(steps):
        findings = auditor.extend(step.release.audited(i, PARAMS))
        assert findings.is_safe
        assert not findings.figures.linked
    published = findings.figures.published
    # The fourth of a cohort is inserted.
    assert published.candidates_real_leavers_known.min == SIZE - 2


def test_an_id_given_instead_of_another_is_seen():
    """A place that goes on under a new id is two objects: each is alone in when it was there."""
    steps = sticky(2)
    release = steps[1].release
    old, new = member(0, 2), "another"
    for table in (release.tuples, release.sensitive):
        table[new] = table.pop(old)
    del release.owners[old]
    release.owners[new] = None
    release.edges = {frozenset(new if v == old else v for v in edge) for edge in release.edges}
    assert "too_few_candidates" in kinds(steps, truth=False)


def test_a_release_that_was_tried_before_is_as_new():
    """Numbers that a copy gave do not make its ids known: newcomers stay new."""
    steps = sticky(3)
    release = steps[2].release
    for i in range(SIZE):
        name = f"n{i}"
        release.tuples[name], release.sensitive[name] = release.tuples[member(0, 0)], False
        release.owners[name] = f"newcomer {i}"
    auditor = SequenceAuditor()
    for i in range(2):
        auditor.extend(steps[i].release.audited(i, PARAMS))
    last = release.audited(2, PARAMS)
    tried, again = auditor.copy().extend(last), auditor.extend(last)
    assert tried.told() == again.told()
    assert again.is_safe
    assert again.figures.newcomers.vertices == SIZE


def test_inputs_are_frozen_within_a_sequence():
    """Another schema, another sequence and an id used twice are told."""
    steps = sticky(3)
    assert "schema_changed" in kinds(steps, truth=False, at_1={"schema": "another"})
    assert kinds(steps, truth=False, at_2={"release_id": "r00"}) == {"release_repeated"}
    reopened = {"at_1": {"sequence_id": "t"}}
    assert "sequence_reopened" in kinds(steps, truth=False, **reopened)
    assert kinds(steps, truth=False, at_1={"unmatched": 2}) == {"mapping_incomplete"}


BOTH_WAYS = {
    "k": (SIZE - 1, SIZE + 1),
    "t": ("0", "1/10"),
    "alpha": ("1/6", "2/5"),
    "epsilon": (0, 2),
    "n_hops": (),
    "reading": (),
}
"""Values below and above those that a sequence begins with; auditors judge stars alone."""


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(PrivacyParams)])
def test_each_parameter_is_frozen_in_each_direction(name):
    """Neither a stronger nor a weaker one is taken within a sequence, and nothing else is told."""
    begun = PrivacyParams(k=SIZE, t="1/20", alpha="1/5", epsilon=1)
    for value in BOTH_WAYS[name]:
        auditor = SequenceAuditor(Promise(1, cover=False))
        for i, step in enumerate(sticky(3)):
            params = dataclasses.replace(begun, **({name: value} if i == 1 else {}))
            release = dataclasses.replace(step.release.audited(i, PARAMS), params=params)
            told = {violation.kind for violation in auditor.extend(release).violations}
            assert ("params_changed" in told) == (i == 1), (name, value, i)


def test_what_cannot_be_audited_is_refused():
    """Other neighbourhoods than stars, and a release that is no graph."""
    release = sticky(1)[0].release.audited(0, PARAMS)
    far = dataclasses.replace(release, params=PrivacyParams(n_hops=2))
    with pytest.raises(InvalidParams, match="one hop"):
        SequenceAuditor().extend(far)
    with pytest.raises(InvalidGraph, match="itself"):
        dataclasses.replace(release, edges=np.array([[1, 1]]))
    with pytest.raises(InvalidGraph, match="twice"):
        SequenceAuditor().extend(dataclasses.replace(release, edges=np.array([[0, 1], [1, 0]])))


def test_work_follows_the_change():
    """A release that changes one round has profiles built for its ends alone."""
    steps = sticky(2, n_cohorts=8)
    steps[1].release.edges = set(steps[0].release.edges)
    key = next(
        (a, b, s)
        for a in range(8)
        for b in range(a + 1, 8)
        for s in range(SIZE - 1)
        if set(round_of(a, b, s)) <= steps[0].release.edges
    )
    steps[1].release.edges -= set(round_of(*key))
    for params in (dataclasses.replace(PARAMS, t=Fraction(1, 10)), PARAMS):
        auditor = SequenceAuditor()
        auditor.extend(steps[0].release.audited(0, params))
        before = auditor.work
        auditor.extend(steps[1].release.audited(1, params))
        assert auditor.work["profiles"] - before["profiles"] == 2 * SIZE
        if params.t:
            assert auditor.work["comparisons"] - before["comparisons"] < before["comparisons"]
        else:
            assert not auditor.work["comparisons"], "only equal locations are alike"
