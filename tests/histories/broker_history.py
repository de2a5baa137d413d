"""One history of real services on a real broker, drawn from one seed.

A feed arrives bit by bit. Meanwhile services die, stand still and start again, the ways to the
broker are cut, held up in one direction or refused, and rights are taken and given back. Then one
service reads the feed to its end, undisturbed, and more of the feed comes. What the topic holds is
compared with what an undisturbed service makes of the same feed, in files.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ktsafe.connectors.base import MANIFEST
from ktsafe.connectors.kafka_topics import KafkaReleaseReader, KafkaSettings, chunks
from ktsafe.state.ledger import Status
from ktsafe.stream.errors import Exit
from ktsafe.stream.service import assembly
from tests import feeds, running, services
from tests.histories.links import Link
from tests.histories.moments import Service, is_cut, is_staged
from tests.integration.cluster import Cluster

# After the connectors, which import kafka-python without its warnings.
from kafka.admin import ACL, ACLFilter, ACLOperation, ACLPermissionType  # isort: skip
from kafka.admin import ResourcePattern, ResourcePatternFilter, ResourceType  # isort: skip
from kafka.admin import ACLResourcePatternType  # isort: skip

PEOPLE, DAYS, PARTITIONS = 40, 98, 2
ATTRIBUTES = {**services.ATTRIBUTES, "quasi_identifiers": ["gender"]}
"""So few groups of people that most are shown."""
N_FEEDS: Final = 2
FIRST_PART: Final = 0.85
"""So much of the feed comes during the misfortunes, the rest afterwards."""
PIECES: Final = 6
"""Each ends at least one slot, so that a release follows from it."""
FURTHER_ROUNDS: Final = 3
"""Misfortunes after the last piece, for what is still on its way."""
EVERY: Final = "2w"
OPTIONS = """\
[privacy]
k = 2
alpha = "1/2"
"""
PATIENT = "request_timeout_s = 1\n"
LOOK_S: Final = 0.01
MOMENT_WITHIN_S: Final = 6.0
"""So long a misfortune waits for its moment; it comes all the same afterwards."""
LASTS_MAX_S: Final = 2.0
TAKES_ITS_PLACE: Final = 0.6
"""How often one of two services has time to publish in place of the other, before that goes on."""
MEETS: Final = 0.5
"""How often a service on a copy joins while the first stands still that has looked at the topic
and is about to send a release: neither finds it there."""
TAKES_IT_WITHIN_S: Final = 30.0
"""So long it has for it, which begins with its start."""
LAST_TRIES: Final = 12
"""Starts of the last service, on a machine so busy that brokers do not answer in time."""
LANDS_WITHIN_S: Final = 10.0
"""So long a release has after what was wrong is right again, before the next misfortune."""
THEMES: Final = ("ways", "rights", "copy", "two states", "one state")

Tables = dict[str, list[bytes]]


def feed_of(number: int) -> tuple[list[list[list[feeds.Event]]], list[list[feeds.Event]]]:
    """Return the pieces of a feed that come one after the other, and the rest of it."""
    events = services.small_feed(people=PEOPLE, days=DAYS, seed=number + 1)
    until = round(len(events) * FIRST_PART)
    bounds = [until * piece // PIECES for piece in range(PIECES + 1)]
    dealt = feeds.assigned(events, PARTITIONS, number)
    place = {id(event): at for at, event in enumerate(events)}

    def between(first: int, end: int) -> list[list[feeds.Event]]:
        return [[e for e in part if first <= place[id(e)] < end] for part in dealt]

    pieces = [between(*bound) for bound in itertools.pairwise(bounds)]
    return pieces, between(until, len(events))


def joined(pieces: list[list[list[feeds.Event]]]) -> list[list[feeds.Event]]:
    """Return the partitions that some pieces make."""
    return [[e for piece in pieces for e in piece[number]] for number in range(PARTITIONS)]


def configure(site: running.Site, seed: int) -> None:
    """Have a service make releases of few people, drawn from a seed, and say what it does."""
    text = site.config.read_text().replace("[privacy]\n", OPTIONS)
    site.config.write_text(text.replace("[release]\n", f"[release]\nseed = {seed}\n"))


_lock = threading.Lock()


def undisturbed(folder: Path, feed: int, seed: int) -> tuple[Tables, Tables]:
    """Return the tables of a service of its own: after the first part of a feed, and in the end."""
    with _lock:
        return _undisturbed(folder, feed, seed)


@functools.cache
def _undisturbed(folder: Path, feed: int, seed: int) -> tuple[Tables, Tables]:
    pieces, rest = feed_of(feed)
    place = folder / f"undisturbed-{feed}-{seed}"
    place.mkdir()
    site = running.files_site(place / "site", joined(pieces), ATTRIBUTES, EVERY)
    configure(site, seed)
    found = []
    for further in (None, rest):
        for number, events in enumerate(further or []):
            with (place / f"feed/feed-{number}.jsonl").open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
        assert Service(site).drain() == Exit.OK
        found.append(services.tables(site, place / f"read-{len(found)}"))
    return found[0], found[1]


class BrokerHistory:
    """What happens from one seed, on two links of its own. `run` returns when all is over."""

    def __init__(
        self, seed: int, folder: Path, cluster: Cluster, links: tuple[Link, Link], defect: str = ""
    ) -> None:
        self.seed, self.folder, self.links = seed, folder / f"history-{seed}", links
        self.problems: list[str] = []
        self.counts: Counter[str] = Counter()
        self.dice = dice = random.Random(seed)
        self.theme = dice.choice(THEMES)
        self.feed = dice.randrange(N_FEEDS)
        self._meets = self.theme == "copy" and dice.random() < MEETS
        self._cluster, self._server, self._defect = cluster, cluster.bootstrap, defect
        self._shared = folder
        self._pieces, self._rest = feed_of(self.feed)
        self._sent: list[list[list[feeds.Event]]] = []
        self._denied: list[ACLFilter] = []

    def run(self) -> None:
        """Live until the end, and judge."""
        self._begin()
        try:
            self._live()
            self._end_misfortunes()
            self._finish()
        finally:
            for service in self.services:
                service.kill()
            for link in self.links:
                link.heal(reset=True)

    def wrong(self, problem: str) -> None:
        """Note what must not be."""
        self.problems.append(problem)

    # The beginning

    def _begin(self) -> None:
        self.folder.mkdir()
        empty: list[list[feeds.Event]] = [[] for _ in range(PARTITIONS)]
        site = running.kafka_site(self.folder / "first", empty, ATTRIBUTES, EVERY, self._server)
        site.config.write_text(site.config.read_text() + PATIENT)
        config = site.settings.config
        self._events, self._releases = config.source.topic, config.sink.kafka_topic or ""
        self._transactions = f"ktsafe-{self._releases}"
        first, second = self.links
        here = f'"{self._server}"'
        site.config.write_text(site.config.read_text().replace(here, f'"{first.bootstrap}"'))
        other = services.copied(site, self.folder / "second", (first.bootstrap, second.bootstrap))
        configure(site, 1)
        configure(other, 2 if self.theme == "two states" else 1)
        self.services = [Service(site, self._defect), Service(other, self._defect)]
        if self.theme == "one state":  # another way to the broker, and the same state
            config = site.folder / "second.toml"
            config.write_text(other.config.read_text())
            self.services[1] = Service(site, self._defect, config)
        self._allow_all()

    def _allow_all(self) -> None:
        """Allow everybody everything, so that a right can be denied to one address."""
        allow = ACLPermissionType.ALLOW
        self._cluster.admin.create_acls(
            [
                ACL("User:*", "*", ACLOperation.ALL, allow, ResourcePattern(kind, name))
                for kind, name, _ in self._rights()
            ]
        )

    def _rights(self) -> list[tuple[ResourceType, str, ACLOperation]]:
        topic, ids = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
        return [
            (topic, self._events, ACLOperation.READ),
            (topic, self._releases, ACLOperation.WRITE),
            (topic, self._releases, ACLOperation.READ),
            (ids, self._transactions, ACLOperation.WRITE),
        ]

    # The middle

    def _live(self) -> None:
        """Send the feed bit by bit; let something happen whenever a release is on its way."""
        self.services[0].start()
        for _ in range(PIECES + FURTHER_ROUNDS):
            if not self._pieces and not self._is_cut() and not self._is_staged():
                break
            for _ in range(self.dice.choice((1, 1, 2))):
                self._send_piece()
            has_landed = functools.partial(self._has_landed, self._landed())
            self._strike()
            if self.services[1].is_known and self.dice.random() < TAKES_ITS_PLACE:
                self._wait(has_landed, TAKES_IT_WITHIN_S)
            self._mend()
            self._wait(has_landed, LANDS_WITHIN_S)

    def _strike(self) -> None:
        """Wait until a release is cut, staged or sent; let something happen then or soon after."""
        dice, alone = self.dice, not self.services[1].is_known
        meets = alone and self._meets
        moment = "sent" if meets else dice.choice(("cut", "staged", "sent"))
        is_it = {"cut": self._is_cut, "staged": self._is_staged, "sent": self._is_sent}
        if self._wait(is_it[moment], MOMENT_WITHIN_S):
            self.counts[f"struck when {moment}"] += 1
        time.sleep(0.0 if meets else dice.choice((0.0, 0.0, 0.01, 0.03, 0.1, 0.3)))
        acts = [self._hurt_way] * 4 + [self._kill] * 2 + [self._pause] * 2
        acts += [self._take_right] * 4 if self.theme == "rights" else []
        if self.theme in {"copy", "one state", "two states"} and alone and not self._meets:
            acts += [self._join] * 8
        for act in [self._join] if meets else dice.choices(acts, k=dice.choice((1, 2, 2, 3))):
            act()
        self._wait(lambda: False, dice.uniform(0.1, LASTS_MAX_S))

    def _mend(self) -> None:
        """Put most of it right, one after the other, in any order."""
        dice = self.dice
        acts = [functools.partial(link.heal, reset=dice.random() < 0.3) for link in self.links]
        acts += [service.go_on for service in self.services if service.is_paused]
        acts += [self._give_rights]
        dice.shuffle(acts)
        for act in acts:
            if dice.random() < 0.85:
                act()
                self._wait(lambda: False, dice.choice((0.0, 0.0, 0.2)))
        if not any(service.runs() for service in self.services):
            dice.choice([each for each in self.services if each.is_known]).start()

    def _wait(self, holds: Callable[[], bool], within_s: float) -> bool:
        """Look after the services until something holds; return whether it did in time."""
        end = time.monotonic() + within_s
        next_look = 0.0
        while not (found := holds()) and time.monotonic() < end:
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + 0.4
                for service in self.services:
                    self._look_after(service)
            time.sleep(LOOK_S)
        return found

    def _has_landed(self, before: str) -> bool:
        return self._landed() > before

    def _states(self) -> list[Path]:
        return list({each.state: None for each in self.services if each.is_known})

    def _is_cut(self) -> bool:
        return any(map(is_cut, self._states()))

    def _is_staged(self) -> bool:
        landed = self._landed()
        return any(is_staged(state, landed) for state in self._states())

    def _is_sent(self) -> bool:
        return any(each.is_sending() for each in self.services)

    def _landed(self) -> str:
        """Return the last release that a service said was published, "" before the first."""
        return max((each.landed() for each in self.services if each.is_known), default="")

    def _send(self, partitions: list[list[feeds.Event]]) -> None:
        for number, events in enumerate(partitions):
            values: list[bytes | None] = [json.dumps(event).encode() for event in events]
            self._cluster.write(self._events, number, values)

    def _send_piece(self) -> None:
        if self._pieces:
            piece = self._pieces.pop(0)
            self._sent.append(piece)
            self._send(piece)

    def _hurt_way(self) -> None:
        """Cut, hold up or refuse one of the ways."""
        dice, link = self.dice, self.dice.choice(self.links)
        change = dice.choice(("reset", "asks", "answers", "answers", "both", "refuse"))
        self.counts[f"way {change}"] += 1
        match change:
            case "reset":
                link.heal(reset=True)
            case "refuse":
                link.refuse()
            case _:
                link.hold(asks=change != "answers", answers=change != "asks")

    def _kill(self) -> None:
        service = self.dice.choice(self.services)
        if service.runs():
            service.kill()
            self.counts["killed"] += 1

    def _pause(self) -> None:
        service = self.dice.choice(self.services)
        if service.runs() and not service.is_paused:
            service.pause()
            self.counts["paused"] += 1

    def _give_rights(self) -> None:
        """Give all rights back."""
        if self._denied:
            self._cluster.admin.delete_acls(self._denied)
            self._denied = []

    def _take_right(self) -> None:
        """Take a right away from who comes by the first way."""
        self._give_rights()
        kind, name, operation = self.dice.choice(self._rights())
        deny, host = ACLPermissionType.DENY, self.links[0].host
        self._cluster.admin.create_acls(
            [ACL("User:*", host, operation, deny, ResourcePattern(kind, name))]
        )
        pattern = ResourcePatternFilter(kind, name, ACLResourcePatternType.LITERAL)
        self._denied = [ACLFilter("User:*", host, operation, deny, pattern)]
        self.counts["rights taken"] += 1

    def _join(self) -> None:
        """Let a second service join: on a copy of the state, on the same one, or on its own."""
        first, second = self.services
        if second.is_known:
            return
        if self.theme == "copy":
            state = first.site.folder / "state"
            if not (first.runs() and state.is_dir()):
                return
            if not first.is_paused:
                first.pause()
            # The first stands still: what is there now is what a crash would leave.
            skipped = shutil.ignore_patterns("*.sock")
            shutil.copytree(state, second.site.folder / "state", ignore=skipped)
        second.start()
        self.counts[f"second: {self.theme}{', about to send' if self._meets else ''}"] += 1

    def _look_after(self, service: Service) -> None:
        """Note how a service ended; start it again now and then, whatever the reason was."""
        code = service.ended()
        if code is not None:
            self.counts[f"exit {code}"] += 1
            self._check_code(service, code)
        if service.is_known and service.process is None:
            is_refused = service.last_code in {Exit.MISMATCH, Exit.USAGE}
            if self.dice.random() < (0.2 if is_refused else 0.6):
                service.start()

    def _check_code(self, service: Service, code: int) -> None:
        allowed = {Exit.UNAVAILABLE}
        allowed |= {Exit.USAGE} if self.counts["rights taken"] else set()
        allowed |= {Exit.STATE} if self.theme == "one state" else set()
        allowed |= {Exit.MISMATCH} if self.theme in {"copy", "two states"} else set()
        if code not in allowed:
            self.wrong(f"exit {code}: {service.log()}")

    # The end

    def _end_misfortunes(self) -> None:
        """Put everything right, in any order: what was held up may arrive after its sender."""
        dice = self.dice
        acts: list[Callable[[], None]] = [service.kill for service in self.services]
        acts += [functools.partial(link.heal, reset=dice.random() < 0.3) for link in self.links]
        dice.shuffle(acts)
        for act in acts:
            act()
            time.sleep(dice.uniform(0, 0.5))
        self._give_rights()
        self.counts["releases amid"] += len(self._committed())
        while self._pieces:
            self._send_piece()

    def _finish(self) -> None:
        """Let a service read the first part to its end, and then the rest; judge what there is."""
        services = [service for service in self.services if service.is_known]
        self.dice.shuffle(services)
        finisher = next((each for each in services if self._drained(each)), None)
        if finisher is None:
            self.wrong(f"no service can go on: {services[-1].log()}")
            return
        self.counts["finished by a second"] += finisher is not self.services[0]
        seed = 2 if self.theme == "two states" and finisher is self.services[1] else 1
        wanted = undisturbed(self._shared, self.feed, seed)
        self._judge(finisher, wanted[0])
        self.counts["releases before the rest"] += len(wanted[0])
        self._sent.append(self._rest)
        self._send(self._rest)
        if not self._drained(finisher):
            self.wrong(f"it does not go on: {finisher.log()}")
            return
        self._judge(finisher, wanted[1])
        self.counts["releases"] += len(wanted[1])

    def _drained(self, service: Service) -> bool:
        """Whether a service comes to the end of what was sent; answers may be late."""
        for _ in range(LAST_TRIES):
            code = service.drain()
            self.counts[f"last exit {code}"] += 1
            if code == Exit.OK:
                return True
            self._check_code(service, code)
            if code != Exit.UNAVAILABLE:
                return False
        return False

    def _committed(self) -> list[tuple[str, str]]:
        """Return id and digest of every release in the topic, as often as it is there."""
        settings = KafkaSettings(bootstrap_servers=(self._server,))
        records = KafkaReleaseReader(settings, self._releases)._records(follow=False)
        parts = [part for part in map(chunks.decode, records) if part is not None]
        markers = [found for part in parts if (found := chunks.decode_marker(part)) is not None]
        return [(each.release_id, each.manifest_sha256) for each in markers]

    def _judge(self, service: Service, wanted: Tables) -> None:
        """Compare topic, ledger, graph and offsets with what an undisturbed service makes."""
        site = service.site
        there = self._committed()
        if [int(name[:6]) for name, _ in there] != list(range(1, len(there) + 1)):
            self.wrong(f"a gap, a fork or a repetition: {there}")
            return
        if services.tables(site, self.folder / f"read-{len(self._sent)}") != wanted:
            self.wrong("other tables than without disturbance")
        store = assembly.open_store(site.settings)
        try:
            records = store.ledger.releases()
        finally:
            store.close()
        if [(r.release_id, r.files[MANIFEST], r.status) for r in records] != [
            (*each, Status.PUBLISHED) for each in there
        ]:
            self.wrong("the ledger does not have the releases that readers have")
        partitions = joined(self._sent)
        if site.graph() != feeds.fold(partitions, ("gender", ATTRIBUTES["sensitive"])):
            self.wrong("the graph is not the fold of the feed")
        if sum(site.offsets().values()) != sum(map(len, partitions)) or site.dead_letters():
            self.wrong("records are lost or doubled")
