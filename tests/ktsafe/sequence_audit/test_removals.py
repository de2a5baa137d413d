"""Places of people who left under their next ids: one object for the verdict, two to be seen."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence import Sequence, Step
from ktsafe.sequence_audit import AuditedRelease, Promise, SequenceAuditor
from ktsafe.sequence_audit._candidates_core import Rows
from ktsafe.sequence_audit.exchanges import exchanges_of
from ktsafe.sequence_audit.profiles import Structure
from tests.ktsafe.sequence.test_audited import audited
from tests.ktsafe.sequence.world import PARAMS as WORLD_PARAMS
from tests.ktsafe.sequence.world import World
from tests.ktsafe.sequence_audit.naive_sequence import Plain, k_deltas, published_view
from tests.ktsafe.sequence_audit.sticky import PARAMS, SIZE, member, round_of, sticky

LEAVER = member(0, 0)
SUCCESSOR = "successor"
CLAIM = (LEAVER, SUCCESSOR)


def removed(steps, at, old=LEAVER, new=SUCCESSOR):
    """Let somebody leave at a release: from then on the place goes by another id."""
    for step in steps[at:]:
        release = step.release
        name = {old: new}
        for table in (release.tuples, release.sensitive, release.owners):
            table[new] = table.pop(old)
        release.sensitive[new] = False
        release.owners[new] = None
        release.edges = {frozenset(name.get(v, v) for v in edge) for edge in release.edges}
        step.true_edges = {edge for edge in step.true_edges if old not in edge}
    return steps


def found_in(steps, claims, *, truth=True, lacks=False, promise=None):
    """Return the kinds of violation, and the last figures of removals."""
    auditor, kinds = SequenceAuditor(promise), set()
    for i, step in enumerate(steps):
        release = dataclasses.replace(
            step.release.audited(i, PARAMS),
            successions=claims.get(i, []),
            lacks_leavers=lacks,
            sensitive_texts=None,
        )
        findings = auditor.extend(release, step.truth() if truth else None)
        kinds |= {violation.kind for violation in findings.violations}
    return kinds, findings.figures["removals"]


def test_a_succession_that_holds_is_no_violation():
    """The place is one object; who looked like it is listed, and so is who had a tie to it."""
    steps = removed(sticky(), 2)
    kinds, figures = found_in(steps, {2: [CLAIM]})
    assert kinds == set()
    mates = sorted(member(0, i) for i in range(1, SIZE - 1))
    assert figures["below_k"] == mates
    assert (figures["vanished"], figures["vanished_below_k"]) == (1, 1)
    assert figures["candidates"]["min"] == SIZE - 1
    assert found_in(steps, {})[0] >= {"too_few_candidates"}


def not_gone(steps):
    """The former id is shown beside its successor."""
    add(steps[2].release, LEAVER)


def vanished_before(steps):
    """The former id was missing from the release before."""
    drop(steps[1].release, LEAVER)


def successor_was_there(steps):
    add(steps[1].release, SUCCESSOR)


def successor_is_somebody(steps):
    for step in steps[2:]:
        step.release.owners[SUCCESSOR] = "somebody new"


def person_is_elsewhere(steps):
    """The person is published under another id: nobody left."""
    for step in steps[2:]:
        for i in range(SIZE):
            add(step.release, f"n{i}", like=SUCCESSOR)
        step.release.owners["n0"] = f"person {LEAVER}"


def former_was_nobodys(steps):
    """An inserted vertex has no person to leave."""
    for step in steps[:2]:
        step.release.owners[LEAVER] = None
        step.true_edges = {edge for edge in step.true_edges if LEAVER not in edge}


def add(release, v, like=SUCCESSOR):
    source = like if like in release.tuples else member(0, 1)
    release.tuples[v], release.sensitive[v] = release.tuples[source], False
    release.owners[v] = None


def drop(release, v):
    for table in (release.tuples, release.sensitive, release.owners):
        del table[v]
    release.edges = {edge for edge in release.edges if v not in edge}


LIES = [
    not_gone,
    vanished_before,
    successor_was_there,
    successor_is_somebody,
    person_is_elsewhere,
    former_was_nobodys,
]


@pytest.mark.parametrize("lie", LIES)
def test_a_claimed_succession_that_is_none_is_seen(lie):
    """Each rule by itself; what the claim would have hidden is found too."""
    steps = removed(sticky(3), 2)
    lie(steps)
    kinds, _ = found_in(steps, {2: [CLAIM]}, truth=False)
    assert "succession_false" in kinds
    assert "too_few_candidates" in kinds


@pytest.mark.parametrize(
    "claims",
    [
        {2: [CLAIM, (member(1, 0), SUCCESSOR)]},
        {2: [CLAIM, (LEAVER, "absent")]},
        {2: [(LEAVER, "absent")]},
        {2: [("nobody", SUCCESSOR)]},
        {1: [CLAIM], 2: []},
        {2: [], 3: [CLAIM]},
    ],
)
def test_claims_that_name_ids_twice_or_at_another_time_hold_not(claims):
    """No id has two successors, no successor two origins; both ids change in one release."""
    kinds, _ = found_in(removed(sticky(4), 2), claims)
    assert {"succession_false", "too_few_candidates"} <= kinds


def test_somebody_who_is_still_a_true_person_has_not_left():
    """The truth says that the person exists: withheld, not gone."""
    steps = removed(sticky(3), 2)
    last = steps[2].truth()
    still = dataclasses.replace(
        last,
        people=[*last.people, f"person {LEAVER}"],
        values=[[*last.values[0], "0"]],
        sensitive_texts=[*last.sensitive_texts, "no"],
        declared=dataclasses.replace(last.declared, withheld=1),
    )
    auditor, kinds = SequenceAuditor(), set()
    for i, step in enumerate(steps):
        claims = [CLAIM] if i == 2 else []
        release = dataclasses.replace(step.release.audited(i, PARAMS), successions=claims)
        findings = auditor.extend(release, still if i == 2 else step.truth())
        kinds |= {violation.kind for violation in findings.violations}
    assert "succession_false" in kinds


def test_an_id_that_comes_back_is_no_object_of_before():
    """After it had a successor it is somebody else, and a violation."""
    steps = removed(sticky(4), 1)
    for i in range(SIZE):
        add(steps[3].release, LEAVER if i == 0 else f"n{i}", like=SUCCESSOR)
    kinds, _ = found_in(steps, {1: [CLAIM]})
    assert "succession_false" in kinds


def test_exchanged_successors_of_two_cohorts_are_seen():
    """Valid one by one, the two objects would change places: each is told from its cohort."""
    steps = removed(removed(sticky(4), 2), 2, member(4, 0), "other")
    assert steps[2].release.tuples["other"] != steps[2].release.tuples[SUCCESSOR]
    crossed = {2: [(LEAVER, "other"), (member(4, 0), SUCCESSOR)]}
    right = {2: [CLAIM, (member(4, 0), "other")]}
    assert found_in(steps, right)[0] == set()
    assert "too_few_candidates" in found_in(steps, crossed)[0]


def test_an_erased_owner_is_not_missed_but_counted():
    """Where mappings may lack who left, an id of nobody may have been somebody's."""
    steps = removed(sticky(4), 2)
    former_was_nobodys(steps)
    kinds, _ = found_in(steps, {2: [CLAIM]}, truth=False)
    assert "succession_false" in kinds
    kinds, _ = found_in(steps[:3], {2: [CLAIM]}, truth=False, lacks=True)
    assert "succession_false" not in kinds
    assert found_in(steps[:3], {2: [CLAIM]}, truth=False, lacks=True)[1]["unconfirmed"] == 1


