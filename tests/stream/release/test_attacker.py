"""The service attacks its own releases: figures, budget, and what is held back."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe.attacks import ATTACKS, Case, Result, ids_removed, run
from ktsafe.generalization.quick_release import afresh
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.errors import FoundByAttack
from ktsafe.stream.files.release_figures import ATTACKS_TOLD, attacks_of
from ktsafe.stream.release import attacker
from ktsafe.stream.release.attacker import Attacker, AttackSettings, AttackTarget
from tests.ktsafe.attacks.releases import graph_of, noisy, random_graph
from tests.stream.service.simulation import World, event

PARAMS = PrivacyParams(k=5)
PATIENT = AttackSettings(budget_s=600.0)


def shown(case: Case, sequence_id: str = "s", lives: np.ndarray | None = None) -> AttackTarget:
    """Return a case as the service shows it, each vertex with an id of its own number."""
    ids = np.array([f"{v:016x}" for v in range(case.released.n_vertices)])
    numbers = np.arange(case.original.n_vertices) if lives is None else lives
    return AttackTarget(sequence_id, case, ids, numbers)


def go_on() -> None:
    """Nothing stops the attacks."""


def small_case(*, inserted: int = 3) -> Case:
    """Return a release of 60 people."""
    rng = np.random.default_rng(0)
    return noisy(random_graph(60, 300, rng), rng, inserted=inserted, withheld=0)


def broken_case() -> Case:
    """Return the positive control."""
    rng = np.random.default_rng(0)
    graph = random_graph(120, 900, rng)
    return Case(graph, *ids_removed(graph, rng))


def test_figures_are_those_of_the_suite() -> None:
    """What the service tells is what `ktsafe audit --attacks` finds, in its words, JSON-ready."""
    it = small_case()
    told = Attacker(PATIENT).attack(shown(it), PARAMS, go_on)["attacks"]
    rng = np.random.default_rng(0)
    names = [name for name in ATTACKS_TOLD if name in ATTACKS]
    expected = run(it, PARAMS, rng, attacks=names)
    assert told["results"] == [result.to_mapping() for result in expected]
    assert told["unfinished"] == []
    assert json.loads(json.dumps(told)) == told
    assert set(attacks_of({"attacks": told})) == set(names)


def test_changes_are_attacked_from_one_release_of_a_sequence_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The release before counts only if it was staged, and if the sequence is the same."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("changes",))
    service = Attacker(PATIENT)

    def told(sequence_id: str) -> set[str]:
        found = service.attack(shown(small_case(), sequence_id), PARAMS, go_on)["attacks"]
        return {result["attack"] for result in found["results"] if "changes" in result["attack"]}

    both = {"changes.consecutive.true", "changes.consecutive.shown"}
    assert told("s") == set()
    service.end_build(staged=False)
    assert told("s") == set()
    service.end_build(staged=True)
    assert told("s") == both
    service.end_build(staged=False)
    assert told("s") == both
    assert told("another") == set()


def test_a_release_is_attacked_by_itself_again_once_enough_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures stand until a quarter has changed since the release they are of, which is named.

    They do not where nobody counted changes, where releases are held back, or if that release was
    not staged.
    """
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop",))
    first, second = small_case(), broken_case()
    few = (second.original.n_edges + second.released.n_edges) // 8

    def told(n_changed: int | None, *, hold: bool = False, staged: bool = True) -> list[Any]:
        """Attack four releases, the first unlike the others; return whose figures were told."""
        service = Attacker(AttackSettings(600.0, hold=hold))
        of = []
        for name, case in (("1", first), ("2", second), ("3", second), ("4", second)):
            now = dataclasses.replace(shown(case), release_id=name, n_changed=n_changed)
            found = service.attack(now, PARAMS, go_on)["attacks"]
            service.end_build(staged=staged or name != "1")
            of.append(found.get("of"))
            source = first if "1" in {name, of[-1]} else second
            rng = np.random.default_rng(0)
            expected = run(source, PARAMS, rng, attacks=("one_hop",))
            assert found["results"] == [result.to_mapping() for result in expected]
        return of

    assert told(few) == [None, "1", "1", None]
    assert told(None) == told(3 * few) == [None] * 4
    assert told(few, staged=False) == [None, None, "2", "2"]
    monkeypatch.setattr(Result, "is_broken", False)
    assert told(few, hold=True) == [None] * 4


