"""The score of a release and its parts."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph
from ktsafe.audit import trace, usefulness
from ktsafe.audit.utility import utility_figures
from ktsafe.stream.report.score import READS, score
from tests.stream.report.examples import graph, told


def test_the_truth_itself_has_the_full_score() -> None:
    """Released as it is, a graph has 1 in every part but communities, which differ by run."""
    true = graph()
    traced = trace(true, true, np.arange(true.n_vertices))
    figures = utility_figures(traced, rng=np.random.default_rng(0))
    figures["communities"]["nmi"] = figures["communities"]["nmi_again"]
    found = score(usefulness(traced).to_mapping(), figures)
    assert {part["name"]: part["score"] for part in found["parts"]} == dict.fromkeys(READS, 1.0)
    assert found["score"] == 1.0


def test_a_release_without_ties_is_good_for_nothing_but_people() -> None:
    """Everybody alone agrees well with small communities; that is no merit, nor is any distance."""
    true = graph()
    bare = AttributedGraph.from_codes(true.schema, true.categories, true.codes, [])
    traced = trace(true, bare, np.arange(true.n_vertices))
    figures = utility_figures(traced, rng=np.random.default_rng(0))
    found = score(usefulness(traced).to_mapping(), figures)
    parts = {part["name"]: part["score"] for part in found["parts"]}
    wanted = ("Ties", "Degrees", "Distances", "Clustering", "Communities")
    assert {parts[name] for name in wanted} == {0.0}
    assert (parts["People"], parts["Attributes"]) == (1.0, 1.0)


def test_a_part_that_is_not_known_leaves_no_score() -> None:
    """A mean of fewer parts would be another score."""
    audit = told().audit
    assert score(audit["usefulness"], audit["utility"])["score"] is not None
    found = score(audit["usefulness"], None)
    assert found["score"] is None
    assert [part["name"] for part in found["parts"] if part["score"] is not None] == [
        "Ties",
        "People",
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0, 100),
    st.none() | st.floats(0, 20),
    st.none() | st.floats(0, 20),
)
def test_every_part_lies_between_nothing_and_the_truth(f1, moved, hops, more_hops) -> None:
    """Whatever the figures, parts and score are from 0 to 1, and the score is their plain mean."""
    audit = copy.deepcopy(dict(told().audit))
    audit["usefulness"]["edges"]["f1"] = f1
    audit["utility"]["degree_emd"] = moved
    audit["utility"]["paths"]["mean_hops"] = {"original": hops, "released": more_hops}
    found = score(audit["usefulness"], audit["utility"])
    parts = [part["score"] for part in found["parts"]]
    assert all(part is None or 0 <= part <= 1 for part in parts)
    if None in parts:
        assert found["score"] is None
    else:
        assert found["score"] == pytest.approx(sum(parts) / len(parts), abs=1e-5)
