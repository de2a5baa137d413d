"""The service attacks its own releases: figures, budget, and what is held back."""

from __future__ import annotations

import dataclasses
import functools
import gc
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import ATTACKS, Case, Result, ids_removed, run, suite
from ktsafe.assess.attacks.membership import OF_PEOPLE as MEMBERSHIP
from ktsafe.assess.generalization.quick_release import afresh, membership
from ktsafe.assess.releases import attacker
from ktsafe.assess.releases.attacker import Attacker
from ktsafe.assess.utility import results_told
from ktsafe.audit import Traced
from ktsafe.audit.freshness import Differences
from ktsafe.graph.numbering import CameAndWent, edge_keys
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.assessment import AttackSettings, GatedRelease
from ktsafe.stream.errors import FoundByAttack
from ktsafe.stream.files.audit_model import AttackFindings
from ktsafe.stream.files.release_figures import ATTACKS_TOLD, attacks_of
from tests.ktsafe.assess.attacks.releases import graph_of, noisy, random_graph
from tests.stream.service.simulation import World, event

ROOT = Path(__file__).parents[3]
PARAMS = PrivacyParams(k=5)
PATIENT = AttackSettings(budget_s=600.0)


def shown(case: Case, sequence_id: str = "s", lives: np.ndarray | None = None) -> GatedRelease:
    """Return a case as the service shows it, each vertex with an id of its own number."""
    ids = np.arange(case.released.n_vertices)
    numbers = np.arange(case.original.n_vertices) if lives is None else lives
    now = GatedRelease(sequence_id, traced(case), ids, numbers, "")
    return after(now, now)


def after(before: GatedRelease, now: GatedRelease) -> GatedRelease:
    """Return a release with what changed since the one before, found by sets."""

    def pairs(edges: np.ndarray, names: np.ndarray) -> set[tuple[int, int]]:
        return {(min(pair), max(pair)) for pair in names[edges].tolist()}

    def differ(what: str, names: str) -> list[np.ndarray]:
        old, new = (
            pairs(getattr(each.traced, what).edges, getattr(each, names)) for each in (before, now)
        )
        return [np.array(sorted(only)).reshape(-1, 2) for only in (new - old, old - new)]

    ties = CameAndWent(*map(edge_keys, differ("original", "lives")))
    return dataclasses.replace(now, since=Differences(ties, *differ("released", "ids")))


def traced(case: Case) -> Traced:
    """Return the release beside its truth; values stand at the places of their owners."""
    behind = case.original_of
    return Traced(case.original, case.released, behind, np.flatnonzero(behind >= 0))


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
    told = Attacker(PATIENT).check(shown(it), PARAMS, go_on).attacks
    rng = np.random.default_rng(0)
    names = [name for name in ATTACKS_TOLD if name in ATTACKS]
    expected = run(it, PARAMS, rng, attacks=[name for name in names if name != MEMBERSHIP])
    expected += membership(it.original, PARAMS)
    assert told.results == results_told(expected)
    assert told.unfinished == []
    assert set(attacks_of(SimpleNamespace(attacks=told))) == set(names)


def test_changes_are_attacked_from_one_release_of_a_sequence_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The release before counts only if it was staged, and if the sequence is the same."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("changes",))
    service = Attacker(PATIENT)

    def told(sequence_id: str) -> set[str]:
        found = service.check(shown(small_case(), sequence_id), PARAMS, go_on).attacks
        return {result.attack for result in found.results if "changes" in result.attack}

    both = {"changes.consecutive.true", "changes.consecutive.shown"}
    assert told("s") == set()
    service.end_build(staged=False)
    assert told("s") == set()
    service.end_build(staged=True)
    assert told("s") == both
    service.end_build(staged=False)
    assert told("s") == both
    assert told("another") == set()


def test_net_changes_are_attacked_since_the_last_release_but_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two staged releases of the sequence must go before, and older ones are forgotten."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("net_changes",))
    service = Attacker(PATIENT)

    def told() -> list[str]:
        found = service.check(shown(small_case(), "s"), PARAMS, go_on).attacks.results
        service.end_build(staged=True)
        return [result.attack for result in found]

    assert [told() for _ in range(4)] == [[], [], ["net_changes.two"], ["net_changes.two"]]


