"""Births, departures, changes of attributes: each policy by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams, Schema
from ktsafe.errors import InvalidParams
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence import cohorts as new_cohorts
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.step_context import SequenceSpec, StepContext
from tests.graphs import ALPHAS
from tests.ktsafe.sequence import naive

SCHEMA = Schema(("a",), "s", frozenset({"ill"}))
PARAMS = PrivacyParams(k=3, alpha="1/3")
WELL, ILL, OTHER = ("x", "well"), ("x", "ill"), ("y", "well")

THIRD = Fraction(1, 3)


def joins(keys: range, values: tuple[str, str], ties: object = ()) -> Changes:
    """Return changes in which people of one kind join."""
    return Changes(
        joined=np.array(keys),
        joined_values=[values] * len(keys),
        ties_added=np.array(ties, dtype=np.int64),
    )


def begun(first: Changes, params: PrivacyParams = PARAMS, **options: object) -> SequenceEngine:
    """Return a sequence that begins with the given people."""
    chosen = SequenceOptions(**{"effort": "fast", "margin": 0, **options})  # type: ignore[arg-type]
    return SequenceEngine.begin(SCHEMA, params, chosen, first, np.random.default_rng(0))


def advance(sequence: SequenceEngine, changes: Changes) -> None:
    """Make the next release."""
    sequence.advance(changes, np.random.default_rng(sequence.release))


def shown(sequence: SequenceEngine) -> dict[int, dict[str, str]]:
    """Return what is published of everybody who is."""
    released = sequence.released()
    values = [released.graph.values(v) for v in range(released.graph.n_vertices)]
    assert released.value_at is not None
    at = zip(released.keys.tolist(), released.value_at.tolist(), strict=True)
    return {key: {**values[v], "s": values[at]["s"]} for v, (key, at) in enumerate(at) if key >= 0}


def test_newcomers_wait_for_enough_others_of_two_releases() -> None:
    """Newcomers wait until they fill two cohorts and came from two releases; so do their ties."""
    sequence = begun(joins(range(6), WELL), sybil_margin=1)
    advance(sequence, joins(range(10, 18), WELL, [(0, 10), (10, 11)]))
    figures = sequence.figures()
    assert (figures.withheld_vertices, figures.waiting_edges) == (8, 2)
    advance(sequence, Changes())
    assert sequence.figures().withheld_age_max == 1
    advance(sequence, joins(range(20, 21), WELL))
    assert shown(sequence).keys() == {*range(6), *range(10, 18), 20}
    assert sequence.figures().waiting_edges == 0
    assert sequence.figures().k_real_min >= PARAMS.k


@pytest.mark.parametrize(
    ("n_shown", "n_waiting", "planted", "waits"),
    [(32, 4, 0, 0), (24, 4, 0, 1), (31, 4, 0, 1), (40, 4, 2, 1), (40, 5, 2, 0)],
)
def test_a_large_class_lets_few_newcomers_in(
    n_shown: int, n_waiting: int, planted: int, waits: int
) -> None:
    """K and who may be planted are enough where the class has eight times as many places."""
    sequence = begun(joins(range(n_shown), WELL), sybil_margin=planted)
    advance(sequence, joins(range(100, 100 + n_waiting - 1), WELL))
    assert sequence.figures().withheld_vertices == n_waiting - 1
    advance(sequence, joins(range(200, 201), WELL))
    assert (sequence.figures().withheld_vertices > 0) == bool(waits)


@pytest.mark.parametrize(
    ("values", "are_alike", "waits"), [(OTHER, True, 1), (OTHER, False, 3), (WELL, False, 1)]
)
def test_a_class_is_first_shown_when_it_can_be_told_who_goes_with_whom(
    values: tuple[str, str], are_alike: bool, waits: int
) -> None:
    """Ties of the same kinds, or birth_wait_max; newcomers of a shown class wait for neither."""
    kinds = [(f"kind {i}", "well") for i in range(6)]
    first = Changes(joined=np.arange(12), joined_values=[WELL] * 6 + kinds)
    sequence = begun(first, sybil_margin=0, birth_wait_max=3)
    friends = [6, 6, 6, 7, 7, 7] if are_alike else range(6, 12)
    ties = list(zip(range(20, 26), friends, strict=True))
    advance(sequence, joins(range(20, 23), values, ties[:3]))
    advance(sequence, joins(range(23, 26), values, ties[3:]))
    for waited in (1, 2, 3):
        is_published = shown(sequence).keys() == {*range(6), *range(20, 26)}
        assert is_published == (waited >= waits)
        advance(sequence, Changes())


def test_nobody_waits_for_ties_for_ever() -> None:
    """People of a new class without any tie are published after birth_wait_max releases."""
    sequence = begun(joins(range(6), WELL), sybil_margin=0, birth_wait_max=2)
    advance(sequence, joins(range(10, 15), OTHER))
    advance(sequence, joins(range(15, 16), OTHER))
    assert shown(sequence).keys() == set(range(6))
    advance(sequence, Changes())
    assert shown(sequence).keys() == {*range(6), *range(10, 16)}


def test_too_few_newcomers_wait_on() -> None:
    """Fewer than k people are not published, however long they have waited; nobody is inserted."""
    sequence = begun(joins(range(6), WELL), birth_wait_max=2)
    advance(sequence, joins(range(10, 11), OTHER))
    for _ in range(4):
        assert 10 not in shown(sequence)
        advance(sequence, Changes())
    assert 10 not in shown(sequence)
    assert sequence.figures().unowned_vertices == 0


def test_newcomers_are_drawn_under_alpha() -> None:
    """Of too many sensitive newcomers some wait."""
    sequence = begun(joins(range(4), WELL), sybil_margin=0)
    advance(sequence, joins(range(10, 14), ILL))
    advance(sequence, joins(range(20, 24), WELL))
    published = shown(sequence)
    assert {*range(20, 24)} <= published.keys()
    assert sum(key in published for key in range(10, 14)) == 2
    assert sequence.figures().withheld_vertices == 2


def test_a_counterfeit_keeps_the_place_and_forgets_the_person() -> None:
    """Who leaves is in no page any more; the place stays as it was shown, its tie residual."""
    key = 7_777_777_777_777
    first = Changes(
        joined=np.array([*range(6), key]),
        joined_values=[*[WELL] * 6, ILL],
        ties_added=np.array([[0, key]]),
    )
    sequence = begun(first)
    before = sequence.released()
    advance(sequence, Changes(left=np.array([key])))
    after = sequence.released()
    assert after.ids.tolist() == before.ids.tolist()
    assert key in before.keys
    assert key not in after.keys
    assert after.graph.is_sensitive.tolist() == before.graph.is_sensitive.tolist()
    assert after.graph.is_sensitive.sum() == 1
    assert sequence.figures().unowned_vertices == 1
    assert key.to_bytes(8, "little") not in b"".join(dict(sequence.pages()).values())


def test_a_changed_quasi_identifier_is_held_until_a_group_moves() -> None:
    """One mover is shown as before; m of one cohort are published anew as one cohort."""
    sequence = begun(joins(range(5), WELL))
    history = [naive.published(sequence)]
    for key in range(3):
        changes = Changes(changed=np.array([key]), changed_values=[OTHER])
        advance(sequence, changes)
        history.append(naive.published(sequence))
        assert sequence.figures().held_values == (key + 1 if key < 2 else 0)
    assert {key for key, values in shown(sequence).items() if values["a"] == "y"} == {0, 1, 2}
    assert sequence.figures().unowned_vertices == 3
    assert naive.failures(history, PARAMS, SCHEMA.sensitive_values) == []


def test_a_sensitive_update_beyond_alpha_is_suppressed() -> None:
    """The ever-sensitive share never exceeds alpha, even if sensitive people recover."""
    sequence = begun(joins(range(5), WELL))
    for key, value in ((0, ILL), (0, WELL), (1, ILL)):
        advance(sequence, Changes(changed=np.array([key]), changed_values=[value]))
    published = shown(sequence)
    assert published[1]["s"] == "-"
    assert sequence.figures().moves["sensitive_suppressed"] == 1


def test_nobody_shows_a_missing_value_that_nobody_hides_behind() -> None:
    """It becomes one of the values of a release when somebody shows it."""
    sequence = begun(joins(range(6), WELL))
    for key, value in ((0, ILL), (0, WELL)):
        advance(sequence, Changes(changed=np.array([key]), changed_values=[value]))
    assert "-" not in sequence.released().graph.categories[-1]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 11), st.sampled_from(["well", "ill", "hurt", "-"])), max_size=40
    ),
    st.integers(1, 4),
    st.sampled_from([(3, THIRD), *((6, alpha) for alpha in ALPHAS[2:-1])]),
)
@example([(i, "ill") for i in range(12)], 1, (6, Fraction(2, 5)))
@example([*((i, "ill") for i in range(7)), (0, "well")], 1, (3, THIRD))
@example(
    [(0, "ill"), (2, "ill"), (3, "ill"), (7, "ill"), (7, "well"), (1, "ill"), (7, "ill")],
    1,
    (3, THIRD),
)
@example(
    [*5 * [(0, "well")], (0, "ill"), *((i, "ill") for i in range(2, 6)), (1, "-")], 1, (3, THIRD)
)
def test_a_missing_value_tells_no_more_than_alpha(
    updates: list[tuple[int, str]], per_release: int, k_and_alpha: tuple[int, Fraction]
) -> None:
    """Of those who show "-" instead of their value at most alpha hide a sensitive one.

    Unless everybody in their cohort shows "-" or a sensitive value; and nobody is ever singled out
    by showing a value again.
    """
    k, alpha = k_and_alpha
    sequence = begun(joins(range(12), WELL), PrivacyParams(k=k, alpha=alpha))
    true = dict.fromkeys(range(12), "well")
    before = shown(sequence)
    hiding: set[int] = set()
    for start in range(0, len(updates), per_release):
        batch = dict(updates[start : start + per_release])
        true |= batch
        changes = Changes(
            changed=np.array(sorted(batch)),
            changed_values=[("x", batch[key]) for key in sorted(batch)],
        )
        advance(sequence, changes)
        after = shown(sequence)
        cohorts = dict(zip(sequence.released().keys.tolist(), sequence.cohorts(), strict=True))
        for label in set(cohorts.values()):
            members = [key for key in true if cohorts[key] == label]
            masked = [key for key in members if after[key]["s"] == "-" != true[key]]
            hidden = sum(true[key] == "ill" for key in masked)
            harmless = {after[key]["s"] for key in members} & {"well", "hurt"}
            assert not harmless or hidden <= alpha * len(masked)
            back = [key for key in members if before[key]["s"] == "-" != after[key]["s"]]
            assert label not in hiding or not back
            if hidden:
                hiding.add(label)
        before = after


@given(st.sampled_from(ALPHAS), st.integers(0, 60), st.integers(0, 60))
def test_a_cohort_lacks_no_more_than_m_and_alpha_ask_for(
    alpha: Fraction, members: int, sensitive: int
) -> None:
    """The least number of harmless members with whom it is large and harmless enough."""
    params = PrivacyParams(k=3, alpha=alpha)
    spec = SequenceSpec.of(SCHEMA, params, SequenceOptions(margin=0))
    context = StepContext(State(1), spec, np.random.default_rng(0))
    more = new_cohorts._lacking(context, members, sensitive)

    def is_enough(size: int) -> bool:
        return size >= params.group_size_min and sensitive <= alpha * size

    assert is_enough(members + more)
    assert more == 0 or not is_enough(members + more - 1)


@pytest.mark.parametrize(
    "wrong", [{"sybil_margin": -1}, {"margin": -1}, {"max_age": 1}, {"effort": "none"}]
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    """Options are checked before anything is made."""
    with pytest.raises(InvalidParams):
        SequenceOptions(**wrong)  # type: ignore[arg-type]


def test_options_survive_a_mapping() -> None:
    """What is saved is what was chosen; unknown names are refused."""
    options = SequenceOptions(sybil_margin=1, max_age=5)
    assert SequenceOptions.from_mapping(options.to_mapping()) == options
    with pytest.raises(InvalidParams):
        SequenceOptions.from_mapping({"covers": True})
