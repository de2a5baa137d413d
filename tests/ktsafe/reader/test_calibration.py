"""A calibrated graph: as many ties between values as the tables say, and triangles as before."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from ktsafe import AttributedGraph, InvalidParams
from ktsafe.reader import StudiedRelease
from ktsafe.reader.estimates import Changing, StudiedTable, calibrated_edges
from tests.ktsafe.reader.test_reader import one, some_graph, write


def clustered(seed: int) -> tuple[AttributedGraph, AttributedGraph]:
    """Return a network with triangles, and the same with half of its ties across classes."""
    rng = np.random.default_rng(seed)
    people = some_graph(seed, n=500, m=10)
    ties = np.array(nx.watts_strogatz_graph(500, 10, 0.2, seed=seed).edges)
    truth = AttributedGraph.from_codes(people.schema, people.categories, people.codes, ties)
    unlike = (people.codes[ties[:, 0]] != people.codes[ties[:, 1]]).any(axis=1)
    shown = ties[~unlike | (rng.random(len(ties)) < 0.5)]
    return truth, AttributedGraph.from_codes(people.schema, people.categories, people.codes, shown)


def between(release: StudiedRelease, by: str) -> Counter[frozenset[str]]:
    """Count edges between values, one by one."""
    value = release.columns[by].tolist()
    return Counter(frozenset((value[a], value[b])) for a, b in release.edges.tolist())


@pytest.mark.parametrize("seed", range(5))
def test_ties_agree_and_triangles_stay(tmp_path: Path, seed: int) -> None:
    """Counts are those of the tables but for rounding; transitivity is that of the release."""
    truth, shown = clustered(seed)
    release = one(write(tmp_path / "r", shown, truth=truth))
    made = release.calibrated(seed)
    rounding = 4 * np.sqrt(21 / 4)  # Each of 21 pairs of classes is rounded by chance.
    for table in release.tables:
        if table.of == "ties" and table.by is not None:
            # Tables of two attributes differ in their totals, by the noise of all cells.
            found, noise = between(made, table.by), 3 * table.scale * len(table.cells) ** 0.5
            for pair, count in zip(table.cells, table.counts.tolist(), strict=True):
                if None not in pair:
                    off = abs(found[frozenset(map(str, pair))] - max(count, 0))
                    assert off <= rounding + noise
    before, after = nx.transitivity(release.to_networkx()), nx.transitivity(made.to_networkx())
    assert before > 0.15
    assert after == pytest.approx(before, rel=0.05)
    assert len(made.edges) > 1.2 * len(release.edges)
    assert (made.edges[:, 0] < made.edges[:, 1]).all()
    assert len(np.unique(made.edges, axis=0)) == len(made.edges)
    assert np.array_equal(release.calibrated(seed).edges, made.edges)


def test_tables_of_all_attributes_are_met() -> None:
    """Tables without noise, of two attributes: each cell is met but for rounding."""
    truth, shown = clustered(0)
    columns = [np.array(truth.categories[j])[truth.codes[:, j]] for j in range(2)]
    tables, wanted = {}, []
    for j, values in enumerate(columns):
        ends = np.sort(values[truth.edges], axis=1).tolist()
        wanted.append(Counter(map(tuple, ends)))
        counts = np.array(list(wanted[j].values()))
        tables[j] = StudiedTable("ties", str(j), list(wanted[j]), counts, 0.0)
    edges = calibrated_edges(columns, shown.edges, tables, np.random.default_rng(0))
    for values, counts in zip(columns, wanted, strict=True):
        found = Counter(map(tuple, np.sort(values[edges], axis=1).tolist()))
        assert max(abs(found[cell] - n) for cell, n in counts.items()) <= 4 * np.sqrt(21 / 4)


def test_counts_are_rounded_up_as_often_as_down() -> None:
    """Seven ties among three pairs of classes, drawn often, are seven in the mean; -7 are none."""
    columns = [np.array(["x", "x"] * 20), np.array(["p", "q"] * 20)]
    table = StudiedTable("ties", "a", [("x", "x")], np.array([7]), 1.0)
    none = np.zeros((0, 2), dtype=np.int64)
    drawn = [
        calibrated_edges(columns, none, {0: table}, np.random.default_rng(seed))
        for seed in range(400)
    ]
    assert np.mean([*map(len, drawn)]) == pytest.approx(7, abs=0.15)
    table = StudiedTable("ties", "a", [("x", "x")], np.array([-7]), 1.0)
    assert not len(calibrated_edges(columns, drawn[0], {0: table}, np.random.default_rng(0)))


def test_neighbours_and_triangles_follow_edges_that_come_and_go() -> None:
    """They are those of a graph that is made anew of the edges that are left."""
    rng, of = np.random.default_rng(0), np.zeros(12, dtype=np.int64)
    graph = Changing(1, of, np.array(nx.gnm_random_graph(12, 30, seed=0).edges))
    for step in range(40):
        (graph.drop if step % 3 else graph.add)(0, 0, rng)
    again = Changing(1, of, graph.edges)
    assert (graph.near, graph.closed()) == (again.near, again.closed())


def test_gaps_are_filled(tmp_path: Path) -> None:
    """Pairs of classes that show no edge get those that the tables ask for."""
    truth, _ = clustered(0)
    unlike = (truth.codes[truth.edges[:, 0]] != truth.codes[truth.edges[:, 1]]).any(axis=1)
    alike = truth.edges[~unlike]
    shown = AttributedGraph.from_codes(truth.schema, truth.categories, truth.codes, alike)
    made = one(write(tmp_path / "r", shown, truth=truth)).calibrated()
    assert len(made.edges) == pytest.approx(truth.n_edges, rel=0.03)


def test_nothing_to_agree_with_is_said(tmp_path: Path) -> None:
    """Without noisy tables there is no calibrated graph."""
    release = one(write(tmp_path / "r", some_graph(), truth=None))
    with pytest.raises(InvalidParams, match="no noisy tables"):
        release.calibrated()


def test_pytorch_geometric_gets_codes_and_both_directions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its classes are stood in for: what they are given is whole numbers of the right shapes."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=np.asarray))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", SimpleNamespace(Data=SimpleNamespace))
    release = one(write(tmp_path / "r", some_graph(4, n=60, m=40), truth=None))
    data = release.to_pyg()
    assert (data.x.shape, data.x.dtype) == ((60, len(release.columns)), np.int64)
    assert (data.edge_index.shape, data.edge_index.flags["C_CONTIGUOUS"]) == ((2, 80), True)
    for column, codes in zip(release.columns.values(), data.x.T, strict=True):
        assert np.unique(column)[codes].tolist() == column.tolist()
