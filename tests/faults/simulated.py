"""Faults in simulated time: the real loop and mechanism, a store on disk, all else in memory.

After each of them every slot has its release, made from exactly the people of that slot and all
their ties, published once and never with other bytes; the final graph is the fold of the events;
and each bad record is in the dead letters once.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

from ktsafe.state.errors import StateUnusable
from ktsafe.stream.files import releases_write
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.slots import FixedSlots
from tests.bad_input import BAD
from tests.faults import errors
from tests.faults.trials import Fault, Trial, heard, said
from tests.memory_connectors import unavailable
from tests.stream.service.simulation import SCHEMA, SLOT_US, Tripwire, World, disk_store
from tests.stream.service.simulation_feed import (
    FIRST,
    SECOND,
    check_history,
    known,
    small_world,
)

STEPS = 170
"""Fewer than an undisturbed run has, and enough to reach its last release."""

POISON = [item for item in BAD if item.reason != "late" and "age" not in item.detail]
"""What is bad first of all too, and under this schema, which has no ages."""


def world_of(folder: Path) -> World:
    """Return a world with a store on disk and the small feed."""
    return small_world(folder, store=disk_store(folder / "store", SCHEMA))


def check(world: World, seen: dict[str, str]) -> None:
    """Check that nothing was lost, and that what was published before kept its bytes."""
    check_history(world)
    final = world.digests()
    assert {release_id: final[release_id] for release_id in seen} == seen
    assert {(e.record.partition, e.record.offset) for e in world.letters} == {(0, 3)}


def errors_at_any_step(kind: str) -> Callable[[Path, int], Trial]:
    """Return a trial that fails at one step, and often again at one step of the next start."""

    def run(folder: Path, seed: int) -> Trial:
        dice = random.Random(seed)
        world = world_of(folder)
        seen: dict[str, str] = {}
        ended = "absorbed"
        for steps in (STEPS, dice.choice((0, 40, STEPS))):
            wire = Tripwire(dice.randrange(steps) if steps else None, errors.KINDS[kind])
            try:
                world.run(wire=wire)
            except errors.ENDS:
                ended = "ends; the next start goes on"
            seen |= world.digests()
        world.run()
        check(world, seen)
        return Trial(ended)

    return run


def poison_record(folder: Path, seed: int) -> Trial:
    """Put records that are no events among the good ones, where nobody expects them."""
    dice = random.Random(seed)
    partitions: list[list[Any]] = [list(FIRST), list(SECOND)]
    bad = dice.sample(POISON, 8)
    for item in bad:
        dice.choice(partitions).insert(0, item.value)
    world = World(folder, partitions, store=disk_store(folder / "store", SCHEMA))
    counts = world.run(wire=Tripwire())
    check_history(world)
    assert counts.dead_letters.total() == len(bad) + 1
    assert {letter.record.value for letter in world.letters} == {
        *(item.value for item in bad),
        b"not an event",
    }
    return Trial("`ktsafe_dead_letters_total` by reason")


class _Slow:
    """A store whose writes take simulated time."""

    def __init__(self, store: Any, world: World, write_s: float) -> None:
        self._store, self._world, self._write_s = store, world, write_s

    def __getattr__(self, name: str) -> Any:
        if name == "commit":
            self._world.now_s += self._write_s
        return getattr(self._store, name)


def slow_disk(folder: Path, seed: int) -> Trial:
    """Let every checkpoint take up to a minute: less is read meanwhile, never more is held."""
    world = world_of(folder)
    write_s = random.Random(seed).uniform(1, 60)
    real = world.open_store
    world.open_store = lambda: _Slow(real(), world, write_s)
    world.run()
    world.open_store = real
    check(world, {})
    return Trial("`ktsafe_checkpoint_duration_seconds` and the lag rise")


def no_space() -> OSError:
    """Return what a full disk says."""
    return OSError(errno.ENOSPC, "No space left on device")


def full_while(module: Any, name: str, words: str) -> Callable[[Path, int], Trial]:
    """Return a trial in which a function that writes files fails a few times."""

    def run(folder: Path, seed: int) -> Trial:
        world = world_of(folder)
        failures = [no_space() for _ in range(random.Random(seed).randrange(1, 5))]
        real = getattr(module, name)

        def failing(*args: Any, **kwargs: Any) -> Any:
            if failures:
                raise failures.pop()
            return real(*args, **kwargs)

        with mock.patch.object(module, name, failing), heard() as sentences:
            with suppress(StateUnusable):
                # Only what is full in the very end, with nobody to try again, ends the service.
                world.run(loop={"erase_within_s": 0.001}, stopping=_slowly(world))
            failures.clear()
            world.run(stopping=_slowly(world))
        assert "withheld" not in " ".join(sentences)
        check(world, {})
        assert not _traces(folder / "audit", "bob")
        return Trial(said(sentences, words))

    return run


def _slowly(world: World) -> Callable[[], bool]:
    """Return a `stopping` that never stops, and lets a second pass every round."""

    def stopping() -> bool:
        world.now_s += 1.0
        return False

    return stopping


def _traces(folder: Path, person: str) -> list[str]:
    """Return the mappings that name somebody."""
    paths = folder.glob("*/mapping.csv")
    return [str(path) for path in paths if f",{person}\n" in path.read_text().replace("\r", "")]


def sinks_away(folder: Path, seed: int) -> Trial:
    """Let releases and dead letters fail before and after their effect, many times over."""
    dice = random.Random(seed)
    world = world_of(folder)
    world.faults.before["publish"] = [unavailable() for _ in range(dice.randrange(6))]
    world.faults.after["publish"] = [unavailable() for _ in range(1 + dice.randrange(3))]
    world.faults.before["write"] = [
        unavailable("write dead letters") for _ in range(dice.randrange(6))
    ]
    with heard() as sentences:
        world.run()
    check(world, {})
    return Trial(said(sentences, "sink did not confirm"))


def silent_partition_comes_back(folder: Path, seed: int) -> Trial:
    """Let one partition say nothing for a while: slots go on without it, and late news count."""
    dice = random.Random(seed)
    world = World(folder, [FIRST, []], store=disk_store(folder / "store", SCHEMA))
    world.slots = FixedSlots(SLOT_US)
    rounds = iter(range(200 + dice.randrange(200)))
    world.run(loop={"drain": False, "idle_s": 0.05}, stopping=lambda: next(rounds, None) is None)
    seen = world.digests()
    world.extend(1, SECOND)
    world.run()
    final = world.digests()
    assert {release_id: final[release_id] for release_id in seen} == seen
    assert world.graph() == known()
    return Trial("lag of the partition; `ktsafe_release_slots_skipped_total`")


BY_ITSELF, NEXT_START = "by itself", "at the next start"
FAULTS = (
    Fault("crash at a step", "simulation", NEXT_START, 20, errors_at_any_step("crash")),
    Fault("a call is refused", "simulation", NEXT_START, 20, errors_at_any_step("refused")),
    Fault("a call meets a full disk", "simulation", NEXT_START, 20, errors_at_any_step("no space")),
    Fault("a call meets a defect", "simulation", NEXT_START, 20, errors_at_any_step("defect")),
    Fault("poison records", "simulation", BY_ITSELF, 10, poison_record),
    Fault("slow disk", "simulation", BY_ITSELF, 5, slow_disk),
    Fault(
        "disk full while a release is staged",
        "simulation",
        BY_ITSELF,
        5,
        full_while(releases_write, "write_release", "release cannot be built or staged"),
    ),
    Fault(
        "disk full while deleted persons are erased",
        "simulation",
        BY_ITSELF,
        5,
        full_while(erasure, "write_synced", "erasure cannot be written"),
    ),
    Fault("sinks that do not answer", "simulation", BY_ITSELF, 10, sinks_away),
    Fault("a partition is silent", "simulation", BY_ITSELF, 5, silent_partition_comes_back),
)
