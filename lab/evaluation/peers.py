"""What others publish of the same networks: one table, promises beside figures.

    python -m lab.evaluation.peers [--data FOLDER] [--names cora,ego-facebook,ca-condmat]
        [--seed 0] [--pycanon PYTHON] [--out FILE] [--privgraph FOLDER]

A twentieth of the ties is held out, the rest is the true graph. Each mechanism publishes it; the
fifteen queries of PGB are asked of both; the ties held out are guessed from what is published, and
on cora the labels, of which 20 of each are known. "Found" is the share of people that an attacker
names right who knows their true degree, or that and their triangles, and guesses among the nearest
vertices; attributes, which only some publish, are left out of this. Other attackers know what is
published beside ties: friends' numbers of ties, friends' sensitive values, the whole true graph
with the places of 5% of the people; and one asks whether somebody is in the network at all, of a
second release without a fifth of the people. `--privgraph` names a folder with releases that the
authors of PrivGraph published, which are set beside those of our code. `--pycanon` names an
interpreter that has pycanon, which then judges the table of what one hop around each released
vertex shows. Without a folder it is the demo's network of 2,000 people. Prints Markdown and writes
JSON lines.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import igraph
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization.request import Request
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks import run as attack
from ktsafe.assess.generalization.quick_release import HELD_OUT as HELD_OUT_PEOPLE
from ktsafe.assess.releases.worth import without_attributes
from ktsafe.graph.numbering import edge_keys
from ktsafe_lab.strategies import anonymize
from lab.benchmarks.bench_anonymize import from_folder
from lab.benchmarks.sequences.growing_feeds import demo_network
from lab.evaluation.downstream import label_accuracy, tie_auc
from lab.evaluation.peer_mechanisms import block_model, k_degree, priv_graph, top_m_filter
from lab.evaluation.pgb_queries import QUERIES, answers, errors

HELD_OUT = 0.05
DEMO = "demo"
PARAMS = PrivacyParams(k=10, alpha="1/5")
TOLD = {
    "friends_degrees": "found by friends' degrees",
    "friends_values": "found by friends' values",
    "seeds": "found from 5% known",
}
"""Attacks, and the rows that tell the share of people whom they find."""
KNOWN_LABELS = 20
"""Of each label so many are known beforehand."""


@dataclasses.dataclass(frozen=True, eq=False)
class Published:
    """What somebody publishes.

    Attributes
    ----------
    n:
        Number of vertices.
    edges:
        int, shape (m, 2).
    behind:
        int64, shape (n,): the true vertex behind each, -1 for nobody.
    graph:
        The release, if it has attributes.
    """

    n: int
    edges: NDArray[Any]
    behind: NDArray[np.int64]
    graph: AttributedGraph | None = None

    def case(self, true: AttributedGraph) -> Case:
        """Return the release beside the truth, without attributes if it has none."""
        graph = self.graph
        if graph is None:
            bare = without_attributes(true, true.schema.quasi_identifiers)
            codes = np.zeros((self.n, bare.codes.shape[1]), dtype=np.int64)
            graph = AttributedGraph.from_codes(bare.schema, bare.categories, codes, self.edges)
        lacking = set(true.schema.quasi_identifiers) - set(graph.schema.quasi_identifiers)
        return Case(without_attributes(true, sorted(lacking)), graph, self.behind)


Mechanism = Callable[[AttributedGraph, np.random.Generator], Published]


def plain(publish: Callable[..., NDArray[np.int64]], **options: Any) -> Mechanism:
    """Return a mechanism that publishes all vertices and edges of its own."""

    def run(graph: AttributedGraph, rng: np.random.Generator) -> Published:
        n = graph.n_vertices
        edges = publish(n, graph.edges.astype(np.int64), rng=rng, **options)
        return Published(n, edges, np.arange(n))

    return run


def ours(strategy: str, *, told: bool, **params: Any) -> Mechanism:
    """Return a mechanism of this project, with or without quasi-identifiers."""

    def run(graph: AttributedGraph, rng: np.random.Generator) -> Published:
        if not told:
            graph = without_attributes(graph, graph.schema.quasi_identifiers)
        asked = PrivacyParams(k=10, alpha="1/5", **params)
        made = anonymize(Request(graph, asked, rng), strategy)
        return Published(made.graph.n_vertices, made.graph.edges, made.origin, made.graph)

    return run


def dp_blocks(graph: AttributedGraph, rng: np.random.Generator) -> Published:
    """Publish people with their attributes, and ties of noisy blocks, under shuffled numbers."""
    classes = graph.qi_classes.astype(np.int64)
    edges = block_model(graph.edges.astype(np.int64), classes, epsilon=5.0, rng=rng)
    order = rng.permutation(graph.n_vertices)
    whole = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, edges)
    shown = whole.subgraph(order)
    return Published(len(order), shown.edges, order, shown)


MECHANISMS: dict[str, tuple[str, Mechanism]] = {
    "the truth": ("nothing", plain(lambda _n, edges, rng: edges)),
    "ktsafe exact": ("k = 10 by attributes and one hop, alpha", ours("exact", told=True)),
    "ktsafe exact, no attributes": ("k = 10 by one hop, alpha", ours("exact", told=False)),
    "ktsafe tolerant": (
        "k = 10 within t = 0.1, epsilon = 5, alpha",
        ours("tolerant", told=True, t="0.1", epsilon=5),
    ),
    "ktsafe aligned, no attributes": (
        "k = 10 by any structure (k-automorphism), alpha",
        ours("aligned", told=False, n_hops=2),
    ),
    "k-degree (2008)": ("k = 10 by degree", plain(k_degree, k=10)),
    "PrivGraph (2023)": ("ties: differential privacy, 1.5", plain(priv_graph, epsilon=1.5)),
    "DP blocks, 5": ("ties: differential privacy, 5", dp_blocks),
    "TmF (2015), 1.5": ("ties: differential privacy, 1.5", plain(top_m_filter, epsilon=1.5)),
    "TmF (2015), 7": ("ties: differential privacy, 7", plain(top_m_filter, epsilon=7.0)),
}


def compared(
    name: str, graph: AttributedGraph, seed: int, pycanon: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the figures of each mechanism on one graph."""
    rng = np.random.default_rng(seed)
    n, ties = graph.n_vertices, graph.edges.astype(np.int64)
    out = np.zeros(len(ties), dtype=np.bool_)
    out[rng.choice(len(ties), size=round(HELD_OUT * len(ties)), replace=False)] = True
    true = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, ties[~out])
    strangers = _strangers(n, ties, int(out.sum()), rng)
    labels = graph.codes[:, -1].astype(np.int64)
    known = np.zeros(n, dtype=np.bool_)
    for label in np.unique(labels):
        known[rng.permutation(np.flatnonzero(labels == label))[:KNOWN_LABELS]] = True
    original = igraph.Graph(n, true.edges.tolist())
    asked = answers(original, seed=seed)
    for title, (promise, run) in MECHANISMS.items():
        started = time.process_time()
        published = run(true, np.random.default_rng(seed))
        seconds = time.process_time() - started
        there = igraph.Graph(published.n, published.edges.tolist())
        position = np.full(n + 1, -1, dtype=np.int64)
        real = np.flatnonzero(published.behind >= 0)
        position[published.behind[real]] = real
        yield {
            "graph": name,
            "mechanism": title,
            "promise": promise,
            **_truth(true, published),
            **errors(asked, answers(there, seed=seed), published.behind),
            **_found(original, there, published.behind),
            **_attacked(published.case(true), hides_values=published.graph is None),
            "member AUC": _member_auc(true, run, seed),
            "tie AUC": tie_auc(
                published.edges, published.n, position[ties[out]], position[strangers]
            ),
            "label accuracy": label_accuracy(
                published.edges,
                np.append(labels, -1)[published.behind],
                np.append(known, False)[published.behind],
            )
            if name == "cora"
            else None,
            "pycanon k": _by_pycanon(pycanon, published.graph) if pycanon else None,
            "core s": seconds,
        }


