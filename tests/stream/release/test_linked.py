"""The whole service: one sequence, through crashes, refusals and restarts."""

import dataclasses
import errno
import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from ktsafe import PrivacyParams, Schema
from ktsafe.audit import audit_traced
from ktsafe.audit.sequence import KINDS, Promise, SequenceAuditor, Violation
from ktsafe.errors import NotKTSafe
from ktsafe.seals import check_seals, public_key
from ktsafe.sequence import SequenceOptions
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import StateCorrupted, StateMismatch
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.certificates import seal_manifest, verified
from ktsafe.stream.files.private_audits import read_owners, read_value_places
from ktsafe.stream.files.releases_read import read_release
from ktsafe.stream.release import linked, snapshotter
from ktsafe.stream.release.audits import audited
from ktsafe.stream.release.sequence_inputs import inputs_digest, new_sequence
from ktsafe.stream.release.snapshotter import _read_back
from tests import sealed
from tests.stream.service.simulation import SCHEMA, World, disk_store, event

OPTIONS = SequenceOptions(effort="fast", sybil_margin=0, margin=0)
PARAMS = PrivacyParams(k=2, alpha="1/2")


def feed(slots=5, people=16, seed=1):
    """Return events of a small network: many join first, then all kinds of change, slot by slot."""
    rng = random.Random(seed)
    there = [f"p{i}" for i in range(people)]
    events = [
        event("vertex.upsert", 1 + i / 100, name, gender=rng.choice("fm"), health="well")
        for i, name in enumerate(there)
    ]
    events += [event("edge.add", 5 + i / 100, *rng.sample(there, 2)) for i in range(2 * people)]
    for slot in range(1, slots):
        at = 10 * slot
        for i in range(4):
            events.append(event("edge.add", at + 1 + i / 10, *rng.sample(there, 2)))
            events.append(event("edge.remove", at + 2 + i / 10, *rng.sample(there, 2)))
        new = [f"q{slot}-{i}" for i in range(2)]
        events += [event("vertex.upsert", at + 3, name, gender="f") for name in new]
        events.append(event("vertex.upsert", at + 4, rng.choice(there), gender=rng.choice("fm")))
        events.append(event("vertex.upsert", at + 4, rng.choice(there), health="ill"))
        there += new
        if slot % 2:
            gone = there.pop(rng.randrange(len(there)))
            events.append(event("vertex.delete", at + 5, gone))
    return events


EVENTS = feed()


def world_of(folder, events=EVENTS, seed=3, sequence=OPTIONS, **settings):
    world = World(folder, [events], params=PARAMS, sequence=sequence, seed=seed, **settings)
    world.signer = sealed.signer(folder / "keys")
    return world


def on_disk(folder):
    """Return what makes a world keep its state in RocksDB."""
    return {"store": disk_store(folder / "store", SCHEMA)}


def contents(world):
    """Return the vertices and edges of every release, by id."""
    return {
        release_id: (files["vertices.csv"], files["edges.csv"])
        for release_id, (_, files) in world.releases.releases.items()
    }


def seals(world):
    """Return what chain and signatures of all releases say."""
    key = public_key(sealed.key_files(world.folder / "keys")[1].read_bytes())
    manifests = [files["manifest.json"] for _, files in world.releases.releases.values()]
    found = check_seals(manifests, [key])
    return [(check.signature, check.size, check.problems) for check in found]


