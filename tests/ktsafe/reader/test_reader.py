"""What readers make of a release: figures against counts of networkx, intervals against the truth.

Releases here are written by the test itself; the tables have the noise of
`ktsafe.statistics`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import ktsafe
from ktsafe import AttributedGraph, InvalidParams
from ktsafe.graph.synthetic import uniform
from ktsafe.reader import FIGURES, Estimate, NotARelease, Releases, StudiedRelease
from ktsafe.reader.estimates import possible
from ktsafe.statistics import MICRO, SecretBytes, TrueChanges, noisy_tables

PER_RELEASE = 3 * MICRO // 4
"""Epsilon of a file, in millionths."""
CHANGED = TrueChanges(ties_gained=900, ties_lost=300, people_joined=200, people_left=100)


def write(
    folder: Path, graph: AttributedGraph, *, truth: AttributedGraph | None, seed: int = 0
) -> Path:
    """Write a graph as a release, with tables of a true graph if one is given."""
    folder.mkdir()
    names = graph.schema.attributes
    values = [
        [graph.categories[j][code] for code in graph.codes[:, j].tolist()]
        for j in range(len(names))
    ]
    rows = zip(range(graph.n_vertices), *values, strict=True)
    vertices = [",".join(["id", *names]), *(",".join(map(str, row)) for row in rows)]
    edges = ["source,target", *(f"{a},{b}" for a, b in graph.edges.tolist())]
    files = {"vertices.csv": "\n".join(vertices) + "\n", "edges.csv": "\n".join(edges) + "\n"}
    if truth is not None:
        secret = SecretBytes(seed.to_bytes(32, "big"), "tables")
        tables = [
            {
                "of": table.of,
                "by": table.by,
                "scale": Fraction(table.scale).as_integer_ratio(),
                "cells": table.cells,
                "counts": table.counts,
                "across": table.across,
            }
            for table in noisy_tables(truth, graph, PER_RELEASE, secret, CHANGED)
        ]
        files["statistics.json"] = json.dumps({"tables": tables})
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    schema = {"quasi_identifiers": list(graph.schema.quasi_identifiers)}
    manifest = {"release_id": folder.name, "schema": schema, "sha256": digests}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def some_graph(seed: int = 0, n: int = 400, m: int = 2400) -> AttributedGraph:
    """Return a network of strangers in six classes."""
    return uniform(n, m, rng=np.random.default_rng(seed), n_tuples=6)


def with_other_ties(graph: AttributedGraph, m: int) -> AttributedGraph:
    """Return the same people with so many ties of strangers."""
    ties = uniform(graph.n_vertices, m, rng=np.random.default_rng(9)).edges
    return AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, ties)


def one(folder: Path) -> StudiedRelease:
    """Read one release."""
    release = ktsafe.read(folder)
    assert isinstance(release, StudiedRelease)
    return release


def by_networkx(graph: AttributedGraph, by: str) -> dict[tuple[str, ...], float]:
    """Return figures of a graph, counted with networkx and plain Python."""
    j = graph.schema.attributes.index(by)
    value = [graph.categories[j][code] for code in graph.codes[:, j].tolist()]
    g = nx.Graph(graph.edges.tolist())
    g.add_nodes_from((v, {by: value[v]}) for v in range(graph.n_vertices))
    n, m = g.number_of_nodes(), g.number_of_edges()
    within = sum(value[u] == value[v] for u, v in g.edges)
    found: dict[tuple[str, ...], float] = {
        ("people",): n,
        ("ties",): m,
        ("mean_degree",): 2 * m / n,
        ("density",): nx.density(g),
        ("isolated_share",): nx.number_of_isolates(g) / n,
        ("assortativity",): nx.attribute_assortativity_coefficient(g, by),
        ("share_of_ties_within",): within / m,
        ("modularity",): nx.community.modularity(
            g, [{v for v in g if value[v] == a} for a in set(value)]
        ),
    }
    spread = np.std([degree for _, degree in g.degree()])
    for a in set(value):
        members = {v for v in g if value[v] == a}
        ends = sum(dict(g.degree(members)).values())
        found["people_of", a] = len(members)
        found["share_of_people", a] = len(members) / n
        found["mean_degree_of", a] = ends / len(members)
        found["share_of_ties_within_of", a] = 2 * g.subgraph(members).number_of_edges() / ends
        for b in set(value):
            gap = np.mean([d for _, d in g.degree(members)])
            gap -= np.mean([d for v, d in g.degree() if value[v] == b])
            sizes = 1 / len(members) + 1 / value.count(b)
            found["degree_gap", a, b] = gap
            found["degree_gap_t", a, b] = gap / (1.25 * spread * sizes**0.5)
            others = {v for v in g if value[v] == b}
            steps = sum(w in others for v in members for w in g[v])
            found["ties_between", a, b] = steps / 2 if a == b else steps
            found["share_of_neighbours", a, b] = steps / ends
    return found


def test_figures_of_the_graph_are_those_of_networkx(tmp_path: Path) -> None:
    """Without tables every figure is the graph's own, and has no interval."""
    graph = some_graph()
    release = one(write(tmp_path / "r", graph, truth=None))
    by = release.attributes[0]
    expected = by_networkx(graph, by)
    changes = {"ties_gained", "ties_lost", "people_joined", "people_left"}
    changes |= {"share_of_ties_gained", "share_of_ties_lost"}
    assert {figure for figure, *_ in expected} == set(FIGURES) - changes
    assert all(np.isnan(release.estimate(figure).value) for figure in changes)
    for (figure, *values), count in expected.items():
        found = release.estimate(figure, *values, by=by)
        assert found.value == pytest.approx(count), figure
        assert (found.low, found.high, found.source) == (None, None, "graph")
    assert np.all(release.weights == 1)


