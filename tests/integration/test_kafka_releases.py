"""Releases in a Kafka topic, on a real broker."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ktsafe.connectors.base import MANIFEST, Misconfigured, ReleaseBundle, SinkConflict, Unavailable
from ktsafe.connectors.kafka_topics import (
    KafkaReleaseReader,
    KafkaReleaseSink,
    KafkaSettings,
    Role,
    chunks,
)
from ktsafe.connectors.kafka_topics import release_sink as sink_module
from ktsafe_lab.contracts.release_contract import (
    CHUNK_BYTES,
    FILES,
    TRANSACTION_BYTES_MAX,
    ReleaseContract,
    content,
    stage,
)
from ops.broker.broker import Broker
from tests.integration.cluster import Cluster
from tests.ops.prometheus import until

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[2]


class KafkaReleaseWorld:
    """A topic for releases, with chunks and transactions so small that one release has several."""

    def __init__(self, kafka: KafkaSettings, topic: str) -> None:
        self.kafka = kafka
        self.topic = topic
        self.transactional_id = f"tx-{topic}"

    def sink(self) -> KafkaReleaseSink:
        return KafkaReleaseSink(
            self.kafka,
            self.topic,
            transactional_id=self.transactional_id,
            chunk_bytes=CHUNK_BYTES,
            transaction_bytes_max=TRANSACTION_BYTES_MAX,
        )

    def reader(self) -> KafkaReleaseReader:
        return KafkaReleaseReader(self.kafka, self.topic)

    def read(self, into: Path) -> list[ReleaseBundle]:
        return list(self.reader().read(into))


@pytest.fixture
def world(kafka: KafkaSettings, new_topic: Callable[..., str]) -> KafkaReleaseWorld:
    return KafkaReleaseWorld(kafka, new_topic(Role.RELEASES))


@pytest.fixture
def large(tmp_path: Path) -> ReleaseBundle:
    """Give a release of ten chunks, hence of several transactions."""
    return stage(tmp_path / "staging", "s-0001", {"a.csv": bytes(range(256)) * 150, "b.csv": b"z"})


@pytest.fixture
def sink(world: KafkaReleaseWorld) -> Iterator[KafkaReleaseSink]:
    """Give an open sink of the topic."""
    with closing(world.sink()) as made:
        made.open()
        yield made


class TestKafkaReleases(ReleaseContract):
    """A topic of releases, published and read."""


CRASH = """
import os, signal, sys
from pathlib import Path
from ktsafe.connectors.base import ReleaseBundle
from ktsafe.connectors.kafka_topics import KafkaReleaseSink, KafkaSettings

bootstrap, topic, transactional_id, folder, chunk, transaction, where = sys.argv[1:]
sink = KafkaReleaseSink(
    KafkaSettings(bootstrap_servers=(bootstrap,)), topic, transactional_id=transactional_id,
    chunk_bytes=int(chunk), transaction_bytes_max=int(transaction),
)
die = lambda: os.kill(os.getpid(), signal.SIGKILL)
send, commits = sink._transaction, []
def transaction(parts, bundle):
    if where == "in_second" and commits:
        sink._producer.commit_transaction = die
    if where == "in_first":
        sink._producer.commit_transaction = die
    send(parts, bundle)
    commits.append(parts)
    if where == "after_first" or (where == "after_last" and parts[-1].kind == "marker"):
        die()
sink._transaction = transaction
sink.open()
folder = Path(folder)
sink.publish(ReleaseBundle(folder.name, 1_600_000_000_000, folder,
                           ("manifest.json", "a.csv", "b.csv")))