def guarantees(world):
    return [json.loads(text)["guarantee"] for text in world.digests().values()]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return a world whose service ran through."""
    world = world_of(tmp_path_factory.mktemp("undisturbed"))
    counts = world.run()
    assert len(counts.published) == 5
    assert not counts.withheld
    return world


def test_releases_of_a_sequence_are_safe_together(undisturbed, tmp_path):
    """The auditor passes the bytes of all releases as one; ids persist; the manifest says so."""
    auditor = SequenceAuditor(Promise("all", cover=True))
    ids = []
    for release_id, (_, files) in sorted(undisturbed.releases.releases.items()):
        folder = tmp_path / release_id
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        release = read_release(folder)
        owners = read_owners(undisturbed.folder / "audit", release_id)
        value_at = read_value_places(undisturbed.folder / "audit", release)
        findings = auditor.extend(audited(release, owners, value_at=value_at))
        # People who got another id are warned of, not withheld.
        broken = [v for v in findings.violations if not v.kind.startswith(linked.LINKED)]
        assert not broken
        ids.append(set(release.ids))
    assert all(len(a & b) > len(a) / 2 for a, b in itertools.pairwise(ids))
    assert all((g["w"], g["cover"]) == ("all", True) for g in guarantees(undisturbed))


def test_arrival_is_exchangeable(undisturbed, tmp_path):
    """Whoever came first: the same newcomers in another order make the same releases."""
    names = [one.get("id", "") for one in EVENTS]
    pairs = [
        (i, i + 2)
        for i, (one, next_one) in enumerate(itertools.pairwise(names))
        if (one[-2:], next_one[-2:]) == ("-0", "-1")
    ]
    assert len(pairs) > 2
    order = list(range(len(EVENTS)))
    for first, last in ((0, 16), *pairs):
        order[first:last] = reversed(order[first:last])
    # Times stay where they are.
    turned = [EVENTS[i] | {"time": one["time"]} for i, one in zip(order, EVENTS, strict=True)]
    world = world_of(tmp_path, turned)
    world.run()
    assert contents(world) == contents(undisturbed)


def test_releases_are_sealed_one_after_the_other(undisturbed, tmp_path):
    """Manifests are chained from the first on, signed, and state what the verifier finds."""
    n_releases = len(undisturbed.releases.releases)
    assert seals(undisturbed) == [("valid", n, ()) for n in range(n_releases)]
    for name, (_, files) in undisturbed.releases.releases.items():
        (tmp_path / name).mkdir()
        for file, data in files.items():
            (tmp_path / name / file).write_bytes(data)
        release = read_release(tmp_path / name)
        assert release.manifest.seal.verdict.sha256 == verified(release).digest(release.ids)


def test_what_is_sealed_is_what_was_judged(tmp_path, monkeypatch):
    """A manifest that changed between the judgement and the seal is withheld."""

    def forged(folder, *args):
        path = folder / "manifest.json"
        path.write_text(path.read_text().replace('"k": 2', '"k": 3'))
        return seal_manifest(folder, *args)

    monkeypatch.setattr(snapshotter, "seal_manifest", forged)
    world = world_of(tmp_path, events=feed(slots=1))
    assert world.run().withheld == {"unsafe": 1}
    assert not world.releases.releases


def test_the_manifest_says_how_old_what_is_shown_may_be(undisturbed):
    """No pair of classes that shows edges was planned as long ago as the bound; `lag` is that."""
    seen = 0
    for _, files in undisturbed.releases.releases.values():
        manifest = json.loads(files["manifest.json"])
        assert manifest["lag"] == 48
        dark = {tuple(pair) for pair in manifest["dark"]}
        ages = [ago for first, second, ago in manifest["planned"] if (first, second) not in dark]
        assert manifest["age"] == max(ages, default=0) < 48
        assert all(ago <= 48 for _, _, ago in manifest["planned"])
        seen += len(ages)
    assert seen > 0


def test_the_audit_tells_what_is_held_back(undisturbed):
    """Private figures of every release: of the sequence, what is declared, what was found."""
    for folder in sorted((undisturbed.folder / "audit").iterdir()):
        audit = json.loads((folder / "audit.json").read_text())
        assert all(found["kind"].startswith("linked_") for found in audit["audit"]["violations"])
        assert set(audit["declared"]) == {"withheld", "held_ties", "held_changes", "lag_max"}
        assert audit["sequence"]["cost"] >= 0
        assert audit["sequence"]["cohort_size_min"] >= 2
    assert audit["audit"]["releases"] == 5


@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_seed_only_people_with_several_ids_are_found(tmp_path, seed):
    """Every release comes out, and the auditor names nobody but who left one id for another."""
    world = world_of(tmp_path, seed=seed)
    counts = world.run()
    assert len(counts.published) == 5
    assert not counts.withheld
    for folder in (tmp_path / "audit").iterdir():
        found = json.loads((folder / "audit.json").read_text())["audit"]["violations"]
        assert all(violation["kind"].startswith("linked_") for violation in found)


def test_nothing_is_shown_for_longer_than_the_manifest_says(tmp_path):
    """No pair of classes shows edges in more than `lag` releases in a row, as manifests tell."""
    options = dataclasses.replace(OPTIONS, max_age=2)
    world = World(tmp_path, [feed(9)], params=PARAMS, sequence=options, seed=3)
    assert len(world.run().published) == 9
    manifests = [json.loads(text) for _, text in sorted(world.digests().items())]
    assert {manifest["lag"] for manifest in manifests} == {2}
    in_a_row, n_shown = Counter(), 0
    for manifest in manifests:
        classes = list(map(tuple, manifest["classes"]))
        planned = {(classes[a], classes[b]): ago for a, b, ago in manifest["planned"]}
        dark = {(classes[a], classes[b]) for a, b in manifest["dark"]}
        shown = set(itertools.combinations_with_replacement(classes, 2)) - dark
        in_a_row = Counter({pair: in_a_row[pair] + 1 for pair in shown & planned.keys()})
        n_shown += len(in_a_row)
        assert max(in_a_row.values(), default=0) <= 2
        assert manifest["age"] == max((planned[pair] for pair in in_a_row), default=0)
        assert max(planned.values(), default=0) <= 2
        assert all(planned[pair] == n - 1 for pair, n in in_a_row.items())
    assert n_shown > len(manifests)


@pytest.mark.parametrize("at", [0, 2])
def test_what_the_auditor_refuses_leaves_no_trace(tmp_path, monkeypatch, at):
    """A release that is withheld is none: the next one follows the one before it."""
    extend, calls = SequenceAuditor.extend, []

    def broken(released):
        def changed(self, *args):
            calls.append(1)
            findings = released(self, *args)
            if len(calls) - 1 != at:
                return findings
            return type(findings)(
                findings.release_id,
                [linked_violation(findings.release_id)],
                findings.checked,
                findings.figures,
                findings.verdict,
            )

        return changed

    monkeypatch.setattr(SequenceAuditor, "extend", broken(extend))
    world = world_of(tmp_path, events=feed(people=40, seed=3))
    counts = world.run()
    assert counts.withheld == {"unsafe": 1}
    assert len(counts.published) == 4
    assert [int(r.partition("-")[0]) for r in contents(world)] == [1, 2, 3, 4]
    assert len(list((tmp_path / "audit").iterdir())) == 4


def linked_violation(release_id):
    return Violation.of("too_few_candidates", release_id, 1)


def test_private_figures_are_what_they_would_count_themselves(tmp_path, monkeypatch):
    """Judges counted it of the bytes; of the release that was made it is the same."""
    told = []

    def compared(traced, params, verdict):
        told.append(audit_traced(traced, params, verdict))
        assert told[-1] == audit_traced(dataclasses.replace(traced), params)
        return told[-1]

    monkeypatch.setattr(snapshotter, "audit_traced", compared)
    counts = world_of(tmp_path, events=feed(people=40, seed=3)).run()
    assert len(told) == len(counts.published) > 3


def test_the_gate_judges_the_bytes(tmp_path, monkeypatch):
    """Edges that are lost on the way to the disk are missed by the auditor."""
    real, calls = _read_back, []

    def lossy(folder, params):
        release = real(folder, params)
        calls.append(1)
        if len(calls) == 3:
            # One edge alone may join two who look alike, and then nobody can be told apart.
            object.__setattr__(release, "edges", release.edges[::2])
        return release

    monkeypatch.setattr("ktsafe.stream.release.snapshotter._read_back", lossy)
    counts = world_of(tmp_path).run()
    assert counts.withheld == {"unsafe": 1}


OTHER_PARAMS = [("k", 4), ("alpha", Fraction(1, 3)), ("t", Fraction(1, 3)), ("epsilon", 3)]
OTHER_OPTIONS = [("effort", "balanced"), ("margin", 0), ("values", "in place")]
OTHER_SCHEMA = [
    ("quasi_identifiers", ("age", "gender")),
    ("quasi_identifiers", ("age", "gender", "town")),
    ("sensitive", "income"),
    *(("sensitive_values", frozenset(values)) for values in ({"ill"}, {"ill", "low", "none"})),
    *(("buckets", {"age": borders}) for borders in ((18,), (18, 66))),
    *(("groups", groups) for groups in ({}, {"gender": {"all": ("f", "m")}})),
    ("groups", {"gender": {"any": ("f", "m", "x")}}),
]


def test_each_frozen_input_has_a_digest_of_its_own():
    """Whatever a sequence fixes, changed alone, is told apart, and nothing else is."""
    groups = {"gender": {"any": ("f", "m")}}
    schema = Schema(("gender", "age"), "health", {"ill", "low"}, {"age": (18, 65)}, groups=groups)
    params, options = PrivacyParams(k=3, alpha="1/2"), SequenceOptions(effort="fast")
    changed = [
        *((replace(params, **{name: value}), schema, options) for name, value in OTHER_PARAMS),
        *((params, replace(schema, **{name: value}), options) for name, value in OTHER_SCHEMA),
        *((params, schema, replace(options, **{name: value})) for name, value in OTHER_OPTIONS),
    ]
    digests = [inputs_digest(*each) for each in ((params, schema, options), *changed)]
    assert len(set(digests)) == len(digests)
    for free in (
        (params, replace(schema, sensitive_values=frozenset({"low", "ill"})), options),
        (params, replace(schema, expect_absent=frozenset({"ill"})), options),
        (params, replace(schema, harmless_values=frozenset({"Ill"})), options),
        (params, schema, replace(options, max_age=9)),
    ):
        assert inputs_digest(*free) == digests[0]


def test_values_are_exchanged_unless_they_are_to_stay(tmp_path):
    """The manifest says which; within a sequence it does not change; ties are the same."""
    worlds = {}
    for values in ("exchanged", "in place"):
        options = dataclasses.replace(OPTIONS, values=values)
        worlds[values] = world = world_of(tmp_path / values, sequence=options)
        assert not world.run().withheld
        assert {json.loads(text)["values"] for text in world.digests().values()} == {values}
        places = sorted(world.folder.glob("audit/*/values.csv"))
        assert len(places) == (5 if values == "exchanged" else 0)
    edges = [[files[1] for files in contents(world).values()] for world in worlds.values()]
    vertices = [[files[0] for files in contents(world).values()] for world in worlds.values()]
    assert edges[0] == edges[1]
    assert vertices[0] != vertices[1]
    for values, world in worlds.items():
        (other,) = {"exchanged", "in place"} - {values}
        world.sequence = dataclasses.replace(OPTIONS, values=other)
        with pytest.raises(StateMismatch, match="ktsafe rebase"):
            world.run()


@pytest.mark.parametrize("damage", ["lost", "changed"])
def test_damaged_pages_refuse_to_start(tmp_path, damage):
    """A page that is not as written names both remedies; a new sequence goes on without it."""
    folder = tmp_path / "store"
    world = world_of(tmp_path, events=EVENTS[:60], **on_disk(tmp_path))
    world.run()
    store = RocksDBStore.open(folder, SCHEMA)
    key = max(map(store.ledger._pages.key, store.ledger._pages))
    batch = store.database.batch()
    batch.write("pages", {key: None if damage == "lost" else b"\0" * 64})
    store.database.commit(batch)
    store.close()
    with pytest.raises(StateCorrupted, match=r"ktsafe state restore.*ktsafe rebase"):
        world.run()
    store = RocksDBStore.open(folder, SCHEMA)
    sequence = store.ledger.sequence()
    store.ledger.start_sequence(new_sequence(sequence.inputs_digest, 0))
    store.close()
    world.extend(0, EVENTS[60:])
    counts = world.run()
    assert counts.published
    assert len({json.loads(text)["sequence_id"] for text in world.digests().values()}) == 2


def test_who_left_is_in_no_page(undisturbed, tmp_path):
    """After the release that follows a deletion nothing in the pages leads to the person."""
    world = world_of(tmp_path, events=EVENTS)
    world.run()
    engine = linked.SequenceEngine.from_pages(world.open_store().ledger.pages())
    _, keys = engine.truth()
    assert set(keys.tolist()) == set(world.open_store().snapshot().lives.tolist())


def test_ties_of_who_left_are_residual(tmp_path):
    """The private audit lists what of a deleted person is still shown, and since when."""
    there = [event("vertex.upsert", 1, f"p{i}", gender="f", health="well") for i in range(4)]
    ties = [event("edge.add", 2, "p0", "p1"), event("edge.add", 2, "p2", "p3")]
    gone = [event("vertex.delete", 11, "p0"), event("vertex.upsert", 21, "last")]
    world_of(tmp_path, events=[*there, *ties, *gone]).run()
    told = [
        json.loads((folder / "audit.json").read_text())["sequence"]
        for folder in sorted((tmp_path / "audit").iterdir())
    ]
    assert [audit["residual_edges"] for audit in told] == [0, 1, 1]
    assert [audit["residual_age_max"] for audit in told] == [0, 1, 2]


@pytest.mark.parametrize("health", ["ill", "Ill"])
def test_values_that_never_count_as_sensitive_are_told(tmp_path, caplog, health):
    """A misspelt value protects nobody, and the log says what to look at."""
    caplog.set_level("WARNING", "ktsafe.stream")
    people = [event("vertex.upsert", 1, f"p{i}", gender="f", health="well") for i in range(6)]
    ill = event("vertex.upsert", 1, "p6", gender="f", health=health)
    world_of(tmp_path, events=[*people, ill, event("vertex.upsert", 11, "p0")]).run()
    assert ("sensitive_values" in caplog.text) == (health == "Ill")


def test_the_guarantee_is_said_in_words():
    """What a manifest promises is another thing for a sequence than for a single release."""
    alone, together = releases_write.ALONE["text"], releases_write.TOGETHER["text"]
    assert "(w = 1)" in alone
    assert "(w = all)" in together
    assert "(cover)" in together


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_gate_refuses_all_but_what_goes_beyond_the_promise(kind):
    """Every finding withholds the release, but for those about people with several ids."""
    found = [Violation.of(kind, "r")]
    if kind.startswith("linked_"):
        linked._raise_if_broken(found)
    else:
        with pytest.raises(NotKTSafe, match=kind):
            linked._raise_if_broken([*found, Violation.of("linked_undecided", "r")])


def test_a_full_disk_while_a_release_is_staged_changes_no_byte(tmp_path, monkeypatch):
    """Each release is built again from its frozen cut, out of what the ledger has."""
    whole = world_of(tmp_path / "whole")
    whole.run()
    write_release, failed = releases_write.write_release, set()

    def failing(folder, *args, **kwargs):
        if folder.name not in failed:
            failed.add(folder.name)
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_release(folder, *args, **kwargs)

    monkeypatch.setattr(releases_write, "write_release", failing)
    world = world_of(tmp_path / "full")
    counts = world.run()
    assert not counts.withheld
    assert failed == set(contents(world))
    assert contents(world) == contents(whole)
