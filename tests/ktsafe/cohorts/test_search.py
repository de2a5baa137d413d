"""The search: its table follows the rounds, and its bounds on degrees hold."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.cohorts.dilution import dilute
from ktsafe.cohorts.search import BUDGETS, degree_caps, in_step, serve
from ktsafe.index.table import LocationTable, real_floors, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params, seen


@settings(max_examples=30, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_a_table_carried_over_rounds_equals_a_new_one(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """After every round each vertex is placed and counted as in a table that is made anew."""
    rng = np.random.default_rng(seed)
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    rule = similarity_rule(working.space, params)
    floors = real_floors(working, rule)
    table = in_step(None, working, rule, floors)
    for _ in range(3 if working.n else 0):
        diluted = dilute(working, table, everywhere=True)
        lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
        serve(working, table, lifted, diluted, params, rng, BUDGETS["fast"])
        table = in_step(table, working, rule, floors)
        assert seen(LocationTable(working, rule, degree_caps(working), floors)) == seen(table)


@settings(max_examples=30, deadline=None)
@given(graphs(n_max=40), privacy_params())
def test_a_table_that_degrees_could_outgrow_is_made_anew(
    graph: AttributedGraph, params: PrivacyParams
) -> None:
    """Whatever table there was, the one returned has room for what a round may add."""
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    rule = similarity_rule(working.space, params)
    floors = real_floors(working, rule)
    narrow = LocationTable(working, rule, np.zeros(working.space.n_classes, dtype=np.int64), floors)
    for table in (None, narrow):
        room = np.diff(in_step(table, working, rule, floors).arrays.bucket_start)
        assert (room > degree_caps(working)).all()


@settings(max_examples=30, deadline=None)
@given(graphs(n_max=40))
def test_degree_caps_bound_what_targets_ask_for(graph: AttributedGraph) -> None:
    """A class's cap is more than twice its columns' maxima together, one by one counted."""
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    g, caps = working.arrays, degree_caps(working)
    for c in range(working.space.n_classes):
        rows = g.hist[: working.n][g.cls[: working.n] == c]
        assert caps[c] > 2 * rows.max(axis=0).sum()
