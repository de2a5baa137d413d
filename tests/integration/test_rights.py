"""Access rights (ACLs) of the real broker: missing, not visible, withdrawn and given back."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ktsafe.connectors.kafka_settings import GROUP
from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ops.broker.secured import Secured
from tests import running, services
from tests.faults.processes import Watched, seconds_until, stop, watched
from tests.integration.cluster import Admin, close_refused_sockets
from tests.integration.conftest import ROOT, new_broker

# After the connectors, which import kafka-python without its warnings.
from kafka.admin import ACL, ACLFilter, ACLOperation, ACLPermissionType  # isort: skip
from kafka.admin import ResourcePattern, ResourcePatternFilter, ResourceType  # isort: skip
from kafka.admin import ACLResourcePatternType  # isort: skip

pytestmark = pytest.mark.integration

PASSWORD = secrets.token_hex(12)
USER = "User:ktsafe"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Whoever comes by the plain listener administers; the service comes by the other one.
    "super.users": "User:ANONYMOUS",
}
PATIENT = "request_timeout_s = 3\n"
NEEDED = ["read events", "write releases", "read releases", "transactions", "write letters"]
WITHDRAWN = [
    (["read events"], "may no longer be read"),
    (["write releases"], "sink did not confirm, offering again"),
    (["read releases"], "sink did not confirm, offering again"),
    (["transactions"], "sink did not confirm, offering again"),
    (["write letters", "describe letters"], "dead letters cannot be written, ingest waits"),
]
_numbers = itertools.count(1)

LATER = ("2026-05-31T00:00:00Z", "2026-06-20T00:00:00Z")

Right = tuple[ResourceType, str, ACLOperation]


class Guarded(NamedTuple):
    """A broker that asks who may do what, and what the service needs to come in."""

    plain: str
    port: int
    certificates: Path
    admin: Admin

    def give(self, *rights: Right) -> None:
        """Allow the service's user something."""
        self.admin.create_acls(
            [
                ACL(USER, "*", operation, ACLPermissionType.ALLOW, ResourcePattern(kind, name))
                for kind, name, operation in rights
            ]
        )

    def take(self, *rights: Right) -> None:
        """Take rights back."""
        pattern = ACLResourcePatternType.LITERAL
        self.admin.delete_acls(
            [
                ACLFilter(
                    USER,
                    "*",
                    operation,
                    ACLPermissionType.ALLOW,
                    ResourcePatternFilter(kind, name, pattern),
                )
                for kind, name, operation in rights
            ]
        )


class Place(NamedTuple):
    """A service whose feed is sent already, and the rights that it needs."""

    site: Watched
    rights: dict[str, Right]
    topics: dict[Role, str]
    events: int

    @property
    def config(self) -> str:
        return str(self.site.site.config)


@pytest.fixture(scope="module")
def broker() -> Iterator[Guarded]:
    """Give a broker with access rights; everybody else's brokers have none."""
    home = ROOT / f"var/broker/guarded-{os.getpid()}"
    certificates = home / "certificates"
    made = new_broker(home, Secured(certificates, "ktsafe", PASSWORD), AUTHORIZER)
    try:
        started = made.start()
        (certificates / "password").touch(mode=0o600)
        (certificates / "password").write_text(PASSWORD + "\n")
        close_refused_sockets()
        port = started.secured_ports["SASL_SSL"]
        yield Guarded(started.bootstrap, port, certificates, Admin(started.bootstrap))
    finally:
        made.stop()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def place(broker: Guarded, tmp_path: Path) -> Place:
    """Give a service on topics of its own, to which it has no right yet; one record is bad."""
    number = next(_numbers)
    topics = {role: f"{role}-{number}" for role in Role}
    specs = [TopicSpec(name=topics[role], role=role, partitions=1) for role in Role]
    create_topics(KafkaSettings(bootstrap_servers=(broker.plain,)), specs)
    feed = services.small_feed(people=60)
    running.send(broker.plain, topics[Role.EVENTS], [[{"type": "nonsense"}, *feed]])
    kafka = {
        "bootstrap_servers": [f"127.0.0.1:{broker.port}"],
        "security_protocol": "SASL_SSL",
        "ssl_ca_file": str(broker.certificates / "ca.pem"),
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "ktsafe",
        "sasl_password_file": str(broker.certificates / "password"),
    }
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in kafka.items())
    made = running.site(
        tmp_path / "site",
        attributes=services.ATTRIBUTES,
        source=f'kind = "kafka"\ntopic = "{topics[Role.EVENTS]}"',
        sink=f'kind = "kafka"\ntopic = "{topics[Role.RELEASES]}"',
        every="month",
        kafka="\n[kafka]\n" + table + PATIENT,
    )
    text = made.config.read_text()
    letters = f'kind = "kafka"\ntopic = "{topics[Role.DEAD_LETTERS]}"'
    made.config.write_text(text.replace('kind = "files"\npath = "dead-letters.jsonl"', letters))
    events, releases, dead = (topics[role] for role in Role)
    topic = ResourceType.TOPIC
    rights = {
        "describe events": (topic, events, ACLOperation.DESCRIBE),
        "read events": (topic, events, ACLOperation.READ),
        "describe releases": (topic, releases, ACLOperation.DESCRIBE),
        "read releases": (topic, releases, ACLOperation.READ),
        "write releases": (topic, releases, ACLOperation.WRITE),
        "describe letters": (topic, dead, ACLOperation.DESCRIBE),
        "write letters": (topic, dead, ACLOperation.WRITE),
        "group": (ResourceType.GROUP, GROUP, ACLOperation.READ),
        "transactions": (
            ResourceType.TRANSACTIONAL_ID,
            f"ktsafe-{releases}",
            ACLOperation.WRITE,
        ),
    }
    broker.take(rights["group"])  # Services share it: a test before may have been given it.
    return Place(watched(made), rights, topics, len(feed))


