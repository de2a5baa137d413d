"""Privacy parameters are exact, bounded and survive a round trip."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, InvalidParams, PrivacyParams
from ktsafe.params import DENOMINATOR_MAX, EPSILON_MAX, K_MAX, exact


def test_defaults_are_the_papers() -> None:
    """k=10, t=0.1, alpha=0.2, epsilon=5, n=1."""
    params = PrivacyParams()
    assert (params.k, params.t, params.alpha) == (10, Fraction(1, 10), Fraction(1, 5))
    assert (params.epsilon, params.n_hops) == (5, 1)


@pytest.mark.parametrize("value", [0.1, "0.1", "1/10", Fraction(1, 10)])
def test_decimals_mean_what_a_person_meant(value: Fraction | float | str) -> None:
    """0.1 is one tenth, not its binary neighbour."""
    assert exact(value, "t") == Fraction(1, 10)
    assert PrivacyParams(t=value).t == Fraction(1, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "1/0",
        "1e999999999",
        "0." + "1" * 100,
        None,
        float("nan"),
        float("inf"),
        [1],
        f"1/{DENOMINATOR_MAX + 1}",
        0.12345,
    ],
)
def test_what_is_no_short_rational_is_refused(value: object) -> None:
    """Text, infinities and too fine fractions are refused, never rounded."""
    with pytest.raises(InvalidParams):
        exact(value, "t")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"k": 0},
        {"k": K_MAX + 1},
        {"k": True},
        {"k": 2.0},
        {"epsilon": -1},
        {"epsilon": EPSILON_MAX + 1},
        {"t": "-1/10"},
        {"t": "11/10"},
        {"alpha": 0},
        {"alpha": "1.1"},
        {"n_hops": -1},
        {"n_hops": 65},
        {"n_hops": True},
        {"reading": "walks"},
    ],
)
def test_out_of_range_is_refused(changes: dict[str, object]) -> None:
    """Every bound is enforced at construction."""
    with pytest.raises(InvalidParams):
        PrivacyParams(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", dataclasses.fields(AnonymizeOptions), ids=lambda each: each.name)
def test_an_option_of_another_word_is_refused(field: dataclasses.Field[str]) -> None:
    """The message names the option, the hint what there is."""
    with pytest.raises(InvalidParams, match=f"{field.name} cannot be 'best'") as refused:
        AnonymizeOptions(**{field.name: "best"})  # type: ignore[arg-type]
    assert repr(field.default) in str(refused.value)


@pytest.mark.parametrize("changes", [{"k": 1, "epsilon": 0, "t": 0}, {"t": 1, "alpha": 1}])
def test_extremes_are_allowed(changes: dict[str, int]) -> None:
    """The ends of the ranges are valid."""
    assert PrivacyParams(**changes).group_size_min >= 1  # type: ignore[arg-type]


@given(
    st.integers(1, 40),
    st.fractions(min_value=Fraction(1, 60), max_value=1, max_denominator=60),
)
def test_least_group_can_hold_one_sensitive_member(k: int, alpha: Fraction) -> None:
    """M is the least number >= k of which one sensitive member is a share of at most alpha."""
    m = PrivacyParams(k=k, alpha=alpha).group_size_min
    assert m >= k
    assert Fraction(1, m) <= alpha
    assert m == k or Fraction(1, m - 1) > alpha


@given(
    st.integers(1, K_MAX),
    st.fractions(min_value=0, max_value=1, max_denominator=DENOMINATOR_MAX),
    st.fractions(
        min_value=Fraction(1, DENOMINATOR_MAX), max_value=1, max_denominator=DENOMINATOR_MAX
    ),
    st.integers(0, EPSILON_MAX),
)
def test_mapping_round_trip(k: int, t: Fraction, alpha: Fraction, epsilon: int) -> None:
    """Parameters written as JSON and read back are equal, rationals included."""
    params = PrivacyParams(k=k, t=t, alpha=alpha, epsilon=epsilon)
    assert PrivacyParams.from_mapping(json.loads(json.dumps(params.to_mapping()))) == params


def test_unknown_names_are_refused() -> None:
    """A misspelt parameter never falls back to its default silently."""
    with pytest.raises(InvalidParams, match="aplha"):
        PrivacyParams.from_mapping({"aplha": "0.2"})
