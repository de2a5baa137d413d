"""Parts of the auditor by themselves: persistence, independence."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

import ktsafe.audit.sequence
from ktsafe import PrivacyParams
from ktsafe.audit.sequence import AuditedRelease, TrueGraph, profiles
from ktsafe.audit.sequence import _profiles_core as core
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.containment import Containment
from ktsafe.audit.sequence.continuity import EdgeAges
from ktsafe.audit.sequence.profiles import Structure, edge_ends, edge_keys
from ktsafe.verify import CheckedTies

PACKAGE = Path(ktsafe.audit.sequence.__file__).parent


@pytest.fixture(autouse=True, scope="module", params=[2, profiles.EDGES_AT_ONCE])
def edges_at_once(request):
    """Let ties be looked at by pairs, and at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "EDGES_AT_ONCE", request.param)
        yield


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
        assert asdict(found) == pytest.approx(expected)


N_PEOPLE = 6
OWNERS = st.lists(st.none() | st.integers(0, N_PEOPLE + 1), max_size=8)
PAIRS = st.sets(st.frozensets(st.integers(0, 7), min_size=2, max_size=2))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(OWNERS, PAIRS, PAIRS, st.randoms()), min_size=1, max_size=3))
def test_what_is_contained_is_what_sets_say(releases):
    """Ties by the people of their ends, though one is shown twice or is of nobody known."""
    containment, ages = Containment(), {}
    for owners, pairs, true_pairs, order in releases:
        n, people = len(owners), order.sample(range(N_PEOPLE), N_PEOPLE)
        vertices = np.array(order.sample(range(n + 3), n), dtype=np.int64)
        edges = sorted(sorted(pair) for pair in pairs if max(pair) < n)
        true = sorted(sorted(pair) for pair in true_pairs if max(pair) < N_PEOPLE)
        keys = np.sort(edge_keys(vertices, np.array(edges, dtype=np.int64).reshape(-1, 2)))
        nothing = np.zeros(0, dtype=np.int64)
        structure = Structure(
            vertices, nothing, Rows(nothing, nothing), keys, nothing, nothing, nothing, nothing
        )
        release = AuditedRelease(
            "r", "s", PrivacyParams(k=1), [str(v) for v in range(n)], [], np.zeros((n, 0)),
            np.zeros(n, dtype=np.bool_), np.array(edges).reshape(-1, 2),
        )  # fmt: skip
        truth = TrueGraph(people, [], [""] * N_PEOPLE, np.array(true).reshape(-1, 2))
        owner = np.array([-1 if p is None else p for p in owners], dtype=np.int64)
        found = containment.add(release, structure, owner, truth, np.array(people))

        of_vertex = dict(zip(vertices.tolist(), owners, strict=True))
        ties = {frozenset(people[x] for x in pair) for pair in true}
        shown = [frozenset(of_vertex[x] for x in ends) for ends in edge_ends(keys).tolist()]
        missing = {tie for tie in ties - set(shown) if tie <= set(owners)}
        ages = {tie: ages.get(tie, 0) + 1 for tie in missing}
        assert found.is_true.tolist() == [tie in ties for tie in shown]
        at = [frozenset(owners[x] for x in pair) for pair in found.missing_ties.tolist()]
        assert len(at) == len(missing)
        assert set(at) == missing
        assert found.figures.withheld_people == len(set(people) - set(owners))
        assert found.figures.missing_ties == len(missing)
        assert found.figures.missing_releases_max == max(ages.values(), default=0)


def test_the_auditor_shares_no_code_with_what_it_judges():
    """It knows errors, parameters, the sign for missing, the strict verdict, and checked ties."""
    allowed = {
        "ktsafe.errors",
        "ktsafe.params",
        "ktsafe.graph",
        "ktsafe.kernels.compiler",
        "ktsafe.verify",
    }
    seen = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ktsafe"):
                seen.add((node.module, *(alias.name for alias in node.names)))
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("ktsafe") for alias in node.names)
    foreign = {entry for entry in seen if not entry[0].startswith("ktsafe.audit.sequence")}
    assert {entry[0] for entry in foreign} <= allowed
    assert ("ktsafe.graph", "MISSING") in foreign
    assert {entry[1:] for entry in foreign if entry[0] == "ktsafe.graph"} == {("MISSING",)}
    assert {entry[1:] for entry in foreign if entry[0] == "ktsafe.verify"} == {
        ("Verdict", "verify"),
        ("Verdict",),
        ("CheckedTies",),
    }


@settings(deadline=None)
@given(st.data(), st.integers(1, 12), st.sampled_from([1, 3, 40]))
def test_a_profile_counts_the_values_of_the_closed_neighbourhood(data, n, n_codes):
    """Whether there are few values, which are counted in a table, or many."""
    pairs = [(u, v) for v in range(n) for u in range(v)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    row = st.tuples(st.integers(0, n_codes - 1), st.integers(0, 1))
    codes = data.draw(st.lists(row, min_size=n, max_size=n))
    near = {v: [v] for v in range(n)}
    for u, v in edges:
        near[u].append(v)
        near[v].append(u)
    vertices = np.array(data.draw(st.permutations(range(n))), dtype=np.int64)
    pointer, flat = core.profiles(
        vertices,
        *CheckedTies.of(n, edges).adjacency,
        np.array(codes, dtype=np.int64),
        np.array([n_codes, 2], dtype=np.int64),
    )
    for r, v in enumerate(vertices.tolist()):
        expected = [len(near[v]) - 1, *codes[v]]
        for a in range(2):
            for value, times in sorted(Counter(codes[u][a] for u in near[v]).items()):
                expected += [a << 32 | value, times]
        assert flat[pointer[r] : pointer[r + 1]].tolist() == expected
