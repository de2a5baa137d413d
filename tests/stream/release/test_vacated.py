"""Departures through the service: which places were left is kept, and attacked after erasure."""

from __future__ import annotations

import hashlib
import json
import random
from datetime import datetime
from pathlib import Path

import pytest
from msgspec import convert

from ktsafe import PrivacyParams
from ktsafe.assess.releases.attacks import attack_releases
from ktsafe.sequence import SequenceOptions
from ktsafe.sequence.memory.sequence_options import margin_for
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.private_audits import read_vacated
from ktsafe.stream.files.release_figures import safety_in_words, secrets_of
from ktsafe.stream.release.sequence_report import Sources, audit_sequence
from tests import places_left
from tests.stream.service.simulation import World, event

ATTRIBUTES = {"quasi_identifiers": ["gender"], "sensitive": "health"}
SLOTS = 6


def leaving(seed: int) -> list[dict[str, object]]:
    """Return a feed of 48 people of whom some leave in every slot but the first; some are ill."""
    rng = random.Random(seed)
    there = [f"p{i}" for i in range(48)]
    events = [
        event(
            "vertex.upsert",
            1 + i / 100,
            x,
            gender="fm"[i % 2],
            health=rng.choice(["ill", "ok", "ok"]),
        )
        for i, x in enumerate(there)
    ]
    events += [event("edge.add", 5 + i / 100, *rng.sample(there, 2)) for i in range(90)]
    for slot in range(1, SLOTS):
        for i in range(3):
            gone = there.pop(rng.randrange(len(there)))
            events.append(event("vertex.delete", 10 * slot + 1 + i / 10, gone))
        events.append(event("edge.add", 10 * slot + 2, *rng.sample(there, 2)))
    return events


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    """Return a world that ran through, and a folder with its releases and feed."""
    folder = tmp_path_factory.mktemp("vacated")
    events = leaving(0)
    world = World(
        folder / "world",
        [events],
        params=PrivacyParams(k=3, alpha="2/3"),
        sequence=SequenceOptions(effort="fast"),
        seed=1,
    )
    counts = world.run()
    assert len(counts.published) == SLOTS
    for release_id, (_, files) in world.releases.releases.items():
        (folder / "releases" / release_id).mkdir(parents=True)
        for name, data in files.items():
            (folder / "releases" / release_id / name).write_bytes(data)
    (folder / "feed.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    return world, folder


def left(world: World, i: int) -> set[str]:
    """Return the ids that changed from somebody's to nobody's, by the mappings of the time."""
    before, after = (world.mappings[name] for name in sorted(world.mappings)[i - 1 : i + 1])
    return {v for v, person in before.items() if person and after.get(v) != person}


def test_the_private_audit_tells_when_a_margin_is_used_up(site: tuple[World, Path]) -> None:
    """Nobody knows before somebody left; then it is so many releases later, `ktsafe status` too."""
    _, folder = site
    times, told, words = [], [], []
    for path in sorted((folder / "releases").iterdir()):
        nominal = json.loads((path / "manifest.json").read_bytes())["nominal_time"]
        times.append(datetime.fromisoformat(nominal))
        audit = json.loads((folder / "world" / "audit" / path.name / "audit.json").read_bytes())
        told.append(audit["sequence"])
        secrets = secrets_of(convert(audit, Audit))
        assert secrets.margin_until == told[-1]["margin_until"]
        words.append(safety_in_words(secrets))
    assert {each["margin"] for each in told} == {margin_for(3)}
    assert told[0]["margin_until"] is None
    for before, now, each, said in zip(times[:-1], times[1:], told[1:], words[1:], strict=True):
        until = now + each["margin_lasts"] * (now - before)
        assert datetime.fromisoformat(each["margin_until"]) == until
        assert str(until.date()) in said


def test_the_private_audit_lists_places_that_were_left(site: tuple[World, Path]) -> None:
    """Exactly those whose owner is no longer behind them, and nobody's name."""
    world, folder = site
    for i, name in enumerate(sorted(world.mappings)):
        said = read_vacated(folder / "world" / "audit", name)
        assert set(said) == (left(world, i) if i else set())
        assert list(said) == sorted(said)
    assert left(world, 1)


def test_the_attack_finds_as_many_as_were_counted_before_erasure(
    site: tuple[World, Path],
) -> None:
    """On the service's own folder, where leavers are blank, it says what the mappings said then."""
    world, folder = site
    history = []
    for name in sorted(world.mappings):
        copies = folder / "copies" / name
        copies.mkdir(parents=True)
        rows = (f"{v},{person or ''}\n" for v, person in world.mappings[name].items())
        (copies / "mapping.csv").write_text("released_id,original_id\n" + "".join(rows))
        history.append(places_left.shown(folder / "releases" / name, copies, ATTRIBUTES))
    found = list(places_left.chances(history))
    sources = Sources([folder / "releases"], folder / "world" / "audit", folder / "feed.jsonl")
    (part,) = attack_releases(sources, ["departure", "arrival", "age"]).sequences
    named = next(each for each in part.results if each.attack == "departure.named")
    assert named.targets == len(found) == 3 * (SLOTS - 1)
    by_all, by_value, control = (sum(column) / len(found) for column in zip(*found, strict=True))
    assert named.value == pytest.approx(by_all, abs=1e-6)
    assert named.figures["by_value"] == pytest.approx(by_value, abs=1e-6)
    assert named.control == pytest.approx(control, abs=1e-6)
    # No value changes because somebody left; a cohort that nobody is left of may vanish as a whole.
    assert by_value <= 1 / 3


def test_the_audit_of_the_folder_sees_a_value_that_changes_with_a_departure(
    site: tuple[World, Path],
) -> None:
    """Safe as published; with one value changed where somebody left it is not."""
    world, folder = site
    sources = Sources([folder / "releases"], folder / "world" / "audit", folder / "feed.jsonl")
    report = audit_sequence(sources)
    assert not any(found.kind == "value_uncovered" for found in report.violations)
    assert report.sequences[0].values.vertices == 0
    name = sorted(world.mappings)[2]
    own = world.value_at[name][min(left(world, 2))]
    text = (folder / "releases" / name / "vertices.csv").read_text()
    (line,) = [each for each in text.splitlines() if own in each]
    other = line[: line.rindex(",")] + (",ok" if line.endswith("ill") else ",ill")
    forged = folder / "forged"
    for path in (folder / "releases").iterdir():
        (forged / path.name).mkdir(parents=True)
        for each in path.iterdir():
            (forged / path.name / each.name).write_bytes(each.read_bytes())
    changed = text.replace(line, other).encode()
    manifest = json.loads((forged / name / "manifest.json").read_bytes())
    manifest["sha256"]["vertices.csv"] = hashlib.sha256(changed).hexdigest()
    (forged / name / "vertices.csv").write_bytes(changed)
    (forged / name / "manifest.json").write_text(json.dumps(manifest))
    found = audit_sequence(Sources([forged], sources.mapping, sources.truth)).violations
    (kind,) = [each for each in found if each.kind == "value_uncovered"]
    assert kind.first.release_id == name
    assert kind.first.examples == (own,)
