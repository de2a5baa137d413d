"""Faults of a real broker, with the service as a process that reads and publishes by Kafka."""

from __future__ import annotations

import atexit
import functools
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

from ktsafe.connectors.base import Unavailable
from ktsafe.connectors.kafka_topics import (
    KafkaReleaseReader,
    KafkaReleaseSink,
    KafkaSettings,
    Role,
    TopicSpec,
    client,
    create_topics,
)

from kafka import KafkaConsumer, TopicPartition  # isort: skip -- after the connectors, which quieten its import
from ktsafe.stream.errors import Exit
from ktsafe_lab.contracts import release_contract
from ops.broker.broker import Broker
from tests import feeds, running, services
from tests.faults.on_disk import PEOPLE
from tests.faults.processes import Watched, check, ended, refuses, seconds_until, stop, watched
from tests.faults.trials import BY_ITSELF, NEXT_START, Fault, Trial
from tests.integration.cluster import Cluster
from tests.integration.conftest import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
PARTITIONS = 2
NEVER = "not: it refuses, the feed has lost events"
PATIENT = "request_timeout_s = 5\n"
STUCK_S = 20.0
"""How long the broker stands still; several times the wait for one answer."""


@functools.cache
def shared_broker() -> Broker:
    """Return the broker of this run, with which every trial has topics of its own."""
    home = Path(tempfile.mkdtemp(prefix="ktsafe-faults-broker-"))
    settings = {**SETTINGS, "log.retention.check.interval.ms": "500"}
    broker = Broker(home, libs=ROOT / "var/broker/libs", settings=settings)
    broker.start()

    def end() -> None:
        broker.stop()
        shutil.rmtree(home, ignore_errors=True)

    atexit.register(end)
    return broker


def bootstrap() -> str:
    """Return the address of the broker, started again if a trial left it stopped."""
    return shared_broker().start().bootstrap


def site_of(
    folder: Path, seed: int, extra: str = PATIENT
) -> tuple[Watched, list[list[feeds.Event]], str]:
    """Return a service on new topics, what they hold, and the name of the topic it reads."""
    partitions = feeds.assigned(services.small_feed(people=PEOPLE, seed=seed), PARTITIONS, seed)
    site = running.kafka_site(
        folder / "site", partitions, services.ATTRIBUTES, "month", bootstrap()
    )
    return watched(site, extra=extra), partitions, site.settings.config.source.topic


def one_more(
    site: Watched,
    topic: str,
    partitions: list[list[feeds.Event]],
    process: subprocess.Popen[bytes],
    partition: int = 0,
) -> float:
    """Send one more event; return the seconds until the running service has applied it."""
    number = sum(map(len, partitions))
    # Not behind the last slot, where it would wait for the other partitions.
    time_text = max(event["time"] for events in partitions for event in events)
    late = {"type": "vertex.upsert", "id": f"late-{number}", "time": time_text}
    before = site.applied()
    while len(partitions) <= partition:
        partitions.append([])
    partitions[partition].append(late)
    batch: list[list[feeds.Event]] = [[] for _ in range(partition)]
    running.send(bootstrap(), topic, [*batch, [late]])
    return seconds_until(lambda: site.applied() > before, process)


def caught_up(site: Watched, partitions: list[list[feeds.Event]]) -> bool:
    """Whether the running service has applied all events."""
    return site.applied() >= sum(map(len, partitions))


def finish(
    site: Watched,
    process: subprocess.Popen[bytes],
    partitions: list[list[feeds.Event]],
    folder: Path,
) -> None:
    """Stop the running service, drain what is left, and check that nothing was lost."""
    stop(process)
    site.site.drain()
    check(site.site, partitions, folder / "read")


def recovered(
    site: Watched,
    process: subprocess.Popen[bytes],
    topic: str,
    partitions: list[list[feeds.Event]],
    folder: Path,
) -> float:
    """See a service that met a fault through to its end; return the seconds until it worked."""
    started = time.monotonic()
    seconds_until(lambda: caught_up(site, partitions), process)
    one_more(site, topic, partitions, process)
    recovery_s = time.monotonic() - started
    finish(site, process, partitions, folder)
    return recovery_s


