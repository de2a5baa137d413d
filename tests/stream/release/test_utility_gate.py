"""Releases that are safe and say too little are withheld like unsafe ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.audit import Overlap, Usefulness
from ktsafe.errors import BelowMinimumUtility
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.release import snapshotter
from ktsafe.stream.release.snapshotter import check_utility
from tests.stream.service.simulation import World, event

OPTIONS = SequenceOptions(effort="fast")
PEOPLE = Overlap.of(4, 4, 4)
FEED = [
    *(event("vertex.upsert", 1 + i, f"p{i}", gender="f", health="well") for i in range(8)),
    # Nobody is as well connected as p0: not all that is true can be shown.
    *(event("edge.add", 9.1 + i / 10, "p0", f"p{i}") for i in range(1, 6)),
    event("edge.add", 15, "p0", "p6"),
    event("edge.add", 25, "p0", "p7"),
]


@st.composite
def overlaps(draw: st.DrawFn) -> Overlap:
    """Draw the numbers of two sets and of what they share."""
    true, released = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    return Overlap.of(true, released, draw(st.integers(0, min(true, released))))


@given(overlaps(), st.fractions(0, 1))
def test_what_is_refused(edges: Overlap, floor: float) -> None:
    """A release passes iff its edge cost is within |T| and its F1, if any, above the floor."""
    min_f1, found = float(floor), Usefulness.of(edges, PEOPLE)
    inserted, hidden = edges.released - edges.shared, edges.true - edges.shared
    expected = None
    if inserted + hidden > edges.true:
        expected = "costs_more_than_nothing"
    elif edges.true + edges.released and 2 * edges.shared / (edges.true + edges.released) < min_f1:
        expected = "below_min_f1"
    if expected is None:
        check_utility(found, min_f1, lambda: 0)
        return
    with pytest.raises(BelowMinimumUtility) as refused:
        check_utility(found, min_f1, lambda: 0)
    assert refused.value.reason == expected
    assert not any(digit in str(refused.value) for digit in "23456789")


def test_a_release_dearer_than_nothing_is_withheld(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is counted by its reason, and nothing else is told; the next may go."""
    measured, calls = snapshotter.usefulness, []

    def dear_at_first(traced: object) -> Usefulness:
        calls.append(traced)
        if len(calls) == 1:
            return Usefulness.of(Overlap.of(317, 421, 23), PEOPLE)
        return measured(traced)  # type: ignore[arg-type]

    monkeypatch.setattr(snapshotter, "usefulness", dear_at_first)
    world = World(tmp_path, [FEED], sequence=OPTIONS)
    counts = world.run()
    assert counts.withheld == {"costs_more_than_nothing": 1}
    assert [time // 1000 for time, _ in world.releases.releases.values()] == [20, 30]
    told = [str(vars(record)["fields"]) for record in caplog.records]
    assert any("costs_more_than_nothing" in fields for fields in told)
    for figure in ("317", "421", "692"):
        assert not [fields for fields in told if figure in fields]


def test_the_owners_floor_holds_releases_back(tmp_path: Path) -> None:
    """Below the floor nothing goes out; once it is lowered the service goes on from there."""
    world = World(tmp_path, [FEED], sequence=OPTIONS)
    world.min_f1 = 1.0
    counts = world.run()
    assert set(counts.withheld) == {"below_min_f1"}
    assert not world.releases.releases
    assert not list((tmp_path / "audit").glob("*/audit.json"))
    world.min_f1 = 0.0
    world.extend(0, [event("edge.add", 35, "p1", "p7")])
    n_published = world.run().n_published
    audits = [json.loads(path.read_text()) for path in (tmp_path / "audit").glob("*/audit.json")]
    assert len(audits) == n_published > 0
    for audit in audits:
        assert audit["min_f1"] == 0.0
        assert not audit["usefulness"]["costs_more_than_nothing"]


def test_every_audit_tells_that_the_gate_was_passed(tmp_path: Path) -> None:
    """No published release costs more than nothing, and its audit shows by how much."""
    World(tmp_path, [FEED], sequence=OPTIONS).run()
    audits = [json.loads(path.read_text()) for path in (tmp_path / "audit").glob("*/audit.json")]
    assert len(audits) == 3
    for audit in audits:
        edges = audit["usefulness"]["edges"]
        assert edges["cost"] <= edges["true"]
        assert edges["true"] == audit["size"]["original"]["edges"]


def test_ties_that_wait_for_their_turn_are_not_missed() -> None:
    """Below the floor the ties of pairs that are planned afresh are left out."""
    asked = []

    def of_turn(n: int) -> int:
        asked.append(n)
        return n

    check_utility(Usefulness.of(Overlap.of(100, 0, 0), PEOPLE), 0.1, lambda: of_turn(100))
    check_utility(Usefulness.of(Overlap.of(100, 10, 5), PEOPLE), 0.5, lambda: of_turn(90))
    with pytest.raises(BelowMinimumUtility, match="below_min_f1"):
        check_utility(Usefulness.of(Overlap.of(100, 10, 5), PEOPLE), 0.5, lambda: of_turn(85))
    assert asked == [100, 90, 85]
    check_utility(Usefulness.of(Overlap.of(100, 90, 80), PEOPLE), 0.5, lambda: of_turn(0))
    assert asked == [100, 90, 85]


def test_a_pair_that_is_dark_by_its_turn_is_no_reason(tmp_path: Path) -> None:
    """People of one class have one pair: while it is planned afresh, nothing is shown."""
    people = [event("vertex.upsert", 1 + i / 100, f"p{i}", gender="f") for i in range(24)]
    ties = [event("edge.add", 3 + i / 100, f"p{i}", f"p{(i + 1) % 24}") for i in range(24)]
    news = [event("edge.add", 10 * i + 5, f"p{i}", f"p{i + 9}") for i in range(1, 9)]
    options = SequenceOptions(effort="fast", max_age=4)
    world = World(tmp_path, [[*people, *ties, *news]], sequence=options, seed=1)
    world.min_f1 = 0.1
    counts = world.run()
    assert not counts.withheld
    worths = [
        json.loads(path.read_text())["usefulness"]["edges"]["f1"]
        for path in sorted((tmp_path / "audit").glob("*/audit.json"))
    ]
    assert min(worth or 0 for worth in worths) < world.min_f1 < max(worths)
