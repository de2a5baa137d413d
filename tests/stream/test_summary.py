"""What a run says at its end."""

from __future__ import annotations

from stream.commands.run import describe
from stream.summary import Summary


def test_a_release_by_itself_holds_nothing_back() -> None:
    """Counts of how it was made are no sequence's; those of a sequence are told."""
    summary = Summary()
    summary.sequence({"index_locations_kept": 3})
    assert "held back" not in describe(summary.counts, {}, "")
    summary.sequence({"withheld_vertices": 2, "held_edges": 5, "cohorts": 1})
    assert "held back 2 people, 5 ties" in describe(summary.counts, {}, "")
