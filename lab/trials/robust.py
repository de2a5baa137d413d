"""How much of a release an attacker who knows the whole true network finds, against its F1.

    python -m lab.trials.robust FOLDER [--k 10] [--seed 1] [--without age_band,...]

FOLDER holds vertices.csv, edges.csv (or .csv.gz) and schema.toml. A line for each way: strategies;
the exact release of which a share of edges exchanged ends with edges of the same pair of classes,
which keeps every count of neighbours by class; and exchanges of all edges but the ties in the
densest part of the network, or inside communities; and exchanges of those ties first that tell
most: of people who show the greatest share of theirs, or by which an attacker with 5% seeds went
from one person to the next. `found` is by 1% and 5% seeds, and by none, of other draws.
"""

from __future__ import annotations

import argparse
import dataclasses
import heapq
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.assess.attacks import Case, run
from ktsafe.assess.attacks.common.propagation import propagate
from ktsafe.stream.files.graphs import read_graph, read_schema
from ktsafe_lab.strategies import anonymize

BATCH = 0.04
"""Share of the edges after which what ties tell is looked at anew."""
PASSES = 6
"""Times that every edge to be exchanged looks for a partner."""
FOUND = ("seeds.1%", "seeds.5%", "alignment.propagated")


def exchanged(
    graph: AttributedGraph, chosen: NDArray[np.bool_], rng: np.random.Generator
) -> AttributedGraph:
    """Return the graph with the ends of chosen edges exchanged within pairs of classes."""
    classes = graph.qi_classes
    edges = [tuple(edge) for edge in graph.edges.tolist()]
    there = set(edges)
    by_pair: dict[tuple[int, int], list[int]] = {}
    for e in np.flatnonzero(chosen).tolist():
        u, v = edges[e]
        if classes[u] > classes[v] or (classes[u] == classes[v] and rng.random() < 0.5):
            u, v = v, u
        edges[e] = u, v
        by_pair.setdefault((int(classes[u]), int(classes[v])), []).append(e)
    for alike in by_pair.values():
        for _ in range(PASSES):
            for e, f in zip(alike, rng.permutation(alike).tolist(), strict=True):
                (u, v), (w, x) = edges[e], edges[f]
                made = {(min(u, x), max(u, x)), (min(w, v), max(w, v))}
                if e == f or len({u, v, w, x}) < 4 or len(made) < 2 or made & there:
                    continue
                there -= {(min(u, v), max(u, v)), (min(w, x), max(w, x))}
                there |= made
                edges[e], edges[f] = (u, x), (w, v)
    codes = graph.schema, graph.categories, graph.codes
    return AttributedGraph.from_codes(*codes, np.array(sorted(there), dtype=np.int64))


