"""Planted accounts: how many of their friends they name, and what it costs to prevent it.

    python -m lab.trials.planted FOLDER [--k 10] [--seeds 3] [--accounts 0,1,5] [--shares 0.25,0.5]
        [--sensitive]

FOLDER holds vertices.csv, edges.csv and schema.toml. Accounts are planted with the
quasi-identifiers of a person drawn at random, a sensitive attribute that nobody else has, and ties
to `FRIENDS` others, and the network is published once. Each account attacks by itself
(`ktsafe.assess.attacks.own_account`). With 0 accounts, people of the network are the attackers. A
line for the release with values in place, one where the members of each cohort exchange values of
the sensitive attribute at random, as by default, and one for each share of all edges that exchange
ends within pairs of classes, which leaves every count of neighbours by class as it is. `one value`
is the release with a single value in place of all that are not sensitive, and `values` the share of
people who are shown with their own value; `cohort` the share of friends that is named by an
attacker that knows the account's cohort, and nothing else of its vertex.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, anonymize
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.common.nearest import distinct_rows, neighbour_counts
from ktsafe.assess.attacks.own_account import FRIENDS, friends_named, own_account, published_friends
from ktsafe.stream.files.graphs import read_graph, read_schema
from lab.trials.robust import exchanged

HEADER = (
    "accounts | seed | exchanged | F1 | values | named: value | own | ties | own | cohort | control"
)


def planted(
    graph: AttributedGraph, count: int, rng: np.random.Generator, *, is_sensitive: bool = False
) -> AttributedGraph:
    """Return the graph with `count` more vertices at its end, each with `FRIENDS` random ties."""
    n = graph.n_vertices
    codes = np.concatenate((graph.codes, graph.codes[rng.integers(0, n, count)]))
    *kept, values = graph.categories
    codes[n:, -1] = np.arange(len(values), len(values) + count)
    texts = [*kept, (*values, *(f"account {i}" for i in range(count)))]
    if is_sensitive:
        known = np.flatnonzero(np.isin(values, sorted(graph.schema.sensitive_values)))
        codes[n:, -1] = rng.choice(known, count)
    ties = [graph.edges.astype(np.int64)]
    for account in range(n, n + count):
        friends = rng.choice(n, FRIENDS, replace=False)
        ties.append(np.column_stack((friends, np.full(FRIENDS, account))))
    return AttributedGraph.from_codes(graph.schema, texts, codes, np.concatenate(ties))


def cohorts(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return a number for each vertex, the same for equal classes with equal neighbours."""
    classes = graph.qi_classes.astype(np.int64)
    rows = neighbour_counts(graph, classes, int(classes.max()) + 1)
    return distinct_rows(rows, classes)[0]


def with_values_exchanged(graph: AttributedGraph, rng: np.random.Generator) -> AttributedGraph:
    """Return the graph in which the vertices of each cohort exchange values at random."""
    cohort = cohorts(graph)
    codes = graph.codes.copy()
    there = np.argsort(cohort, kind="stable")
    mixed = np.lexsort((rng.random(len(cohort)), cohort))
    codes[there, -1] = graph.codes[mixed, -1]
    return AttributedGraph.from_codes(graph.schema, graph.categories, codes, graph.edges)


def with_one_value(graph: AttributedGraph) -> AttributedGraph:
    """Return the graph with one value in place of all that are not sensitive."""
    *kept, values = graph.categories
    hidden = sorted(set(values) & graph.schema.sensitive_values)
    texts = [*hidden, "other"]
    table = np.array([texts.index(x) if x in hidden else len(hidden) for x in values])
    codes = graph.codes.astype(np.int64)
    codes[:, -1] = table[codes[:, -1]]
    return AttributedGraph.from_codes(graph.schema, [*kept, texts], codes, graph.edges)


def f1(case: Case) -> float:
    """Return F1 of the released edges."""
    both = case.original.n_edges + case.released.n_edges
    return 2 * int(case.is_true_edge.sum()) / both if both else 1.0


def main() -> None:
    """Print a line for each number of accounts, seed and share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--accounts", default="0,1,5,20")
    parser.add_argument("--shares", default="0.25,0.5")
    parser.add_argument("--sensitive", action="store_true", help="accounts have a sensitive value")
    given = parser.parse_args()
    read = read_schema(given.folder / "schema.toml")
    graph = read_graph(given.folder / "vertices.csv", given.folder / "edges.csv", read).graph
    print(HEADER, flush=True)
    for count in map(int, given.accounts.split(",")):
        for seed in range(given.seeds):
            rng = np.random.default_rng(seed)
            true = planted(graph, count, rng, is_sensitive=given.sensitive)
            in_place = AnonymizeOptions(values="in place")
            made = anonymize(true, PrivacyParams(k=given.k), rng=rng, options=in_place)
            mended = {"as it is": made.graph, "values": with_values_exchanged(made.graph, rng)}
            for share in map(float, filter(None, given.shares.split(","))):
                chosen = rng.random(made.graph.n_edges) < share
                mended[f"edges {share}"] = exchanged(made.graph, chosen, rng)
            mended["one value"] = with_one_value(made.graph)
            for mend, shown in mended.items():
                known = with_one_value(true) if mend == "one value" else true
                case = Case(known, shown, made.origin)
                people = case.published if not count else case.own_place[graph.n_vertices :]
                sample = np.flatnonzero(np.isin(case.published, people))
                told = _told(dataclasses.replace(case, sample=sample), rng)
                print(f"{count} | {seed} | {mend} | {told}", flush=True)


def _told(case: Case, rng: np.random.Generator) -> str:
    """Return the rest of a line of the table."""
    value, ties = own_account(case, rng)
    own = case.values[0][case.original_of[case.published], -1]
    right = float((case.values[1][case.published, -1] == own).mean())
    cohort = cohorts(case.released)
    named = [
        friends_named(
            case,
            np.flatnonzero(cohort == cohort[case.own_place[account]]),
            published_friends(case, account),
        )
        for account in case.people.tolist()
    ]
    return (
        f"{f1(case):.3f} | {right:.3f} | {value.value:.3f} | {value.figures['own']:.3f} | "
        f"{ties.value:.3f} | {ties.figures['own']:.3f} | "
        f"{np.concatenate(named).mean():.3f} | {value.control:.3f}"
    )


if __name__ == "__main__":
    main()
