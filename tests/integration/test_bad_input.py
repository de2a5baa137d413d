"""Bad input among good on a real broker: reasons in the dead letters, effects in the graph."""

import hashlib

import pytest

from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe.connectors.letters import PREFIX
from tests import bad_input, feeds, running
from tests.bad_input import BAD, Bad, vertex
from tests.stream.service.simulation import event

pytestmark = pytest.mark.integration

RECORDS_MS = 1_767_225_640_000
"""The timestamp of every record, which bounds how far ahead its event may be."""
KAFKA_BAD = [
    *BAD,
    Bad("ahead_of_time", "over 300 s ahead of its record", vertex(time=f"{RECORDS_MS + 300_001}")),
    Bad("too_large", "over 1048576 bytes", bad_input.big()),
]
# Where a record has a timestamp its event needs no time.
TIMELESS = vertex(vertex_id='"gil"', time="null")
OTHER = [None, bad_input.wire(event("vertex.upsert", 15, "flo", gender="f")), TIMELESS]
VALID = [
    [*bad_input.EARLY, *bad_input.LATE],
    [
        event("vertex.upsert", 15, "flo", gender="f"),
        event("vertex.upsert", RECORDS_MS / 1000, "gil"),
    ],
]
ATTRIBUTES = {
    "quasi_identifiers": list(bad_input.SCHEMA.quasi_identifiers),
    "sensitive": bad_input.SCHEMA.sensitive,
    "sensitive_values": sorted(bad_input.SCHEMA.sensitive_values),
    "expect_absent": sorted(bad_input.SCHEMA.expect_absent),
}
REST = """
[attributes.buckets]
age = [18, 65]

[kafka]
bootstrap_servers = ["{server}"]
"""


def site_of(folder, server):
    """Return a service on new topics that reads, publishes and dead-letters by Kafka."""
    specs = [
        TopicSpec(name="bad-events", role=Role.EVENTS, partitions=2),
        TopicSpec(name="bad-releases", role=Role.RELEASES),
        TopicSpec(name="bad-dead", role=Role.DEAD_LETTERS),
    ]
    create_topics(KafkaSettings(bootstrap_servers=(server,)), specs)
    site = running.site(
        folder,
        attributes=ATTRIBUTES,
        source='kind = "kafka"\ntopic = "bad-events"',
        sink='kind = "kafka"\ntopic = "bad-releases"',
        every="10s",
        kafka=REST.format(server=server),
        batch_records_max=7,
        lateness_max_s=604_800,
    )
    letters = 'kind = "files"\npath = "dead-letters.jsonl"'
    text = site.config.read_text()
    assert letters in text
    text = text.replace(letters, 'kind = "kafka"\ntopic = "bad-dead"')
    # So few people are released by themselves, in smaller groups.
    text = text.replace("[privacy]\n", '[privacy]\nk = 2\nalpha = "1/2"\n')
    site.config.write_text(text)
    return site


def test_bad_input_is_told_and_good_input_is_applied(tmp_path, cluster):
    """Records of every kind, one of 10 MB and null values among them, on two partitions."""
    site = site_of(tmp_path / "site", cluster.bootstrap)
    values = bad_input.mixed([bad.value for bad in KAFKA_BAD])
    for number, records in enumerate([values, OTHER]):
        cluster.write("bad-events", number, records, key=b"SECRET", timestamp_ms=RECORDS_MS)
    site.drain()

    assert site.graph() == feeds.fold(VALID, bad_input.SCHEMA.attributes)
    assert site.offsets() == {("bad-events", 0): len(values), ("bad-events", 1): len(OTHER)}
    found = site.releases(tmp_path / "read")
    assert len(found) == 5
    running.verify_releases([tmp_path / "read"])

    letters = cluster.records("bad-dead")
    assert len(letters) == len(KAFKA_BAD)
    assert [told(letter, "offset") for letter in letters] == list(
        map(str, bad_input.places(values))
    )
    for letter, bad in zip(letters, KAFKA_BAD, strict=True):
        assert told(letter, "exception.class.name") == bad.reason
        assert told(letter, "exception.message") == bad.detail
        assert letter.key == b"SECRET"
        assert letter.value == bad.value[:524_288]
        assert b"SECRET" not in b"".join(value for _, value in letter.headers)
    assert told(letters[-1], "length") == str(len(KAFKA_BAD[-1].value))
    assert told(letters[-1], "sha256") == hashlib.sha256(KAFKA_BAD[-1].value).hexdigest()


def told(letter, name):
    """Return an error header of a dead letter."""
    return dict(letter.headers)[PREFIX + name].decode()
