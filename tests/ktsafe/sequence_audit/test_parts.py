"""Parts of the auditor by themselves: persistence, independence."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ktsafe.sequence_audit
from ktsafe.sequence_audit.persistence import EdgeAges

PACKAGE = Path(ktsafe.sequence_audit.__file__).parent


def area(positive, negative):
    """Return the chance that a positive value exceeds a negative one, pair by pair."""
    if not positive or not negative:
        return None
    wins = sum((x > y) + (x == y) / 2 for x in positive for y in negative)
    return wins / (len(positive) * len(negative))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 9), st.booleans()), min_size=1, max_size=6))
def test_areas_are_those_of_all_pairs(releases):
    """Age and survival of true against inserted ties equal the count over all pairs."""
    ages, auditor = {}, EdgeAges()
    survived = {True: [], False: []}
    for i, ties in enumerate(releases):
        if i:
            for tie, is_true in releases[i - 1].items():
                survived[is_true].append(tie in ties)
        ages |= {tie: ages.get(tie, 0) + 1 for tie in ties}
        keys = np.array(sorted(ties), dtype=np.int64)
        found = auditor.add(keys, np.array([ties[tie] for tie in sorted(ties)], dtype=np.bool_))
        expected = {
            "age_auc": area(
                *([ages[x] for x in ties if ties[x] == flag] for flag in (True, False))
            ),
            "survival_auc": area(survived[True], survived[False]),
        }
        assert found == pytest.approx(expected)


def test_the_auditor_shares_no_code_with_what_it_judges():
    """Beside itself it knows errors, parameters, the sign for missing, and the strict verdict."""
    allowed = {"ktsafe.errors", "ktsafe.params", "ktsafe.graph", "ktsafe.kernels", "ktsafe.verify"}
    seen = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ktsafe"):
                seen.add((node.module, *(alias.name for alias in node.names)))
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("ktsafe") for alias in node.names)
    foreign = {entry for entry in seen if not entry[0].startswith("ktsafe.sequence_audit")}
    assert {entry[0] for entry in foreign} <= allowed
    assert ("ktsafe.graph", "MISSING") in foreign
    assert {entry[1:] for entry in foreign if entry[0] == "ktsafe.graph"} == {("MISSING",)}
    assert {entry[1:] for entry in foreign if entry[0] == "ktsafe.verify"} == {
        ("verify",),
        ("Verdict",),
    }