def test_a_history_may_begin_anywhere():
    """What the first release at hand claims goes back to what nobody sees, and is no violation."""
    steps = removed(sticky(4), 2)
    kinds, figures = found_in(steps[2:], {0: [CLAIM]})
    assert kinds == set()
    assert (figures["below_k"], figures["vanished"]) == ([], 0)


def test_ids_alone_make_no_claims():
    """Without private files the ids are taken as they are, and nothing is said of removals."""
    steps = removed(sticky(3), 2)
    auditor = SequenceAuditor(Promise(1, cover=False))
    for i, step in enumerate(steps):
        findings = auditor.extend(dataclasses.replace(step.release.audited(i, PARAMS), owners=None))
        assert findings.is_safe
        assert "removals" not in findings.figures
    assert findings.figures["published"]["candidates"]["min"] == 1


def plain(sequence: Sequence) -> Plain:
    """Return the current release for the naive oracle."""
    released = sequence.released()
    graph, ids = released.graph, [str(i) for i in released.ids.tolist()]
    values = [tuple(graph.values(v).values()) for v in range(len(ids))]
    return Plain(
        "one",
        {v: x[:-1] for v, x in zip(ids, values, strict=True)},
        dict(zip(ids, graph.is_sensitive.tolist(), strict=True)),
        {frozenset(ids[v] for v in edge) for edge in graph.edges.tolist()},
        {
            v: None if key < 0 else str(key)
            for v, key in zip(ids, released.keys.tolist(), strict=True)
        },
        2,
    )