def test_friends_are_attacked_over_the_releases_that_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the variants that find most, from the second release on."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", tuple(attacker.OVER_TIME))
    service = Attacker(PATIENT)

    def told() -> list[str]:
        found = service.check(shown(small_case(), "s"), PARAMS, go_on).attacks.results
        service.end_build(staged=True)
        return [result.attack for result in found]

    names = ["friends_values_over_time.all", "sensitive_by_friends_over_time.named"]
    assert [told(), told()] == [[], [*names, "friends_degrees_over_time.order"]]


def test_ids_and_lives_are_matched_whatever_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose vertices and people are numbered anew shows no change at all."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("changes",))
    service, it = Attacker(PATIENT), small_case()
    service.check(shown(it), PARAMS, go_on)
    service.end_build(staged=True)
    rng = np.random.default_rng(1)
    order, people = rng.permutation(it.released.n_vertices), rng.permutation(60)
    place = np.append(np.argsort(people), -1)
    again = Case(
        it.original.subgraph(people), it.released.subgraph(order), place[it.original_of[order]]
    )
    now = dataclasses.replace(shown(again, lives=people), ids=shown(it).ids[order])
    found = service.check(now, PARAMS, go_on).attacks.results
    changed = [result.targets for result in found if result.attack.startswith("changes")]
    assert changed == [0, 0]


def test_who_left_is_attacked_by_what_the_release_before_knew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One place changes its value as its owner leaves, and is found: a share of one."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("departure",))
    service, it = Attacker(PATIENT), broken_case()
    service.check(shown(it), PARAMS, go_on)
    service.end_build(staged=True)
    own = int(np.flatnonzero(it.original_of == 0)[0])
    stayed = np.arange(1, it.original.n_vertices)
    for changes_value, expected in ((True, 1.0), (False, None)):
        codes = it.released.codes.copy()
        if changes_value:
            codes[own, -1] = 1 - codes[own, -1]
        left = Case(
            it.original.subgraph(stayed),
            graph_of(codes, it.released.edges),
            np.where(it.original_of == 0, -1, it.original_of - 1),
        )
        now = dataclasses.replace(shown(left, lives=stayed), ids=shown(it).ids)
        now = after(shown(it), now)
        (found,) = service.check(now, PARAMS, go_on).attacks.results
        assert (found.attack, found.targets) == ("departure.named", 1)
        assert found.value == pytest.approx(expected or found.control)


def test_a_release_that_is_surely_found_out_is_held_where_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The positive control is told in either case, and stopped with `hold` alone."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop",))
    told = Attacker(PATIENT).check(shown(broken_case()), PARAMS, go_on).attacks
    assert any(result.is_broken for result in told.results)
    assert attacks_of(SimpleNamespace(attacks=told))["one_hop"].is_broken
    with pytest.raises(FoundByAttack):
        Attacker(AttackSettings(600.0, hold=True)).check(shown(broken_case()), PARAMS, go_on)


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