def test_intervals_hold_the_truth(tmp_path: Path) -> None:
    """The graph shown is another one; the truth is in 95% of figures, differences and trends.

    Of figures by themselves, of two releases of two networks, and of five of one that stays.
    """
    truths = [some_graph(1), some_graph(1, m=2000)]
    shown = with_other_ties(truths[0], 1500)
    by = truths[0].schema.quasi_identifiers[0]
    expected = [by_networkx(truth, by) for truth in truths]
    series = [
        one(write(tmp_path / f"{seed}", shown, truth=truths[seed % 2], seed=seed))
        for seed in range(40)
    ]
    held: dict[str, list[bool]] = {"figures": [], "differences": [], "trends": []}

    def judge(kind: str, found: Estimate, truth: float) -> None:
        assert found.source == "tables"
        assert not np.isnan(found.value)
        assert found.low is not None
        assert found.high is not None
        held[kind].append(found.low - 1e-9 <= truth <= found.high + 1e-9)

    for asked, before in expected[0].items():
        figure, *values = asked
        if figure == "degree_gap_t":
            continue  # It has the spread of the graph, and no interval holds that.
        for i, release in enumerate(series):
            judge("figures", release.estimate(figure, *values, by=by), expected[i % 2][asked])
        for i in range(0, 40, 2):
            found = Releases(series[i : i + 2]).difference(figure, *values, by=by)
            judge("differences", found, expected[1][asked] - before)
        for i in range(4):
            found = Releases(series[10 * i : 10 * i + 10 : 2]).trend(figure, *values, by=by)
            judge("trends", found, 0.0)
    shares = {kind: np.mean(flags) for kind, flags in held.items()}
    assert all(0.92 < share < 0.99 for share in shares.values()), shares


def test_there_is_a_trend_only_where_there_is_one(tmp_path: Path) -> None:
    """A network that stays has no trend in most figures; one that grows does."""
    first = some_graph(3)
    graphs = [with_other_ties(first, 2400 + 150 * i) for i in range(6)]
    for i, graph in enumerate(graphs):
        write(tmp_path / f"{i}", graph, truth=graph, seed=i)
    grows = ktsafe.read(tmp_path)
    assert isinstance(grows, Releases)
    ties = grows.trend("ties")
    assert ties.direction == "up"
    assert ties.low is not None
    assert ties.high is not None
    assert abs(ties.value - 150) < ties.high - ties.low
    assert grows.difference("ties", first=0, last=5).direction == "up"
    assert grows.difference("ties", first=5, last=0).direction == "down"
    stays = Releases([one(write(tmp_path / f"s{i}", graphs[0], truth=graphs[0], seed=50 + i))
                      for i in range(6)])  # fmt: skip
    by = graphs[0].schema.quasi_identifiers[0]
    asked = [key for key in by_networkx(graphs[0], by) if key[0] != "isolated_share"]
    told = [stays.trend(figure, *values, by=by).direction for figure, *values in asked]
    assert np.mean([word == "not told" for word in told]) > 0.85
    assert len(stays.estimate("ties")) == len(stays) == 6


