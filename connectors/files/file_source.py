"""Source of events in files, one JSON object per line.

A partition is the index of a file in the list of paths, an offset the number of a line, and the
identity a hash of a file's beginning. All three stand in states: counted otherwise, a feed is read
twice or refused (tests/connectors/test_file_source.py). Pauses may be tuned.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ktsafe.connectors.base import (
    ConnectorError,
    Misconfigured,
    OffsetLost,
    Record,
    SourceMismatch,
    TopicPartition,
)
from ktsafe.connectors.files.streams import CutLine, Stream, head_digest, open_stream, same_head
from ktsafe.connectors.letters import RECORD_BYTES_MAX, TRUNCATED, TRUNCATED_SHA256

log = logging.getLogger(__name__)

STDIN: Final = "-"
_WAIT_S: Final = 0.05
"""Pause between looks at files that have nothing new."""


@dataclasses.dataclass(eq=False)
class _Partition:
    """Where reading stands in one file."""

    at: TopicPartition
    path: str
    stream: Stream
    next_offset: int
    paused: bool = False
    given: Sequence[Record] = ()
    """Records of the last poll, which a pause may take back."""
    back: deque[Record] = dataclasses.field(default_factory=deque)
    """Records taken back, to be given again."""


class FileSource:
    """Reads events from files, or from standard input. Implements `ktsafe.connectors.base.Source`.

    Offsets are line numbers from 0. The last line of a final file counts even without a newline;
    in a followed file it waits for its newline. A plain or compressed file is recognized by the
    sha256 of its first bytes (up to 4 KiB; their number is kept with the hash, so a file that
    has grown since is still the same).

    Standard input (and any pipe) cannot be read again: lines that were taken in but not yet made
    durable are lost by a crash (at most once), and a warning says so. Its lines are numbered on
    from the stored offset.

    Parameters
    ----------
    paths:
        Files in the order of their partition numbers: `.jsonl`, `.jsonl.gz`, or "-" for standard
        input. New ones may be added at the end; the others stay where they are.
    topic:
        Name the events carry as their topic.
    follow:
        Wait for more lines at the end of plain files instead of ending there. Compressed files are
        always final.
    record_bytes_max:
        A longer line is handed over as its first `record_bytes_max + 1` bytes (so that a
        reader with the same bound refuses it), with the headers `ktsafe.truncated` (full length)
        and `ktsafe.sha256` (of the whole); no more of it is held in memory.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        topic: str = "feed",
        follow: bool = False,
        record_bytes_max: int = RECORD_BYTES_MAX,
    ) -> None:
        self._paths = tuple(paths)
        self._topic = topic
        self._follow = follow
        self._record_bytes_max = record_bytes_max
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._identity: dict[str, str] = {}

    def open(self, positions: Mapping[TopicPartition, int], identity: Mapping[str, str]) -> None:
        """Open every file, check its identity, and seek its position."""
        if self._paths.count(STDIN) > 1:
            hint = "standard input can be one partition only; list '-' once."
            raise Misconfigured("open source", STDIN, hint)
        known = {TopicPartition(self._topic, i) for i in range(len(self._paths))}
        for partition in sorted(set(positions) - known):
            hint = (
                "the stored state has read it, but the configuration no longer lists it. Restore "
                "the list of paths (order matters; add new files at its end)."
            )
            raise SourceMismatch("open source", f"{partition.topic}/{partition.partition}", hint)
        for index, path in enumerate(self._paths):
            partition = TopicPartition(self._topic, index)
            offset = positions.get(partition, 0)
            stored = identity.get(_key(partition))
            try:
                self._partitions[partition] = self._open_one(partition, path, offset, stored)
            except ConnectorError:
                self.close()
                raise

    def identity(self) -> dict[str, str]:
        """Return the sha256 of the first bytes of non-empty files.

        Only of regular ones.
        """
        for partition in self._partitions.values():
            key = _key(partition.at)
            if key not in self._identity and not partition.stream.once:
                digest = head_digest(Path(partition.path))
                if digest is not None:
                    self._identity[key] = digest
        return dict(self._identity)

    def partitions(self) -> list[TopicPartition]:
        """Return one partition per configured path."""
        return list(self._partitions)

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return next records, taking from each file in turn.

        Raises
        ------
        SourceMismatch
            If a followed file has become shorter.
        Misconfigured
            If a compressed file is damaged.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            records = self._take(records_max)
            remaining_s = deadline - time.monotonic()
            if records or remaining_s <= 0:
                return records
            self._wait(min(_WAIT_S, remaining_s))

    def pause(self, partition: TopicPartition, at_offset: int) -> None:
        """Stop `partition` at `at_offset`, of the last poll or the next."""
        state = self._partitions[partition]
        state.paused = True
        taken_back = [record for record in state.given if record.offset >= at_offset]
        if at_offset != (taken_back[0].offset if taken_back else state.next_offset):
            self._reopen(state, at_offset)
            return
        state.back.extendleft(reversed(taken_back))
        state.given = ()
        state.next_offset = at_offset

    def resume(self, partition: TopicPartition) -> None:
        """Let `partition` go on."""
        self._partitions[partition].paused = False

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether all lines that exist now were returned."""
        state = self._partitions[partition]
        return not state.back and state.stream.at_end()

    def passed(self, partition: TopicPartition) -> int:
        """Return the number of the next line."""
        return self._partitions[partition].next_offset

    def has_open_transaction(self, partition: TopicPartition) -> bool:
        """Return False: a line that is there counts."""
        return False

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return 0 for a partition at its end.

        How many lines follow otherwise is not known.
        """
        return {at: 0 if self.at_end(at) else None for at in self._partitions}

    def ends(self) -> dict[TopicPartition, int]:
        """Return every file's number of lines, by reading all of them."""
        return {at: self._length(state) for at, state in self._partitions.items()}

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Do nothing: files keep no offsets."""

    def close(self) -> None:
        """Close every file. What was read of the identity stays."""
        for partition in self._partitions.values():
            partition.stream.close()

    def _open_one(
        self, at: TopicPartition, path: str, offset: int, stored: str | None
    ) -> _Partition:
        stream = open_stream(path, follow=self._follow, line_bytes_max=self._record_bytes_max)
        if stream.once:
            log.warning(
                "%s cannot be read again: events in flight are lost by a crash (at most once)", path
            )
            return _Partition(at, path, stream, offset)
        if stored is not None:
            if not same_head(Path(path), stored):
                stream.close()
                hint = (
                    "its first bytes are not those of the file that the stored offsets belong to. "
                    "Put the old file back, or start with a new state folder."
                )
                raise SourceMismatch("open source", path, hint)
            self._identity[_key(at)] = stored
        try:
            skipped = stream.skip(offset)
        except ConnectorError:
            stream.close()
            raise
        if skipped < offset:
            stream.close()
            hint = (
                f"the stored state has read {offset} lines, the file has {skipped}. Put the whole "
                "file back, or start with a new state folder."
            )
            raise OffsetLost("open source", path, hint)
        return _Partition(at, path, stream, offset)

    def _length(self, state: _Partition) -> int:
        if state.stream.once:
            hint = "a pipe has no end before it is read. Name the offset instead."
            raise Misconfigured("find the end of the source", state.path, hint)
        stream = open_stream(state.path, follow=self._follow, line_bytes_max=self._record_bytes_max)
        try:
            return stream.skip(sys.maxsize)
        finally:
            stream.close()

    def _reopen(self, state: _Partition, offset: int) -> None:
        """Go to an earlier line by reading from the beginning."""
        if state.stream.once:
            hint = "a pipe cannot be read again; only records of the last poll can be taken back."
            raise OffsetLost("pause source", state.path, hint)
        state.stream.close()
        stored = self.identity().get(_key(state.at))
        fresh = self._open_one(state.at, state.path, offset, stored)
        state.stream, state.next_offset = fresh.stream, offset
        state.given = ()
        state.back.clear()

    def _take(self, records_max: int) -> list[Record]:
        active = [state for state in self._partitions.values() if not state.paused]
        records: list[Record] = []
        for n_left, state in zip(range(len(active), 0, -1), active, strict=True):
            share = -(-(records_max - len(records)) // n_left)
            state.given = self._take_from(state, share)
            records += state.given
        return records

    def _take_from(self, state: _Partition, count: int) -> list[Record]:
        back = state.back
        records = [back.popleft() for _ in range(min(count, len(back)))]
        if not back and len(records) < count:
            topic, index = state.at
            offset = records[-1].offset + 1 if records else state.next_offset
            for line in state.stream.take(count - len(records)):
                if isinstance(line, bytes):
                    record = Record(topic, index, offset, None, None, line)
                else:
                    record = _cut_record(topic, index, offset, line)
                records.append(record)
                offset += 1
        if records:
            state.next_offset = records[-1].offset + 1
        return records

    def _wait(self, seconds: float) -> None:
        for state in self._partitions.values():
            if not state.paused and state.stream.once and not state.stream.at_end():
                state.stream.wait(seconds)
                return
        time.sleep(seconds)


def _key(partition: TopicPartition) -> str:
    return f"{partition.topic}/{partition.partition}"


def _cut_record(topic: str, index: int, offset: int, line: CutLine) -> Record:
    headers = ((TRUNCATED, str(line.length).encode()), (TRUNCATED_SHA256, line.sha256.encode()))
    return Record(topic, index, offset, None, None, line.prefix, headers)
