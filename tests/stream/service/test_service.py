"""The whole service in simulated time: what is published, when, and after which misfortune."""

import dataclasses
import errno
import hashlib
import itertools
import json

import msgspec
import pytest

from ktsafe import PrivacyParams
from ktsafe.connectors.base import SinkConflict
from ktsafe.errors import NotKTSafe
from ktsafe.sequence import SequenceEngine
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.private_audits import note
from ktsafe.stream.observer import Observer
from ktsafe.stream.release import linked, publish
from ktsafe.stream.release.publish import Publisher
from ktsafe.stream.service.slot_clock import OPEN_TRANSACTION_S
from tests.memory_connectors import Crash, Faults, MemorySource, unavailable
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import (
    SCHEMA,
    World,
    disk_store,
    event,
)
from tests.stream.service.simulation_feed import (
    FIRST,
    SECOND,
    SLOTS_S,
    check_history,
    known,
    small_world,
)


def test_every_slot_shows_the_graph_of_its_time(tmp_path):
    """Two partitions read at any pace: each release is the graph at its slot, by event time."""
    world = small_world(tmp_path)
    counts = world.run()
    check_history(world)
    assert [r for r, *_ in counts.published] == sorted(world.releases.releases)
    assert (counts.applied, counts.ignored) == (12, 1)
    assert counts.dead_letters == {"malformed_json": 1}
    assert counts.attributes_dropped == 1
    assert counts.slots_skipped == 1
    assert [letter.record.offset for letter in world.letters] == [3]


def test_a_sink_that_does_not_answer_is_asked_again_with_the_same_bytes(tmp_path, monkeypatch):
    """Errors before and after the effect: each release is published once, unchanged.

    It is offered again after a pause, not at once.
    """
    world, run, moments = small_world(tmp_path), Faults.run, []

    def noted(faults, operation, effect):
        if operation == "publish":
            moments.append(world.now_s)
        return run(faults, operation, effect)

    monkeypatch.setattr(Faults, "run", noted)
    world.faults.before["publish"] = [unavailable(), unavailable()]
    world.faults.after["publish"] = [unavailable()]
    world.run()
    check_history(world)
    assert min(after - before for before, after in itertools.pairwise(moments[:4])) >= 0.5


