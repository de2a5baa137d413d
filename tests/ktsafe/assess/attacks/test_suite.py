"""The suite: which attacks run, on what, and with which randomness."""

from __future__ import annotations

import dataclasses
import functools
import json

import numpy as np
import pytest
from hypothesis import assume, given

from ktsafe import InvalidGraph, InvalidParams, PrivacyParams
from ktsafe.assess.attacks import ATTACKS, Case, ids_removed, run
from tests.graphs import attributed, small_graphs
from tests.ktsafe.assess.attacks.releases import noisy, random_graph
from tests.naive import Small

PARAMS = PrivacyParams(k=5)


def case() -> Case:
    """Return a release of 120 people."""
    rng = np.random.default_rng(0)
    made = noisy(random_graph(120, 700, rng, community=20), rng, added=200, inserted=6)
    return dataclasses.replace(made, held_out=np.arange(120) < 1)


def told(case: Case, **kwargs) -> dict[str, str]:
    """Return the results of a run with seed 0, as text by attack."""
    rng = np.random.default_rng(0)
    results = run(case, PARAMS, rng, **kwargs)
    assert len({r.attack for r in results}) == len(results)
    return {r.attack: json.dumps(r.to_mapping()) for r in results}


@functools.cache
def everything() -> dict[str, str]:
    """Return the results of all attacks together."""
    return told(case())


@given(small_graphs(max_attributes=2), small_graphs(max_attributes=2))
def test_codes_of_both_graphs_stand_for_the_same_texts(one: Small, other: Small) -> None:
    """Equal texts have equal codes, others have others, and none is beyond the number told."""
    widths = [{len(each) for each in graph.quasi_identifiers} for graph in (one, other)]
    assume(widths[0] == widths[1] != set())
    graphs = [attributed(one), attributed(other)]
    true, shown, sizes = Case(*graphs, np.full(graphs[1].n_vertices, -1)).values
    for j, size in enumerate(sizes):
        of_text: dict[str, set[int]] = {}
        for graph, codes in zip(graphs, (true, shown), strict=True):
            texts = [graph.categories[j][code] for code in graph.codes[:, j].tolist()]
            for text, code in zip(texts, codes[:, j].tolist(), strict=True):
                of_text.setdefault(text, set()).add(code)
        found = [code for codes in of_text.values() for code in codes]
        assert len(found) == len(of_text) == len(set(found))
        assert max(found) < size


def test_the_same_seed_gives_the_same_results() -> None:
    """Two runs agree in every figure."""
    assert told(case()) == everything()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_finds_the_same_alone(name: str) -> None:
    """What an attack finds does not depend on which others run."""
    alone = told(case(), attacks=[name])
    assert alone
    assert alone.items() <= everything().items()


def test_inserted_ids_and_order_do_not_reach_the_results() -> None:
    """Results name no vertex: every figure is a count, a share or a band of degrees or sizes."""
    rng = np.random.default_rng(0)
    graph = random_graph(60, 200, rng)
    for result in run(Case(graph, *ids_removed(graph, rng)), PARAMS, rng):
        assert all(band.startswith(("degree ", "class size ")) for band in result.bands)


def test_unknown_attacks_and_wrong_mappings_are_refused() -> None:
    """A misspelt attack, a mapping that is too short or names somebody twice."""
    it = case()
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidParams, match="one_hop"):
        run(it, PARAMS, rng, attacks=["one-hop"])
    for wrong in (it.original_of[1:], np.zeros_like(it.original_of), it.original_of + 1000):
        with pytest.raises(InvalidGraph):
            Case(it.original, it.released, wrong)


def test_progress_is_told() -> None:
    """The last report says that all is done."""
    told_so_far: list[tuple[str, float]] = []
    told(case(), attacks=["one_hop"], progress=lambda *x: told_so_far.append(x))
    assert told_so_far == [("one_hop", 0), ("one_hop", 1)]
