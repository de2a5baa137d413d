"""What arrivals and departures tell in a network in which an eighth of the people come and go.

python -m lab.benchmarks.bench_turnover
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.known_changes import arrival, departure
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions, changes_between

SCHEMA = Schema(("kind",), "health", frozenset({"ill"}))
PARAMS = PrivacyParams(k=5)
PEOPLE = 300
RELEASES = 15


def came_and_went(seed: int) -> dict[str, Result]:
    """Return what arrivals and departures tell, by attack."""
    rng, names = np.random.default_rng(seed), {}
    options = SequenceOptions(birth_wait_max=1)
    sequence: SequenceEngine | None = None
    cases, ids, persons = [], [], []
    for graph, keys in turnover(seed):
        if sequence is None:
            everybody = Changes.of_graph(graph, keys)
            sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, everybody, rng)
        else:
            sequence.advance(changes_between(*sequence.truth(), graph, keys), rng)
        cases.append(case_of(sequence))
        published = sequence.released().ids.tolist()
        ids.append(np.array([names.setdefault(i, len(names)) for i in published]))
        persons.append(keys)
    history = History(cases, ids, persons)
    found = arrival(history, PARAMS) + departure(history, PARAMS)
    return {result.attack: result for result in found}


def case_of(sequence: SequenceEngine) -> Case:
    """Return the last release of a sequence, and the truth behind it."""
    released, (truth, keys) = sequence.released(), sequence.truth()
    behind = np.where(released.keys < 0, -1, np.searchsorted(keys, released.keys))
    return Case(truth, released.graph, behind)


def turnover(seed: int) -> Iterator[tuple[AttributedGraph, NDArray[np.int64]]]:
    """Yield graphs and people of a network in which an eighth of the people come and go."""
    rng, last = np.random.default_rng(seed), 0
    people: dict[int, tuple[str, str]] = {}
    ties: set[tuple[int, int]] = set()
    for number in range(RELEASES):
        leavers = rng.choice(sorted(people), PEOPLE // 8, replace=False) if number else []
        for key in leavers:
            del people[int(key)]
        for _ in range(PEOPLE // 8 if number else PEOPLE):
            people[last] = f"kind {rng.integers(6)}", "ill" if rng.random() < 0.1 else "well"
            last += 1
        keys = np.array(sorted(people))
        ties = {tie for tie in ties if set(tie) <= people.keys() and rng.random() < 0.85}
        while len(ties) < 3 * len(keys):
            low, high = sorted(rng.choice(keys, 2, replace=False).tolist())
            ties.add((low, high))
        kinds, health = zip(*(people[key] for key in keys.tolist()), strict=True)
        columns = {"kind": list(kinds), "health": list(health)}
        edges = np.searchsorted(keys, np.array(sorted(ties)))
        yield AttributedGraph.from_columns(SCHEMA, columns, edges), keys


def main() -> None:
    """Print the figures, and a hash of them."""
    print(f"a network in which an eighth come and go, k = {PARAMS.k}, seed 0")
    results = came_and_went(0).values()
    for r in results:
        figures = {name: round(x, 3) for name, x in r.figures.items()}
        print(f"  {r.attack:<19} {r.value:.3f} ({r.low:.3f} to {r.high:.3f}) {figures}")
    digest = hashlib.sha256(repr([(r.attack, round(r.value, 6)) for r in results]).encode())
    print("result", digest.hexdigest()[:16])


if __name__ == "__main__":
    main()
