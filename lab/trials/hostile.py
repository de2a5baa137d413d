"""Hostile feeds through the service, judged by the auditor apart.

    python -m lab.trials.hostile [--only NAME]

People join, leave and come back in great numbers, change what is asked of them and what is
sensitive; a few become hubs and lose their ties again; ties come and go. Each feed has other
options. Releases are judged in every window by `lab.trials.reaudit`, which shares no code with
the service. Exit code 1 if anything is violated.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from lab.trials import reaudit
from tests import feeds, running

WEEK_US: Final = 7 * 86_400_000_000
ATTRIBUTES: Final = {
    "quasi_identifiers": ["sex", "town"],
    "sensitive": "health",
    "sensitive_values": ["ill"],
}
FEEDS: Final = {
    "k 10": (1, 900, 9, 'k = 10\nalpha = "1/5"', ""),
    "k 5, wait 2": (2, 600, 10, 'k = 5\nalpha = "1/4"', "birth_wait_max = 2"),
}
"""By name: seed, people at first, slots, lines of [privacy], options of the sequence."""


def hostile_feed(seed: int, people: int, slots: int) -> list[feeds.Event]:
    """Return the events of some weeks, in order."""
    rng = random.Random(seed)
    known = [f"p{i}" for i in range(people)]
    here = set(known)
    ties: set[tuple[str, str]] = set()
    events: list[feeds.Event] = []
    clock = WEEK_US // 2

    def tell(**event: object) -> None:
        nonlocal clock
        clock += 1_000
        events.append({**event, "time": feeds.iso(clock)})

    def upsert(name: str) -> None:
        values = {
            "sex": rng.choice("fm"),
            "town": rng.choice(["A", "A", "A", "B", "B", "C"]),
            "health": "ill" if rng.random() < 0.12 else "well",
        }
        tell(type="vertex.upsert", id=name, attributes=values)

    def tie(one: str, two: str, *, add: bool) -> None:
        pair = (min(one, two), max(one, two))
        if one == two or add == (pair in ties):
            return
        (ties.add if add else ties.remove)(pair)
        tell(type="edge.add" if add else "edge.remove", source=pair[0], target=pair[1])

    def leave(name: str) -> None:
        here.discard(name)
        for pair in [pair for pair in ties if name in pair]:
            ties.discard(pair)
        tell(type="vertex.delete", id=name)

    for name in known:
        upsert(name)
    for _ in range(4 * people):
        tie(*rng.sample(known, 2), add=True)
    for slot in range(1, slots):
        clock = WEEK_US // 2 + slot * WEEK_US
        for name in rng.sample(sorted(here), people // 15):
            leave(name)
        for name in rng.sample(
            sorted(set(known) - here), min(people // 30, len(known) - len(here))
        ):
            upsert(name)  # They come back.
            here.add(name)
        for _ in range(people // 10):
            known.append(f"p{len(known)}")
            here.add(known[-1])
            upsert(known[-1])
        for name in rng.sample(sorted(here), people // 10):
            upsert(name)  # Whatever they were, they are something else now.
        for hub in rng.sample(sorted(here), 3):
            for friend in rng.sample(sorted(here), people // 12):
                tie(hub, friend, add=slot % 2 == 1)
        for one, two in rng.sample(sorted(ties), len(ties) // 6):
            tie(one, two, add=False)
        for _ in range(people):
            tie(*rng.sample(sorted(here), 2), add=True)
    clock = WEEK_US // 2 + slots * WEEK_US
    tell(type="vertex.upsert", id="last", attributes={"sex": "f", "town": "A", "health": "well"})
    return events


def main() -> int:
    """Run the feeds and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=FEEDS)
    given = parser.parse_args()
    failed = False
    for name, (seed, people, slots, privacy, sequence) in FEEDS.items():
        if given.only not in (None, name):
            continue
        with tempfile.TemporaryDirectory(prefix="ktsafe-hostile-") as temporary:
            events = hostile_feed(seed, people, slots)
            site = running.sequence_site(
                Path(temporary) / "site", events, ATTRIBUTES, "1w", sequence
            )
            text = site.config.read_text(encoding="utf-8")
            text = text.replace("[privacy]\n", f"[privacy]\n{privacy}\n")
            site.config.write_text(text, encoding="utf-8")
            site.drain_apart(timeout_s=3600)
            promised = tomllib.loads(site.config.read_text(encoding="utf-8"))["privacy"]["k"]
            for releases in reaudit.sequences([site.folder / "releases"]).values():
                tally = reaudit.judge(releases, releases[0].promise)
                assert releases[0].promise["k"] == promised
                failed |= tally.violations > 0
                print(f"{name}, seed {seed}, {len(events):,} events: {tally.told(releases)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