def test_net_changes_are_attacked_since_the_last_release_but_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two staged releases of the sequence must go before, and older ones are forgotten."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("net_changes",))
    service = Attacker(PATIENT)

    def told() -> list[str]:
        found = service.attack(shown(small_case(), "s"), PARAMS, go_on)["attacks"]["results"]
        service.end_build(staged=True)
        return [result["attack"] for result in found]

    assert [told() for _ in range(4)] == [[], [], ["net_changes.two"], ["net_changes.two"]]


def test_ids_and_lives_are_matched_whatever_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose vertices and people are numbered anew shows no change at all."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("changes",))
    service, it = Attacker(PATIENT), small_case()
    service.attack(shown(it), PARAMS, go_on)
    service.end_build(staged=True)
    rng = np.random.default_rng(1)
    order, people = rng.permutation(it.released.n_vertices), rng.permutation(60)
    place = np.append(np.argsort(people), -1)
    again = Case(
        it.original.subgraph(people), it.released.subgraph(order), place[it.original_of[order]]
    )
    now = AttackTarget("s", again, shown(it).ids[order], people)
    found = service.attack(now, PARAMS, go_on)["attacks"]["results"]
    changed = [result["targets"] for result in found if result["attack"].startswith("changes")]
    assert changed == [0, 0]


def test_who_left_is_attacked_by_what_the_release_before_knew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One place changes its value as its owner leaves, and is found: a share of one."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("departure",))
    service, it = Attacker(PATIENT), broken_case()
    service.attack(shown(it), PARAMS, go_on)
    service.end_build(staged=True)
    own = int(np.flatnonzero(it.original_of == 0)[0])
    stayed = np.arange(1, it.original.n_vertices)
    for changes_value, expected in ((True, 1.0), (False, None)):
        codes = it.released.codes.copy()
        if changes_value:
            codes[own, -1] = 1 - codes[own, -1]
        after = Case(
            it.original.subgraph(stayed),
            graph_of(codes, it.released.edges),
            np.where(it.original_of == 0, -1, it.original_of - 1),
        )
        now = AttackTarget("s", after, shown(it).ids, stayed)
        (found,) = service.attack(now, PARAMS, go_on)["attacks"]["results"]
        assert (found["attack"], found["targets"]) == ("departure.named", 1)
        assert found["value"] == pytest.approx(expected or found["control"])


def test_a_release_that_is_surely_found_out_is_held_where_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The positive control is told in either case, and stopped with `hold` alone."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop",))
    told = Attacker(PATIENT).attack(shown(broken_case()), PARAMS, go_on)["attacks"]
    assert any(result["is_broken"] for result in told["results"])
    assert attacks_of({"attacks": told})["one_hop"].is_broken
    with pytest.raises(FoundByAttack):
        Attacker(AttackSettings(600.0, hold=True)).attack(shown(broken_case()), PARAMS, go_on)


def attacks(
    monkeypatch: pytest.MonkeyPatch, second: Callable[[], list[Result]]
) -> Iterator[tuple[str, list[Result]]]:
    """Replace the suite: the first attack finds one thing, the next one does as told."""
    one = Result("one_hop.joint", "share", 10, 0.1, 0.05, 0.2, 0.1, 0.2)

    def each(*_args: object, **_kwargs: object) -> Iterator[tuple[str, list[Result]]]:
        yield "one_hop", [one]
        yield "sensitive_inference", second()

    monkeypatch.setattr(attacker, "_each", each)
    return each()


