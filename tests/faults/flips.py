"""Flips single bits of all that a service keeps or published, and asks `ktsafe config --state`.

A sequence is left in three states: at rest, with a release that is cut and not built, and with one
that is staged and not published; people were erased, a release was withdrawn. A byte of store,
audits, staged bytes, releases or backup is changed. Either `config --state` names it, with exit
code 4 or 6; or nothing reads the byte, which is proved: the service is given the rest of its feed,
ends with 0, has published the bytes of the undisturbed run, and its state is sound. A part of those
that are named are run as well. No command may end with 3.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import random
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from ktsafe.connectors.files import FileReleaseSink
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.release.snapshotter import Snapshotter
from tests import feeds, launcher, running, services

PEOPLE, PARTITIONS, DAYS_A_SLOT = 40, 2, 10
OPTIONS = '[privacy]\nk = 2\nalpha = "1/2"'
LEFT = ("rest", "cut", "staged")
"""The states that are flipped: see above."""
PLACES = ("tables", "store", "audit", "staging", "cuts", "releases", "backup")
NAMED = (Exit.STATE, Exit.MISMATCH)


@dataclasses.dataclass(frozen=True)
class Base:
    """A folder with feed, service and backup, and what comes of it undisturbed."""

    folder: Path
    later: list[list[feeds.Event]]
    wanted: dict[str, bytes]


@dataclasses.dataclass
class Seen:
    """What came of the flips: by place, how many were named, and how many proved dead."""

    named: Counter[str] = dataclasses.field(default_factory=Counter)
    dead: Counter[str] = dataclasses.field(default_factory=Counter)


def make_bases(folder: Path, n_releases: int, seed: int) -> dict[str, Base]:
    """Leave a service in each of the states, with a backup, and run copies of them undisturbed."""
    events = services.small_feed(people=PEOPLE, days=(n_releases + 3) * DAYS_A_SLOT, seed=seed)
    first_us = min(map(feeds.time_us, events))
    until_us = first_us + n_releases * DAYS_A_SLOT * 86_400_000_000
    parts = [
        feeds.assigned([e for e in events if low <= feeds.time_us(e) < high], PARTITIONS, seed)
        for low, high in (
            (first_us, until_us),
            (until_us, until_us + DAYS_A_SLOT * 86_400_000_000),
            (until_us + DAYS_A_SLOT * 86_400_000_000, sys.maxsize),
        )
    ]
    (folder / "rest").mkdir()
    every = f"{DAYS_A_SLOT}d"
    site = running.files_site(folder / "rest" / "site", parts[0], services.ATTRIBUTES, every)
    site.config.write_text(site.config.read_text().replace("[privacy]", OPTIONS))
    _run(site)
    releases = sorted(path.name for path in (site.folder / "releases").iterdir() if path.is_dir())
    config = str(site.config)
    person = next(e["id"] for e in parts[0][0] if e["type"] == "vertex.upsert")
    for words in (
        ("erase", person, config, "--yes"),
        ("releases", "withdraw", releases[0], config, "--why", "a trial", "--yes"),
    ):
        assert _ktsafe(*words)[0] == Exit.OK
    for left in LEFT[1:]:
        shutil.copytree(folder / "rest", folder / left)
    _append(folder / "cut", parts[1])
    _append(folder / "staged", parts[1])
    with mock.patch.object(Snapshotter, "build", side_effect=KeyboardInterrupt):
        _ktsafe("run", str(folder / "cut" / "site" / "ktsafe.toml"), "--drain")
    with mock.patch.object(FileReleaseSink, "publish", side_effect=KeyboardInterrupt):
        _ktsafe("run", str(folder / "staged" / "site" / "ktsafe.toml"), "--drain")
    later = {"rest": [one + two for one, two in zip(parts[1], parts[2], strict=True)]}
    return {left: _based(folder / left, later.get(left, parts[2])) for left in LEFT}


def _based(folder: Path, later: list[list[feeds.Event]]) -> Base:
    config = str(folder / "site" / "ktsafe.toml")
    code, said = _ktsafe("state", "backup", config, str(folder / "backup"))
    assert code == Exit.OK, said
    alone = folder.with_name(f"{folder.name}-alone")
    shutil.copytree(folder, alone)
    _append(alone, later)
    _run(running.Site(alone / "site"))
    wanted = _releases(alone)
    assert len(wanted) > len(_releases(folder))
    return Base(folder, later, wanted)


def flip_all(folder: Path, bases: dict[str, Base], n_flips: int, seed: int) -> Seen:
    """Change one bit after the other, each in a copy of its own, and say what came of it."""
    dice, seen = random.Random(seed), Seen()
    for number in range(n_flips):
        left, work = dice.choice(LEFT), folder / f"flip-{number}"
        base = bases[left]
        place = dice.choice([place for place in PLACES if any(_files(base.folder, place))])
        path = dice.choice(sorted(_files(base.folder, place)))
        at, bit = dice.randrange(path.stat().st_size), 1 << dice.randrange(8)
        inside = path.relative_to(base.folder)
        told = f"flip {number} (seed {seed}): {left}, {inside}, byte {at}, bit {bit}"
        shutil.copytree(base.folder, work)
        data = bytearray(path.read_bytes())
        data[at] ^= bit
        (work / inside).write_bytes(data)
        try:
            _one(work, base, place, seen, is_run=dice.random() < 0.1)
        except BaseException:
            # The service's own hook for crashes would log it to where it printed before.
            print(f"FAILED: {told}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            raise
        shutil.rmtree(work)
    return seen


def _one(work: Path, base: Base, place: str, seen: Seen, *, is_run: bool) -> None:
    """Check a state with one changed bit, and run it where nothing was found."""
    config = str(work / "site" / "ktsafe.toml")
    backup = [str(work / "backup")] if place == "backup" else []
    code, said = _ktsafe("config", config, *(["--backup", *backup] if backup else ["--state"]))
    if code in NAMED:
        seen.named[place] += 1
        if backup:
            return
        copied, _ = _ktsafe("state", "backup", config, str(work / "another"))
        assert place == "releases" or copied == Exit.STATE, "rot was backed up"
    else:
        assert code == Exit.OK, f"exit {code}: {said}"
        seen.dead[place] += 1
    if code != Exit.OK and not is_run:
        return
    if backup:
        shutil.rmtree(work / "site" / "state")
        assert _ktsafe("state", "restore", config, *backup)[0] == Exit.OK
    _append(work, base.later)
    ran, told = _ktsafe("run", config, "--drain")
    assert ran in (Exit.OK, *NAMED), f"run ends with {ran}: {told}"
    if code == Exit.OK:
        assert ran == Exit.OK, f"sound, and run ends with {ran}: {told}"
        assert _releases(work) == base.wanted, "sound, and other bytes were published"
        code, said = _ktsafe("config", config, "--state")
        assert code == Exit.OK, said


def _files(folder: Path, place: str) -> Iterator[Path]:
    """Yield the files of a place that have bytes."""
    store = folder / "site" / "state" / "store"
    found: dict[str, Iterator[Path]] = {
        "tables": (store / "db").glob("*.sst"),
        "store": (p for p in (*store.glob("*"), *(store / "db").glob("*")) if p.suffix != ".sst"),
        "cuts": (store / "cuts").rglob("*"),
        "audit": (folder / "site" / "state" / "audit").rglob("*"),
        "staging": (folder / "site" / "state" / "staging").rglob("*"),
        "releases": (folder / "site" / "releases").rglob("*"),
        "backup": (folder / "backup").rglob("*"),
    }
    return (path for path in found[place] if path.is_file() and path.stat().st_size)


def _releases(folder: Path) -> dict[str, bytes]:
    top = folder / "site" / "releases"
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


def _append(folder: Path, events: list[list[feeds.Event]]) -> None:
    for number, some in enumerate(events):
        with (folder / "feed" / f"feed-{number}.jsonl").open("a") as file:
            file.writelines(json.dumps(event) + "\n" for event in some)


def _run(site: running.Site) -> None:
    code, said = _ktsafe("run", str(site.config), "--drain")
    assert code == Exit.OK, said


def _ktsafe(*words: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code, and what it printed."""
    printed = io.StringIO()
    said = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with said[0], said[1], launcher.overridden(running.SMALL_BATCHES):
        code = run_command([*words])
    return code, printed.getvalue()[-2000:]