def claimed(sequence: Sequence, made: Step | None) -> AuditedRelease:
    """Return the current release with what it claims."""
    pairs = [] if made is None else made.successions.tolist()
    return dataclasses.replace(
        audited(sequence), successions=[(str(old), str(new)) for old, new in pairs]
    )


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_who_is_exposed_is_who_the_definition_says(seed, cover):
    """Streams of hard departures: safe as objects; exposed by ids as the naive oracle finds."""
    world, rng = World(50, 80, seed), np.random.default_rng(seed)
    sequence = world.begin(departure="hard", cover=cover)
    auditor = SequenceAuditor(Promise("all", cover=cover), workers=1)
    auditor.extend(claimed(sequence, None))
    history = [plain(sequence)]
    k = WORLD_PARAMS.k
    vanished = set()
    for i in range(4):
        leaves = int(rng.integers(0, 4))
        made = sequence.advance(world.change(ties=5 * (i % 2), leaves=leaves, joins=i), rng)
        history.append(plain(sequence))
        findings = auditor.extend(claimed(sequence, made))
        assert findings.is_safe, findings.to_mapping()
        vanished |= {str(old) for old in made.successions[:, 0].tolist()}
        figures = findings.figures["removals"]
        view = published_view(history, WORLD_PARAMS)
        everything = tuple(range(len(history)))
        people = {v for v, owner in history[-1].owners.items() if owner is not None}
        below = {v for v in people if len(view.candidates(v, everything)) < k}
        assert figures["below_k"] == sorted(below)
        assert figures["candidates"]["below_k"] == len(below)
        alone = {v for v in vanished if len(view.candidates(v, everything)) < k}
        assert (figures["vanished"], figures["vanished_below_k"]) == (len(vanished), len(alone))
        if cover:
            deltas = k_deltas(history, WORLD_PARAMS)
            changed = {v for v, count in deltas.items() if count < k and v in people}
            assert figures["changed_below_k"] == sorted(changed)


def exposed_world(seed=5):
    """Return a sequence, and its next step, in which ties were exchanged."""
    world, rng = World(200, 400, seed), np.random.default_rng(seed)
    sequence = world.begin(departure="hard")
    first = claimed(sequence, None)
    made = sequence.advance(world.change(ties=0, leaves=4), rng)
    return first, claimed(sequence, made)


def test_exchanged_ties_are_excepted_and_nothing_else():
    """As made it passes; with any further switch four vertices are uncovered."""
    first, second = exposed_world()
    auditor = SequenceAuditor(workers=1)
    auditor.extend(first)
    findings = auditor.copy().extend(second)
    assert findings.is_safe
    assert findings.figures["removals"]["exchanged_ties"] > 0
    edges = {frozenset(edge) for edge in second.edges.tolist()}
    codes = [tuple(row) for row in second.codes.tolist()]
    former = {
        frozenset(
            second.ids.index(first.ids[v]) if first.ids[v] in second.ids else -1 for v in edge
        )
        for edge in first.edges.tolist()
    }
    same = sorted(tuple(sorted(edge)) for edge in edges & former)
    degree = Counter(v for edge in edges for v in edge)
    changed = {v for edge in edges ^ former for v in edge}
    for p, u in same:
        for y, z in same:
            if (
                len({p, u, y, z} - changed) == 4
                and (codes[p], codes[u]) == (codes[y], codes[z])
                and not edges & {frozenset((p, z)), frozenset((y, u))}
            ):
                switched = copy.deepcopy(edges) - {frozenset((p, u)), frozenset((y, z))}
                switched |= {frozenset((p, z)), frozenset((y, u))}
                worse = dataclasses.replace(
                    second, edges=np.array(sorted(sorted(edge) for edge in switched))
                )
                kinds = {v.kind for v in auditor.copy().extend(worse).violations}
                assert kinds == {"change_uncovered"}
                assert degree == Counter(v for edge in switched for v in edge)
                return
    pytest.fail("no switch to try")


