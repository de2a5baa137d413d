"""Random histories through the engine of sequences."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from typing import Final

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.sequence import Changes, Released, SequenceEngine, SequenceOptions, changes_between
from lab.recording.commands import Figures
from lab.recording.world import SCHEMA, World

KS: Final = (3, 5, 10)
NOT_RESULTS: Final = ("params", "options")
"""What the pages hold of what was asked for."""


def history(seed: int) -> Figures:
    """Return digests of 8 to 12 releases of a changing world, and of all that is remembered."""
    rng = np.random.default_rng([seed, 1])
    people = int(rng.integers(100, 350))
    world = World(seed, people, round(people * rng.uniform(1, 4)), ages=int(rng.integers(1, 4)))
    params = PrivacyParams(k=KS[seed % 3])
    # Every other history is short of time, so what is shown is planned anew within it.
    options = SequenceOptions() if seed % 2 else SequenceOptions(max_age=4)
    before = world.graph()
    sequence = SequenceEngine.begin(SCHEMA, params, options, Changes.of_graph(*before), rng)
    digests = defaultdict(hashlib.sha256)
    found: Figures = {}
    for number in range(int(rng.integers(8, 13))):
        if number:
            world.change(**activity(rng, len(world.people)))
            after = world.graph()
            sequence.advance(changes_between(*before, *after), rng)
            before = after
        found[f"{number:02}"] = digest_of(sequence.released())
        for name, page in sorted(sequence.pages()):
            digests[name.partition("/")[0]].update(_results(name, page))
    return {**found, **{f"pages/{name}": each.hexdigest() for name, each in digests.items()}}


def activity(rng: np.random.Generator, people: int) -> dict[str, int]:
    """Return how much happens before a release: at times nearly nothing, at times a lot."""
    greatest = max(2, round(people * rng.choice([0.01, 0.05, 0.15])))
    names = ("ties", "joins", "leaves", "moves", "states")
    drawn = dict(zip(names, rng.integers(0, greatest, len(names)).tolist(), strict=True))
    # There are at most 400 people at any time.
    return {**drawn, "joins": min(drawn["joins"], 400 - people)}


def digest_of(released: Released) -> str:
    """Return a digest of a release and of the people behind it."""
    graph, ids = released.graph, released.ids
    edges = sorted(map(sorted, ids[graph.edges.astype(np.int64)].tolist()))
    values = [list(graph.values(v).items()) for v in range(graph.n_vertices)]
    plans = [[tuple(pair) for pair in pairs] for pairs in (released.planned, released.dark)]
    text = json.dumps([ids.tolist(), released.keys.tolist(), values, edges, plans])
    return hashlib.sha256(text.encode()).hexdigest()


def _results(name: str, page: bytes) -> bytes:
    """Return the name and content of a page without the number of its form, and what was asked."""
    if name == "meta":
        meta = json.loads(page)
        meta.pop("version", None)
        fixed = {key: kept for key, kept in meta["fixed"].items() if key not in NOT_RESULTS}
        page = json.dumps({**meta, "fixed": fixed}, sort_keys=True).encode()
    return name.encode() + b"\0" + page
