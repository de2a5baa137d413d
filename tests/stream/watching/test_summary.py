"""What a run says at its end."""

from __future__ import annotations

from stream.commands.run import describe
from stream.watching.summary import Summary


def test_a_release_by_itself_holds_nothing_back() -> None:
    """Counts of how it was made are no sequence's; those of a sequence are told."""
    summary = Summary()
    summary.sequence({})
    assert "held back" not in describe(summary.counts, {}, "")
    summary.sequence({"withheld_vertices": 2, "held_edges": 5, "cohorts": 1})
    assert "held back 2 people, 5 ties" in describe(summary.counts, {}, "")


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
