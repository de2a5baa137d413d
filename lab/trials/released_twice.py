"""The same network released twice: who is left with fewer than k candidates.

    python -m lab.trials.released_twice DATA [--networks cora,fb-reed98] [--k 10] [--seeds 0,1,2]

Single releases of one unchanged network, each safe by itself. The attacker links the places of a
person in all of them, and keeps as candidates those who were in the person's cohort each time:
equal quasi-identifiers, equally many neighbours of every combination of them. That people are
linked is given, not tried: ids are drawn anew, but ties link them.

The rows: two and three releases with the same options; one and a second with k two greater; one
and a second that tells an attribute less, where there is more than one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.stream.files.graphs import read_graph, read_schema
from lab.trials.planted import cohorts

Cohorts = Mapping[int, frozenset[int]]
"""By true vertex the true vertices of its cohort."""


def people_alike(graph: AttributedGraph, params: PrivacyParams, seed: int) -> Cohorts:
    """Release a graph; return by person the people whose places show the same row."""
    made = anonymize(graph, params, rng=np.random.default_rng(seed))
    members: dict[int, set[int]] = {}
    for cohort, person in zip(cohorts(made.graph).tolist(), made.origin.tolist(), strict=True):
        if person >= 0:
            members.setdefault(cohort, set()).add(person)
    return {person: frozenset(all_) for all_ in members.values() for person in all_}


def below(releases: list[Cohorts], k: int) -> tuple[float, int]:
    """Return the share of the people in all releases with fewer than k candidates, and how many."""
    people = set.intersection(*(set(each) for each in releases))
    left = (len(frozenset.intersection(*(each[one] for each in releases))) for one in people)
    return sum(count < k for count in left) / max(len(people), 1), len(people)


def without_last(graph: AttributedGraph) -> AttributedGraph:
    """Return the graph without its last quasi-identifier."""
    names = graph.schema.quasi_identifiers
    kept = [j for j in range(len(names) + 1) if j != len(names) - 1]
    schema = Schema(names[:-1], graph.schema.sensitive, graph.schema.sensitive_values)
    categories = [graph.categories[j] for j in kept]
    return AttributedGraph.from_codes(schema, categories, graph.codes[:, kept], graph.edges)


def main() -> None:
    """Print a table: network, what was released, share of the people below k."""
    parser = argparse.ArgumentParser(description="The same network released twice.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--networks", default="cora,fb-reed98")
    parser.add_argument("--k", type=int, default=PrivacyParams().k)
    parser.add_argument("--seeds", default="0,1,2")
    a = parser.parse_args()
    params, other = PrivacyParams(k=a.k), PrivacyParams(k=a.k + 2)
    for name in a.networks.split(","):
        schema = read_schema(a.data / name / "schema.toml")
        graph = read_graph(
            a.data / name / "vertices.csv", a.data / name / "edges.csv", schema
        ).graph
        seeds = [int(seed) for seed in a.seeds.split(",")]
        same = [people_alike(graph, params, seed) for seed in seeds]
        told = {"one release": same[:1], "the same twice": same[:2], "three times": same[:3]}
        told[f"then with k = {other.k}"] = [same[0], people_alike(graph, other, seeds[1])]
        if len(schema.quasi_identifiers) > 1:
            fewer = people_alike(without_last(graph), params, seeds[1])
            told[f"then without {schema.quasi_identifiers[-1]}"] = [same[0], fewer]
        for what, releases in told.items():
            share, people = below(releases, a.k)
            print(f"{name:12} {what:28} below {a.k}: {share:.3f} of {people:,} people", flush=True)


if __name__ == "__main__":
    main()
