"""How far inserted vertices can be told from people by id, degree and age.

Areas under the ROC curve: the chance that an inserted vertex has the greater id (degree, number of
releases) than a person, ties counting half; 0.5 tells nothing, 0 and 1 tell all. The detector is
`ktsafe.attacks.membership_of_vertices`, which learns from the sequence of the next seed who is
inserted. The network grows by a tenth with each release of a sequence.

    python -m lab.benchmarks.bench_inserted --data FOLDER [--names fb-reed98,ego-facebook]

prints for each data set and seed what the detector tells in a release by itself, `balanced`, when
it has learnt from a release of the same network with another seed: with rare people padded, then
with kinds that are too sensitive padded, too. Beside it is the area that a sensitive value alone
reaches in a class: where alpha leaves no room, inserted vertices show none.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.attacks.coming_and_going import arrival, departure
from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.history import History
from ktsafe.attacks.common.result import Result, inside_result
from ktsafe.attacks.membership_of_vertices import membership_of_vertices
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions, changes_between
from ktsafe.sequence.memory.sequence_options import Births
from ktsafe.stream.files.releases_write import random_ids
from lab.benchmarks.bench_anonymize import from_folder

SCHEMA = Schema(("kind",), "health", frozenset({"ill"}))
PARAMS = PrivacyParams(k=10)
TURNOVER_PARAMS = PrivacyParams(k=5)
TURNOVER_RELEASES = 15
SEEDS = range(8)
PEOPLE = 300
RELEASES = 6
RARE = 6
"""People of a kind that inserted vertices must fill up."""


class Told(NamedTuple):
    """What can be seen of the vertices of a release, and who is inserted.

    `alike` is, for each inserted vertex, the number of people with its quasi-identifiers and a
    degree within the tolerance; in a sequence, with exactly its degree.
    """

    id: float
    degree: float
    age: float
    inserted: int
    alike: NDArray[np.int64]


def network(seed: int, people: int = PEOPLE) -> AttributedGraph:
    """Return a random network with some hubs; kinds come in random order, one of them is rare."""
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(["rare"] * RARE + ["a", "b"] * ((people - RARE) // 2))
    health = np.where(rng.random(len(kinds)) < 0.15, "ill", "well")
    weights = rng.pareto(2, len(kinds)) + 1
    drawn = rng.choice(len(kinds), (4 * people, 2), p=weights / weights.sum())
    edges = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1), axis=0)
    edges = rng.permutation(edges)[: 2 * people]
    columns = {"kind": kinds.tolist(), "health": health.tolist()}
    return AttributedGraph.from_columns(SCHEMA, columns, edges)


def first(graph: AttributedGraph, people: int) -> AttributedGraph:
    """Return the network of the first people."""
    columns = {
        name: [texts[code] for code in graph.codes[:people, j]]
        for j, (name, texts) in enumerate(zip(SCHEMA.attributes, graph.categories, strict=True))
    }
    inside = (graph.edges < people).all(axis=1)
    return AttributedGraph.from_columns(SCHEMA, columns, graph.edges[inside])


def fresh(seed: int) -> Told:
    """Return what a release by itself tells."""
    options = AnonymizeOptions("fast", rare_qi="pad", over_alpha="pad")
    rng = np.random.default_rng(seed)
    release = anonymize(network(seed), PARAMS, rng=rng, options=options)
    names = random_ids(release.graph.n_vertices, seed=seed)
    ids = np.argsort(np.argsort(names))
    return told(release.graph, release.origin < 0, ids, np.zeros(len(ids), dtype=np.int64))


def grown(seed: int) -> tuple[SequenceEngine, dict[int, int]]:
    """Return a sequence of a growing network, and how many releases show each published id."""
    rng = np.random.default_rng(seed)
    whole = network(seed)
    keys = np.arange(whole.n_vertices)
    sequence: SequenceEngine | None = None
    ages: dict[int, int] = {}
    for number in range(RELEASES):
        people = whole.n_vertices * (10 - RELEASES + 1 + number) // 10
        graph = first(whole, people)
        if sequence is None:
            options = SequenceOptions(births="pad", birth_wait_max=1)
            everybody = Changes.of_graph(graph, keys[:people])
            sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, everybody, rng)
        else:
            sequence.advance(changes_between(*sequence.truth(), graph, keys[:people]), rng)
        for published in sequence.released().ids.tolist():
            ages[published] = ages.get(published, 0) + 1
    assert sequence is not None
    return sequence, ages


def linked(seed: int) -> Told:
    """Return what the last release of a sequence tells, to whoever has all of them."""
    sequence, ages = grown(seed)
    released = sequence.released()
    age = np.array([ages[published] for published in released.ids.tolist()])
    return told(released.graph, released.keys < 0, released.ids, age, tolerance=0)


def detected(seed: int) -> dict[str, float]:
    """Return how well a detector that learnt from the next seed tells people from inserted."""
    case, another = case_of(grown(seed)[0]), case_of(grown(seed + 1)[0])
    whole, inside, _ = membership_of_vertices(case, PARAMS, np.random.default_rng(seed), another)
    return {"as a whole": whole.value, "by class size": whole.control, "in a class": inside.value}


def case_of(sequence: SequenceEngine) -> Case:
    """Return the last release of a sequence, and the truth behind it."""
    released, (truth, keys) = sequence.released(), sequence.truth()
    behind = np.where(released.keys < 0, -1, np.searchsorted(keys, released.keys))
    return Case(truth, released.graph, behind)


def came_and_went(seed: int, births: Births = "pad") -> dict[str, Result]:
    """Return what arrivals and departures tell in a network with much coming and going."""
    rng, names = np.random.default_rng(seed), {}
    options = SequenceOptions(births=births, birth_wait_max=1)
    sequence: SequenceEngine | None = None
    cases, ids, persons = [], [], []
    for graph, keys in turnover(seed):
        if sequence is None:
            everybody = Changes.of_graph(graph, keys)
            sequence = SequenceEngine.begin(SCHEMA, TURNOVER_PARAMS, options, everybody, rng)
        else:
            sequence.advance(changes_between(*sequence.truth(), graph, keys), rng)
        cases.append(case_of(sequence))
        published = sequence.released().ids.tolist()
        ids.append(np.array([names.setdefault(i, len(names)) for i in published]))
        persons.append(keys)
    history = History(cases, ids, persons)
    found = arrival(history, TURNOVER_PARAMS) + departure(history, TURNOVER_PARAMS)
    return {result.attack: result for result in found}


def turnover(seed: int) -> Iterator[tuple[AttributedGraph, NDArray[np.int64]]]:
    """Yield graphs and people of a network in which an eighth of the people come and go."""
    rng, last = np.random.default_rng(seed), 0
    people: dict[int, tuple[str, str]] = {}
    ties: set[tuple[int, int]] = set()
    for number in range(TURNOVER_RELEASES):
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


def told(
    graph: AttributedGraph,
    inserted: NDArray[np.bool_],
    ids: NDArray[np.int64],
    age: NDArray[np.int64],
    tolerance: int = PARAMS.epsilon // 2,
) -> Told:
    """Return the areas, and how many people look like each inserted vertex."""
    degree = np.bincount(graph.edges.ravel(), minlength=graph.n_vertices)
    kind = graph.codes[:, 0]
    alike = [
        np.count_nonzero(~inserted & (kind == kind[v]) & (abs(degree - degree[v]) <= tolerance))
        for v in np.flatnonzero(inserted)
    ]
    areas = [area(figure[inserted], figure[~inserted]) for figure in (ids, degree, age)]
    return Told(*areas, int(inserted.sum()), np.array(alike, dtype=np.int64))


def area(some: NDArray[np.int64], others: NDArray[np.int64]) -> float:
    """Return the chance that one of `some` is greater than one of `others`."""
    greater = (some[:, None] > others).mean()
    return float(greater + (some[:, None] == others).mean() / 2)


def padded(
    name: str, graph: AttributedGraph, seed: int, over_alpha: Literal["suppress", "pad"]
) -> None:
    """Print what the detector tells in a padded release of a network."""
    options = AnonymizeOptions(rare_qi="pad", over_alpha=over_alpha)
    cases = []
    for number in (seed, seed + 10):
        made = anonymize(graph, PARAMS, rng=np.random.default_rng(number), options=options)
        cases.append(Case(graph, made.graph, made.origin.astype(np.int64)))
    case, rng = cases[0], np.random.default_rng(seed)
    whole, inside, _ = membership_of_vertices(case, PARAMS, rng, cases[1])
    is_real, classes = case.original_of >= 0, case.released.qi_classes
    by_value = inside_result("", case.released.is_sensitive.astype(float), is_real, classes).value
    people = np.bincount(classes, is_real)
    inserted = np.bincount(classes, ~is_real)
    reached = people >= PARAMS.k
    n_edges, n_true = case.released.n_edges, int(case.is_true_edge.sum())
    print(
        f"{name:13} {seed:4} {over_alpha:10} {inserted.sum():8.0f} "
        f"{inserted[reached].sum() / people[reached].sum():8.3f} "
        f"{2 * n_true / (n_edges + graph.n_edges):6.3f} {n_edges:7} "
        f"{whole.value:6.3f} {whole.control:8.3f} {inside.value:7.3f} {by_value:9.3f}",
        flush=True,
    )


def main() -> None:
    """Print the areas, and a hash of them; or those of releases of given data."""
    parser = argparse.ArgumentParser(description="How far inserted vertices can be told.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="fb-reed98,ego-facebook", help="names of data sets")
    given = parser.parse_args()
    if given.data is None:
        on_made_up_networks()
        return
    print(
        "name          seed over_alpha inserted where>=k     F1   edges   auc  by size  inside ill"
    )
    for name, graph in from_folder(given.data):
        if name in given.names.split(","):
            for over_alpha in ("suppress", "pad"):
                for seed in range(3):
                    padded(name, graph, seed, over_alpha)


def on_made_up_networks() -> None:
    """Print the areas, and a hash of them."""
    digest = hashlib.sha256()
    for name, measure in (("one release", fresh), ("a sequence", linked)):
        found = [measure(seed) for seed in SEEDS]
        digest.update(
            repr([(f.inserted, round(f.degree, 6), round(f.age, 6)) for f in found]).encode()
        )
        print(f"{name}, {len(found)} seeds: area, mean (least to greatest)")
        for figure in ("id", "degree", "age"):
            areas = [getattr(f, figure) for f in found]
            print(f"  {figure:<7} {np.mean(areas):.2f} ({min(areas):.2f} to {max(areas):.2f})")
        alike = np.concatenate([f.alike for f in found])
        share = np.mean([f.inserted for f in found]) / PEOPLE
        print(
            f"  inserted: {share:.0%} of the people; people alike: fewest {alike.min()}, "
            f"median {np.median(alike):.0f}, none {np.mean(alike == 0):.1%}"
        )
    detectors = [detected(seed) for seed in SEEDS]
    for name in detectors[0]:
        areas = [each[name] for each in detectors]
        digest.update(repr([round(a, 6) for a in areas]).encode())
        print(f"  detector, {name} {np.mean(areas):.2f} ({min(areas):.2f} to {max(areas):.2f})")
    print(f"a network in which an eighth come and go, k = {TURNOVER_PARAMS.k}, seed 0")
    for births in get_args(Births):
        results = came_and_went(0, births).values()
        digest.update(repr([(r.attack, round(r.value, 6)) for r in results]).encode())
        print(f"  births = {births}")
        for r in results:
            figures = {name: round(x, 3) for name, x in r.figures.items()}
            print(f"    {r.attack:<19} {r.value:.3f} ({r.low:.3f} to {r.high:.3f}) {figures}")
    print("result", digest.hexdigest()[:16])


if __name__ == "__main__":
    main()
