"""The figures that operators watch, picked out of private audits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import convert, to_builtins

from ktsafe.sequence import SequenceOptions
from ktsafe.stream.files.audit_model import AttackResult, Audit
from ktsafe.stream.files.release_figures import (
    recent_releases,
    secrets_of,
    sharpest,
    worth_in_words,
)
from ktsafe.stream.monitoring.board import StatusBoard
from ktsafe.stream.monitoring.summary import Counts
from tests.ktsafe.assess.report.examples import figures
from tests.stream.service.simulation import PARAMS, World, event

LINKED = SequenceOptions(effort="fast")


def feed(slots: int) -> list[dict[str, object]]:
    """Return a feed of ten people and a tie more per slot."""
    people = [event("vertex.upsert", 1 + i, f"p{i}", gender="f", health="well") for i in range(10)]
    ties = [event("edge.add", 10.0 * i + 15, f"p{i}", f"p{i + 1}") for i in range(slots)]
    return [*people, *ties]


def test_figures_are_those_of_the_audit(tmp_path: Path) -> None:
    """Every release reaches the board with the cost and the candidates that its audit tells."""
    world = World(tmp_path, [feed(3)], sequence=LINKED)
    board = StatusBoard(PARAMS, Counts())
    world.run(observer=board)
    releases = board.report(secrets=True).releases
    assert len(releases) >= 3
    assert all(each.is_published for each in releases)
    for each in releases:
        audit = json.loads((tmp_path / "audit" / each.release_id / "audit.json").read_text())
        assert to_builtins(convert(audit, Audit)) == audit, "nothing is lost on the way"
        assert audit["sequence"]["withheld_vertices"] == audit["declared"]["withheld"]
        secrets = each.secrets
        assert secrets is not None
        assert secrets == secrets_of(convert(audit, Audit))
        assert sum(secrets.cost.values()) == audit["cost"]["total"]
        assert secrets.freshness is not None
        assert secrets.worth["edge_f1_afresh"] is None, "nothing was attacked"
        assert "sequence" in secrets.candidates
        claimed = secrets.candidates["claimed"]
        assert claimed.least is None or claimed.least >= PARAMS.k


@pytest.mark.parametrize("order", [1, -1])
def test_the_variant_that_found_most_stands_for_an_attack(order: int) -> None:
    """Of promised ones the one most surely beyond; without targets there is none."""

    def variant(
        value: float, promise: float | None = None, targets: int = 9, reach: float = 0.1
    ) -> AttackResult:
        result = {"attack": f"one_hop.{value}", "measure": "share", "targets": targets}
        result |= {"value": value, "interval": (value - reach, value + reach), "promise": promise}
        result |= {"control": 0, "without_target": None, "is_broken": False}
        return convert({**result, "figures": {}, "bands": {}}, AttackResult)

    free = [variant(0.2), variant(0.4), variant(0.9, targets=0)]
    both = [*free, variant(0.3, 0.1), variant(0.35, 0.3), variant(0.6, 0.3, reach=0.4)]
    assert sharpest(free[::order])["one_hop"].value == 0.4
    assert sharpest(both[::order])["one_hop"].value == 0.3


def test_a_restart_knows_the_last_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first process showed last, the next one reads back from ledger and audits."""
    world = World(tmp_path, [feed(3)], sequence=LINKED)
    before = StatusBoard(PARAMS, Counts())
    world.run(observer=before)
    after = StatusBoard(PARAMS, Counts())
    monkeypatch.setattr("ktsafe.stream.files.release_figures.HISTORY_MAX", 2)
    world.run(observer=after)
    shown = before.report(secrets=True).releases
    assert len(shown) > 2
    assert after.report(secrets=True).releases == shown[:2]


@pytest.mark.parametrize("damage", ["missing", "no JSON", "a figure in words"])
def test_a_lost_audit_costs_figures_only(tmp_path: Path, damage: str) -> None:
    """Where the audit of a release is gone its sizes are still shown."""
    world = World(tmp_path, [feed(1)])
    world.run()
    path = min((tmp_path / "audit").glob("*/audit.json"))
    match damage:
        case "missing":
            path.unlink()
        case "no JSON":
            path.write_text("{")
        case _:
            audit = json.loads(path.read_text())
            audit["cost"]["total"] = str(audit["cost"]["total"])
            path.write_text(json.dumps(audit))
    first = next(iter(recent_releases(world.open_store().ledger, tmp_path / "audit")))
    assert (first.release_id, first.secrets) == (path.parent.name, None)
    assert first.vertices > 0


def test_worth_is_told_in_words() -> None:
    """With the F1 of a fresh release where that is known, and nothing where nothing is."""
    worth = secrets_of(convert(figures(), Audit)).worth
    assert worth["edge_f1_afresh"] is None
    words = worth_in_words({**worth, "edge_f1": 0.5, "edge_f1_afresh": 0.75})
    assert "F1 0.50 (F1 of a fresh release: 0.75)," in words
    assert worth_in_words(dict.fromkeys(worth)) == ""
