"""Erasure at scale: a tenth of a network leaves over ten releases, and the disk is searched.

    python -m tests.trials.erasure DATA/cora [--seed N]

People get random ids. Every release deletes 1% of them by event; afterwards no file of the private
folder may hold the id of anybody who left, every release is safe with all before it, and the cost
stands beside that of a fresh release of the same graph.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import sys
import tempfile
from pathlib import Path

import numpy as np

from ktsafe import PrivacyParams, anonymize
from ktsafe.audit import cost_parts
from ktsafe.sequence import SequenceOptions
from state.rocksdb import RocksDBStore
from stream.graph_files import read_graph, read_schema
from tests import feeds
from tests.stream.simulation import World, event

RELEASES = 10


def main() -> None:
    """Run the trial and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    schema = read_schema(given.data / "schema.toml")
    source = read_graph(given.data / "vertices.csv", given.data / "edges.csv", schema)
    names = [secrets.token_hex(12) for _ in source.ids]
    events = [
        event("vertex.upsert", 1, names[v], **source.graph.values(v)) for v in range(len(names))
    ]
    events += [event("edge.add", 2, names[u], names[v]) for u, v in source.graph.edges.tolist()]
    order = random.Random(given.seed).sample(names, len(names) // 10)
    gone = [order[slot::RELEASES] for slot in range(RELEASES)]
    for slot, leavers in enumerate(gone, start=1):
        events += [event("vertex.delete", 10 * slot + 1, person) for person in leavers]
    with tempfile.TemporaryDirectory(prefix="ktsafe-erasure-") as temporary:
        print(trial(Path(temporary), schema, events, order, given.seed))


def trial(
    folder: Path, schema: object, events: list[feeds.Event], gone: list[str], seed: int
) -> str:
    """Run the service on the feed, search its folder, and return what was found."""
    world = World(
        folder,
        [events],
        store=lambda: RocksDBStore.open(folder / "store", schema),
        params=PrivacyParams(),
        schema=schema,
        sequence=SequenceOptions(edge_lag_max=1),
        seed=seed,
    )
    counts = world.run(ingest={"batch_records_max": 2_000})
    assert not counts.withheld, counts.withheld
    held = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    traces = sum(any(person.encode() in data for data in held) for person in gone)
    there = next(person for person in world.graph()[0] if person not in set(gone))
    assert any(there.encode() in data for data in held), "the search finds nobody at all"
    audits = [json.loads(path.read_text()) for path in sorted(folder.glob("audit/*/audit.json"))]
    below = max(a["audit"]["figures"]["published"]["candidates"]["below_k"] for a in audits)
    real = audits[-1]["audit"]["figures"]["published"]["candidates_real_leavers_known"]
    store = world.open_store()
    graph = store.snapshot().graph
    store.close()
    fresh = anonymize(graph, world.params, rng=np.random.default_rng(seed))
    cost = cost_parts(graph, fresh.graph, world.params, original_of=fresh.origin)["total"]
    mine = audits[-1]["sequence"]
    return (
        f"{len(counts.published)} releases, {len(gone)} people left | traces on disk: {traces} | "
        f"below k: {below} | residual ties {mine['residual_edges']:,} | "
        f"cost {mine['cost']:,}, fresh {cost:,}: {mine['cost'] / cost:.2f} times | "
        f"real candidates: least {real['min']}, below k {real['below_k']:,} of {real['vertices']:,}"
    )


if __name__ == "__main__":
    sys.exit(main())