def broker_killed(folder: Path, seed: int, *, kill: bool = True) -> Trial:
    """Kill the broker, or restart it in order, while the service reads and publishes."""
    dice = random.Random(seed)
    site, partitions, topic = site_of(folder, seed)
    process = site.site.start()
    seconds_until(lambda: site.applied() > 0, process)
    time.sleep(dice.uniform(0, 1))
    shared_broker().stop(kill=kill)
    time.sleep(dice.uniform(0, 5))
    assert process.poll() is None
    shared_broker().start()
    recovery_s = recovered(site, process, topic, partitions, folder)
    return Trial("lag unknown, then falling; `ktsafe_retries_total`", recovery_s)


def broker_restarted(folder: Path, seed: int) -> Trial:
    """Restart the broker in order."""
    return broker_killed(folder, seed, kill=False)


def in_a_transaction(folder: Path, seed: int) -> Trial:
    """Kill the broker when a release has been sent and not committed, then publish it again."""
    settings = KafkaSettings(bootstrap_servers=(bootstrap(),), request_timeout_s=10)
    topic = f"releases-{os.getpid()}-{seed}-{time.monotonic_ns()}"
    create_topics(settings, [TopicSpec(name=topic, role=Role.RELEASES)])
    sink = KafkaReleaseSink(settings, topic, transactional_id=topic)
    sink.open()
    bundle = release_contract.stage(folder, "s-0001", {"a.csv": os.urandom(200_000)})
    real = client.bounded

    def killing(call: Any, timeout_s: float, what: str) -> Any:
        if what == "commit":
            shared_broker().stop(kill=True)
            timeout_s = 2.0
        return real(call, timeout_s, what)

    seen = ""
    with mock.patch.object(client, "bounded", killing):
        try:
            sink.publish(bundle)
        except Unavailable as error:
            seen = f'"{error.op}" is tried again, `KtsafePublishRetrying`'
    assert seen, "the commit came through a dead broker"
    shared_broker().start()

    def published() -> bool:
        try:
            sink.publish(bundle)
        except Unavailable:
            return False
        return True

    recovery_s = seconds_until(published)
    sink.close()
    found = list(KafkaReleaseReader(settings, topic).read(folder / "read"))
    assert [release.release_id for release in found] == ["s-0001"]
    assert release_contract.content(found[0]) == release_contract.content(bundle)
    return Trial(seen, recovery_s)


def partitions_added(folder: Path, seed: int) -> Trial:
    """Add a partition while the service runs, and write to it."""
    site, partitions, topic = site_of(folder, seed)
    process = site.site.start()
    # In the midst of the feed the one event of the new partition would lie beyond the next slot:
    # nothing confirms its time, and the others wait for that partition as for an idle one.
    seconds_until(lambda: site.applied() >= sum(map(len, partitions)), process)
    with _cluster() as cluster:
        cluster.admin.create_partitions({topic: PARTITIONS + 1})
    recovery_s = one_more(site, topic, partitions, process, PARTITIONS)
    finish(site, process, partitions, folder)
    return Trial("`ktsafe_source_lag_records` of a new partition", recovery_s)


def topic_made_again(folder: Path, seed: int) -> Trial:
    """Delete the topic and make another of its name while the service runs."""
    site, partitions, topic = site_of(folder, seed)
    site.site.drain()
    process = site.site.start()
    seconds_until(site.is_ready, process)
    with _cluster() as cluster:
        cluster.recreate(topic, PARTITIONS)
    running.send(bootstrap(), topic, [events[:50] for events in partitions])
    seen = ended(process, site, Exit.MISMATCH, "state folder")
    refuses(site, Exit.MISMATCH, "deleted and made again")
    assert site.site.graph() == feeds.fold(
        partitions, services.ATTRIBUTES["quasi_identifiers"] + [services.ATTRIBUTES["sensitive"]]
    )
    return Trial(seen)


