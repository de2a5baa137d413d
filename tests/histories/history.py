"""One history of a service, drawn from one seed: lives, misfortunes, operators, and an end.

Each life is a run of the real service in a `World`. At every call of store, ledger, source, sinks
and files the seed may let the process die, the other side fail before or after the effect, a
release land later than told, or the other process have its turn. The last life is undisturbed and
reads the feed to its end; then `tests.histories.judge` looks at what there is.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import random
import secrets
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

from ktsafe.connectors.base import MANIFEST, Source, TopicPartition
from ktsafe.sequence import SequenceOptions
from ktsafe.state import store
from ktsafe.state.keys import SECRET_BYTES
from ktsafe.state.ledger import PendingCut, Status
from ktsafe.state.store_base import StateUnusable
from ktsafe.stream.errors import Exit
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.private_audits import note
from ktsafe.stream.maintenance import backup, erasure
from ktsafe.stream.observer import Observer
from ktsafe.stream.release.mechanism import DueRelease
from ktsafe.stream.release.snapshotter import Snapshotter
from ktsafe.stream.service import service
from tests.histories import feed, rows
from tests.histories.one_state import Lock
from tests.histories.process import Process
from tests.histories.sharp import SHARP_ONE_IN, THEMES, Misfortunes
from tests.histories.surroundings import Actor, CheapSnapshotter
from tests.memory_connectors import Crash, unavailable
from tests.memory_store import MemoryDisk
from tests.stream.service.simulation import World

SEQUENCE: Final = SequenceOptions(sybil_margin=0, margin=0, effort="fast")
MARGINS: Final = (0, 1)
"""Margins of people in cohorts, by turns in the histories with the real mechanism."""

REAL_ONE_IN: Final = 50
ROWS_ONE_IN: Final = 16
ROWS: Final = (8, 15)
"""Remainders of seeds whose feed is a changelog; those of the second one are sharp."""
CLAIMS_MORE_ONE_IN: Final = 4
KINDS_ONE_IN: Final = 32
KINDS: Final = (9, 10, 23)
"""Likewise of those whose ties have kinds and directions."""


class Backup(NamedTuple):
    """A copy of a state, and whose erasure had been asked for or was done when it was taken."""

    disk: MemoryDisk
    folder: Path
    erased: frozenset[str]
    asked: frozenset[str]


class History(Observer):
    """What happens from one seed. `run` returns when all is over."""

    def __init__(self, seed: int, folder: Path, *, real: bool = False) -> None:
        self.seed, self.folder, self.real = seed, folder, real
        self.dice = dice = random.Random(seed)
        self.problems: list[str] = []
        self.counts: Counter[str] = Counter()
        self.trace = 0
        self.debug = False
        self.rate = dice.choice((0.0, 0.003, 0.01, 0.03, 0.08))
        self.late_rate = dice.choice((0.0, 0.05, 0.3))
        self.is_quiet = self.is_commanded = False
        self.idle_s = 0.0
        """After how long a silent partition holds no slot up, in this life."""
        dice.random()  # Not used any more: what a seed finds stays the same.
        self.refused = -1 if self.real else dice.choice((-1, -1, 3, 7))
        self.is_sharp = not real and seed % SHARP_ONE_IN == SHARP_ONE_IN - 1
        """Whether the feed, and what happens, is drawn where defects are."""
        self.is_of_rows = not real and seed % ROWS_ONE_IN in ROWS
        """Whether the feed is the changelog of a database."""
        theme = dice.choice(
            THEMES if self.is_sharp else ("plain", "restore", "rebase", "sink", "two", "one state")
        )
        self.theme = theme
        self.misfortunes = Misfortunes(self, is_sharp=self.is_sharp)
        is_erasing = theme in {"plain", "restore", "rebase", "one state"} and dice.random() < 0.5
        is_erasing |= self.is_sharp and theme == "restore"
        is_erasing &= not self.is_of_rows
        self.leaver = "leaver" if is_erasing else None
        self.commands = ["release", *(["erase"] * 3 if is_erasing else [])]
        self.commands += {"restore": ["backup"], "rebase": ["rebase"], "two": ["backup"] * 2}.get(
            theme, []
        )
        if self.is_sharp:  # Those between two lives stay, and more is done after them.
            self.commands = [each for each in self.commands if each != "backup"]
        n_slots = dice.randint(4, 8) if self.real else dice.choice((8, 20, 40))
        jitter_s = dice.choice((0.0, 0.0, 0.0, 4.0) if self.is_sharp else (0.0, 0.0, 4.0, 25.0))
        self.is_in_order = not jitter_s
        size = {"n_people": (12, 20), "busy": 4} if real else {}
        self.partitions = (
            rows.drawn(dice, n_slots, is_in_order=self.is_in_order)
            if self.is_of_rows
            else feed.drawn(dice, n_slots, jitter_s, self.leaver, **size)
        )
        if not real and seed % KINDS_ONE_IN in KINDS:
            self.partitions = feed.marked(random.Random(f"kinds {seed}"), self.partitions)
        if self.is_sharp:
            self.partitions = feed.sharpened(
                self.misfortunes.dice, self.partitions, is_in_order=self.is_in_order
            )
            # Lives last: what befalls them by themselves is enough.
            self.rate, self.late_rate = dice.choice((0.001, 0.005)), 0.3
        self.is_strict = (
            self.is_sharp and self.is_in_order and theme in {"plain", "sink"} and n_slots > 8
        )
        """Whether nothing cuts a slot before every partition has come to its end."""
        if self.is_strict or (self.is_of_rows and not self.is_in_order):
            # In the midst of what is told again rows are as they were.
            self.commands = [each for each in self.commands if each != "release"]
        self.sent = [0] * len(self.partitions)
        self.stuck = dice.randrange(len(self.partitions)) if dice.random() < 0.2 else -1
        self.last_of_leaver = {
            number: offset
            for number, items in enumerate(self.partitions)
            for offset, item in enumerate(items)
            if self.leaver and isinstance(item, dict) and self.leaver in feed.feeds.ends(item)
        }
        self.margin = MARGINS[seed // REAL_ONE_IN % len(MARGINS)] if real else 0
        sequence = dataclasses.replace(SEQUENCE, margin=self.margin)
        self.world = World(folder / "first", [[] for _ in self.partitions], sequence=sequence)
        if self.is_of_rows:  # Of the last transactions nothing else confirms the date.
            self.world.now_s = rows.end_s(self.partitions)
        topics = feed.TOPICS if self.is_sharp else feed.TOPICS[:1]
        self.topics = [topics[n % len(topics)] for n in range(len(self.partitions))]
        self.world.log.topics = self.topics
        disk = MemoryDisk(random.Random(f"disk {seed}").randbytes(SECRET_BYTES))
        self.lock = Lock()
        self.processes = [Process(self, self.world, disk)]
        self.landings: dict[str, dict[str, bytes]] = {}
        self.gone_for_good: set[str] = set()
        self.asked: dict[str, int] = {}
        """Who is to be erased, and after which release the command was first given."""
        self.erased: dict[str, int] = {}
        """Whose erasure is known to be complete."""
        self.in_flight: list[Callable[[], None]] = []
        self.backup: Backup | None = None
        self.observer: Observer = self
        self.source: Source | None = None
        """Of the service that lives now."""
        self.last_error: Exception | None = None
        self.last_withheld = False
        self.finisher: Process | None = None
        self.turn: Actor | None = None
        self.codes: Counter[str] = Counter()

    # What the service tells

    def release_withheld(self, reason: str, why: str = "") -> None:
        """Note that the last cut gave no release."""
        del why
        self.counts["withheld"] += 1
        self.last_withheld = True
        if reason != "unsafe":
            self.wrong(f"a release is withheld: {reason}")

    def release_published(self, *_: Any) -> None:
        """Note that the last cut gave a release."""
        self.last_withheld = False

    def slot_skipped(self, count: int) -> None:
        """Count slots without a release."""
        self.counts["skipped"] += count

    def wrong(self, problem: str) -> None:
        """Note what must not be."""
        if problem not in self.problems:
            self.problems.append(problem)

    # What may happen

    def is_late(self) -> bool:
        """Whether a release that is offered now lands later than told."""
        return not self.is_quiet and self.dice.random() < self.late_rate

    def landed(self, release_id: str, files: dict[str, bytes]) -> None:
        """Note a release that readers see from now on."""
        former = self.landings.setdefault(release_id, dict(files))
        self.trace = zlib.crc32(release_id.encode() + files[MANIFEST], self.trace)
        if former != files:
            self.wrong(f"release {release_id} has two sets of bytes")
        if release_id in self.gone_for_good:
            self.wrong(f"release {release_id} was withdrawn and deleted, and is sent again")

    def cuts_by_time(self) -> bool:
        """Whether one service cuts where times say it, and makes nothing again."""
        is_again = self.counts["restores"] or self.counts["deletions"]
        return self.theme in THEMES and not is_again

    def is_releasing(self) -> bool:
        """Whether a release is between its cut and the sink, of the first service."""
        process = self.processes[0]
        ledger = (process.store or process.read_only()).ledger
        last = ledger.last()
        is_staged = last is not None and last.status is Status.STAGED
        return is_staged or ledger.pending_cut() is not None

    def cut_taken(self, cut: PendingCut) -> None:
        """Compare a cut with what could be read by then, where times ascend.

        What was read may be undecided: then it waits for others, and may be shown one slot later.
        """
        if (
            self.source is None
            or not self.is_in_order
            or not self.cuts_by_time()
            or self.is_commanded
        ):
            return
        for number, items in enumerate(self.partitions):
            read = self.source.passed(TopicPartition(self.topics[number], number))
            if any(
                isinstance(item, dict) and feed.feeds.time_us(item) <= cut.slot_us
                for item in items[read : self.sent[number]]
            ):
                self.wrong("a slot is cut before all was read that there is of it")

    def step(self, name: str) -> None:
        """Let something happen before or after a call."""
        self.trace = zlib.crc32(name.encode(), self.trace)
        self.counts["steps"] += 1
        dice = self.dice
        if self.misfortunes.refuses(name):
            raise unavailable(name)
        if self.is_quiet:
            if name == "before WatchedSource.poll":
                self._send_all()
            return
        if name == "before WatchedSource.poll" and dice.random() < 0.7:
            self._send()
        if self.in_flight and dice.random() < 0.3:
            self.in_flight.pop(0)()
        if dice.random() < 0.1:
            self.end_turn()
        if dice.random() < self.rate:
            self.counts["faults"] += 1
            raise self._fault(name)

    def end_turn(self) -> None:
        """Let others go on, if there are any; whoever has the turn may be killed meanwhile."""
        if self.turn is not None:
            self.turn.pause()

    def _fault(self, name: str) -> BaseException:
        if self.dice.random() < 0.4:
            return Crash(name)
        if "Store." in name or "Ledger." in name:
            return StateUnusable(name, "store", "planned")
        if "Staging" in name or "Audit" in name:
            return OSError(errno.ENOSPC, "No space left on device")
        return unavailable(name)

    def _send(self) -> None:
        """Let some records arrive, in any order of partitions."""
        dice = self.dice
        number = dice.randrange(len(self.partitions))
        if number != self.stuck:
            self._send_some(number, dice.choice((1, 3, 12)))

    def _send_all(self) -> None:
        for number in range(len(self.partitions)):
            self._send_some(number, len(self.partitions[number]))

    def _send_some(self, number: int, count: int) -> None:
        items = self.partitions[number][self.sent[number] :][:count]
        self.sent[number] += len(items)
        for item in items:
            if item == feed.GAP:
                self.world.log.items[number].append(None)
            else:
                key, value = feed.bytes_of(item)
                self.world.log.append(number, value, key=key)

    def take_backup(self, process: Process) -> None:
        """Copy a state as it is now."""
        number = self.counts["backups"]
        self.counts["backups"] += 1
        place = self.folder / f"backup-{number}"
        none = self.folder / "no store"  # It is the disk.
        none.mkdir(exist_ok=True)
        private, releases = process.world.folder, process.read_only().ledger.releases()
        backup.copy(
            backup.Parts(none, private / "staging", private / "audit", releases), place, now_us=0
        )
        disk = process.disk.copy()
        self.backup = Backup(disk, place, frozenset(self.erased), frozenset(self.asked))

    # The course of it

    def run(self) -> None:
        """Live until the end."""
        with self._surrounded():
            if self.theme in {"two", "one state"}:
                self._two()
            else:
                process = self.processes[0]
                for _ in range(self.dice.randint(1, 6) + 3 * self.is_sharp):
                    self._noted(process.live())
                    self._between(process)
            self._last()

    @contextmanager
    def _surrounded(self) -> Iterator[None]:
        """Let every secret be drawn from the seed, and releases be cheap."""
        drawn = random.Random(f"secrets {self.seed}")
        kind = type("Snapshotter", (Real if self.real else CheapSnapshotter,), {"history": self})
        real_write = erasure.write_synced

        def write(path: Path, texts: Iterable[str | bytes]) -> str:
            texts = list(texts)
            self.step("before Audit.write")
            self.misfortunes.cut_short(path, texts)
            digest = real_write(path, texts)
            self.step("after Audit.write")
            return digest

        with ExitStack() as stack:
            for module, name, stand_in in (
                (secrets, "token_bytes", lambda n=32: drawn.randbytes(n)),
                (secrets, "token_hex", lambda n=32: drawn.randbytes(n).hex()),
                (service, "Snapshotter", kind),
                (erasure, "write_synced", write),
                # Prunings are written by a fold of the log, here also of a short one.
                (store, "LOGGED_MIN", random.Random(f"log {self.seed}").choice((5, 100_000))),
            ):
                stack.enter_context(mock.patch.object(module, name, stand_in))
            yield

    def _noted(self, code: Exit | None) -> None:
        """Note how a life ended."""
        told = "killed" if code is None else f"exit {code:d}"
        self.codes[told] += 1
        self.trace = zlib.crc32(told.encode(), self.trace)
        if code is Exit.MISMATCH and self.theme != "two" and not self.misfortunes.is_met:
            self.wrong(f"refused for no reason: {self.last_error}")
        self.misfortunes.life_is_over()

    def _between(self, process: Process) -> None:
        """Let something happen while no service runs."""
        dice, there = self.dice, self.world.releases.releases
        while self.in_flight and dice.random() < 0.5:
            self.in_flight.pop(0)()
        if self.theme == "restore" and self.backup and dice.random() < 0.4:
            self._restore(process)
        elif self.theme == "restore" and self.is_sharp and (not self.backup or dice.random() < 0.2):
            process.store = None  # It may have died in the midst of a write.
            if not self.is_releasing():
                self.take_backup(process)
        if self.theme == "sink" and there and dice.random() < 0.5:
            {0: self._delete_last, 1: self._damage, 2: self._withdraw}[dice.randrange(3)](process)

    def _restore(self, process: Process) -> None:
        """Lose the state, and put the last backup in its place."""
        assert self.backup is not None
        kept = self.backup
        process.disk = kept.disk.copy()
        self.counts["restores"] += 1
        for part in ("audit", "staging"):
            target = process.world.folder / part
            shutil.rmtree(target, ignore_errors=True)
            if (kept.folder / part).is_dir():
                shutil.copytree(kept.folder / part, target)
        # What is in flight was of the state that is lost: it lands now.
        while self.in_flight:
            self.in_flight.pop(0)()
        # What neither a release nor the backup tells of, the operator repeats. The backup may be of
        # a state in which an erasure had begun.
        told = len(self.landings)
        self.erased = {p: at for p, at in self.erased.items() if at < told or p in kept.erased}
        self.asked = {p: at for p, at in self.asked.items() if at < told or p in kept.asked}

    def _delete_last(self, _process: Process) -> None:
        """Lose the last release at the sink; the service sends it again."""
        there = self.world.releases.releases
        del there[max(there)]
        self.counts["deletions"] += 1

    def _damage(self, process: Process) -> None:
        """Change a release at the sink: the next start refuses; then somebody puts it right."""
        there = self.world.releases.releases
        release_id = self.dice.choice(sorted(there))
        whole = there[release_id]
        data = bytearray(whole[1][MANIFEST])
        data[self.dice.randrange(len(data))] ^= 1
        there[release_id] = (whole[0], {**whole[1], MANIFEST: bytes(data)})
        before, self.is_quiet = set(self.landings), True
        code = process.live(is_last=True)
        self.is_quiet = False
        if code is not Exit.MISMATCH or set(self.landings) != before:
            self.wrong(f"a damaged release at the sink is not refused: {code!r}")
        there[release_id] = whole
        self.counts["damages"] += 1

    def _withdraw(self, process: Process) -> None:
        """Withdraw the last release, and delete it at the sink, unless others follow from it."""
        releases = self.world.releases
        release_id = max(releases.releases)
        audit = process.world.folder / "audit" / release_id
        note(audit, b"planned")
        if not self.real:
            del releases.releases[release_id]
        else:  # Without it no further one could be judged.
            releases.withdrawn[release_id] = b"planned"
        self.gone_for_good.add(release_id)
        self.counts["withdrawals"] += 1

    def _two(self) -> None:
        """Let a second service, on the same state or a copy, run beside the first, turn by turn."""
        self._begins(self.processes[0])
        if self.theme == "one state":
            second = Process(self, self._like_first("first"), self.processes[0].disk)
            self.processes.append(second)
            self._begins(second)
        while mains := self._alive(process.actor for process in self.processes):
            if self.theme == "two" and self.backup and len(self.processes) == 1:
                self._copy_starts()
                continue
            tasks = [task.actor for process in self.processes for task in process.tasks]
            self.turn = self.dice.choice([*mains, *self._alive(tasks)])
            self.counts["turns of threads beside another service"] += self._is_beside(self.turn)
            self.turn.take_turn()
            self.turn = None
        for process in self.processes:
            process.end_tasks()
            process.actor = None

    def _is_beside(self, actor: Actor) -> bool:
        """Whether this is a thread of a service whose state another one holds now."""
        holder = self.lock.holder
        return holder is not None and any(
            task.actor is actor and process.store is not holder
            for process in self.processes
            for task in process.tasks
        )

    def _begins(self, process: Process) -> None:
        process.actor = Actor(lambda: self._serve(process))

    def _alive(self, actors: Iterable[Actor | None]) -> list[Actor]:
        return [actor for actor in actors if actor is not None and not actor.is_over]

    def _like_first(self, folder: str) -> World:
        """Return the surroundings of a second service: feed, sink and letters are the first's."""
        none: list[list[feed.Item]] = [[] for _ in self.partitions]
        world = World(self.folder / folder, none, sequence=self.world.sequence)
        world.log, world.releases = self.world.log, self.world.releases
        world.letters, world.now_s = self.world.letters, self.world.now_s
        return world

    def _copy_starts(self) -> None:
        assert self.backup is not None
        world = self._like_first("second")
        if self.backup.folder.is_dir():
            shutil.copytree(self.backup.folder, world.folder)
        second = Process(self, world, self.backup.disk.copy())
        self.processes.append(second)
        self._begins(second)
        self.counts["copies"] += 1

    def _serve(self, process: Process) -> None:
        for _ in range(self.dice.randint(1, 4)):
            code = process.live()
            self._noted(code)
            # What held the lock is not gone yet: its threads may have turns.
            while process.tasks and self.dice.random() < 0.8:
                with suppress(Crash):
                    self.end_turn()
            process.end_tasks()

    def _last(self) -> None:
        """Live once more, undisturbed, to the end of the feed; twice, if that erases something."""
        self.is_quiet = True
        while self.in_flight:
            self.in_flight.pop(0)()
        order = list(self.processes)
        self.dice.shuffle(order)
        for process in order:
            code = process.live(is_last=True)
            self._noted(code)
            if code is Exit.OK:
                self.finisher = process
                return
        self.wrong(f"no process can go on: {self.last_error}")


class Real(Snapshotter):
    """Makes releases as the product does; its files may meet a full disk.

    Some manifests claim more than they were made for: these releases must be withheld.
    """

    history: History

    def _write(self, due: DueRelease, *args: Any) -> dict[str, str]:
        self.history.step("before Staging.write")
        files = super()._write(due, *args)
        self.history.step("after Staging.write")
        slot = due.cut.slot_us // 1_000_000 // feed.SLOT_S
        if slot % CLAIMS_MORE_ONE_IN == self.history.seed % CLAIMS_MORE_ONE_IN:
            path = self.staging_folder(releases_write.release_id(due.index, due.cut.slot_us))
            text = json.loads((path / MANIFEST).read_text())
            text["params"]["t"] = "1/7"
            (path / MANIFEST).write_text(json.dumps(text))
        return files
