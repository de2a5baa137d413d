"""Real feeds through the real service: files and Kafka, as they are and perturbed.

    python -m lab.trials.end_to_end DATA [--kafka HOST:PORT] [--kills N]

DATA holds `ldbc-snb-sf0.1` and `collegemsg`. For each feed and each way in: all events consumed,
at least 12 non-empty releases, each passing `ktsafe verify`, and the final graph equal to an
independent fold. With --kills the service is killed with SIGKILL at random moments on the way. The
auditor passes every release with all before it, and a second line tells what the last one holds
back, what it costs beside a fresh balanced release of the same graph, and how many real people are
among the candidates.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from lab.trials.sequence_figures import WORTH, private_audits, promise_kept, worth_of
from tests import feeds, running
from tests.services import drain_with_kills

FEEDS = {"ldbc-snb-sf0.1": "month", "collegemsg": "14d"}


def main() -> None:
    """Run all trials and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--kafka", help="bootstrap server; without it only files")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", default="", help="only variants whose name holds this text")
    parser.add_argument("--ways", nargs="+", choices=["files", "kafka"])
    parser.add_argument("--only", choices=FEEDS, help="one of the feeds")
    given = parser.parse_args()
    ways = given.ways or ["files"] + (["kafka"] if given.kafka else [])
    print("feed | way in | events | kills | releases | non-empty | graph | seconds")
    for name, every in FEEDS.items():
        if given.only not in (None, name):
            continue
        attributes = tomllib.loads((given.data / name / "schema.toml").read_text())["attributes"]
        with gzip.open(given.data / name / "events.jsonl.gz") as file:
            events = [json.loads(line) for line in file]
        careless = feeds.perturbed(events, given.seed)
        variants = {
            "as it is": [events],
            "perturbed, assignment 1": feeds.assigned(careless, 3, given.seed),
            "perturbed, assignment 2": feeds.assigned(careless, 3, given.seed + 1),
        }
        if given.kafka:
            variants["as it is, 3 partitions"] = feeds.assigned(events, 3, given.seed)
        expected = None
        for way in ways:
            for variant, partitions in variants.items():
                if given.variant not in variant:
                    continue
                graph = trial(
                    f"{name}, {variant}",
                    way,
                    partitions,
                    attributes,
                    every,
                    given.kafka,
                    given.kills,
                    given.seed,
                )
                expected = expected or graph
                assert graph == expected, "another final graph than the first variant's"


def trial(
    title: str,
    way: str,
    partitions: Sequence[Sequence[feeds.Event]],
    attributes: dict[str, object],
    every: str,
    kafka: str | None,
    kills: int,
    seed: int,
) -> feeds.Graph:
    """Run one feed one way, check everything, print a line, and return the final graph."""
    with tempfile.TemporaryDirectory(prefix="ktsafe-trial-") as temporary:
        folder = Path(temporary) / "site"
        site = (
            running.files_site(folder, partitions, attributes, every)
            if way == "files"
            else running.kafka_site(folder, partitions, attributes, every, str(kafka))
        )
        started = time.monotonic()
        killed, seen = drain_with_kills(site, kills, seed, Path(temporary), within_s=6.0)
        seconds = time.monotonic() - started
        releases = site.releases(Path(temporary) / "read")
        for release_id, digest in seen.items():
            assert releases[release_id][0] == digest, f"{release_id} changed its bytes"
        non_empty = sum(vertices > 0 for _, vertices in releases.values())
        assert non_empty >= 12, f"{non_empty} non-empty releases"
        running.verify_releases(sorted((Path(temporary) / "read").iterdir()))
        names = [*attributes["quasi_identifiers"], attributes["sensitive"]]  # type: ignore[misc]
        graph = site.graph()
        assert graph == feeds.fold(partitions, names), "not the graph that the events make"
        consumed = sum(site.offsets().values())
        assert consumed == sum(map(len, partitions)), f"{consumed} records consumed"
        assert site.dead_letters() == 0
        print(
            f"{title} | {way} | {sum(map(len, partitions)):,} | {killed} | {len(releases)} | "
            f"{non_empty} | equal | {seconds:.0f}",
            flush=True,
        )
        print(told(site), flush=True)
        return graph


def told(site: running.Site) -> str:
    """Return what the private audits of a sequence say, its worth beside a fresh release's."""
    audits = private_audits(site.folder / "state" / "audit")
    found = promise_kept(audits)
    last = audits[-1]
    mine = last["sequence"]
    real = last["audit"]["figures"]["published"]["candidates_real_leavers_known"]
    changed = [audit["audit"]["figures"]["changes"]["k_delta"]["min"] for audit in audits]
    waits = max(audit["sequence"]["withheld_age_max"] for audit in audits)
    return (
        f"  withheld {mine['withheld_vertices']:,} people (longest {waits} releases), "
        f"{mine['held_edges']:,} ties ({mine['waiting_edges']:,} of them with the people) | "
        f"{WORTH}: {worth_of(audits, site.settings)} | "
        f"real candidates: least {real['min']}, "
        f"below k {real['below_k']:,} of {real['vertices']:,} | "
        f"beyond the promise {sorted(found) or 'nothing'} | "
        f"least k_delta {min((k for k in changed if k is not None), default=None)}"
    )


if __name__ == "__main__":
    sys.exit(main())