def configs(place: Place) -> list[Right]:
    """Return the rights to read settings, which only a check needs."""
    operation = ACLOperation.DESCRIBE_CONFIGS
    return [(ResourceType.TOPIC, name, operation) for name in place.topics.values()]


def test_a_check_says_which_right_is_missing(
    broker: Guarded, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """From no right at all to all of them: what is told is true at each step."""
    kinds = place.rights
    assert run_command(["config", place.config, "--topics"]) == Exit.USAGE
    assert "access rights to this topic" in capsys.readouterr().err
    broker.give(*(right for name, right in kinds.items() if "describe" in name))
    assert run_command(["config", place.config, "--topics"]) == Exit.MISMATCH
    told = capsys.readouterr().out
    assert f"{place.topics[Role.EVENTS]}: this user may not READ" in told
    assert f"{place.topics[Role.RELEASES]}: this user may not WRITE" in told
    assert f"{place.topics[Role.DEAD_LETTERS]}: this user may not WRITE" in told
    assert told.count("DESCRIBE_CONFIGS") == 3
    assert "None" not in told
    broker.give(*kinds.values())
    assert run_command(["config", place.config, "--topics"]) == Exit.MISMATCH
    told = capsys.readouterr().out
    assert "may not READ" not in told
    assert "may not WRITE" not in told
    assert told.count("change none") == 3
    broker.give(*configs(place))
    assert run_command(["config", place.config, "--topics"]) == Exit.OK
    assert capsys.readouterr().out.count("as it should be") == 3


def test_a_right_that_was_never_there_ends_the_start(
    broker: Guarded, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake of the settings is not waited for: exit 2, and where to look."""
    for missing in NEEDED:
        given = [right for name, right in place.rights.items() if name != missing]
        broker.give(*given)
        assert run_command(["run", place.config, "--drain"]) == Exit.USAGE, missing
        assert "access rights" in capsys.readouterr().err.splitlines()[-1]
        broker.take(*given)
    broker.give(*place.rights.values())
    place.site.site.drain()
    assert len(place.site.site.releases(place.site.site.folder / "read")) >= 3


def test_without_the_group_only_lag_tools_know_less(broker: Guarded, place: Place) -> None:
    """The group is told of offsets; nothing depends on it."""
    broker.give(*(right for name, right in place.rights.items() if name != "group"))
    place.site.site.drain()
    assert len(place.site.site.releases(place.site.site.folder / "read")) >= 3


def withdraw_and_give_back(
    broker: Guarded,
    place: Place,
    process: subprocess.Popen[bytes],
    month: int,
    taken: list[str],
    words: str,
) -> None:
    """Take rights from a running service until it says so in these words; all comes in after."""
    rights = [place.rights[name] for name in taken]
    broker.take(*rights)
    logged, before = len(place.site.log()), place.site.applied()
    first = {
        "type": "vertex.upsert",
        "id": f"late-{month}",
        "time": f"2026-{month:02}-01T00:00:00Z",
    }
    last = {**first, "id": f"last-{month}", "time": f"2026-{month:02}-20T00:00:00Z"}
    topic = place.topics[Role.EVENTS]
    running.send(broker.plain, topic, [[first, {"type": "nonsense"}, last]])
    seconds_until(lambda: words in place.site.log()[logged:], process)
    broker.give(*rights)
    seconds_until(lambda: place.site.applied() >= before + 2, process)


def test_a_right_that_is_withdrawn_is_waited_for(broker: Guarded, place: Place) -> None:
    """The service says so, lives on, and goes on when the right is back, without a restart.

    Each right of `WITHDRAWN` is taken from the same process in turn, two months of the feed apart,
    so that there is something to publish.
    """
    broker.give(*place.rights.values())
    process = place.site.site.start()
    try:
        seconds_until(lambda: place.site.applied() >= place.events, process)
        for month, (taken, words) in enumerate(WITHDRAWN, start=6):
            withdraw_and_give_back(broker, place, process, month, taken, words)
    finally:
        if process.poll() is None:
            stop(process)
    place.site.site.drain()
    assert len(place.site.site.releases(place.site.site.folder / "read")) >= 3 + len(WITHDRAWN)


def test_a_group_that_is_withdrawn_holds_nothing_up(broker: Guarded, place: Place) -> None:
    """The service says so once and goes on; the group knows all when the right is back."""
    broker.give(*place.rights.values())
    group, topic = place.rights["group"], place.topics[Role.EVENTS]

    def told() -> int:
        committed = broker.admin.list_group_offsets(group[1])[group[1]]
        return sum(at.offset for of, at in committed.items() if of.topic == topic)

    process = place.site.site.start()
    try:
        seconds_until(lambda: place.site.applied() >= place.events, process)
        seconds_until(lambda: told() == place.events + 1, process)
        broker.take(group)
        later = {"type": "vertex.upsert", "id": "late", "time": LATER[0]}
        running.send(broker.plain, topic, [[later, {**later, "id": "last", "time": LATER[1]}]])
        words = f"offsets are not committed to group {group[1]}"
        seconds_until(lambda: words in place.site.log(), process)
        seconds_until(lambda: place.site.applied() == place.events + 2, process)
        seconds_until(lambda: place.site.published() >= 4, process)
        assert told() == place.events + 1
        broker.give(group)
        seconds_until(lambda: told() == place.events + 3, process)
        assert place.site.log().count(words) == 1
    finally:
        if process.poll() is None:
            stop(process)
