"""Source of events in a topic: all partitions, read committed.

Reading begins at the stored offsets, whatever the group's are.

`FETCH`, pauses and hints may be tuned. A gap, another topic of the same name or lost records are
refused, never skipped: tests/integration/test_kafka_source.py and test_kept_records.py make them on
a real broker.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors as kafka_errors

from ktsafe.connectors.base import (
    Misconfigured,
    OffsetLost,
    Record,
    SourceMismatch,
    TopicPartition,
    Unavailable,
)
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import client
from ktsafe.connectors.kafka_topics.consumer import FetchedRecords, GroupOffsets

log = logging.getLogger(__name__)

FETCH: Final = {
    "max_partition_fetch_bytes": 4 * 1024 * 1024,
    "fetch_max_bytes": 16 * 1024 * 1024,
    "fetch_max_wait_ms": 200,
    "max_poll_records": 20_000,
    "receive_buffer_bytes": 1024 * 1024,
}
"""Fetch settings: a few thousand records of 150 bytes each per request and partition."""

ENDS_AGE_S: Final = 0.2
"""How old known ends of partitions may be."""
BEGIN: Final = '[source] begin = "earliest kept"'
"""What an owner writes who says that records which are gone do not matter."""
RIGHTS_TOLD_S: Final = 60.0
"""Pause between log lines about rights that were withdrawn."""
VERIFY_S: Final = 1.0
"""How long records may come before it is verified that they are still the same topic's."""
PROBE_S: Final = 5.0
"""How long a silent cluster is left alone before and between probes."""
PROBE_TIMEOUT_S: Final = 2.0