def test_an_attack_that_fails_costs_its_figures_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A defect in an attack is no reason to withhold a release."""

    def fails() -> list[Result]:
        raise ZeroDivisionError

    attacks(monkeypatch, fails)
    patient = Attacker(AttackSettings(600.0, hold=True))
    told = patient.check(shown(small_case()), PARAMS, go_on).attacks
    assert len(told.results) == 1
    assert told.unfinished == list(ATTACKS_TOLD[1:])
    assert "an attack failed" in caplog.text


@pytest.mark.parametrize("low", [0.05, 0.2, 0.21])
def test_one_figure_of_many_holds_a_release(monkeypatch: pytest.MonkeyPatch, low: float) -> None:
    """Though all others are within their bounds; one that may be at its bound does not."""
    two = Result("sensitive_inference.named", "share", 10, 0.3, low, 0.9, 0.1, 0.2)
    attacks(monkeypatch, lambda: [two])
    service = Attacker(AttackSettings(600.0, hold=True))
    if low > 0.2:
        with pytest.raises(FoundByAttack):
            service.check(shown(small_case()), PARAMS, go_on)
    else:
        assert len(service.check(shown(small_case()), PARAMS, go_on).attacks.results) == 2


@pytest.mark.parametrize("is_compiled", [False, True])
def test_an_attack_beyond_the_budget_takes_nothing_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_compiled: bool
) -> None:
    """It is ended in the middle of its work, without a word, in compiled code too."""

    def endless() -> list[Result]:
        try:
            while True:
                pass
        except SystemExit:
            if is_compiled:
                raise SystemError from None
            raise

    attacks(monkeypatch, endless)
    told = Attacker(AttackSettings(0.3)).check(shown(small_case()), PARAMS, go_on).attacks
    assert told.unfinished == list(ATTACKS_TOLD[1:])
    for thread in threading.enumerate():
        if thread.name == "ktsafe-attacks":
            thread.join(60.0)
            assert not thread.is_alive()
    assert "failed" not in caplog.text


def test_an_attack_that_did_not_end_is_not_begun_with_as_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told as unfinished all the same, and what ended is found again."""
    begun: list[int] = []

    def endless(*_args: object) -> list[Result]:
        begun.append(1)
        while True:
            pass

    monkeypatch.setattr(suite, "ATTACKS", {**ATTACKS, "own_account": endless})
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop", "own_account", "changes"))
    monkeypatch.setattr(attacker, "STANDS_FOR", 1)
    service = Attacker(AttackSettings(2.0))
    found = []
    for _ in range(2):
        found.append(service.check(shown(small_case()), PARAMS, go_on).attacks)
        service.end_build(staged=True)
    assert [each.unfinished for each in found] == [["own_account", "changes"], ["own_account"]]
    assert {each.attack.partition(".")[0] for each in found[1].results} == {"one_hop", "changes"}
    assert begun == [1]


