"""Peers: each does what its paper says, and figures are those of naive ones."""

from __future__ import annotations

import itertools
import math

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.graph.synthetic import uniform
from lab.evaluation import peers
from lab.evaluation.downstream import label_accuracy, tie_auc
from lab.evaluation.peer_mechanisms import (
    block_model,
    equal_in_groups,
    k_degree,
    priv_graph,
    top_m_filter,
)
from lab.evaluation.pgb_queries import QUERIES, answers, errors

KARATE = nx.karate_club_graph()
TIES = np.array(sorted(tuple(sorted(tie)) for tie in KARATE.edges), dtype=np.int64)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=9), st.integers(1, 4))
def test_degrees_are_raised_as_little_as_can_be(degrees, k) -> None:
    """Against all ways to cut the descending degrees into groups of k or more."""
    k = min(k, len(degrees))
    down = np.array(sorted(degrees, reverse=True))
    raised = equal_in_groups(down, k)
    assert (raised >= down).all()
    assert np.unique(raised, return_counts=True)[1].min() >= k
    costs = []
    for cuts in itertools.product([False, True], repeat=len(down) - 1):
        groups = np.split(down, np.flatnonzero(cuts) + 1)
        if min(map(len, groups)) >= k:
            costs.append(sum(int(group[0] * len(group) - group.sum()) for group in groups))
    assert int((raised - down).sum()) == min(costs)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 6), st.integers(0, 99))
def test_k_degree_keeps_all_ties_and_hides_among_k(k, seed) -> None:
    """Every degree is that of k vertices, and no tie is missing or doubled."""
    found = k_degree(34, TIES, k, np.random.default_rng(seed))
    assert len(np.unique(found, axis=0)) == len(found)
    assert {tuple(tie) for tie in TIES.tolist()} <= {tuple(tie) for tie in found.tolist()}
    degrees = np.bincount(found.reshape(-1), minlength=34)
    assert np.unique(degrees, return_counts=True)[1].min() >= k


def test_without_noise_the_filter_publishes_the_truth() -> None:
    """And with all noise hardly any tie, but about as many edges."""
    rng = np.random.default_rng(0)
    assert np.array_equal(top_m_filter(34, TIES, 1e6, rng), TIES)
    noisy = top_m_filter(34, TIES, 0.5, rng)
    shared = {tuple(tie) for tie in noisy.tolist()} & {tuple(tie) for tie in TIES.tolist()}
    assert len(shared) < len(TIES) / 2
    assert len(np.unique(noisy, axis=0)) == len(noisy)


def test_priv_graph_keeps_what_noise_leaves() -> None:
    """Without noise: communities and numbers of edges, though not the ties themselves."""
    graph = nx.planted_partition_graph(4, 40, 0.3, 0.01, seed=1)
    ties = np.array([sorted(tie) for tie in graph.edges], dtype=np.int64)
    found = priv_graph(160, ties, 1e6, np.random.default_rng(0))
    assert len(np.unique(found, axis=0)) == len(found)
    assert (found[:, 0] < found[:, 1]).all()
    assert abs(len(found) - len(ties)) < 0.25 * len(ties)
    again = priv_graph(160, ties, 1e6, np.random.default_rng(0))
    assert np.array_equal(found, again)


def test_answers_are_those_of_networkx() -> None:
    """What both libraries know, of the karate club."""
    found = dict(zip(QUERIES, answers(igraph.Graph(34, TIES.tolist()), seed=0), strict=True))
    assert found["triangles"] == sum(nx.triangles(KARATE).values()) / 3
    assert found["diameter"] == nx.diameter(KARATE)
    assert found["mean distance"] == pytest.approx(nx.average_shortest_path_length(KARATE))
    assert found["global clustering"] == pytest.approx(nx.transitivity(KARATE))
    assert found["mean clustering"] == pytest.approx(nx.average_clustering(KARATE))
    assert found["assortativity"] == pytest.approx(nx.degree_assortativity_coefficient(KARATE))
    central = nx.eigenvector_centrality_numpy(KARATE, weight=None)
    own = np.array([central[v] for v in range(34)])
    assert found["eigenvector centrality"] == pytest.approx(own / own.max(), abs=1e-3)


def test_the_truth_answers_without_error() -> None:
    """And a path in its place does not."""
    true = answers(igraph.Graph(34, TIES.tolist()), seed=0)
    assert all(error == 0 for error in errors(true, true, np.arange(34)).values())
    path = answers(igraph.Graph(34, [(v, v + 1) for v in range(33)]), seed=0)
    wrong = errors(true, path, np.arange(34))
    assert wrong["edges"] == pytest.approx(1 - 33 / 78)
    assert all(error > 0 for name, error in wrong.items() if name != "vertices")