def test_a_spent_budget_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not ended by then is named, and what it finds later is dropped."""
    never = threading.Event()

    def endless() -> list[Result]:
        never.wait(60.0)
        return []

    attacks(monkeypatch, endless)
    told = Attacker(AttackSettings(0.3)).attack(shown(small_case()), PARAMS, go_on)["attacks"]
    before = json.dumps(told)
    never.set()
    assert [result["attack"] for result in told["results"]] == ["one_hop.joint"]
    assert told["unfinished"] == list(ATTACKS_TOLD[1:])
    assert json.dumps(told) == before


def test_an_attack_that_fails_costs_its_figures_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in an attack is no reason to withhold a release."""

    def fails() -> list[Result]:
        raise ZeroDivisionError

    attacks(monkeypatch, fails)
    patient = Attacker(AttackSettings(600.0, hold=True))
    told = patient.attack(shown(small_case()), PARAMS, go_on)["attacks"]
    assert len(told["results"]) == 1
    assert told["unfinished"] == list(ATTACKS_TOLD[1:])


def test_a_service_that_stops_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is asked to go on may refuse."""
    never = threading.Event()

    def endless() -> list[Result]:
        never.wait(60.0)
        return []

    def stopping() -> None:
        raise InterruptedError

    attacks(monkeypatch, endless)
    with pytest.raises(InterruptedError):
        Attacker(PATIENT).attack(shown(small_case()), PARAMS, stopping)
    never.set()


def feed() -> list[dict[str, object]]:
    """Return a feed of ten people in a ring, and of a tie that comes later."""
    people = [event("vertex.upsert", 1 + i, f"p{i}", gender="f", health="well") for i in range(10)]
    ring = [event("edge.add", 15.0, f"p{i}", f"p{(i + 1) % 10}") for i in range(10)]
    return [*people, *ring, event("vertex.upsert", 45.0, "p0", gender="f", health="well")]


@pytest.mark.parametrize("sequence", [None, SequenceOptions(effort="fast")], ids=["1", "all"])
def test_every_release_is_attacked(tmp_path: Path, sequence: SequenceOptions | None) -> None:
    """The private audit of each has the figures; a sequence has those of changes, too."""
    world = World(tmp_path, [feed()], sequence=sequence)
    world.attack = PATIENT
    counts = world.run()
    assert counts.n_published >= 2
    for path in sorted((tmp_path / "audit").glob("*/audit.json")):
        audit = json.loads(path.read_text())
        assert audit["attacks"]["unfinished"] == []
        assert any(r["attack"] == "one_hop.joint" for r in audit["attacks"]["results"])
        assert "attack" in audit["seconds"]
        assert ("afresh" in audit) == (sequence is not None)


def test_what_a_rebase_would_bring_is_told_last_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the worth of a release of the same truth that has no past, and asked for that only."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop",))
    it = small_case()
    with_past = dataclasses.replace(shown(it), has_past=True)
    told = Attacker(PATIENT).attack(with_past, PARAMS, go_on)
    assert told["afresh"] == afresh(it.original, PARAMS)
    assert 0 < told["afresh"]["edges"]["f1"] <= 1
    assert told["attacks"] == Attacker(PATIENT).attack(shown(it), PARAMS, go_on)["attacks"]


def test_without_a_budget_nothing_is_attacked(tmp_path: Path) -> None:
    """A budget of 0 turns attacks off: no figures, no phase, no time."""
    world = World(tmp_path, [feed()])
    world.attack = AttackSettings(0.0, hold=True)
    assert world.run().n_published >= 2
    for path in (tmp_path / "audit").glob("*/audit.json"):
        audit = json.loads(path.read_text())
        assert "attacks" not in audit
        assert "attack" not in audit["seconds"]


def test_a_release_found_out_is_withheld_and_the_next_one_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is told, the figures are not; the release after it goes out."""
    calls: list[int] = []

    def each(*_args: object) -> Iterator[tuple[str, list[Result]]]:
        calls.append(1)
        low = 0.9 if len(calls) == 1 else 0.0
        yield "one_hop", [Result("one_hop.joint", "share", 10, 0.95, low, 1.0, 0.1, 0.2)]
        for name in ATTACKS_TOLD[1:]:
            yield name, []

    monkeypatch.setattr(attacker, "_each", each)
    world = World(tmp_path, [feed()])
    world.attack = AttackSettings(600.0, hold=True)
    counts = world.run()
    assert dict(counts.withheld) == {"attacked": 1}
    assert counts.n_published == len(calls) - 1 >= 1
