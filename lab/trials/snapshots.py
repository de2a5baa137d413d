"""The demo as a feed and as monthly dumps: whether the releases are the same bytes.

    python -m lab.trials.snapshots [--people 2000] [--days 365] [--seed 1] [--folder var/snapshots]

Three services with the same seed read the same year: the feed as it is, the feed without what came
and went between two dumps, and the dumps. Exits with 1 unless the last two publish equal bytes.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import re
import sys
from pathlib import Path

import msgspec
import numpy as np

from ktsafe.assess.commands.demo import JOINING, RATES
from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA, START, FeedRates, SocialNetwork, life
from ktsafe.stream.config import settings as configuration
from ktsafe.stream.service.assembly import serve
from ktsafe.stream.slots import MonthlySlots, rfc3339
from tests.dumps import at_slots, net_feed, write_dump
from tests.feeds import Event

CONFIG = """
[attributes]
quasi_identifiers = ["gender", "age_band"]
sensitive = "health"
sensitive_values = ["cancer", "depression", "hiv"]
expect_absent = ["cancer", "depression", "hiv"]
[sink]
kind = "files"
folder = "releases"
[dead_letters]
kind = "files"
path = "letters.jsonl"
[state]
folder = "state"
[release]
min_f1 = 0.0
every = "month"
seed = 1
[attack]
budget = 0.0
[metrics]
listen = "127.0.0.1:0"
[ingest]
lateness_max_s = {lateness_s}
[source]
"""
FEED = 'kind = "files"\npaths = ["../{name}.jsonl"]\n'
DUMPS = 'kind = "snapshots"\nfolder = "../dumps"\n'


def year(people: int, days: int, seed: int) -> list[Event]:
    """Return the demo's year, the people and ties at its beginning as events of that moment."""
    network = SocialNetwork(np.random.default_rng(seed))
    network.grow(people, FeedRates(departures=0))
    graph, ids = network.graph()
    time = START.isoformat().replace("+00:00", "Z")
    first: list[Event] = [
        {"type": "vertex.upsert", "id": one, "attributes": graph.values(v), "time": time}
        for v, one in enumerate(ids)
    ]
    first += [
        {"type": "edge.add", "source": ids[u], "target": ids[v], "time": time}
        for u, v in graph.edges.tolist()
    ]
    joining = round(people * JOINING * days / 365)
    events = life(network, people=joining, days=days, rates=FeedRates(**RATES))
    return [json.loads(msgspec.json.encode(event)) for event in (*first, *events)]


def slots_of(days: int) -> list[int]:
    """Return the slots of so many days, and the one in which they end."""
    slots, end = MonthlySlots(), START + datetime.timedelta(days=days)
    found = [round(START.timestamp() * 1e6)]
    while found[-1] < end.timestamp() * 1e6:
        found.append(slots.at_or_after(found[-1] + 1))
    return found


def released(folder: Path, source: str, lateness_s: int) -> dict[str, str]:
    """Run a service to the end of its source; return a digest of all bytes of each release."""
    folder.mkdir(parents=True)
    config = folder / "ktsafe.toml"
    config.write_text(CONFIG.format(lateness_s=lateness_s) + source, encoding="utf-8")
    serve(configuration.load(config), drain=True)
    return {
        release.name: hashlib.sha256(_bytes_of(release)).hexdigest()
        for release in sorted((folder / "releases").glob("0*"))
    }


def _bytes_of(release: Path) -> bytes:
    """Return all bytes of a release but the random id of its sequence and its encrypted cut."""
    told = b"".join(file.read_bytes() for file in sorted(release.iterdir()))
    return re.sub(rb'"(sequence_id|cut|before|root)": "[^"]+"', b"", told)


def main() -> None:
    """Write dumps and feeds, run the services, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lateness-s", type=int, default=604_800)
    parser.add_argument("--folder", type=Path, default=Path("var/snapshots"))
    a = parser.parse_args()
    attributes = SOCIAL_FEED_SCHEMA.attributes
    events, slots = year(a.people, a.days, a.seed), slots_of(a.days)
    feeds = {"feed": events, "net": net_feed(events, slots, attributes)}
    for slot, graph in zip(slots, at_slots(events, slots, attributes), strict=True):
        write_dump(a.folder / "dumps", rfc3339(slot)[:10], graph, attributes)
    found = {}
    for name, lines in feeds.items():
        text = b"".join(msgspec.json.encode(event) + b"\n" for event in lines)
        (a.folder / f"{name}.jsonl").write_bytes(text)
        source = FEED.format(name=name)
        found[name] = released(a.folder / f"of-{name}", source, a.lateness_s)
    found["dumps"] = released(a.folder / "of-dumps", DUMPS, a.lateness_s)
    for name, digests in found.items():
        same = sum(digests.get(r) == d for r, d in found["dumps"].items())
        n = len(feeds[name]) if name in feeds else 0
        print(f"{name}: {n} events, {len(digests)} releases, {same} equal to those of the dumps")
    sys.exit(found["net"] != found["dumps"])


if __name__ == "__main__":
    main()