"""


@pytest.mark.parametrize("where", ["in_first", "after_first", "in_second", "after_last"])
def test_kill_while_publishing(
    cluster: Cluster, world: KafkaReleaseWorld, large: ReleaseBundle, tmp_path: Path, where: str
) -> None:
    """Whenever the publisher is killed, readers see nothing or all, and in the end one release."""
    arguments = [cluster.bootstrap, world.topic, world.transactional_id, str(large.folder)]
    arguments += [str(CHUNK_BYTES), str(TRANSACTION_BYTES_MAX), where]
    done = subprocess.run(
        [sys.executable, "-c", CRASH, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    seen = [b.release_id for b in world.read(tmp_path / "before")]
    assert seen == (["s-0001"] if where == "after_last" else [])
    sink = world.sink()
    sink.open()
    sink.publish(large)
    sink.publish(stage(tmp_path / "staging", "s-0002", FILES))
    sink.close()
    first, second = world.read(tmp_path / "after")
    assert content(first) == content(large)
    assert (first.release_id, second.release_id) == ("s-0001", "s-0002")
    kinds = [dict(r.headers)["kind"] for r in cluster.records(world.topic)]
    assert kinds.count(b"marker") == 2


def test_what_a_record_tells(
    sink: KafkaReleaseSink, cluster: Cluster, world: KafkaReleaseWorld, large: ReleaseBundle
) -> None:
    """Records carry four headers, the nominal time and chunks of one size, uncompressed."""
    sink.publish(large)
    sink.close()
    records = cluster.records(world.topic)
    assert {tuple(name for name, _ in r.headers) for r in records} == {
        ("release_id", "seq", "kind", "sha256")
    }
    assert {r.timestamp for r in records} == {large.nominal_time_ms}
    assert [r.key for r in records] == [str(i).encode() for i in range(len(records))]
    *parts, manifest, marker = records
    assert {len(r.value) for r in parts} == {CHUNK_BYTES}
    assert [dict(r.headers)["kind"] for r in (manifest, marker)] == [b"manifest", b"marker"]
    assert manifest.value == (large.folder / MANIFEST).read_bytes()


def test_of_two_publishers_the_later_wins(world: KafkaReleaseWorld, tmp_path: Path) -> None:
    """An instance that another one has taken over from stops, and does not take over back."""
    older, newer = world.sink(), world.sink()
    older.open()
    newer.open()
    bundle = stage(tmp_path / "staging", "s-0001", FILES)
    for _ in range(2):
        with pytest.raises(SinkConflict, match="taken over"):
            older.publish(bundle)
    newer.publish(bundle)
    newer.publish(stage(tmp_path / "staging", "s-0002", FILES))
    assert [b.release_id for b in world.read(tmp_path / "out")] == ["s-0001", "s-0002"]
    older.close()
    newer.close()


def test_who_was_fenced_off_between_two_records_does_not_take_over_back(
    world: KafkaReleaseWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client says it once, behind our back; the next record meets only that it cannot go on."""
    older, newer = world.sink(), world.sink()
    older.open()
    newer.open()
    producer = older._producer
    send = producer.send

    def sent(*args: Any, **options: Any) -> Any:
        found = send(*args, **options)
        until("the producer cannot go on", producer._transaction_manager.has_fatal_error)
        return found

    monkeypatch.setattr(producer, "send", sent)
    bundle = stage(tmp_path / "staging", "s-0001", FILES)
    with pytest.raises(SinkConflict, match="taken over"):
        older.publish(bundle)
    newer.publish(bundle)
    assert [content(b) for b in world.read(tmp_path / "out")] == [content(bundle)]
    for one in (older, newer):
        one.close()


