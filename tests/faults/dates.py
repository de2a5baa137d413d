"""Wrong dates and wrong clocks against the real loop, in simulated time, from a seed.

A feed of 1 to 8 partitions goes on for twelve hours, with slots of an hour. Each tenth of a per
cent of its events, or more, has a date from an hour ahead to the year 9999. Partitions are silent,
stuck at an old time, or drip; the machine's clock is a day off at a start, in between, and back;
the service is killed. Releases are cut and recorded, not anonymized.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import random
import tempfile
from pathlib import Path
from typing import Any, Final

from ktsafe.state.ledger import PendingCut, ReleaseRecord, SequenceRecord, Status
from ktsafe.stream.ingest.event_times import CONFIRMING, REFUTING
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.maintenance.erasure import Eraser
from ktsafe.stream.observer import Observer
from ktsafe.stream.service.housekeeping import Housekeeping
from ktsafe.stream.service.loop import Loop
from ktsafe.stream.service.slot_clock import LoopSettings
from ktsafe.stream.slots import Clocks, FixedSlots
from tests import feeds
from tests.memory_connectors import MemoryDeadLetterSink, MemoryLog, MemorySource
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import SCHEMA

BEGIN_S: Final = 1_790_000_000.0
HOURS: Final = 12
INTERVAL_S: Final = 3600
IDLE_S: Final = 60.0
YEAR_9999_S: Final = 253_402_300_799.0
DAY_S: Final = 86_400.0
BOUND_S: Final = (CONFIRMING + REFUTING + 1) * IDLE_S
"""How long after `IDLE_S` a slot may be cut: each record that decides comes within `IDLE_S` of the
one before it, or the partition is at rest."""


@dataclasses.dataclass(slots=True)
class Arrival:
    """An event on its way: when and where it arrives, and whether its date is right."""

    at_s: float
    partition: int
    event: feeds.Event
    is_good: bool


@dataclasses.dataclass(slots=True)
class Plan:
    """What a seed stands for."""

    arrivals: list[Arrival]
    partitions: int
    wall_ahead: list[tuple[float, float]]
    kills: list[float]
    stuck: int | None


def plan_of(seed: int) -> Plan:
    """Return what happens in the run of a seed."""
    rng = random.Random(seed)
    partitions = rng.randint(1, 8)
    weights = [rng.choice([1.0, 1.0, 0.3, 0.02]) for _ in range(partitions)]
    bad_share = rng.choice([0.001, 0.001, 0.005])
    stuck = rng.randrange(partitions) if partitions > 1 and rng.random() < 0.4 else None
    arrivals = []
    for number in range(rng.randint(300, 700)):
        at_s = BEGIN_S + rng.uniform(0, HOURS * INTERVAL_S)
        where = rng.choices(range(partitions), weights)[0]
        delay_s = rng.expovariate(1 / 20) if rng.random() < 0.97 else rng.uniform(0, 7200)
        time_s, is_good = at_s - delay_s, rng.random() >= bad_share
        if not is_good:
            furthest = math.log(YEAR_9999_S - at_s)
            time_s = at_s + math.exp(rng.uniform(math.log(INTERVAL_S), furthest))
        arrivals.append(Arrival(at_s, where, _event(rng, number, time_s), is_good))
    if stuck is not None:
        # Its producer's clock stands still.
        arrivals = [a for a in arrivals if a.partition != stuck or not a.is_good]
        drip_s, at_s = rng.uniform(4, 90), BEGIN_S
        while at_s < BEGIN_S + HOURS * INTERVAL_S:
            event = _event(rng, len(arrivals), BEGIN_S - 5.0)
            arrivals.append(Arrival(at_s, stuck, event, is_good=True))
            at_s += drip_s * rng.uniform(0.5, 1.5) * (1 if rng.random() < 0.99 else 20)
    arrivals.sort(key=lambda arrival: arrival.at_s)
    # At the first start of all there is nothing to hold a clock against: it is right until then.
    moments = sorted(BEGIN_S + rng.uniform(900, HOURS * INTERVAL_S) for _ in range(3))
    ahead = rng.choice(
        [
            [0.0, 0.0, 0.0],
            [DAY_S, 0.0, 0.0],
            [-DAY_S, 0.0, 0.0],
            [0, DAY_S, 0.0],
            [0, -DAY_S, 0.0],
            [DAY_S, -DAY_S, 0.0],
        ]
    )
    kills = [BEGIN_S + rng.uniform(0, HOURS * INTERVAL_S) for _ in range(rng.choice([0, 1, 4]))]
    steps = list(zip(moments, ahead, strict=True))
    if steps[0][1]:
        kills.append(steps[0][0] + 1.0)
    return Plan(arrivals, partitions, steps, sorted(kills), stuck)


def _event(rng: random.Random, number: int, time_s: float) -> feeds.Event:
    time = feeds.iso(round(time_s * 1e6))
    if number < 40 or rng.random() < 0.3:
        person = f"p{number if number < 40 else rng.randrange(80)}"
        kind = "vertex.delete" if rng.random() < 0.05 else "vertex.upsert"
        event: feeds.Event = {"type": kind, "id": person, "time": time}
        return event if kind.endswith("delete") else event | {"attributes": {"gender": "f"}}
    ends = rng.sample(range(60), 2)
    kind = "edge.remove" if rng.random() < 0.2 else "edge.add"
    return {"type": kind, "source": f"p{ends[0]}", "target": f"p{ends[1]}", "time": time}


class Recorder:
    """Stands for the publisher: each cut is a release at once."""

    def __init__(self, store: MemoryStore, now_s: Any, cuts: list[tuple[float, float]]) -> None:
        self._store = store
        self._now_s = now_s
        self._cuts = cuts
        self.busy = False
        self.known = ()

    def advance(self) -> None:
        """Nothing is in flight."""

    def begin(self, sequence: SequenceRecord, cut: PendingCut, _snapshot: Any) -> None:
        """Record the cut."""
        index = len(self._store.ledger.releases()) + 1
        name, files = f"{index:06d}", {"manifest.json": "00"}
        record = ReleaseRecord(
            index, name, sequence.sequence_id, cut.slot_us, cut.offsets, files, Status.STAGED, 0, 0
        )
        self._store.ledger.stage(record)
        self._store.ledger.mark_published(name)
        self._cuts.append((self._now_s(), cut.slot_us / 1e6))


class Killed(BaseException):
    """The process is gone."""


class Run:
    """One seed's service, started again after each kill."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.plan = plan_of(seed)
        self.rng = random.Random(seed + 1)
        self.folder = folder
        self.now_s = BEGIN_S
        self.log = MemoryLog(partitions=self.plan.partitions)
        self.store = MemoryStore(SCHEMA)
        self.store.ledger.start_sequence(SequenceRecord("s", "d", 0))
        self.letters: list[Any] = []
        self.cuts: list[tuple[float, float]] = []
        self.good: set[tuple[int, int]] = set()
        self.arrived: list[Arrival] = []
        self.left = list(reversed(self.plan.arrivals))
        self.kills = list(reversed(self.plan.kills))
        self.undecided: dict[Any, Any] = {}

    def wall_us(self) -> int:
        """Return what the machine's clock says."""
        ahead = [by for since, by in self.plan.wall_ahead if self.now_s >= since]
        return round((self.now_s + (ahead[-1] if ahead else 0.0)) * 1e6)

    def stopping(self) -> bool:
        """Let time pass, and what is due arrive; say whether all is over."""
        self.now_s += self.rng.uniform(1.0, 25.0)
        while self.left and self.left[-1].at_s <= self.now_s:
            arrival = self.left.pop()
            offset = self.log.append(arrival.partition, json.dumps(arrival.event).encode())
            if arrival.is_good:
                self.good.add((arrival.partition, offset))
            self.arrived.append(arrival)
        if self.kills and self.now_s >= self.kills[-1]:
            self.kills.pop()
            raise Killed
        return self.now_s > BEGIN_S + HOURS * INTERVAL_S + 20 * IDLE_S

    def run(self) -> None:
        """Run until all is over."""
        while True:
            loop = self._started()
            try:
                loop.run()
            except Killed:
                continue
            self.undecided = dict(loop.ingest.undecided)
            return

    def _started(self) -> Loop:
        source = MemorySource(self.log)
        positions = {p: at.next_offset for p, at in self.store.positions().items()}
        source.open({source.partitions()[p[1]]: n for p, n in positions.items()}, {})
        clocks = Clocks(self.wall_us, lambda: self.now_s, lambda _: None)
        settings = LoopSettings(slots=FixedSlots(INTERVAL_S * 1_000_000), idle_s=IDLE_S)
        observer = Observer()
        ingest = Ingest(
            source,
            self.store,
            MemoryDeadLetterSink(self.letters),
            schema=SCHEMA,
            settings=IngestSettings(),
            observer=observer,
            clocks=clocks,
        )
        eraser = Eraser(self.store, self.folder, within_s=1e9, monotonic=clocks.monotonic)
        keeping = Housekeeping(
            source,
            self.store,
            eraser,
            self.folder,
            settings=settings,
            observer=observer,
            monotonic=clocks.monotonic,
        )
        recorder: Any = Recorder(self.store, lambda: self.now_s, self.cuts)
        return Loop(
            source,
            self.store,
            ingest,
            recorder,
            keeping,
            settings=settings,
            observer=observer,
            clocks=clocks,
            stopping=self.stopping,
        )

    def problems(self) -> list[str]:
        """Return what is not as it should be."""
        problems = []
        aside = {(letter.record.partition, letter.record.offset) for letter in self.letters}
        waiting = {(r.partition, r.offset) for records in self.undecided.values() for r in records}
        if lost := self.good & (aside | waiting - self._unconfirmed()):
            problems.append(f"{len(lost)} good events are not in the graph")
        partitions = [
            [json.loads(r.value) for r in items if (r.partition, r.offset) not in aside | waiting]
            for items in self.log.items
        ]
        if self._graph() != feeds.fold(partitions, SCHEMA.attributes):
            problems.append("the graph is not the fold of the events that were applied")
        for at_s, slot_s in self.cuts:
            if slot_s > at_s + INTERVAL_S:
                problems.append(f"a release is {slot_s - at_s:.0f} s ahead")
        if (latest_s := self._latest_s()) > IDLE_S + BOUND_S:
            problems.append(f"a slot is cut {latest_s:.0f} s late")
        return problems

    def _unconfirmed(self) -> set[tuple[int, int]]:
        """Return what waits for a further event, as in `_latest_s`: the clock was wrong lately."""
        if not self._is_clock_wrong(self.now_s - 4 * INTERVAL_S, self.now_s):
            return set()
        few = (each for each in self.undecided.values() if len(each) <= CONFIRMING)
        return {(record.partition, record.offset) for records in few for record in records}

    def _graph(self) -> feeds.Graph:
        snapshot = self.store.snapshot()
        vertices = {name: snapshot.graph.values(v) for v, name in enumerate(snapshot.ids)}
        named = ((snapshot.ids[u], snapshot.ids[v]) for u, v in snapshot.graph.edges.tolist())
        return vertices, {(min(pair), max(pair)) for pair in named}

    def _latest_s(self) -> float:
        """Return how long after an event beyond a slot has arrived that slot was cut, at most.

        Counted where the machine's clock has been right for four intervals: where it is wrong, and
        a partition has few events, only further events can confirm one.
        """
        latest = 0.0
        for hour in range(1, HOURS - 1):
            slot_s = math.ceil(BEGIN_S / INTERVAL_S) * INTERVAL_S + hour * INTERVAL_S
            crossed = [
                a.at_s for a in self.arrived if a.is_good and feeds.time_us(a.event) > slot_s * 1e6
            ]
            cut = [at_s for at_s, cut_s in self.cuts if cut_s >= slot_s]
            if crossed:
                begin_s, end_s = min(crossed), min(cut, default=self.now_s)
                if not self._is_clock_wrong(begin_s - 4 * INTERVAL_S, end_s):
                    latest = max(latest, end_s - begin_s)
        return latest

    def _is_clock_wrong(self, begin_s: float, end_s: float) -> bool:
        """Whether the machine's clock is off at any time between two moments."""
        steps = [*self.plan.wall_ahead, (math.inf, 0.0)]
        return any(
            by and since <= end_s and begin_s <= until
            for (since, by), (until, _) in itertools.pairwise(steps)
        )


def run_seed(seed: int) -> list[str]:
    """Run a seed and return what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(seed, Path(folder))
        run.run()
        return run.problems()