def _truth(true: AttributedGraph, published: Published) -> dict[str, float]:
    """Return precision, recall and F1 of ties."""
    ends = published.behind[published.edges]
    real = np.sort(ends[(ends >= 0).all(axis=1)], axis=1)
    shared = int(np.isin(edge_keys(real), edge_keys(true.edges.astype(np.int64))).sum())
    precision, recall = shared / max(len(published.edges), 1), shared / max(true.n_edges, 1)
    f1 = 2 * shared / max(len(published.edges) + true.n_edges, 1)
    return {"precision": precision, "recall": recall, "F1": f1}


def _found(
    original: igraph.Graph, released: igraph.Graph, behind: NDArray[np.int64]
) -> dict[str, float]:
    """Return the share of people who are named right by what is known of their place."""
    shares = {}
    for name, signature in (("found by degree", _degrees), ("found by triangles", _triangles)):
        known, shown = signature(original), cKDTree(signature(released))
        real = np.flatnonzero(behind >= 0)
        distance = shown.query(known)[0]
        beside = shown.query_ball_point(known, distance + 1e-6, return_length=True)
        own = np.abs(shown.data[real] - known[behind[real]])
        is_among = np.sqrt(np.square(own).sum(axis=1)) <= distance[behind[real]] + 1e-6
        shares[name] = float((is_among / beside[behind[real]]).sum() / original.vcount())
    return shares