def test_fenced_off_by_what_was_given_up(
    world: KafkaReleaseWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that stood still takes us over by a request that we gave up long ago.

    That is no other instance: the release is offered again and comes once. When the doubt is over,
    whoever fences us off is another instance.
    """
    sink, stale, rival = world.sink(), world.sink(), world.sink()
    sink.open()
    bundle = stage(tmp_path / "staging", "s-0001", FILES)
    real = sink_module.client.bounded
    with monkeypatch.context() as patch:

        def unanswered(call: Callable[[], Any], timeout_s: float, what: str) -> Any:
            return real(threading.Event().wait if what == "commit" else call, 0.5, what)

        patch.setattr(sink_module.client, "bounded", unanswered)
        with pytest.raises(Unavailable):
            sink.publish(bundle)
    real_last = sink.last

    def last() -> Any:
        stale.open()  # The broker comes to the request now, when our next producer is there.
        return real_last()

    monkeypatch.setattr(sink, "last", last)
    with pytest.raises(Unavailable):
        sink.publish(bundle)
    monkeypatch.setattr(sink, "last", real_last)
    sink.publish(bundle)
    assert [content(b) for b in world.read(tmp_path / "out")] == [content(bundle)]
    monkeypatch.setattr(sink_module, "DOUBT_S", 0.0)
    sink._give_up()
    sink.publish(bundle)
    rival.open()
    with pytest.raises(SinkConflict, match="taken over"):
        sink.publish(stage(tmp_path / "staging", "s-0002", FILES))
    for one in (sink, stale, rival):
        one.close()


@pytest.mark.parametrize("committed", [True, False])
def test_unknown_outcome(
    sink: KafkaReleaseSink,
    cluster: Cluster,
    world: KafkaReleaseWorld,
    large: ReleaseBundle,
    tmp_path: Path,
    committed: bool,
) -> None:
    """After a commit without an answer, publishing again finds out and ends with one release."""
    commit = sink._producer.commit_transaction
    answers = iter([True, True, True, False])

    def lost() -> None:
        if next(answers):
            commit()
            return
        if committed:
            commit()
        raise ConnectionError

    sink._producer.commit_transaction = lost
    with pytest.raises(Unavailable):
        sink.publish(large)
    sink.publish(large)
    assert [content(b) for b in world.read(tmp_path / "out")] == [content(large)]
    kinds = [dict(r.headers)["kind"] for r in cluster.records(world.topic)]
    assert kinds.count(b"marker") == 1


def test_commit_without_end(
    sink: KafkaReleaseSink,
    world: KafkaReleaseWorld,
    large: ReleaseBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A commit that never returns is given up in time, and the next attempt succeeds."""
    monkeypatch.setattr(sink_module, "TRANSACTION_TIMEOUT_S", 4.0)
    never = threading.Event()
    sink._producer.commit_transaction = never.wait
    with pytest.raises(Unavailable):
        sink.publish(large)
    never.set()
    sink.publish(large)
    assert [content(b) for b in world.read(tmp_path / "out")] == [content(large)]


def test_broker_killed_while_publishing(
    outage: Broker,
    world: KafkaReleaseWorld,
    large: ReleaseBundle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An outage in the middle of a release is `Unavailable`; afterwards it appears once."""
    monkeypatch.setattr(sink_module, "TRANSACTION_TIMEOUT_S", 4.0)
    world.kafka = msgspec.structs.replace(world.kafka, request_timeout_s=3)
    sink = world.sink()
    sink.open()
    send = sink._transaction
    sent: list[Any] = []

    def transaction(parts: Any, bundle: ReleaseBundle) -> None:
        if len(sent) == 1:
            outage.stop(kill=True)
        sent.append(parts)
        send(parts, bundle)

    monkeypatch.setattr(sink, "_transaction", transaction)
    for _ in range(2):
        with pytest.raises(Unavailable):
            sink.publish(large)
    outage.start()
    sink.publish(large)
    sink.close()
    assert [content(b) for b in world.read(tmp_path / "out")] == [content(large)]


def test_foreign_and_damaged_records(
    sink: KafkaReleaseSink,
    cluster: Cluster,
    world: KafkaReleaseWorld,
    large: ReleaseBundle,
    tmp_path: Path,
) -> None:
    """Records that are no parts, damaged chunks and sets without a marker are passed over."""
    headers = [("release_id", b"s-0000"), ("seq", b"0"), ("kind", b"chunk"), ("sha256", b"0" * 64)]
    cluster.write(world.topic, 0, [b"hello", b"{}"])
    cluster.write(world.topic, 0, [b"damaged"], headers=headers)
    cluster.write(world.topic, 0, [b"x"], headers=[("release_id", b"../up"), *headers[1:]])
    cluster.write(world.topic, 0, [b"x"], headers=[headers[0], ("seq", b"one"), *headers[2:]])
    assert sink.last() is None
    sink.publish(large)
    cluster.write(world.topic, 0, [b"behind"])
    last = sink.last()
    assert last is not None
    assert last.release_id == "s-0001"
    assert [content(b) for b in world.read(tmp_path / "out")] == [content(large)]


def test_a_marker_without_its_chunks(
    sink: KafkaReleaseSink, cluster: Cluster, world: KafkaReleaseWorld, tmp_path: Path
) -> None:
    """A first release cut by retention is passed over; a later one with a gap is an error."""
    from kafka import TopicPartition as KafkaTopicPartition  # noqa: PLC0415

    for i in (1, 2):
        sink.publish(stage(tmp_path / "staging", f"s-000{i}", {"a.csv": b"q" * CHUNK_BYTES * 3}))
    cluster.admin.delete_records({KafkaTopicPartition(world.topic, 0): 2})
    assert [b.release_id for b in world.read(tmp_path / "out")] == ["s-0002"]
    forged = chunks.part(
        "s-0003",
        5,
        chunks.MARKER,
        cluster.records(world.topic)[-1].value.replace(b"s-0002", b"s-0003"),
    )
    cluster.write(world.topic, 0, [forged.value], headers=forged.headers())
    with pytest.raises(SinkConflict, match="s-0003"):
        world.read(tmp_path / "out")


def test_last_release_is_found_behind_a_long_partial_one(
    sink: KafkaReleaseSink, cluster: Cluster, world: KafkaReleaseWorld, tmp_path: Path
) -> None:
    """The last marker is found however many records of an unfinished set follow it."""
    sink.publish(stage(tmp_path / "staging", "s-0001", FILES))
    headers = [("release_id", b"s-0002"), ("kind", b"chunk"), ("sha256", b"0" * 64)]
    cluster.write(world.topic, 0, [b"x"] * 500, headers=[("seq", b"0"), *headers])
    last = sink.last()
    assert last is not None
    assert last.release_id == "s-0001"


def test_an_open_transaction_of_another_producer(
    cluster: Cluster, world: KafkaReleaseWorld, tmp_path: Path, kafka: KafkaSettings
) -> None:
    """While somebody else's transaction is open the last release is not known."""
    other = cluster.transactional(f"other-{world.topic}")
    other.begin_transaction()
    other.send(world.topic, b"x", partition=0)
    other.flush()
    settings = KafkaSettings(bootstrap_servers=kafka.bootstrap_servers, request_timeout_s=2)
    sink = KafkaReleaseSink(settings, world.topic, transactional_id=world.transactional_id)
    sink.open()
    with pytest.raises(Unavailable, match="another producer"):
        sink.last()
    other.abort_transaction()
    other.close()
    assert sink.last() is None
    sink.close()


def test_nominal_times_of_any_age(
    sink: KafkaReleaseSink,
    cluster: Cluster,
    world: KafkaReleaseWorld,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Releases may carry old and future times; a topic that refuses them is named."""
    times = [0, 946_684_800_000, 4_102_444_800_000]
    for index, time_ms in enumerate(times):
        sink.publish(stage(tmp_path / "staging", f"s-000{index}", FILES, time_ms))
    assert [b.nominal_time_ms for b in world.read(tmp_path / "out")] == times
    cluster.configure(world.topic, message_timestamp_after_max_ms="3600000")
    refused = stage(tmp_path / "staging", "s-0009", FILES, 4_102_444_800_000)
    for flush_bytes in (sink_module.FLUSH_BYTES, 1):
        # At 1 the first record is refused before the last is sent: that call hears less.
        monkeypatch.setattr(sink_module, "FLUSH_BYTES", flush_bytes)
        with pytest.raises(Misconfigured, match=r"message\.timestamp\.after\.max\.ms"):
            sink.publish(refused)


def test_topic_with_several_partitions_is_refused(
    kafka: KafkaSettings, new_topic: Callable[..., str]
) -> None:
    """Releases need an order, hence one partition; a missing topic is named."""
    for topic, why in (
        (new_topic(partitions=2), "exactly one partition"),
        ("no-such-topic", "no such topic"),
    ):
        with pytest.raises(Misconfigured, match=why):
            KafkaReleaseSink(kafka, topic, transactional_id="t").open()
    with pytest.raises(Misconfigured, match="no such topic"):
        list(KafkaReleaseReader(kafka, "no-such-topic").read(Path("unused")))