def test_a_release_that_was_tried_before_is_as_new():
    """Numbers that a copy gave do not make its ids known: newcomers and successors stay new."""
    steps = removed(sticky(3), 2)
    for i in range(SIZE):
        add(steps[2].release, f"n{i}")
        steps[2].release.owners[f"n{i}"] = f"newcomer {i}"
    auditor = SequenceAuditor()
    for i in range(2):
        auditor.extend(steps[i].release.audited(i, PARAMS))
    last = dataclasses.replace(steps[2].release.audited(2, PARAMS), successions=[CLAIM])
    tried, again = auditor.copy().extend(last), auditor.extend(last)
    assert tried.to_mapping() == again.to_mapping()
    assert again.is_safe
    assert again.figures["newcomers"]["vertices"] == SIZE


def test_a_rotation_at_a_removed_place_keeps_its_cover():
    """Whole cohorts rotate; the four around the removed place look like an exchange, and count."""
    steps = sticky(2)
    for step, rounds in zip(steps, (((0, 1), (3, 4)), ((0, 4), (3, 1))), strict=True):
        step.release.edges = {edge for pair in rounds for edge in round_of(*pair, 1)}
        step.true_edges = set()
    kinds, figures = found_in(removed(steps, 1), {1: [CLAIM]})
    assert kinds == set()
    assert figures["exchanged_ties"] == 1
    edges = steps[1].release.edges
    edges -= {frozenset({member(3, 2), member(1, 3)}), frozenset({member(0, 3), member(4, 4)})}
    edges |= {frozenset({member(3, 2), member(4, 3)}), frozenset({member(0, 3), member(1, 4)})}
    assert "change_uncovered" in found_in(steps, {1: [CLAIM]})[0]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(4, 9), st.integers(1, 2))
def test_exchanges_are_those_of_all_fours(seed, n, n_tuples):
    """Every four vertices around a removed one, by brute force: who is excused, and ties, agree."""
    rng = np.random.default_rng(seed)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    kind = rng.integers(0, 3, len(pairs))
    lost, gained = ({p for p, x in zip(pairs, kind, strict=True) if x == y} for y in (0, 1))
    tuples = rng.integers(0, n_tuples, n)
    removed = np.flatnonzero(rng.random(n) < 0.4)
    none = np.zeros(0, dtype=np.int64)
    structure = Structure(
        np.arange(n),
        none,
        Rows(np.zeros(1, dtype=np.int64), none),
        none,
        np.array(sorted(gained), dtype=np.int64).reshape(-1, 2),
        np.array(sorted(lost), dtype=np.int64).reshape(-1, 2),
        tuples,
        tuples,
    )
    found = exchanges_of(structure, removed)
    used, ties = set(), set()
    for o, u, z, y in itertools.permutations(range(n), 4):
        if o not in removed or tuples[u] != tuples[z] or tuples[y] != tuples[o]:
            continue
        away = {tuple(sorted(pair)) for pair in ((o, u), (y, z))}
        here = {tuple(sorted(pair)) for pair in ((o, z), (y, u))}
        if away <= lost and here <= gained:
            used |= away | here
            ties.add((o, u))
    others = {v for edge in (gained | lost) - used for v in edge}
    assert found.excused.tolist() == sorted({v for edge in used for v in edge} - others)
    assert found.ties == len(ties)