def test_tie_scores_are_those_of_adamic_and_adar() -> None:
    """Against networkx, pair by pair; a pair that is not published scores 0."""
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.integers(34, size=(40, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    scores = [score for _, _, score in nx.adamic_adar_index(KARATE, pairs.tolist())]
    first, second = scores[:10], [*scores[10:], 0.0]
    won = [(a > b) + (a == b) / 2 for a in first for b in second]
    strangers = np.concatenate((pairs[10:], [[3, -1]]))
    assert tie_auc(TIES, 34, pairs[:10], strangers) == pytest.approx(np.mean(won))


def test_labels_spread_along_ties() -> None:
    """Two cliques with one label known in each; a vertex without a label is not asked."""
    clique = list(itertools.combinations(range(5), 2))
    edges = np.array([*clique, *((u + 5, v + 5) for u, v in clique), (4, 10)])
    labels = np.array([0] * 5 + [1] * 5 + [-1])
    known = np.isin(np.arange(11), [0, 5])
    assert label_accuracy(edges, labels, known) == 1.0


def test_an_attacker_who_knows_degrees_finds_whom_they_tell_apart() -> None:
    """In the truth one in each degree, by chance; a release of one degree tells nobody."""
    star = igraph.Graph(5, [(0, v) for v in range(1, 5)])
    found = peers._found(star, star, np.arange(5))
    assert found["found by degree"] == pytest.approx((1 + 4 / 4) / 5)
    ring = igraph.Graph(5, [(v, (v + 1) % 5) for v in range(5)])
    assert peers._found(star, ring, np.arange(5))["found by degree"] == pytest.approx(1 / 5)


def test_all_mechanisms_are_compared() -> None:
    """A small graph goes through all; the truth has no error, and the table has a column each."""
    graph = uniform(120, 400, rng=np.random.default_rng(0), n_tuples=2)
    rows = list(peers.compared("small", graph, 0, None))
    assert [row["mechanism"] for row in rows] == list(peers.MECHANISMS)
    truth = rows[0]
    assert truth["F1"] == 1.0
    assert all(truth[name] == 0 for name in QUERIES)
    assert all(math.isfinite(row["tie AUC"]) for row in rows)
    lines = peers.table("small", rows).splitlines()
    assert {line.count("|") for line in lines[2:]} == {len(rows) + 2}


def test_blocks_keep_counts_between_classes_and_nothing_else() -> None:
    """Without noise each pair of classes has as many ties; hardly any is true, none is doubled."""
    rng = np.random.default_rng(0)
    graph = uniform(300, 1500, rng=rng, n_tuples=4)
    classes = graph.qi_classes.astype(np.int64)

    def counts(edges: np.ndarray) -> dict[tuple[int, ...], int]:
        pairs, found = np.unique(np.sort(classes[edges], axis=1), axis=0, return_counts=True)
        return dict(zip(map(tuple, pairs.tolist()), found.tolist(), strict=True))

    drawn = block_model(graph.edges.astype(np.int64), classes, epsilon=1e9, rng=rng)
    assert counts(drawn) == counts(graph.edges)
    assert len(np.unique(drawn, axis=0)) == len(drawn)
    assert (drawn[:, 0] < drawn[:, 1]).all()
    true = set(map(tuple, graph.edges.tolist()))
    assert sum(tuple(edge) in true for edge in drawn.tolist()) < len(drawn) / 8
    assert len(block_model(drawn[:0], classes, epsilon=1e9, rng=rng)) == 0


def test_attackers_find_people_in_the_truth_and_not_in_blocks(tmp_path) -> None:
    """By friends' degrees, by seeds, and as members; values are told only where they are shown."""
    graph = uniform(150, 900, rng=np.random.default_rng(1), n_tuples=3)
    wanted = {"the truth", "DP blocks, 5"}
    rows = {}
    for title in wanted:
        run = peers.MECHANISMS[title][1]
        published = run(graph, np.random.default_rng(0))
        hides = published.graph is None
        rows[title] = peers._attacked(published.case(graph), hides_values=hides)
        rows[title]["member AUC"] = peers._member_auc(graph, run, 0)
    truth, blocks = rows["the truth"], rows["DP blocks, 5"]
    assert truth["found by friends' values"] is None
    assert blocks["found by friends' values"] < 0.2
    for name in ("found by friends' degrees", "found from 5% known", "member AUC"):
        assert truth[name] > 0.8
        assert blocks[name] < 0.65


def test_releases_of_others_are_read_and_judged(tmp_path) -> None:
    """Ties given twice and to oneself are none; a release that is the truth has F1 1."""
    lines = "".join(f"{u}\t{v}\n" for u, v in TIES)
    (tmp_path / "Karate_truth.txt").write_text(lines + "0 0\n1 0\n")
    (tmp_path / "PrivGraph_Karate_1.5.txt").write_text(lines)
    theirs, ours = peers.priv_graphs(tmp_path, seed=0)
    assert theirs["F1"] == 1
    assert theirs["found by friends' degrees"] > ours["found by friends' degrees"]
    assert "| the authors' | ours |" in peers.table(theirs["graph"], [theirs, ours])
