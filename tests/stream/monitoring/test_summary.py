"""What a run says at its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ktsafe.stream.commands.run import describe
from ktsafe.stream.files.release_figures import ReleaseFigures, Secrets
from ktsafe.stream.monitoring.summary import Summary


def test_a_release_by_itself_holds_nothing_back() -> None:
    """Counts of how it was made are no sequence's; those of a sequence are told."""
    summary = Summary()
    summary.sequence({})
    assert "not shown" not in describe(summary.counts, {}, "")
    summary.sequence({"withheld_vertices": 2, "held_edges": 5, "cohorts": 1})
    assert "not shown 2 people, 5 ties" in describe(summary.counts, {}, "")


def test_what_a_release_is_worth_is_told_to_its_operator_alone() -> None:
    """On a terminal the last release's usefulness stands beside its size; a log never has it."""
    summary = Summary()
    worth: dict[str, float | None] = {"edge_f1": 0.625, "edge_precision": 0.75}
    figures = ReleaseFigures(
        release_id="r1",
        nominal_us=0,
        vertices=1,
        edges=1,
        is_published=False,
        secrets=Secrets({}, {}, {}, {}, worth),
    )
    summary.release_audited(figures)
    summary.release_published("r1", 0, 1, 1)
    assert "precision 0.75, recall -, F1 0.62" in describe(summary.counts, {}, "")
    assert "F1" not in describe(summary.counts, {}, "", is_private=False)


@given(st.dictionaries(st.integers(0, 3), st.none() | st.integers(0, 9)))
def test_the_lag_is_known_where_that_of_each_partition_is(lags: dict[int, int | None]) -> None:
    """The whole of some partitions is not told as that of all."""
    summary = Summary()
    summary.lag({("feed", 0): 5})
    summary.lag({("feed", partition): lag for partition, lag in lags.items()})
    assert summary.counts.lag == (None if None in lags.values() else sum(lags.values()))


def test_a_release_is_in_flight_from_its_cut_on() -> None:
    """The first phase is the longest: who looks meanwhile is told that one is being made."""
    summary = Summary()
    summary.release_begun()
    assert summary.counts.phase == "cut"
    summary.release_phase("anonymize", 1.0)
    assert summary.counts.phase == "anonymize"
    summary.release_published("000001", 0, 1, 1)
    assert not summary.counts.phase


def test_a_run_without_a_release_says_so() -> None:
    """No release is said to have been verified where none was published."""
    summary = Summary()
    assert "published nothing" in describe(summary.counts, {}, "")
    summary.release_published("000001", 0, 1, 1)
    assert "published 1 releases, each verified kt-safe before" in describe(summary.counts, {}, "")