def _attacked(case: Case, *, hides_values: bool) -> dict[str, float | None]:
    """Return the share of people found by friends' degrees and values, and from 5% of the people.

    Each by its sharpest variant.
    """
    names = {"friends_degrees": None, "friends_values": None, "seeds": "seeds.5%"}
    found: dict[str, float | None] = {}
    for name, variant in names.items():
        results = attack(case, PARAMS, np.random.default_rng(0), attacks=[name])
        values = [each.value for each in results if variant in (None, each.attack)]
        found[TOLD[name]] = max(values)
    if hides_values:
        found[TOLD["friends_values"]] = None
    return found


def _member_auc(true: AttributedGraph, run: Mechanism, seed: int) -> float:
    """Return how well members are told from a fifth of the people, in a release without these."""
    rng = np.random.default_rng(seed)
    is_out = np.zeros(true.n_vertices, dtype=np.bool_)
    is_out[rng.permutation(true.n_vertices)[: round(HELD_OUT_PEOPLE * true.n_vertices)]] = True
    members = np.flatnonzero(~is_out)
    made = run(true.subgraph(members), rng)
    behind = np.where(made.behind < 0, -1, members[made.behind])
    case = dataclasses.replace(made, behind=behind).case(true)
    asked = dataclasses.replace(case, held_out=is_out)
    results = attack(asked, PARAMS, rng, attacks=["membership_of_people"])
    return max(each.value for each in results)


