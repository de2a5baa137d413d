"""A level network for very many releases: what store, memory and start cost as they add up.

    python -m lab.trials.growth [--people 200] [--releases 50 500 1000 2000] [--events 10]
                                [--folder DIR] [--seed 1]

As many people join as leave, and as many ties end as begin. The service runs with its defaults but
without attacks and metrics, keeps 50 audits, and is stopped where it is measured: bytes of the
private folder without audits, of the tables in it, and of its audits; the greatest resident memory
of the run; core seconds of a start that has nothing to read, and of one with one release more, by
which the auditor is taken up.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

CONFIG = """
[attributes]
quasi_identifiers = ["gender", "region"]
sensitive = "health"
sensitive_values = ["ill"]
[source]
kind = "files"
paths = ["feed.jsonl"]
[sink]
kind = "files"
folder = "releases"
[dead_letters]
kind = "files"
path = "letters.jsonl"
[state]
folder = "state"
audits_kept = 50
[release]
min_f1 = 0.0
every = "1d"
seed = 1
[attack]
budget = 0.0
[metrics]
listen = "127.0.0.1:0"
"""
DAY_S = 86_400
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
REGIONS = ("north", "south", "east")
TIES_PER_PERSON = 4
JOIN, CHANGE = 0.02, 0.05
"""Shares of the events that are joins (as many again are departures) and changes."""


def main() -> None:
    """Run the trial and print a line of JSON at each number of releases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--releases", type=int, nargs="+", default=[50, 500, 1000, 2000])
    parser.add_argument("--events", type=int, default=10, help="events between two releases")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="ktsafe-growth-"))
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "ktsafe.toml"
    config.write_text(CONFIG)
    feed = Feed(folder / "feed.jsonl", args.people, args.seed)
    done = 0
    for wanted in args.releases:
        feed.days(wanted - done, args.events, is_first=not done)
        core_s, resident = run(config)
        published = len(list((folder / "releases").glob("*/manifest.json")))
        found = {
            "releases": published,
            "store": size(folder / "state") - size(folder / "state" / "audit"),
            "tables": sum(p.stat().st_size for p in (folder / "state/store/db").glob("*.sst")),
            "audits": size(folder / "state" / "audit"),
            "core_s_a_release": round(core_s / (wanted - done), 3),
            "resident_mib": resident >> 10,
            "start_core_s": round(run(config)[0], 2),
        }
        feed.days(1, args.events)
        found["start_and_one_release_core_s"] = round(run(config)[0], 2)
        done = wanted + 1
        print(json.dumps(found), flush=True)


class Feed:
    """A feed that goes on from day to day."""

    def __init__(self, path: Path, people: int, seed: int) -> None:
        self._path, self._people = path, people
        self._network = Network(people, seed)
        self._day = 0

    def days(self, days: int, events: int, *, is_first: bool = False) -> None:
        """Append the events of some days; at first those by which the network came about."""
        with self._path.open("a", encoding="utf-8") as file:
            for day in range(days):
                count = 20 * self._people if is_first and not day else events
                for i in range(count):
                    at = self._day * DAY_S + 1 + i * (DAY_S - 2) // count
                    moment = START + datetime.timedelta(seconds=at)
                    file.write(f'{self._network.step()},"time":"{moment.isoformat()}"}}\n')
                self._day += 1


class Network:
    """People and ties, with every move in constant time."""

    def __init__(self, people: int, seed: int) -> None:
        self._random = random.Random(seed).random
        self._people_level = people
        self.people: list[str] = []
        self.ties: list[tuple[str, str]] = []
        self._place: dict[tuple[str, str], int] = {}
        self._around: dict[str, set[str]] = {}
        self._born = 0

    def step(self) -> str:
        """Make one move and return its event as JSON, without its time and its closing brace."""
        if len(self.people) < self._people_level:
            return self._join()
        point = self._random()
        if point < JOIN:
            return self._leave()  # whoever joins next fills the place
        if point < JOIN + CHANGE:
            return self._change()
        if len(self.ties) < TIES_PER_PERSON * len(self.people):
            return self._tie()
        return self._part()

    def _pick(self, among: Sequence[T]) -> T:
        # Several times as fast as `random.choice`, and millions of picks are made.
        return among[int(self._random() * len(among))]

    def _join(self) -> str:
        name = f"person-{self._born:09d}"
        self._born += 1
        self.people.append(name)
        self._around[name] = set()
        return self._upsert(
            name,
            gender=self._pick(("f", "m")),
            region=self._pick(REGIONS),
            health="ill" if self._random() < 0.05 else "well",
        )

    def _change(self) -> str:
        name = self._pick(self.people)
        return self._upsert(name, region=self._pick(REGIONS))

    def _upsert(self, name: str, **values: str) -> str:
        text = ",".join(f'"{key}":"{value}"' for key, value in values.items())
        return f'{{"type":"vertex.upsert","id":"{name}","attributes":{{{text}}}'

    def _leave(self) -> str:
        place = int(self._random() * len(self.people))
        name, last = self.people[place], self.people.pop()
        if last != name:
            self.people[place] = last
        for other in self._around.pop(name):
            self._around[other].discard(name)
            self._forget((min(name, other), max(name, other)))
        return f'{{"type":"vertex.delete","id":"{name}"'

    def _tie(self) -> str:
        while True:
            a, b = self._pick(self.people), self._pick(self.people)
            if a != b and b not in self._around[a]:
                break
        pair = (min(a, b), max(a, b))
        self._place[pair] = len(self.ties)
        self.ties.append(pair)
        self._around[a].add(b)
        self._around[b].add(a)
        return f'{{"type":"edge.add","source":"{a}","target":"{b}"'

    def _part(self) -> str:
        a, b = self._pick(self.ties)
        self._around[a].discard(b)
        self._around[b].discard(a)
        self._forget((a, b))
        return f'{{"type":"edge.remove","source":"{a}","target":"{b}"'

    def _forget(self, pair: tuple[str, str]) -> None:
        place, last = self._place.pop(pair), self.ties.pop()
        if last != pair:
            self.ties[place] = last
            self._place[last] = place


def run(config: Path) -> tuple[float, int]:
    """Run the service until its feed is read; return core seconds and KiB resident at most."""
    command = [str(Path(sys.executable).with_name("ktsafe")), "run", str(config), "--drain"]
    with (config.parent / "service.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, config.parent / "service.log"
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def size(folder: Path) -> int:
    """Return the bytes of all files in a folder and below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