@pytest.mark.parametrize("seed", range(3))
def test_what_swallows_the_end_of_an_attack_hears_it_again(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Callbacks of the garbage collector hear nothing of it; what drops it drops one of many."""
    dropped, collecting = [], []

    def endless() -> list[Result]:
        gc.collect(0)
        while True:
            try:
                for _ in range(10_000):
                    _ = [[] for _ in range(100)]
                gc.collect(0)
            except SystemExit:
                if len(dropped) > seed:
                    raise
                dropped.append(1)

    def slow(phase: str, _info: dict[str, int]) -> None:
        if threading.current_thread().name == "ktsafe-attacks":
            collecting.append(phase)
            sum(range(1000))

    attacks(monkeypatch, endless)
    gc.callbacks.append(slow)
    try:
        told = Attacker(AttackSettings(0.3)).check(shown(small_case()), PARAMS, go_on).attacks
        for thread in threading.enumerate():
            if thread.name.startswith("ktsafe-attacks"):
                thread.join(60.0)
                assert not thread.is_alive()
    finally:
        gc.callbacks.remove(slow)
    assert told.unfinished == list(ATTACKS_TOLD[1:])
    assert len(dropped) == seed + 1
    assert collecting
    assert gc.isenabled()


def test_figures_stand_until_the_truth_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the release that they name, and only of one that was staged."""
    over_time = "friends_values_over_time"
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop", "changes", over_time))
    service, it = Attacker(PATIENT), small_case()
    other = dataclasses.replace(it, original=it.original.subgraph(np.arange(60)[::-1]))
    asked, each = [], attacker._each

    def noted(*args: Any) -> Iterator[tuple[str, Any]]:
        asked.append([])
        return each(*args[:-1], (asked[-1].append(name) or name for name in args[-1]))

    monkeypatch.setattr(attacker, "_each", noted)

    def told(case: Case, release_id: str, *, staged: bool = True) -> AttackFindings:
        now = dataclasses.replace(shown(case), release_id=release_id)
        if release_id == "6":
            now = after(shown(it), now)
        found = service.check(now, PARAMS, go_on)
        service.end_build(staged=staged)
        return found

    def standing(found: AttackFindings) -> tuple[object, object]:
        results = found.attacks.results
        return [r for r in results if not r.attack.startswith("changes")], found.afresh

    def attacks(found: AttackFindings) -> set[str]:
        return {each.attack.partition(".")[0] for each in found.attacks.results}

    assert told(it, "0", staged=False).attacks.of is None
    found = [told(it, name) for name in "12345"]
    assert [each.attacks.of for each in found] == [None, "1", "1", "1", "1"]
    assert standing(found[2]) == standing(found[3]) == standing(found[4])
    assert asked[2:6] == [["changes", over_time], *[["changes"]] * 3]
    assert attacks(found[0]) == {"one_hop"}
    assert attacks(found[1]) == {"one_hop", "changes", over_time}
    assert attacks(found[4]) == {"one_hop", "changes", over_time}
    changed = told(other, "6")
    assert changed.attacks.of is None
    assert standing(changed) != standing(found[4])
    assert told(other, "7").attacks.of == "6"


def test_figures_stand_for_a_few_releases_of_one_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the releases show meanwhile."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("own_account",))
    monkeypatch.setattr(attacker, "STANDS_FOR", 3)
    service, it, of = Attacker(PATIENT), small_case(), []
    cases = (it, dataclasses.replace(it, released=it.released.subgraph(np.arange(63)[::-1])))
    for number in range(9):
        now = dataclasses.replace(shown(cases[number % 2]), release_id=str(number))
        of.append(service.check(now, PARAMS, go_on).attacks.of)
        service.end_build(staged=True)
    assert of == [None, "0", "0", None, "3", "3", None, "6", "6"]


def test_a_release_that_may_be_held_is_attacked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure of a former release decides whether one is held."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("own_account",))
    service = Attacker(AttackSettings(600.0, hold=True))
    for _ in range(4):
        assert service.check(shown(small_case()), PARAMS, go_on).attacks.of is None
        service.end_build(staged=True)


@pytest.mark.parametrize("seed", range(20))
def test_what_has_changed_is_counted_by_names(seed: int) -> None:
    """As by sets: of people with other values or none, and of ties over several releases."""
    rng = np.random.default_rng(seed)
    pairs = [(u, v) for u in range(40) for v in range(u)]
    base = [pairs[i] for i in rng.choice(len(pairs), 120, replace=False)]

    def drawn() -> GatedRelease:
        kept = np.sort(rng.choice(40, rng.integers(38, 41), replace=False))
        codes = np.where(rng.random((40, 3)) < 0.03, 1, 0)
        codes[:2] = [[0] * 3, [1] * 3]
        edges = [pair for pair in base if rng.random() > 0.02]
        graph = graph_of(codes, np.array(edges)).subgraph(kept)
        order = rng.permutation(len(kept))
        case = Case(graph.subgraph(order), graph, np.argsort(order))
        return shown(case, lives=kept[order])

    def facts(release: GatedRelease) -> tuple[set[Any], set[Any]]:
        graph, names = release.traced.original, release.lives
        people = {(int(names[v]), *graph.values(v).values()) for v in range(len(names))}
        return people, {frozenset(names[[u, v]].tolist()) for u, v in graph.edges.tolist()}

    releases = [drawn() for _ in range(4)]
    releases[1:] = [after(*each) for each in itertools.pairwise(releases)]
    (people, edges), (people_now, edges_now) = facts(releases[0]), facts(releases[-1])
    lost = 1 - len(people & people_now) / max(len(people), len(people_now))
    first, last = attacker.CodedPeople.of(releases[0]), attacker.CodedPeople.of(releases[-1])
    assert first.share_changed(last) == pytest.approx(lost)
    came, went = functools.reduce(CameAndWent.then, [each.since.ties for each in releases[1:]])
    assert (len(came), len(went)) == (len(edges_now - edges), len(edges - edges_now))


@pytest.mark.parametrize("seed", range(5))
def test_what_is_known_to_have_changed_is_found_as_by_whole_graphs(seed: int) -> None:
    """Changes, net changes and departures are the same whether steps are known or worked out."""
    rng = np.random.default_rng(seed)
    releases = []
    for _ in range(3):
        kept = np.sort(rng.choice(60, 58, replace=False))
        case = noisy(random_graph(60, 300, rng).subgraph(kept), rng, inserted=3, withheld=0)
        releases.append(shown(case, lives=kept))
    releases[1:] = [after(*each) for each in itertools.pairwise(releases)]
    unknown = [dataclasses.replace(each, since=None) for each in releases]

    def found(each: list[GatedRelease]) -> list[Any]:
        names = ("changes", "net_changes", "departure")
        attacks = attacker._each(each[-1], tuple(each[:-1]), PARAMS, names)
        return [(name, results_told(results)) for name, results in attacks]

    assert found(releases) == found(unknown)
    assert any(results for _, results in found(releases))


LOADED_LATE = """
import sys, threading
import numpy as np
from ktsafe import PrivacyParams
from ktsafe.assess.releases.attacker import Attacker
from ktsafe.assess.utility import results_told
from ktsafe.audit import Traced
from ktsafe.stream.assessment import AttackSettings, GatedRelease
from tests.ktsafe.assess.attacks.releases import noisy, random_graph

rng = np.random.default_rng(0)
case = noisy(random_graph(60, 300, rng), rng, inserted=3, withheld=0)
behind = case.original_of
traced = Traced(case.original, case.released, behind, np.flatnonzero(behind >= 0))
release = GatedRelease("s", traced, np.arange(len(behind)), np.arange(60), "")
late = set()

def note(event, names):
    if event == "import" and threading.current_thread().name == "ktsafe-attacks":
        late.update({names[0]} - sys.modules.keys())

attacker = Attacker(AttackSettings(60.0))
sys.addaudithook(note)
for _ in range(2):
    found = attacker.check(release, PrivacyParams(k=3), lambda: None)
    attacker.end_build(staged=True)
    assert found.afresh
print(*sorted(late))
"""


def test_attacks_load_no_module() -> None:
    """Ended in the midst of an import they would leave a lock that nobody gives back."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED_LATE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_a_service_that_stops_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is asked to go on may refuse."""
    never = threading.Event()

    def endless() -> list[Result]:
        while not never.wait(0.1):
            pass
        return []

    def stopping() -> None:
        raise InterruptedError

    attacks(monkeypatch, endless)
    with pytest.raises(InterruptedError):
        Attacker(PATIENT).check(shown(small_case()), PARAMS, stopping)
    never.set()


def feed() -> list[dict[str, object]]:
    """Return a feed of ten people in a ring, and of a tie that comes later."""
    people = [event("vertex.upsert", 1 + i, f"p{i}", gender="f", health="well") for i in range(10)]
    ring = [event("edge.add", 15.0, f"p{i}", f"p{(i + 1) % 10}") for i in range(10)]
    return [*people, *ring, event("vertex.upsert", 45.0, "p0", gender="f", health="well")]


def test_every_release_is_attacked(tmp_path: Path) -> None:
    """The private audit of each has the figures."""
    world = World(tmp_path, [feed()], sequence=SequenceOptions(effort="fast"))
    world.attack = PATIENT
    counts = world.run()
    assert counts.n_published >= 2
    for path in sorted((tmp_path / "audit").glob("*/audit.json")):
        audit = json.loads(path.read_text())
        assert audit["attacks"]["unfinished"] == []
        assert any(r["attack"] == "one_hop.joint" for r in audit["attacks"]["results"])
        assert "attack" in audit["seconds"]
        assert "afresh" in audit


def test_what_a_rebase_would_bring_is_told_last_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the worth of a release of the same truth that has no past."""
    monkeypatch.setattr(attacker, "ATTACKS_TOLD", ("one_hop",))
    it = small_case()
    told = Attacker(PATIENT).check(shown(it), PARAMS, go_on)
    assert told.afresh == afresh(it.original, PARAMS)
    assert 0 < told.afresh.edges.f1 <= 1


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