def truncated(folder: Path, seed: int, *, expire: bool = False) -> Trial:
    """Let records go that the stopped service has not read: by an administrator, or by age."""
    site, partitions, topic = site_of(folder, seed)
    site.site.drain()
    check(site.site, partitions, folder / "read")
    at = TopicPartition(topic, 0)
    running.send(bootstrap(), topic, [partitions[0][:20]])
    with _cluster() as cluster:
        if expire:
            cluster.configure(topic, retention_ms="1", segment_ms="50")
            seconds_until(lambda: _beginning(topic) > len(partitions[0]))
        else:
            cluster.admin.delete_records({at: len(partitions[0]) + 10})
    return Trial(refuses(site, Exit.MISMATCH, "is not retained"))


def expired(folder: Path, seed: int) -> Trial:
    """Let records expire unread."""
    return truncated(folder, seed, expire=True)


def stuck(folder: Path, seed: int) -> Trial:
    """Stop the broker's process without ending it: connections stay, nobody answers."""
    site, partitions, topic = site_of(folder, seed)
    process = site.site.start()
    seconds_until(lambda: site.applied() > 0, process)
    time.sleep(random.Random(seed).uniform(0, 1))
    running_broker = shared_broker().running()
    assert running_broker is not None
    os.kill(running_broker.pid, signal.SIGSTOP)
    try:
        time.sleep(STUCK_S)
        assert process.poll() is None
        assert site.answer("/healthz")[0] == 200, "the loop is stuck too"
        threads = len(list(Path(f"/proc/{process.pid}/task").iterdir()))
    finally:
        os.kill(running_broker.pid, signal.SIGCONT)
    assert threads < 40, f"{threads} threads"
    recovery_s = recovered(site, process, topic, partitions, folder)
    return Trial("lag unknown; `/healthz` stays well", recovery_s)


def stuck_for_long(folder: Path, seed: int) -> Trial:
    """Stop the broker's process for longer than the service waits."""
    site, partitions, _ = site_of(folder, seed, "request_timeout_s = 1\n")
    process = site.site.start()
    seconds_until(lambda: caught_up(site, partitions), process)
    running_broker = shared_broker().running()
    assert running_broker is not None
    os.kill(running_broker.pid, signal.SIGSTOP)
    try:
        seen = ended(process, site, Exit.UNAVAILABLE, "has not answered")
    finally:
        os.kill(running_broker.pid, signal.SIGCONT)
    process = site.site.start()
    ready_s = seconds_until(site.is_ready, process)
    finish(site, process, partitions, folder)
    return Trial(seen, ready_s)


class _cluster:  # noqa: N801 -- used like a function
    """Gives clients of the broker, and closes them."""

    def __enter__(self) -> Cluster:
        self._cluster = Cluster(bootstrap())
        return self._cluster

    def __exit__(self, *_error: object) -> None:
        self._cluster.close()


def _beginning(topic: str) -> int:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap(), group_id=None, metrics_enabled=False)
    at = TopicPartition(topic, 0)
    offset: int = consumer.beginning_offsets([at])[at]
    consumer.close()
    return offset


FAULTS = (
    Fault("kill -9 of the broker", "broker", BY_ITSELF, 3, broker_killed),
    Fault("restart of the broker", "broker", BY_ITSELF, 2, broker_restarted),
    Fault("kill -9 of the broker in a transaction", "broker", BY_ITSELF, 3, in_a_transaction),
    Fault("partition added", "broker", BY_ITSELF, 2, partitions_added),
    Fault("topic deleted and made again", "broker", NEVER, 2, topic_made_again),
    Fault("topic cut below the stored offset", "broker", NEVER, 2, truncated),
    Fault("records expired unread", "broker", NEVER, 2, expired),
    Fault("broker stands still (SIGSTOP)", "broker", BY_ITSELF, 2, stuck),
    Fault("broker stands still for long", "broker", NEXT_START, 2, stuck_for_long),
)