def shown_share(case: Case, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return for each edge the shares of their true ties that its ends show, added."""
    kept = np.bincount(
        case.released.edges[case.is_true_edge].ravel(), minlength=len(case.tuples[1])
    )
    shares = kept / np.maximum(case.original.degrees[case.original_of], 1)
    return shares[case.released.edges].sum(axis=1)


def carried(case: Case, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return for each edge how early an attacker found its ends by it, for two draws of seeds."""
    ends = case.original_of[case.released.edges]
    found = np.zeros(len(ends))
    for _ in range(2):
        seeds = rng.choice(case.people, round(0.05 * len(case.people)), replace=False)
        at = np.full(case.original.n_vertices, np.inf)
        for rounds in (12, 8, 6, 5, 4, 3, 2, 1):
            link = propagate(case, seeds, rounds=rounds).link
            at[(link >= 0) & (link == case.own_place)] = rounds
        at[seeds] = 0
        found += np.isfinite(at[ends]).all(axis=1) / (1 + at[ends].min(axis=1))
    return found


def exchanged_by(
    worth: Callable[[Case, np.random.Generator], NDArray[np.float64]],
    case: Case,
    share: float,
    rng: np.random.Generator,
) -> AttributedGraph:
    """Return the graph with ends exchanged of true edges, those that are worth most first."""
    for _ in range(round(share / BATCH)):
        graph = case.released
        order = np.lexsort((rng.random(graph.n_edges), -worth(case, rng), ~case.is_true_edge))
        chosen = np.zeros(graph.n_edges, dtype=np.bool_)
        chosen[order[: round(BATCH * graph.n_edges)]] = True
        case = dataclasses.replace(case, released=exchanged(graph, chosen, rng))
    return case.released


def densest(graph: nx.Graph, count: int) -> NDArray[np.bool_]:
    """Return the vertices that are left when those of the fewest neighbours go one by one."""
    degree = dict(graph.degree)
    queue = [(d, v) for v, d in degree.items()]
    heapq.heapify(queue)
    stays = np.ones(len(graph), dtype=np.bool_)
    while stays.sum() > count:
        d, v = heapq.heappop(queue)
        if not stays[v] or d != degree[v]:
            continue
        stays[v] = False
        for u in graph[v]:
            degree[u] -= 1
            heapq.heappush(queue, (degree[u], u))
    return stays


def main() -> None:
    """Print F1 and found for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", default="", help="quasi-identifiers to leave out")
    parser.add_argument("--strategies", default="exact,aligned,robust")
    parser.add_argument("--swapped", default="0.2,0.3,0.4,0.5,0.6,0.8")
    parser.add_argument("--densest", default="0.15,0.2,0.3,0.4")
    parser.add_argument("--leverage", default="0.28,0.36,0.4,0.44,0.48")
    parser.add_argument("--communities", default="1,4,16", help="resolutions of Louvain's method")
    a = parser.parse_args()
    files = [
        next(p for p in (a.folder / f"{x}.csv", a.folder / f"{x}.csv.gz") if p.exists())
        for x in ("vertices", "edges")
    ]
    schema = read_schema(a.folder / "schema.toml")
    kept = tuple(q for q in schema.quasi_identifiers if q not in a.without.split(","))
    true = read_graph(*files, dataclasses.replace(schema, quasi_identifiers=kept)).graph
    params = PrivacyParams(k=a.k)
    rng = np.random.default_rng(a.seed)
    made = {}
    for strategy in a.strategies.split(","):
        made[strategy] = anonymize(Request(true, params, np.random.default_rng(a.seed)), strategy)
        tell(strategy, Case(true, made[strategy].graph, np.asarray(made[strategy].origin)))
    if "exact" not in made:
        return
    exact, origin = made["exact"].graph, np.asarray(made["exact"].origin)
    is_true = Case(true, exact, origin).is_true_edge
    ways = {
        f"exact, {share} swapped": rng.random(exact.n_edges) < float(share)
        for share in filter(None, a.swapped.split(","))
    }
    ties = nx.Graph()
    ties.add_nodes_from(range(exact.n_vertices))
    ties.add_edges_from(exact.edges[is_true].tolist())
    for share in filter(None, a.densest.split(",")):
        stays = densest(ties, round(float(share) * exact.n_vertices))
        ways[f"exact, ties of the densest {share} kept"] = ~(stays[exact.edges].all(1) & is_true)
    for resolution in filter(None, a.communities.split(",")):
        found = nx.community.louvain_communities(ties, resolution=float(resolution), seed=1)
        of = np.zeros(exact.n_vertices, dtype=np.int64)
        for number, members in enumerate(found):
            of[list(members)] = number
        inside = of[exact.edges[:, 0]] == of[exact.edges[:, 1]]
        ways[f"exact, ties in {len(found)} communities kept"] = ~(inside & is_true)
    for way, chosen in ways.items():
        tell(way, Case(true, exchanged(exact, chosen, rng), origin))
    for share in filter(None, a.leverage.split(",")):
        for worth in (shown_share, carried):
            graph = exchanged_by(worth, Case(true, exact, origin), float(share), rng)
            tell(f"exact, {share} swapped by {worth.__name__}", Case(true, graph, origin))


def tell(way: str, case: Case) -> None:
    """Print a line."""
    params = PrivacyParams(k=10)  # Attackers of whole networks do not look at it.
    attacks = ["seeds", "alignment"]
    results = run(case, params, np.random.default_rng(0), attacks=attacks)
    value = {result.attack: result.value for result in results}
    shared = int(case.is_true_edge.sum())
    f1 = 2 * shared / (case.original.n_edges + case.released.n_edges)
    found = "  ".join(f"{name} {value[name]:.3f}" for name in FOUND)
    print(f"{way:40} F1 {f1:.3f}  {found}", flush=True)


if __name__ == "__main__":
    main()
