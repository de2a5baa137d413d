"""The service with window = 1: each release made from the one before, through crashes too."""

import itertools
import json

import pytest

from connectors.memory import Crash
from ktsafe import AnonymizeOptions, PrivacyParams
from ktsafe.errors import NotKTSafe
from ktsafe.incremental import engine
from ktsafe.verify import verify
from state.errors import StateCorrupted
from stream.config import settings as config
from stream.files.releases_read import read_release
from stream.release import fresh
from stream.release.carried import CarriedReleases
from stream.release.fresh import FreshReleases
from stream.service import assembly
from tests.stream.config.test_anonymize_config import by_itself
from tests.stream.release.test_linked import feed
from tests.stream.service.simulation import SCHEMA, Tripwire, World, disk_store, event

PARAMS = PrivacyParams(k=3, alpha="1/2", t="1/5")
OPTIONS = AnonymizeOptions(effort="fast")
EVENTS = feed(slots=4, people=20, seed=2)


class Carried(World):
    """A world whose releases are made from the ones before."""

    def mechanism(self):
        """Return what makes the releases of one run."""
        return CarriedReleases(self.schema, self.params, OPTIONS, seed=self.seed)


@pytest.fixture(scope="module", autouse=True)
def batches_of_any_size():
    """Let small networks that change a lot be carried over all the same."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "BATCH_SHARE_MAX", 1e9)
        patched.setattr(engine, "DRIFT_MAX", 1e9)
        yield


def world_of(folder, **settings):
    return Carried(folder, [EVENTS], params=PARAMS, seed=7, **settings)


def contents(world):
    """Return the vertices and edges of every release, by id."""
    return {
        release_id: (files["vertices.csv"], files["edges.csv"])
        for release_id, (_, files) in world.releases.releases.items()
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return a world whose service ran through."""
    world = world_of(tmp_path_factory.mktemp("undisturbed"))
    counts = world.run()
    assert len(counts.published) == 4
    return world


def test_releases_are_carried_safe_and_under_fresh_ids(undisturbed, tmp_path):
    """Each passes the verifier; all but the first come from the one before; no id comes back."""
    ids, made = [], []
    for release_id, (_, files) in sorted(undisturbed.releases.releases.items()):
        folder = tmp_path / release_id
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        release = read_release(folder)
        codes, flags = release.quasi_identifiers(), release.is_sensitive()
        verify(codes, flags, release.edges, PARAMS).raise_if_unsafe()
        assert json.loads(files["manifest.json"])["guarantee"]["w"] == 1
        ids.append(set(release.ids))
        audit = undisturbed.folder / "audit" / release_id / "audit.json"
        made.append(json.loads(audit.read_text())["incremental"])
    assert [step["is_fresh"] for step in made] == [True, False, False, False]
    assert all(step["changes"] > 0 for step in made[1:])
    assert all(step["upkeep"]["kept"] > 0 for step in made[2:])
    assert all(not a & b for a, b in itertools.combinations(ids, 2))


def test_a_release_holds_the_truth_of_its_slot(undisturbed):
    """People, their attributes and ties are in it, whoever came, left or changed before."""
    vertices, ties = undisturbed.graph()
    people, released_ties = undisturbed.released_people(max(undisturbed.releases.releases))
    assert people == vertices
    assert ties <= released_ties


@pytest.mark.parametrize(("first", "stride"), [(0, 67)])
def test_a_crash_at_any_step_changes_no_byte(undisturbed, tmp_path, first, stride):
    """Whenever it crashes, every release comes out as if it had not."""
    for step in itertools.count(first, stride):
        folder = tmp_path / str(step)
        world = world_of(folder, store=disk_store(folder / "store", SCHEMA))
        wire = Tripwire(step)
        try:
            world.run(wire=wire)
        except Crash:
            world.run()
        assert contents(world) == contents(undisturbed), wire.crashed_in
        if not wire.crashed_in:
            break
    assert step > 100


def test_a_release_that_is_withheld_leaves_no_trace(undisturbed, tmp_path, monkeypatch):
    """The next one follows the one before it, as if there had been no slot."""
    judged, calls = fresh.verify, []

    def failing(*args, **kwargs):
        calls.append(1)
        if len(calls) == 2:
            raise NotKTSafe("for the test")
        return judged(*args, **kwargs)

    monkeypatch.setattr(fresh, "verify", failing)
    world = world_of(tmp_path)
    counts = world.run()
    assert counts.withheld == {"unsafe": 1}
    assert len(counts.published) == 3
    assert world.released_people(max(contents(world)))[0] == undisturbed.graph()[0]


def test_another_mechanism_lets_the_pages_go(tmp_path):
    """Pages hold people: who makes releases afresh does not leave them behind."""
    folder = tmp_path / "store"
    world = world_of(tmp_path, store=disk_store(folder, SCHEMA))
    world.run()
    store = world.open_store()
    assert store.ledger.pages()
    store.close()
    world.extend(0, [event("vertex.upsert", 61, "late", gender="f")])
    world.mechanism = lambda: FreshReleases(PARAMS, OPTIONS, seed=7)
    assert world.run().published
    store = world.open_store()
    assert store.ledger.pages() == {}
    store.close()


def test_damaged_pages_refuse_to_start(undisturbed, tmp_path):
    """What reads back but makes no sense is named as damage of the state."""

    class Damaged:
        def pages(self):
            return {"meta": b"{}"}

    with pytest.raises(StateCorrupted):
        undisturbed.mechanism().open(Damaged())


def test_the_configuration_chooses(tmp_path):
    """Releases are carried where that is asked for, unless other options ask for what cannot be."""
    tables = ({"incremental": True}, {}, {"incremental": True, "rare_qi": "suppress"})
    found = [
        type(assembly.mechanism(config.check(by_itself("anonymize", table), tmp_path, "here")))
        for table in tables
    ]
    assert found == [CarriedReleases, FreshReleases, FreshReleases]