def test_figures_across_attributes_and_of_changes(tmp_path: Path) -> None:
    """Tables hold the truth for each, either attribute first; the graph alone counts itself."""
    truth = some_graph(1)
    shown = with_other_ties(truth, 1500)
    first, second = truth.schema.quasi_identifiers[:2]
    texts = [
        np.array(truth.categories[j])[truth.codes[:, j]] for j in range(truth.codes.shape[1] - 1)
    ]

    def steps(graph: AttributedGraph, a: str, b: str) -> int:
        ends = np.concatenate((graph.edges, graph.edges[:, ::-1]))
        return int(((texts[0][ends[:, 0]] == a) & (texts[1][ends[:, 1]] == b)).sum())

    pairs = [(a, b) for a in set(texts[0]) for b in set(texts[1])]
    held = []
    for seed in range(12):
        release = one(write(tmp_path / f"{seed}", shown, truth=truth, seed=seed))
        rows = [
            (CHANGED.ties_gained, release.estimate("ties_gained")),
            (CHANGED.people_left, release.estimate("people_left")),
        ]
        for a, b in pairs:
            found = release.estimate("ties_between", a, b, by=first, across=second)
            assert found == release.estimate("ties_between", b, a, by=second, across=first)
            rows.append((steps(truth, a, b), found))
            all_steps = sum(steps(truth, a, other) for other in set(texts[1]))
            share = release.estimate("share_of_neighbours", a, b, by=first, across=second)
            rows.append((steps(truth, a, b) / all_steps, share))
        for count, found in rows:
            assert found.low is not None
            assert found.high is not None
            held.append(found.low - 1e-9 <= count <= found.high + 1e-9)
    assert 0.9 < np.mean(held) < 0.995
    alone = one(write(tmp_path / "alone", shown, truth=None))
    a, b = pairs[0]
    ties = alone.estimate("ties_between", a, b, by=first, across=second)
    assert (ties.value, ties.low) == (steps(shown, a, b), None)
    with pytest.raises(InvalidParams):
        alone.estimate("mean_degree_of", a, by=first, across=second)


def test_weights_make_the_graph_agree_with_its_tables(tmp_path: Path) -> None:
    """Weighed edges add up to the tables' ties between values, but for the noise of the tables."""
    truth = some_graph(1)
    release = one(write(tmp_path / "r", with_other_ties(truth, 1500), truth=truth))
    by = release.attributes[0]
    table = next(t for t in release.tables if (t.of, t.by) == ("ties", by))
    ends = [tuple(sorted(pair)) for pair in release.columns[by][release.edges].tolist()]
    off, plain = [], []
    for cell, count in zip(table.cells, table.counts.tolist(), strict=True):
        chosen = [end == cell for end in ends]
        if any(chosen):
            off.append(abs(release.weights[chosen].sum() - count))
            plain.append(abs(sum(chosen) - count))
    assert np.mean(off) < 2 * table.scale < np.mean(plain) / 3


def test_what_is_not_shown_is_told_from_zero(tmp_path: Path) -> None:
    """A pair of values without an edge is not shown, and the tables still estimate it."""
    truth = some_graph(1)
    value = truth.codes[:, 0]
    crosses = value[truth.edges[:, 0]] != value[truth.edges[:, 1]]
    shown = AttributedGraph.from_codes(
        truth.schema, truth.categories, truth.codes, truth.edges[~crosses]
    )
    by = truth.schema.quasi_identifiers[0]
    release = one(write(tmp_path / "r", shown, truth=truth))
    rows, gaps = release.mixing(by), release.not_shown(by)
    for row in rows:
        a, b = row["values"]
        assert row["is_shown"] == (a == b)
        assert ((a, b) in gaps) == (a != b)
        assert row["ties"].low > 0


def test_intervals_stay_within_what_is_possible(tmp_path: Path) -> None:
    """Where noise drowns a figure, too: no negative count, no share above 1."""
    truth = some_graph(3, n=40, m=30)
    release = one(write(tmp_path / "r", truth, truth=truth))
    by = release.attributes[0]
    values = np.unique(release.columns[by]).tolist()
    narrowed = 0
    for figure, (wanted, _) in FIGURES.items():
        for chosen in itertools.product(values, repeat=wanted):
            told = release.estimate(figure, *chosen, by=by)
            if told.low is None or np.isnan(told.low):
                continue
            low, high = possible(figure)
            assert low <= told.low <= told.high <= high, figure
            assert low <= told.value <= high, figure
            narrowed += told.low == low or told.high == high
    assert narrowed > 5


def test_graphs_keep_people_without_ties(tmp_path: Path) -> None:
    """Other libraries' graphs have all people, all edges and their values."""
    graph = some_graph(4, n=60, m=40)
    release = one(write(tmp_path / "r", graph, truth=None))
    by = release.attributes[0]
    isolates = int((graph.degrees == 0).sum())
    assert isolates > 0
    g = release.to_networkx()
    assert (len(g), g.number_of_edges(), nx.number_of_isolates(g)) == (60, 40, isolates)
    assert {g.nodes[v][by] for v in g} == set(release.columns[by].tolist())
    h = release.to_igraph()
    assert (h.vcount(), h.ecount(), h.vs["name"]) == (60, 40, release.ids.tolist())
    vertices, edges = release.to_pandas()
    assert (len(vertices), len(edges), list(edges)) == (60, 40, ["source", "target"])
    weighted = release.to_pandas(weights=True)[1]
    assert weighted["weight"].tolist() == release.weights.tolist()
    assert release.edge_index.shape == (2, 80)