class KafkaSource:
    """Reads all partitions of one topic. Implements `ktsafe.connectors.base.Source`.

    Partitions are assigned by hand and offsets are the caller's: the consumer group is only told
    of them, for lag tools. Positions below the first retained offset or beyond the end, another
    cluster, or a topic that was deleted and made again are refused, when opening and while
    reading. Partitions that are added later are noticed within `request_timeout_s` and start at
    their beginning.

    Parameters
    ----------
    begins_anywhere:
        Whether the records that are kept are all there is to know, whatever came before them.
        Otherwise a partition whose first records are gone is refused, when its first ones are
        asked for, and a topic that compacts.
    """

    def __init__(
        self, settings: KafkaSettings, topic: str, *, begins_anywhere: bool = False
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._begins_anywhere = begins_anywhere
        self._cut: dict[int, int] = {}
        self._tops: dict[TopicPartition, int] = {}
        self._consumer: Any = None
        self._info: client.TopicInfo | None = None
        self._partitions: list[TopicPartition] = []
        self._tell_at_s = 0.0
        self._paused: dict[TopicPartition, int] = {}
        self._resumed: dict[TopicPartition, int] = {}
        self._is_assigned = True
        self._ends: dict[TopicPartition, int] = {}
        self._ends_at_s = 0.0
        self._heard_s = 0.0
        self._probed_s = 0.0
        self._verified_s = 0.0
        self._group_offsets = GroupOffsets(settings)

    def open(self, positions: Mapping[TopicPartition, int], identity: Mapping[str, str]) -> None:
        """Connect, compare identities, check every position and go there."""
        settings, topic = self._settings, self._topic
        with client.admin_client("open source", topic, settings) as admin:
            info = client.topic_found(admin, "open source", topic, settings, "READ")
            policy = client.topic_settings(admin, topic, settings).get("cleanup.policy")
        self._info = info
        self._check_policy(policy)
        self._partitions, self._ends, self._cut, self._tops = [], {}, {}, {}
        self._paused.clear()
        self._resumed.clear()
        self._check_identity(identity)
        known = {TopicPartition(topic, index) for index in info.partitions}
        for partition in sorted(set(positions) - known):
            hint = (
                f"the stored state has read partition {partition.partition} of topic "
                f"{partition.topic}, which this source does not have. Correct the topic, or start "
                "with a new state folder."
            )
            raise SourceMismatch("open source", topic, hint)
        options = {**client.reading_options(settings), **FETCH}
        self._consumer = client.connect(
            lambda: KafkaConsumer(**options), "open source", topic, settings
        )
        self._consumer._fetcher.PartitionRecords = FetchedRecords  # noqa: SLF001 -- no public way
        with client.translated("open source", topic, settings):
            self._assign(sorted(known), positions)
            self._find_tops()
        self._heard_s = self._probed_s = time.monotonic()

    def identity(self) -> dict[str, str]:
        """Return the ids of cluster and topic."""
        assert self._info is not None
        return {"cluster": self._info.cluster_id, f"topic/{self._topic}": self._info.topic_id}

    def partitions(self) -> list[TopicPartition]:
        """Return all partitions known so far."""
        return list(self._partitions)

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return next records; none while access that was there is withdrawn.

        Raises
        ------
        OffsetLost
            If retention overtook the position, or the log was truncated behind it; or if a
            partition that was never read has lost its beginning.
        SourceMismatch
            If the topic was deleted and made again.
        Unavailable
            If the cluster did not answer for `silence_max_s`.
        """
        self._notice_partitions()
        self._check_beginnings()
        polled = self._poll(timeout_s, records_max)
        self._check_topic_id(fetched=bool(polled))
        if not polled:
            self._check_silence()
            return []
        self._heard_s = time.monotonic()
        return list(itertools.chain.from_iterable(polled.values()))

    def pause(self, partition: TopicPartition, at_offset: int) -> None:
        """Stop `partition` at `at_offset`; what was fetched beyond is fetched again."""
        self._paused[partition] = at_offset
        self._resumed.pop(partition, None)
        self._is_assigned = False

    def resume(self, partition: TopicPartition) -> None:
        """Let `partition` go on."""
        at_offset = self._paused.pop(partition, None)
        if at_offset is not None:
            self._resumed[partition] = at_offset
            self._is_assigned = False

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether all committed records were returned; False while that is not known."""
        self._refresh_ends()
        end = self._ends.get(partition)
        return end is not None and self._position(partition) >= end

    def passed(self, partition: TopicPartition) -> int:
        """Return the position.

        Marks of transactions and what was aborted lie before it.
        """
        return self._position(partition)

    def has_open_transaction(self, partition: TopicPartition) -> bool:
        """Whether the log goes on behind its last committed record."""
        self._refresh_ends()
        end = self._ends.get(partition)
        return end is not None and self._top(partition) > end

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return end less position, control records included."""
        self._refresh_ends()
        return {
            at: max(0, self._ends[at] - self._position(at)) if at in self._ends else None
            for at in self._partitions
        }

    def ends(self) -> dict[TopicPartition, int]:
        """Ask for the end of every partition, read committed."""
        partitions = [KafkaTopicPartition(*at) for at in self._partitions]
        timeout_ms = int(self._settings.request_timeout_s * 1000)
        with client.translated("find the end of the source", self._topic, self._settings):
            ends = self._consumer.end_offsets(partitions, timeout_ms)
        return {TopicPartition(*at): end for at, end in ends.items()}

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Have offsets committed to the consumer group, without waiting."""
        self._group_offsets.tell(positions)

    def close(self) -> None:
        """Close the consumer."""
        self._group_offsets.close()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            client.drop_consumer(consumer)

    def _check_identity(self, identity: Mapping[str, str]) -> None:
        own = self.identity()
        for name, value in identity.items():
            if own.get(name) != value:
                hint = (
                    f"the stored offsets belong to another {name.partition('/')[0]} (stored "
                    f"{value}, found {own.get(name)}): the topic was deleted and made again, or "
                    "the settings name another one. Correct the settings, or start with a new "
                    "state folder."
                )
                raise SourceMismatch("open source", self._topic, hint)

    def _check_policy(self, policy: str | None) -> None:
        """Refuse a topic that compacts.

        What an earlier record of a key said would be gone.
        """
        if self._begins_anywhere:
            return
        if policy is None:
            log.warning(
                "topic %s: this user may not read its settings, so whether it compacts is not "
                "known. Grant DESCRIBE_CONFIGS",
                self._topic,
            )
        elif "compact" in policy:
            hint = (
                f"its cleanup.policy is {policy}: of several events with one key only the last is "
                "kept. Set it to delete and have the events sent again; or, if what is kept is "
                f"the whole network, set {BEGIN}."
            )
            raise Misconfigured("open source", self._topic, hint)

    def _check_beginnings(self) -> None:
        """Refuse partitions that were never read and lost their first records."""
        for partition, first in self._cut.items():
            hint = (
                f"partition {partition} was never read, and begins at offset {first}: what came "
                "before is gone, and with it a part of the network. Import a graph together with "
                "the offsets at which it holds (`ktsafe state import`); or, if what is kept is "
                f"the whole network, set {BEGIN}."
            )
            raise OffsetLost("read source", self._topic, hint)

    def _find_tops(self) -> None:
        """Ask where partitions end if open transactions count, too; later, fetches tell."""
        timeout_ms = int(self._settings.request_timeout_s * 1000)
        options = {**client.reading_options(self._settings), "isolation_level": "read_uncommitted"}
        consumer = KafkaConsumer(**options)
        try:
            tops = consumer.end_offsets(
                [KafkaTopicPartition(*at) for at in self._partitions], timeout_ms
            )
        finally:
            client.drop_consumer(consumer)
        self._tops = {TopicPartition(*at): top for at, top in tops.items()}

    def _top(self, partition: TopicPartition) -> int:
        """Return a partition's known end, open transactions included."""
        top = self._tops.get(partition, 0)
        if partition not in self._paused:
            # As the last fetch told it.
            found = client.known_top(self._consumer, KafkaTopicPartition(*partition))
            top = self._tops[partition] = max(top, found or 0)
        return top

    def _assign(
        self, partitions: Iterable[TopicPartition], positions: Mapping[TopicPartition, int]
    ) -> None:
        """Add partitions at their positions, or at their beginnings."""
        added = [KafkaTopicPartition(*at) for at in partitions]
        timeout_ms = int(self._settings.request_timeout_s * 1000)
        beginnings = self._consumer.beginning_offsets(added, timeout_ms)
        ends = self._consumer.end_offsets(added, timeout_ms)
        for at in added:
            offset = positions.get(TopicPartition(*at), beginnings[at])
            if (
                beginnings[at]
                and TopicPartition(*at) not in positions
                and not self._begins_anywhere
            ):
                self._cut[at.partition] = beginnings[at]
            if not beginnings[at] <= offset <= ends[at]:
                hint = (
                    f"the stored offset {offset} of partition {at.partition} is not retained (the "
                    f"topic holds {beginnings[at]} to {ends[at]}). Events are lost to this state: "
                    "start with a new state folder and a complete feed."
                )
                raise OffsetLost("open source", self._topic, hint)
        self._partitions = sorted({*self._partitions, *(TopicPartition(*at) for at in added)})
        self._assign_active()
        for at in added:
            start = positions.get(TopicPartition(*at), beginnings[at])
            client.seek(self._consumer, at, start)

    def _assign_active(self) -> None:
        """Let the consumer have the partitions that are not paused.

        Once before a poll, however many were paused and resumed: each time takes all partitions.
        Its own `pause` is not used: kafka-python 3.0.12 sets the fetched records of a paused
        partition aside and, after a seek, may never take them up again nor fetch anew (the fetcher
        asks whether its current records are None, but used-up ones stay in their place). If all
        are paused the last assignment stays, since none at all would forget the topic; `_poll`
        leaves the consumer alone then.
        """
        active = [at for at in self._partitions if at not in self._paused]
        if active:
            self._consumer.assign([KafkaTopicPartition(*at) for at in active])
        for at, offset in self._resumed.items():
            client.seek(self._consumer, KafkaTopicPartition(*at), offset)
        self._resumed.clear()
        self._is_assigned = True

    def _notice_partitions(self) -> None:
        now = client.known_partitions(self._consumer, self._topic)
        if len(now) <= len(self._partitions):
            return
        added = {TopicPartition(self._topic, index) for index in now} - set(self._partitions)
        try:
            self._assign(sorted(added), {})
        except kafka_errors.RetriableError:
            return  # Still being made; noticed again at the next poll.
        log.info("topic %s has %d new partitions", self._topic, len(added))

    def _tell_of_rights(self, error: Exception) -> None:
        """Say now and then that ingest waits for access rights.

        The cluster is not silent.
        """
        now_s = self._heard_s = time.monotonic()
        if now_s >= self._tell_at_s:
            self._tell_at_s = now_s + RIGHTS_TOLD_S
            log.error(
                "topic %s may no longer be read (%s), ingest waits",
                self._topic,
                type(error).__name__,
            )

    def _poll(self, timeout_s: float, records_max: int) -> dict[Any, list[Any]]:
        if len(self._paused) == len(self._partitions):
            time.sleep(timeout_s)
            return {}
        if not self._is_assigned:
            self._assign_active()
        try:
            polled: dict[Any, list[Any]] = self._consumer.poll(int(timeout_s * 1000), records_max)
        except (kafka_errors.OffsetOutOfRangeError, kafka_errors.LogTruncationError) as error:
            self._check_topic_id()
            hint = (
                f"the next offset is no longer there ({type(error).__name__}): retention overtook "
                "the service, or the log was truncated. Start with a new state folder and a "
                "complete feed."
            )
            raise OffsetLost("read source", self._topic, hint) from None
        except kafka_errors.RetriableError:
            return {}
        except kafka_errors.AuthorizationError as error:
            # The rights were there when the source was opened, and may come back.
            self._tell_of_rights(error)
            time.sleep(timeout_s)
            return {}
        except kafka_errors.KafkaError as error:
            raise client.translate(error, "read source", self._topic, self._settings) from None
        return polled

    def _check_topic_id(self, *, fetched: bool = False) -> None:
        """Refuse a topic in the place of the opened one.

        kafka-python fetches by name, so records of a new topic would pass for the next ones
        of the old. When records came, the id is asked for at least every `VERIFY_S`.
        """
        assert self._info is not None
        now = time.monotonic()
        if fetched and now - self._verified_s > VERIFY_S:
            self._verified_s = now
            with suppress(kafka_errors.KafkaError):
                client.refresh_metadata(self._consumer, PROBE_TIMEOUT_S)
        found = client.known_topic_id(self._consumer, self._topic)
        if found not in {None, self._info.topic_id}:
            hint = (
                "the topic was deleted and made again while it was read. Start with a new state "
                "folder and a complete feed."
            )
            raise SourceMismatch("read source", self._topic, hint)

    def _check_silence(self) -> None:
        """Ask a silent cluster whether it is there; give up after `silence_max_s`."""
        now = time.monotonic()
        if now - self._heard_s > self._settings.silence_max_s:
            hint = (
                f"the cluster at {self._settings.address} has not answered for "
                f"{now - self._heard_s:.0f} s. Check the brokers; nothing is lost, reading goes on "
                "from the stored offset."
            )
            raise Unavailable("read source", self._topic, hint)
        if now - max(self._heard_s, self._probed_s) > PROBE_S:
            self._refresh_ends()

    def _refresh_ends(self) -> None:
        """Ask for partitions' ends, unless fresh or the cluster is silent."""
        now = time.monotonic()
        if now - self._ends_at_s < ENDS_AGE_S:
            return
        if self._probed_s > self._heard_s and now - self._probed_s < PROBE_S:
            return
        partitions = [KafkaTopicPartition(*at) for at in self._partitions]
        timeout_ms = int(min(PROBE_TIMEOUT_S, self._settings.request_timeout_s) * 1000)
        try:
            ends = self._consumer.end_offsets(partitions, timeout_ms)
        except kafka_errors.KafkaError:
            self._ends = {}
            self._probed_s = time.monotonic()
        else:
            self._ends = {TopicPartition(*at): end for at, end in ends.items()}
            self._ends_at_s = self._heard_s = time.monotonic()

    def _position(self, partition: TopicPartition) -> int:
        for stopped in (self._paused, self._resumed):
            if partition in stopped:
                return stopped[partition]
        position = client.known_position(self._consumer, KafkaTopicPartition(*partition))
        return -1 if position is None else position
