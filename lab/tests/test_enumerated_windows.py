"""Sets of releases against the definition, set by set, after every prefix of random sequences."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import AuditedRelease, Promise
from ktsafe_lab import enumerated_windows
from ktsafe_lab.enumerated_windows import EnumeratingAuditor
from tests.ktsafe.audit.sequence.naive_sequence import (
    histories,
    k_deltas,
    linked_view,
    published_view,
    small_params,
)


def counted(findings):
    return {violation.kind: violation.count for violation in findings.violations}


@settings(max_examples=150, deadline=None)
@given(histories(), small_params())
def test_every_prefix_is_judged_as_the_definition_says(history, params):
    """Who fails k, alpha or k_delta over any set W is who fails it naively, at each release."""
    auditor = EnumeratingAuditor(Promise("all", cover=True), examples_max=100)
    for i in range(len(history)):
        prefix = history[: i + 1]
        found = counted(auditor.extend(prefix[-1].audited(i, params)))
        view = published_view(prefix, params)
        few, rich = view.failing(params, len(prefix))
        assert found.get("too_few_candidates", 0) == len(few)
        assert found.get("undecided", 0) == len(rich - few)
        deltas = k_deltas(prefix, params)
        assert found.get("change_uncovered", 0) == sum(x < params.k for x in deltas.values())


def test_a_spent_budget_counts_as_unsafe(monkeypatch):
    """Where listing is cut short, the audit fails and says that it does not know."""
    monkeypatch.setattr(enumerated_windows, "SETS_PER_ATOM_MAX", 1)
    rng = np.random.default_rng(3)
    n = 24
    flags = rng.random(n) < 0.3
    found = set()
    auditor = EnumeratingAuditor(Promise("all", cover=False))
    for i in range(4):
        edges = np.argwhere(np.triu(rng.random((n, n)) < 0.25, 1))
        ids = [str(x) for x in range(n)]
        params = PrivacyParams(k=1, t=1, alpha="1/2", epsilon=6)
        codes = np.zeros((n, 0), dtype=np.int64)
        findings = auditor.extend(AuditedRelease(str(i), "s", params, ids, [], codes, flags, edges))
        found |= {violation.kind for violation in findings.violations}
    assert "undecided" in found


@settings(max_examples=100, deadline=None)
@given(histories(relink=True), small_params())
def test_people_are_followed_over_rebirths_and_rebases(history, params):
    """The linked view intersects by person wherever ids change, and is judged all the same."""
    auditor = EnumeratingAuditor(Promise("all", cover=False))
    for i in range(len(history)):
        prefix = history[: i + 1]
        findings = auditor.extend(prefix[-1].audited(i, params))
        found = counted(findings)
        assert "id_reassigned" not in found
        few, rich = linked_view(prefix, params).failing(params, len(prefix))
        view = auditor._linked
        if view is not None:
            naive = linked_view(prefix, params)
            whole = tuple(range(len(prefix)))
            sizes = view.over_candidates(view.per_atom(view.known))[view.atom_of[view.known]]
            expected = [len(naive.candidates(v, whole)) for v in naive.objects]
            assert sorted(sizes.tolist()) == sorted(expected)
        own = [r for r in prefix if r.sequence_id == prefix[-1].sequence_id]
        own_few, own_rich = published_view(own, params).failing(params, len(own))
        assert found.get("too_few_candidates", 0) == len(own_few)
        assert found.get("undecided", 0) == len(own_rich - own_few)
        if findings.figures.linked:
            assert found.get("linked_too_few_candidates", 0) == len(few)
            assert found.get("linked_undecided", 0) == len(rich - few)
        else:
            assert (len(few), len(rich - few)) == (len(own_few), len(own_rich - own_few))