def priv_graphs(folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of what the authors of PrivGraph published, and of our code after them."""
    for truth in sorted(folder.glob("*_truth.txt*")):
        name = truth.name.partition("_")[0]
        ties = _ties(truth)
        (release,) = folder.glob(f"PrivGraph_{name}_1.5.txt*")
        n = int(ties.max()) + 1
        schema = Schema((), "-", frozenset()).expecting_nothing()
        codes = np.zeros((n, 1), dtype=np.int64)
        true = AttributedGraph.from_codes(schema, [["-"]], codes, ties)
        ours = priv_graph(n, ties, epsilon=1.5, rng=np.random.default_rng(seed))
        for title, edges in (("the authors'", _ties(release)), ("ours", ours)):
            published = Published(n, edges, np.arange(n))
            there, original = (igraph.Graph(n, each.tolist()) for each in (edges, ties))
            yield {
                "graph": f"{name}, PrivGraph at 1.5",
                "mechanism": title,
                **_truth(true, published),
                **_found(original, there, published.behind),
                **_attacked(published.case(true), hides_values=True),
            }


def _ties(path: Path) -> NDArray[np.int64]:
    """Return the distinct proper ties of a file with two numbers in a line."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        pairs = np.sort(np.loadtxt(file, dtype=np.int64), axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _degrees(graph: igraph.Graph) -> NDArray[np.int64]:
    return np.array(graph.degree(), dtype=np.int64)[:, None]


def _triangles(graph: igraph.Graph) -> NDArray[np.int64]:
    corners = np.array(graph.list_triangles(), dtype=np.int64).reshape(-1)
    triangles = np.bincount(corners, minlength=graph.vcount())
    return np.column_stack((_degrees(graph), triangles))


def _strangers(
    n: int, ties: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    pairs = np.sort(rng.integers(n, size=(4 * count, 2)), axis=1)
    fit = (pairs[:, 0] < pairs[:, 1]) & ~np.isin(edge_keys(pairs), edge_keys(ties))
    return pairs[fit][:count]


def _by_pycanon(python: str, graph: AttributedGraph | None) -> int | None:
    """Return k of the table of attributes and neighbour counts, as pycanon finds it."""
    if graph is None:
        return None
    columns = graph.schema.quasi_identifiers
    classes = graph.qi_classes
    counts = np.zeros((graph.n_vertices, int(classes.max()) + 1), dtype=np.int64)
    for u, v in ((0, 1), (1, 0)):
        np.add.at(counts, (graph.edges[:, u], classes[graph.edges[:, v]]), 1)
    table = {str(c): graph.codes[:, j].tolist() for j, c in enumerate(columns)}
    table |= {f"n{c}": counts[:, c].tolist() for c in range(counts.shape[1])}
    script = (
        "import json, sys, pandas as pd; from pycanon import anonymity\n"
        "table = pd.DataFrame(json.load(sys.stdin))\n"
        "print(anonymity.k_anonymity(table, list(table.columns)))"
    )
    done = subprocess.run(
        [python, "-c", script], input=json.dumps(table), capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def main() -> int:
    """Compare, and print the tables."""
    parser = argparse.ArgumentParser(description="What others publish of the same networks.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="of data sets; default: three")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pycanon", help="an interpreter that has pycanon")
    parser.add_argument("--privgraph", type=Path, help="releases of the authors of PrivGraph")
    parser.add_argument("--out", type=Path, default=Path("peers.jsonl"))
    arguments = parser.parse_args()
    graphs = from_folder(arguments.data) if arguments.data else [(DEMO, _demo())]
    names = arguments.names or ("cora,ego-facebook,ca-condmat" if arguments.data else DEMO)
    wanted = names.split(",")
    rows = []
    with arguments.out.open("w", encoding="utf-8") as file:
        for name, graph in graphs:
            if name in wanted:
                for row in compared(name, graph, arguments.seed, arguments.pycanon):
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    if arguments.privgraph:
        rows += priv_graphs(arguments.privgraph, arguments.seed)
        wanted = list(dict.fromkeys(row["graph"] for row in rows))
    print(
        "\n\n".join(table(name, [row for row in rows if row["graph"] == name]) for name in wanted)
    )
    return 0


def _demo() -> AttributedGraph:
    graph, _ = demo_network(2_000, seed=0).graph()
    return without_attributes(graph, ["region"])  # as the demo publishes it


def table(name: str, rows: list[dict[str, Any]]) -> str:
    """Return the figures of one graph as Markdown, a column for each mechanism."""
    titles = [row["mechanism"] for row in rows]
    lines = [f"### {name}", "", f"| | {' | '.join(titles)} |", "|---" * (len(rows) + 1) + "|"]
    safe = ("found by degree", "found by triangles", *TOLD.values(), "member AUC", "pycanon k")
    useful = ("precision", "recall", "F1", *QUERIES, "tie AUC", "label accuracy", "core s")
    for figure in (*safe, *useful):
        cells = [_cell(row.get(figure)) for row in rows]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {figure} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    raise SystemExit(main())