def test_dead_letters_are_durable_before_their_offset_passes(tmp_path):
    """While the dead-letter sink does not answer ingest waits; nothing is lost."""
    world = small_world(tmp_path)
    world.faults.before["write"] = [unavailable("write dead letters")] * 3
    world.run()
    check_history(world)
    assert [letter.record.offset for letter in world.letters] == [3]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(NotKTSafe("3 vertices are unsafe."), "unsafe"), (RuntimeError("boom"), "error")],
)
def test_what_is_not_verified_is_never_published(tmp_path, monkeypatch, error, reason):
    """Fail closed: the release is withheld, the last one stands, the service goes on."""
    judge, calls = linked.LinkedReleases.judge, []

    def failing(*args):
        calls.append(args)
        if len(calls) == 2:
            raise error
        return judge(*args)

    monkeypatch.setattr(linked.LinkedReleases, "judge", failing)
    world = small_world(tmp_path)
    counts = world.run()
    assert counts.withheld == {reason: 1}
    times = [t // 1000 for t, _ in world.releases.releases.values()]
    assert times == [10, 40, 50]
    assert world.graph() == known()


STRICT = dataclasses.replace(SCHEMA, expect_absent=frozenset())
WELL = [FIRST[0], event("vertex.upsert", 2, "bob", gender="m", health="well"), *FIRST[2:]]


def test_the_first_release_is_held_until_all_that_the_schema_names_was_seen(tmp_path, caplog):
    """Somebody falls ill at 42 s; from then on slots are served, also when all are well again."""
    world = World(tmp_path, [WELL, SECOND], schema=STRICT)
    assert world.run().withheld == {"absent": 3}
    assert [t // 1000 for t, _ in world.releases.releases.values()] == [50]
    assert "nobody has what [attributes] names" in caplog.text
    assert "ill" not in {word.strip("',") for word in caplog.text.split()}
    world.extend(0, [event("vertex.upsert", 61, "ann", health="well")])
    world.extend(0, [event("vertex.upsert", 81, "fay", gender="f")])
    assert not world.run().withheld
    assert len(world.releases.releases) > 1


def test_the_owner_may_say_that_a_value_is_absent_on_purpose(tmp_path):
    """The state goes on: what is expected is no input of a release."""
    world = World(tmp_path, [WELL], schema=STRICT, store=disk_store(tmp_path, STRICT))
    assert world.run().withheld["absent"]
    assert not world.releases.releases
    world.schema, world.open_store = SCHEMA, disk_store(tmp_path, SCHEMA)
    world.extend(0, [event("vertex.upsert", 61, "fay", gender="f")])
    world.run()
    assert world.releases.releases


def test_an_unsafe_release_is_stopped_by_the_real_verifier(tmp_path, monkeypatch):
    """With an anonymizer that does nothing, nothing unsafe comes out."""
    begin = SequenceEngine.begin

    def broken(schema, params, *rest):
        return begin(schema, PrivacyParams(k=1, alpha=1), *rest)

    monkeypatch.setattr(SequenceEngine, "begin", broken)
    world = small_world(tmp_path, params=PrivacyParams(k=4, alpha="1/2"))
    counts = world.run()
    assert counts.withheld["unsafe"] == 4
    assert not world.releases.releases


@pytest.mark.parametrize(
    "claimed", [{"k": 1}, {"alpha": "3/5"}, {"t": "1/5"}, {"epsilon": 6}, {"k": 3}]
)
def test_a_manifest_with_other_parameters_is_withheld(tmp_path, monkeypatch, claimed):
    """The gate judges by the service's parameters; what claims others is not published."""
    write_release = releases_write.write_release

    def boasting(folder, graph, ids, header, formats):
        claim = dataclasses.replace(header, params=dataclasses.replace(header.params, **claimed))
        return write_release(folder, graph, ids, claim, formats)

    monkeypatch.setattr(releases_write, "write_release", boasting)
    world = small_world(tmp_path, params=PrivacyParams(k=2, alpha="1/2"))
    assert world.run().withheld["unsafe"] == 4
    assert not world.releases.releases


def test_a_sink_that_is_ahead_stops_the_service(tmp_path):
    """A sink with releases that the ledger does not know means: refuse to publish."""
    world = small_world(tmp_path / "a")
    world.run()
    stale = small_world(tmp_path / "b")
    stale.releases = world.releases
    with pytest.raises(SinkConflict):
        stale.run()


def test_staged_bytes_that_cannot_be_read_for_now_are_not_called_lost(tmp_path, monkeypatch):
    """While no file can be opened a release waits; it is published when that has passed."""
    world = small_world(tmp_path)
    real, left = publish.digest_regular, [errno.EMFILE, errno.ENFILE, errno.ENOMEM]

    def digest(path):
        if left:
            raise OSError(left.pop(), "planned by a test")
        return real(path)

    monkeypatch.setattr(publish, "digest_regular", digest)
    world.run()
    assert not left
    check_history(world)


def forged(files):
    """Add a lone vertex to a release, its manifest made to fit, as a forger would."""
    manifest = json.loads(files["manifest.json"])
    text = files["vertices.csv"].decode()
    files["vertices.csv"] = (text + "ffffffffffffffff,f,-\n").encode()
    manifest["sha256"]["vertices.csv"] = hashlib.sha256(files["vertices.csv"]).hexdigest()
    manifest["vertices"] += 1
    files["manifest.json"] = json.dumps(manifest).encode()
    return files


def forge_folder(folder):
    """The same to files."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name, data in forged(files).items():
        (folder / name).write_bytes(data)


class Meddler(Observer):
    """Does something while the service runs: when a publication failed, or when one was made."""

    def __init__(self, *, on_retry=lambda: None, on_published=lambda: None):
        self._on_retry = on_retry
        self._on_published = on_published

    def retry(self, op):
        self._on_retry()

    def release_published(self, *_):
        self._on_published()


def test_a_live_service_publishes_recorded_bytes_only(tmp_path):
    """Staged bytes that somebody changed while the sink was away are not published."""
    world = small_world(tmp_path)
    world.faults.before["publish"] = [unavailable()]
    meddler = Meddler(on_retry=lambda: forge_folder(max((tmp_path / "staging").iterdir())))
    with pytest.raises(StateCorrupted, match="ktsafe rebase"):
        world.run(observer=meddler)
    assert not world.releases.releases
    with pytest.raises(StateCorrupted):
        world.run()


def test_a_sink_refuses_what_was_not_recorded(tmp_path, monkeypatch):
    """Also where the bytes are changed between the service's look at them and the sink's own."""
    world = small_world(tmp_path)
    monkeypatch.setattr(
        Publisher, "_check_staged", lambda *_: forge_folder(max((tmp_path / "staging").iterdir()))
    )
    with pytest.raises(SinkConflict, match="do not use this copy"):
        world.run()
    assert not world.releases.releases


@pytest.mark.parametrize("which", [0, -1])
def test_a_changed_release_at_the_sink_stops_the_service(tmp_path, which):
    """At the next start, and at the next publication of a live service: not only the last."""
    world = small_world(tmp_path / "a")
    world.run()
    release_id = sorted(world.releases.releases)[which]
    forged(world.releases.releases[release_id][1])
    with pytest.raises(SinkConflict, match=release_id):
        world.run()

    live = small_world(tmp_path / "b")
    meddler = Meddler(on_published=lambda: forged(next(iter(live.releases.releases.values()))[1]))
    with pytest.raises(SinkConflict, match="with these bytes"):
        live.run(observer=meddler)
    assert len(live.releases.releases) == 1


def test_releases_that_are_gone_from_the_sink_are_told_of(tmp_path, caplog):
    """A gap is said at every start, and where none is left; the oldest may have been moved."""
    world = small_world(tmp_path)
    world.run()
    there = world.releases.releases
    ids = sorted(there)
    told = "published releases are gone from the sink"
    assert len(ids) > 2
    for gone, expected in ((ids[:1], False), (ids[1:2], True), (ids, True)):
        kept = {release_id: there.pop(release_id) for release_id in gone}
        caplog.clear()
        world.run()
        assert (told in caplog.text) is expected
        there.update(kept)


def test_a_last_release_that_is_gone_is_sent_again(tmp_path):
    """With the same bytes: they are kept until the next one is published."""
    world = small_world(tmp_path)
    world.run()
    there = world.releases.releases
    last = max(there)
    lost = there.pop(last)
    world.run()
    assert there[last] == lost
    there.clear()
    world.run()
    assert there == {last: lost}


def test_a_cut_that_waits_behind_what_is_sent_again_is_built(tmp_path, monkeypatch):
    """In the same run, though the last release is underway when the service starts."""
    world = small_world(tmp_path)
    there, write = world.releases.releases, releases_write.write_release

    def crashing(*args, **kwargs):
        if len(there) == 2:
            raise Crash
        return write(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(releases_write, "write_release", crashing)
        with pytest.raises(Crash):
            world.run()
    names = set(there)
    del there[max(there)]
    world.run()
    assert names < set(there)
    assert [int(name[:6]) for name in sorted(there)] == list(range(1, len(SLOTS_S) + 1))


@pytest.mark.parametrize("is_rebased", [False, True])
def test_a_last_release_of_a_former_sequence_is_not_sent_again(tmp_path, is_rebased):
    """Its owner began anew, and took it away; without a new sequence it comes back."""
    store = MemoryStore(SCHEMA)
    world = small_world(tmp_path, store=lambda: store)
    world.run()
    there = world.releases.releases
    last = max(there)
    if is_rebased:
        sequence = store.ledger.sequence()
        store.ledger.start_sequence(msgspec.structs.replace(sequence, sequence_id="another"))
    there.clear()
    world.run()
    assert (last in there) is not is_rebased


def test_a_withdrawn_release_that_is_gone_is_not_sent_again(tmp_path):
    """Neither at a start nor beside the next release: its owner deleted it on purpose."""
    world = small_world(tmp_path)
    world.run()
    there = world.releases.releases
    last = max(there)
    note(tmp_path / "audit" / last, b"a mistake")
    there.pop(last)
    world.run()
    assert last not in there
    world.extend(0, [event("vertex.upsert", s, f"n{s}", gender="f") for s in (61, 81)])
    world.run()
    assert max(there) > last
    assert last not in there


class Lagging(MemorySource):
    """Gives nothing of its second partition until a time, though there is more."""

    def __init__(self, world, until_s):
        super().__init__(world.log)
        self._world, self._until_s = world, until_s
        self._paused.add(self.partitions()[1])

    def poll(self, timeout_s, records_max):
        if self._world.now_s >= self._until_s:
            self._paused.discard(self.partitions()[1])
        return super().poll(timeout_s, records_max)


@pytest.mark.parametrize(
    ("second", "silent_until_s", "first_at_s"),
    [([], 0, 30), (SECOND[:1], 0, 30), (SECOND, 0, 1), (SECOND, 200, 200)],
)
def test_a_silent_partition_does_not_hold_a_slot_up(tmp_path, second, silent_until_s, first_at_s):
    """Without drain, one that is read to its end and silent for `idle_s` counts as arrived.

    Not sooner; and one that has more to give is waited for, however long it gives nothing.
    """
    world = World(tmp_path, [FIRST, second])
    world.open_source = lambda: Lagging(world, silent_until_s)
    began = []

    def stopping():
        world.now_s += 1.0
        began.extend([world.now_s] * bool(world.releases.releases and not began))
        return world.now_s > 300

    world.run(loop={"drain": False, "idle_s": 30.0}, stopping=stopping)
    assert [t // 1000 for t, _ in world.releases.releases.values()][:3] == [10, 20, 40]
    assert first_at_s <= began[0] < first_at_s + 25


class Told(Observer):
    """Keeps what is told of open transactions, and when."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.open: list[tuple[int, float]] = []

    def open_transactions(self, partitions: int) -> None:
        self.open.append((partitions, self.world.now_s))


def test_an_open_transaction_holds_a_slot_up_for_a_quarter_of_an_hour(tmp_path, caplog):
    """Longer than silence would; then the release goes out, and it is told why."""
    world = World(tmp_path, [FIRST, []])
    world.log.open_transactions.add(1)
    told = Told(world)
    world.run(
        loop={"drain": False, "idle_s": 5.0},
        observer=told,
        ingest={"poll_timeout_s": 0.0},
        stopping=lambda: len(told.open) == 3 or _a_second_later(world),
    )
    assert [n_open for n_open, _ in told.open] == [1, 1, 1]
    # It is the same one that the later slots do not wait for any more.
    first, *later = (at_s for _, at_s in told.open)
    assert OPEN_TRANSACTION_S <= first < OPEN_TRANSACTION_S + 30
    assert max(later) < first + 30
    assert "open transactions hold" in caplog.text


def test_a_transaction_that_ends_holds_nothing_up_any_more(tmp_path):
    """What it held is in the release."""
    world = World(tmp_path, [FIRST, []])
    world.log.open_transactions.add(1)
    told = Told(world)

    def stopping() -> bool:
        if world.now_s > 60 and world.log.open_transactions:
            world.log.open_transactions.clear()
            world.extend(1, [event("vertex.upsert", 5, "zoe", gender="f", health="well")])
        return bool(world.releases.releases) or _a_second_later(world)

    world.run(loop={"drain": False, "idle_s": 5.0}, observer=told, stopping=stopping)
    assert (told.open[0][0], told.open[0][1] < 120) == (0, True)
    assert "zoe" in next(iter(world.cuts.values()))[0]


def _a_second_later(world: World) -> bool:
    world.now_s += 1.0
    return False


def test_a_drain_says_that_it_stops_before_an_open_transaction(tmp_path, caplog):
    """It does not wait: what is committed later is for the next run."""
    world = World(tmp_path, [FIRST, []])
    world.log.open_transactions.add(1)
    world.run()
    assert world.releases.releases
    assert "ends with transactions that are open" in caplog.text
    world.log.open_transactions.clear()
    caplog.clear()
    world.run()
    assert "transactions" not in caplog.text


def test_a_feed_of_which_nothing_is_applied_is_told(tmp_path, caplog):
    """Loudly, once, by a drain; a feed that says something is not."""
    World(tmp_path / "none", [[b"junk", b"more"]]).run()
    assert caplog.text.count("no record of the feed could be applied") == 1
    caplog.clear()
    World(tmp_path / "some", [[*FIRST, b"junk"]]).run()
    assert "no record" not in caplog.text


def test_an_empty_feed_publishes_nothing(tmp_path):
    """No events, no release; nor for a feed of dead letters."""
    world = World(tmp_path, [[], [b"junk"]])
    counts = world.run()
    assert not world.releases.releases
    assert counts.dead_letters == {"malformed_json": 1}