def test_releases_show_themselves_briefly(tmp_path: Path) -> None:
    """In a line, in a notebook as a table; of many releases the last ones."""
    graph = some_graph()
    for i in range(22):
        write(tmp_path / f"{i:06}<", graph, truth=None if i else graph)
    releases = ktsafe.read(tmp_path)
    assert isinstance(releases, Releases)
    first = releases[0]
    size = "400 vertices, 2,400 edges"
    assert repr(first) == f"<StudiedRelease 000000<: {size}; {', '.join(first.columns)}>"
    assert repr(releases) == "<Releases: 22, 000000< to 000021<>"
    assert all(len(repr(table)) < 90 for table in first.tables)
    page = first._repr_html_()
    assert all(word in page for word in (size, "000000&lt;", "error bars", first.signature))
    assert "without error bars" in releases[1]._repr_html_()
    page = releases._repr_html_()
    assert page.count("<tr>") == 21
    assert "2 earlier ones" in page
    assert "000021&lt;" in page


def test_a_reader_needs_numpy_only(tmp_path: Path) -> None:
    """Neither compiler nor libraries of graphs are loaded for a figure."""
    folder = write(tmp_path / "r", some_graph(), truth=some_graph())
    heavy = ("numba", "scipy", "networkx", "pandas", "msgspec")
    program = (
        "import sys, ktsafe\n"
        f"ktsafe.read({str(folder)!r}).estimate('ties')\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert told.stdout == "[]\n"


def test_faults_are_named(tmp_path: Path) -> None:
    """A changed byte, a missing file, and figures that there are not."""
    folder = write(tmp_path / "r", some_graph(), truth=None)
    release = one(folder)
    by = release.attributes[0]
    for figure, values, attribute in (
        ("no_such", (), by),
        ("ties_between", ("a",), by),
        ("assortativity", (), None),
        ("people_of", ("no such value",), by),
        ("ties", (), "no such attribute"),
    ):
        with pytest.raises(InvalidParams):
            release.estimate(figure, *values, by=attribute)
    with pytest.raises(InvalidParams):
        Releases([release]).trend("ties")
    text = (folder / "edges.csv").read_text()
    (folder / "edges.csv").write_text(text.replace("1", "2", 1))
    with pytest.raises(NotARelease):
        ktsafe.read(folder)
    (folder / "edges.csv").unlink()
    with pytest.raises(NotARelease):
        ktsafe.read(folder)


def test_turnover_is_told_by_the_mean_of_all_releases(tmp_path: Path) -> None:
    """Its intervals hold the truth, are narrower than those of one release, and none is made up."""
    graph = some_graph()
    exact = {
        "share_of_ties_gained": CHANGED.ties_gained / graph.n_edges,
        "share_of_ties_lost": CHANGED.ties_lost
        / (graph.n_edges - CHANGED.ties_gained + CHANGED.ties_lost),
    }
    told = [one(write(tmp_path / f"{seed}", graph, truth=graph, seed=seed)) for seed in range(64)]
    bare = one(write(tmp_path / "bare", graph, truth=None))
    for figure, share in exact.items():
        means = [Releases(told[i : i + 4]).mean(figure) for i in range(0, len(told), 4)]
        assert np.mean([m.low <= share <= m.high for m in means]) >= 0.85
        widths = [m.high - m.low for m in means]
        alone = told[0].estimate(figure)
        assert np.mean(widths) < 0.65 * (alone.high - alone.low)
        assert Releases([bare, *told[:4]]).mean(figure) == means[0]
        nothing = Releases([bare]).mean(figure)
        assert np.isnan(nothing.value)
        assert nothing.low is None


@pytest.mark.parametrize(
    ("n", "m", "n_few", "is_told"),
    [(4000, 24_000, 600, True), (200, 8_000, 30, False), (4000, 24_000, 3, False)],
)
def test_a_t_is_told_where_noise_does_not_make_it(
    tmp_path: Path, n: int, m: int, n_few: int, is_told: bool
) -> None:
    """Many people with few ties each; few with many, whose noisy number moves the mean degree.

    Of two groups either may be the small one.
    """
    graph = some_graph(5, n, m)
    codes = graph.codes.copy()
    codes[:, 0] = np.arange(n) >= n_few
    graph = AttributedGraph.from_codes(graph.schema, graph.categories, codes, graph.edges)
    release = one(write(tmp_path / "r", graph, truth=graph))
    by = release.attributes[0]
    first, second = np.unique(release.columns[by]).tolist()
    turned = release.estimate("degree_gap_t", second, first, by=by)
    told = release.estimate("degree_gap_t", first, second, by=by)
    assert np.isnan(turned.value) == np.isnan(told.value)
    assert np.isnan(told.value) != is_told
    assert not np.isnan(release.estimate("degree_gap", first, second, by=by).value)
