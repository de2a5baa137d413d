"""Every buffer of the service with its bound, read from the code that sets it."""

from __future__ import annotations

from ktsafe.connectors.files import streams
from ktsafe.connectors.kafka_topics import kafka_source, release_sink
from ktsafe.connectors.letters import DEAD_LETTER_BYTES_MAX
from ktsafe.state import database, store
from ktsafe.stream.ingest import ingest
from ktsafe.stream.monitoring import monitoring as status
from ktsafe.stream.service.slot_clock import LoopSettings
from ktsafe.stream.slots import FixedSlots

MIB = 2**20
_SETTINGS = ingest.IngestSettings()
_LOOP = LoopSettings(slots=FixedSlots(1))


def rows() -> list[tuple[str, str, str]]:
    """Return for each buffer what it is, its bound, and what happens when it is full."""
    fetch = kafka_source.FETCH
    return [
        (
            "records taken in, not yet durable",
            (
                f"{_SETTINGS.batch_records_max:,} records, {_SETTINGS.checkpoint_interval_s:g} s "
                "old; of each only id, ends and listed attributes, at most 1 KiB each"
            ),
            "checkpoint; nothing is polled before it is durable",
        ),
        (
            "dead letters, not yet written",
            f"{ingest.LETTER_BYTES_MAX // MIB} MiB and one poll",
            "checkpoint; while the dead-letter sink refuses, nothing is polled",
        ),
        (
            "fetched by the Kafka consumer",
            (
                f"{fetch['fetch_max_bytes'] // MIB} MiB per request and "
                f"{fetch['max_partition_fetch_bytes'] // MIB} MiB per partition, or one greater "
                "record"
            ),
            "nothing is fetched for a partition whose records are not used up",
        ),
        (
            "read from files",
            (
                f"{streams.TAKE_BYTES_MAX // MIB} MiB per file, one record of "
                f"{_SETTINGS.record_bytes_max // MIB} MiB of a longer line"
            ),
            "the file waits",
        ),
        (
            "partitions that reached a release cut",
            "none: they are paused, and fetched records beyond the cut are dropped",
            "the feed waits in its topic",
        ),
        (
            "releases in flight",
            "one: a copy of the graph's arrays, and its anonymization",
            "a further slot waits",
        ),
        (
            "what a release left in memory, closed Kafka clients included",
            "none",
            "it goes back to the system with each release",
        ),
        (
            "staged bytes of a release",
            "one release, on disk",
            "built again later where the disk is full",
        ),
        (
            "sent to Kafka, not yet confirmed",
            (
                f"{release_sink.FLUSH_BYTES // MIB} MiB and a chunk of "
                f"{release_sink.CHUNK_BYTES // 1024} KiB; a dead letter keeps "
                f"{DEAD_LETTER_BYTES_MAX // 1024} KiB of its record"
            ),
            "the release thread waits, within the time of a transaction",
        ),
        (
            "offsets for lag tools",
            "one number per partition",
            "a newer one takes the place of an older one",
        ),
        (
            "tombstones of deleted people and ties",
            (
                f"those of the last {_LOOP.lateness_max_s // 86_400} days of event time "
                "(`[ingest] lateness_max_s`), of all partitions the one that is furthest behind"
            ),
            (
                f"forgotten at the first fold {_LOOP.prune_interval_s:g} s of event time later; a "
                "partition that is silent for ever keeps them"
            ),
        ),
        (
            "RocksDB",
            (
                f"{database._MEMTABLE_BYTES // MIB} MiB per table in memory, "
                f"{database._CACHE_BYTES // MIB} MiB of blocks read, "
                f"{database._WAL_BYTES_MAX // MIB} MiB of log, "
                f"{2 * database._LOG_BYTES_MAX // MIB} MiB of what it tells of itself"
            ),
            "written to tables; writes wait",
        ),
        (
            "requests for metrics and health",
            (
                f"{status.CONNECTIONS_MAX} at a time, {status.REQUEST_TIMEOUT_S:g} s each from "
                f"connecting to the last byte; {status.ANSWERS_MAX} answers made at a time, probes "
                "beside them"
            ),
            "a further one takes the place of the oldest",
        ),
        (
            "grows with the network",
            "people and ties during a cut and its release, attribute values in use always",
            "`ktsafe_graph_elements`; no bound but the network's",
        ),
        (
            "what was said of people and ties since the last fold",
            (
                f"{store.LOGGED_MIN:,} changes, or 1/{store.LOGGED_PART} of the ties if that is "
                "more, on disk"
            ),
            "it is folded",
        ),
        (
            "grows with the releases",
            (
                "one record per release in the ledger and in memory, about 1 KiB; its private "
                "audit on disk, about 30 bytes a person"
            ),
            "hourly releases make about 9 MiB a year; their audits 26 GiB for 100,000 people",
        ),
        (
            "dead letters on disk",
            "as many as the feed has bad records",
            "`KtsafeDeadLettersRising`; rotate the file at will",
        ),
    ]


def table() -> str:
    """Return the list in Markdown."""
    head = "| buffer | bound | when it is full |\n|---|---|---|\n"
    return head + "\n".join("| " + " | ".join(row) + " |" for row in rows())
