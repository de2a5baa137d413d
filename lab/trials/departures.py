"""Departures through the real service: how many places that people leave are found, counted apart.

    python -m lab.trials.departures DATA/fb-reed98 [--seeds N] [--releases 12] [--share 0.01]
        [--moving] [--sequence 'birth_wait_max = 2']

People get random ids, and the network goes through `ktsafe run` as a file, w = all. Before each
release after the first one a share of the people leaves, and nothing else happens. With `--moving`
they change the last quasi-identifier instead. The service is run once for each release, and the
mapping is copied before the next run blanks it.

The attacker knows the quasi-identifiers that a person is shown with, and in which month the person
left the place. `named` is the share found by naming, among the ids shown so, one of those whose
visible change is the rarest: it vanished, or the values before and after; then the kinds of
neighbours that it gained and lost. `by value` looks at values only. `control` names any id shown
so. `command` is what `ktsafe audit --attacks` says of the service's own folder, in which the
leavers are blank. The count reads the files of the releases as text and uses none of the
product's code.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests import feeds, running
from tests.places_left import chances, shown

DAY_US: Final = 86_400_000_000
FIRST_DAY_US: Final = 20_000 * DAY_US
HEADER: Final = (
    "seed | releases | places left | named | by value | control | found alone | "
    "command: named, control, of; net, control, auc"
)


def main() -> None:
    """Run the trial with each seed and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--moving", action="store_true")
    parser.add_argument("--sequence", default="", help="options of the sequence, as TOML")
    given = parser.parse_args()
    print(HEADER, flush=True)
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory(prefix="ktsafe-departures-") as temporary:
            print(trial(Path(temporary), given, seed), flush=True)


def trial(folder: Path, given: argparse.Namespace, seed: int) -> str:
    """Run the service release by release and count; return a line of the table."""
    site, feed, found, n_releases = run(folder, given, seed)
    named, by_value, control = (sum(column) / len(found) for column in zip(*found, strict=True))
    alone = sum(chance == 1 for chance, _, _ in found)
    told = _command(site, feed)
    return (
        f"{seed} | {n_releases} | {len(found)} | {named:.3f} | {by_value:.3f} | {control:.3f} | "
        f"{alone} | {told}"
    )


def run(
    folder: Path, given: argparse.Namespace, seed: int
) -> tuple[Path, Path, list[tuple[float, float, float]], int]:
    """Run the service; return its folder, the feed, the chances of leavers, and the releases.

    Chances are those of being named, by value, and by any id shown so.
    """
    attributes = tomllib.loads((given.data / "schema.toml").read_text())["attributes"]
    first, *later = _feed(given, attributes, seed)
    site = running.sequence_site(folder / "site", first, attributes, "1d", given.sequence)
    feed = folder / "feed" / "feed-0.jsonl"
    copies = folder / "copies"
    for events in ([], *later):
        with feed.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in events)
        site.drain_apart(timeout_s=7200)
        _copy_new(site.folder / "state" / "audit", copies)
    history = [
        shown(path, copies / path.name, attributes)
        for path in sorted((site.folder / "releases").iterdir())
        if path.is_dir()
    ]
    return site.folder, feed, [*chances(history)], len(history)


def _feed(
    given: argparse.Namespace, attributes: dict[str, Any], seed: int
) -> Iterator[list[feeds.Event]]:
    """Yield the events of the first release, and of each later one."""
    rng = random.Random(seed)
    rows = list(csv.DictReader((given.data / "vertices.csv").open(encoding="utf-8")))
    ties = list(csv.DictReader((given.data / "edges.csv").open(encoding="utf-8")))
    name = {row["id"]: f"{rng.getrandbits(96):024x}" for row in rows}
    last = attributes["quasi_identifiers"][-1]
    known = sorted({row[last] for row in rows})
    there = sorted(name.values())
    value = {name[row["id"]]: row[last] for row in rows}

    def event(kind: str, day: int, second: int, **fields: Any) -> feeds.Event:
        time_us = FIRST_DAY_US + day * DAY_US + second * 1_000_000
        return {"type": kind, "time": feeds.iso(time_us), **fields}

    def end_of(day: int) -> feeds.Event:
        # Somebody says again what is known; so the slot ends.
        return event("vertex.upsert", day, 1, id=there[0], attributes={last: value[there[0]]})

    texts = [attributes["sensitive"], *attributes["quasi_identifiers"]]
    events = [
        event("vertex.upsert", 0, 2, id=name[row["id"]], attributes={x: row[x] for x in texts})
        for row in rows
    ]
    ends = [(name[tie["source"]], name[tie["target"]]) for tie in ties]
    yield [*events, *(event("edge.add", 0, 3, source=u, target=v) for u, v in ends), end_of(1)]
    for day in range(1, given.releases):
        gone = rng.sample(there[1:], round(len(there) * given.share))
        if given.moving:
            for who in gone:
                value[who] = rng.choice([x for x in known if x != value[who]])
            events = [
                event("vertex.upsert", day, 2, id=who, attributes={last: value[who]})
                for who in gone
            ]
        else:
            there = sorted(set(there) - set(gone))
            events = [event("vertex.delete", day, 2, id=who) for who in gone]
        yield [*events, end_of(day + 1)]


def _copy_new(audits: Path, copies: Path) -> None:
    """Keep the mapping of every release that is new."""
    for path in sorted(audits.iterdir()):
        if path.is_dir() and not (copies / path.name).exists():
            (copies / path.name).mkdir(parents=True)
            shutil.copy(path / "mapping.csv", copies / path.name)


def _command(site: Path, feed: Path) -> str:
    """Return what `ktsafe audit --attacks` says of the folder that the service leaves."""
    command = [sys.executable, "-m", "ktsafe.stream.cli", "audit", "--json", "--attacks=departure"]
    command += [f"--map={site / 'state' / 'audit'}", f"--truth={feed}", str(site / "releases")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit {done.returncode}"
    results = json.loads(done.stdout)["sequences"][0]["results"]
    found = {result["attack"]: result for result in results}
    if "departure.net" not in found:
        return "nothing"
    named, net = found["departure.named"], found["departure.net"]
    return (
        f"{named['value']:.3f}, {named['control']:.3f}, {named['targets']}; "
        f"{net['value']:.3f}, {net['control']:.3f}, {net['figures']['auc']:.3f}"
    )


if __name__ == "__main__":
    sys.exit(main())
