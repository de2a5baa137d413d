"""A network that is suddenly written otherwise is not released, and the reason names what."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from ktsafe import PrivacyParams, Schema
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.monitoring.summary import Counts
from tests.stream.service.simulation import World, event

PARAMS = PrivacyParams(k=3, alpha=Fraction(1, 5))
SCHEMA = Schema(("gender", "ward"), "health", frozenset({"ill"}))
PEOPLE = {
    f"p{i}": {"gender": "fm"[i % 2], "ward": "34"[i % 4 // 2], "health": "ill" if i < 8 else "well"}
    for i in range(80)
}
Values = Mapping[str, str | None]


def world_of(
    folder: Path, second: Mapping[str, Values], schema: Schema = SCHEMA, change_max: float = 0.2
) -> World:
    """Return a service whose feed says at first what `PEOPLE` have, then what `second` says."""
    first = [event("vertex.upsert", 1 + i / 100, p, **v) for i, (p, v) in enumerate(PEOPLE.items())]
    ties = [event("edge.add", 3 + i / 100, f"p{i}", f"p{i + 4}") for i in range(70)]
    later = [
        event("vertex.upsert", 12 + i / 100, p, **v) for i, (p, v) in enumerate(second.items())
    ]
    more = [event("edge.add", 25, "p0", "p2"), event("edge.add", 35, "p1", "p3")]
    options = SequenceOptions(effort="fast")
    feed = [*first, *ties, *later, *more]
    world = World(folder, [feed], schema=schema, params=PARAMS, sequence=options, seed=1)
    world.change_max = change_max
    return world


def respelt(name: str, spelling: Mapping[str, str], share: float = 1) -> dict[str, Values]:
    """Return what changes if an attribute's values are written otherwise, for the first people."""
    some = list(PEOPLE.items())[: int(share * len(PEOPLE))]
    return {p: {name: spelling[v[name]]} for p, v in some if v[name] in spelling}


def run(world: World) -> Counts:
    """Run the service to the end of its feed; it must go on after what it withholds."""
    counts = world.run()
    assert counts.n_published + counts.withheld.total() >= 3
    return counts


@pytest.mark.parametrize("spelling", ["ILL", "i ll", "'ill", "i l l", "Ill"])
@pytest.mark.parametrize("share", [1, 0.02], ids=["everybody", "one person"])
def test_almost_a_sensitive_value_is_withheld(tmp_path: Path, spelling: str, share: float) -> None:
    """However few write it: the problem names attribute, value, and the declared one."""
    counts = run(world_of(tmp_path, respelt("health", {"ill": spelling}, share)))
    assert counts.withheld["written_otherwise"] == 3
    assert counts.n_published == 1
    for named in ("'health'", repr(spelling), "'ill'", "harmless_values"):
        assert named in counts.why_withheld


def test_what_is_declared_is_meant(tmp_path: Path) -> None:
    """Two declared values are never near, whichever of them is sensitive."""
    second = respelt("health", {"ill": "ILL"}, 0.02)
    harmless = Schema(("gender", "ward"), "health", frozenset({"ill"}), harmless_values={"ILL"})
    both = Schema(("gender", "ward"), "health", {"ill", "ILL"}, expect_absent={"ILL"})
    for number, schema in enumerate((harmless, both)):
        counts = run(world_of(tmp_path / str(number), second, schema))
        assert not counts.withheld
        assert counts.n_published == 4


@pytest.mark.parametrize("declared", [{"ill"}, {"ill", "diseased"}])
def test_a_sensitive_value_that_everybody_lost_is_withheld(
    tmp_path: Path, declared: set[str]
) -> None:
    """Nothing is alike here: that nobody has what was sensitive before is told."""
    schema = Schema(("gender", "ward"), "health", declared, expect_absent=declared)
    counts = run(world_of(tmp_path, respelt("health", {"ill": "diseased"}), schema))
    assert counts.withheld["written_otherwise"] == 3
    assert "'health'" in counts.why_withheld
    assert "'ill'" in counts.why_withheld
    assert "diseased" not in counts.why_withheld


@pytest.mark.parametrize("name", ["ward", "health"])
def test_a_column_that_is_written_otherwise_is_withheld(tmp_path: Path, name: str) -> None:
    """More than a fifth of the people change at once: the attribute is named, and no value."""
    spelling = {"3": "third", "4": "fourth", "well": "healthy"}
    counts = run(world_of(tmp_path, respelt(name, spelling, 0.5)))
    assert counts.withheld["written_otherwise"] == 3
    assert f"changed {name!r}" in counts.why_withheld
    assert "third" not in counts.why_withheld


@pytest.mark.parametrize(("share", "is_withheld"), [(0.15, False), (0.2, False), (0.25, True)])
def test_people_may_change(tmp_path: Path, share: float, is_withheld: bool) -> None:
    """Up to the bound it is people who change; beyond it, a program."""
    counts = run(world_of(tmp_path, respelt("ward", {"3": "5", "4": "6"}, share)))
    assert bool(counts.withheld) == is_withheld


def test_the_owner_says_that_it_is_meant(tmp_path: Path) -> None:
    """With change_max = 1 the service goes on from where it stood, and nothing is lost."""
    world = world_of(tmp_path, respelt("ward", {"3": "third", "4": "fourth"}))
    assert run(world).n_published == 1
    world.change_max = 1.0
    world.extend(0, [event("edge.add", 45, "p0", "p6")])
    assert world.run().n_published >= 1
    last = max(world.releases.releases)
    shown = {values["ward"] for values in world.released_people(last)[0].values()}
    assert shown & {"third", "fourth"}


def test_after_the_former_spelling_is_back_releases_go_on(tmp_path: Path) -> None:
    """A release that was withheld leaves nothing: compared is with what went out last."""
    world = world_of(tmp_path, respelt("health", {"ill": "ILL"}))
    assert run(world).n_published == 1
    back = [
        event("vertex.upsert", 42 + i / 100, p, health=PEOPLE[p]["health"])
        for i, p in enumerate(PEOPLE)
    ]
    world.extend(0, [*back, event("edge.add", 55, "p0", "p6")])
    assert world.run().n_published >= 1


def test_the_first_release_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One person whose value is almost the sensitive one is enough, from the start."""
    monkeypatch.setitem(PEOPLE, "p9", {**PEOPLE["p9"], "health": "iLL"})
    counts = run(world_of(tmp_path, {}))
    assert counts.n_published == 0
    assert set(counts.withheld) == {"written_otherwise"}


@pytest.mark.parametrize("text", ["4", "NULL"])
def test_texts_that_look_missing_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    """The log names the attribute, and not the value."""
    changed = {p: {**v, "ward": v["ward"].replace("4", text)} for p, v in PEOPLE.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.stream.release.test_respelling.PEOPLE", changed)
        run(world_of(tmp_path, {}))
    told = [vars(record) for record in caplog.records if record.message == "values look missing"]
    assert [record["fields"]["subject"] for record in told] == ["ward"] * (text == "NULL")
    assert text not in str(told)
