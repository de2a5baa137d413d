"""Releases made one from the other: safe, true to the graph, and their index exact, each time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe import incremental as package
from ktsafe.incremental import (
    IncrementalReleases,
    Release,
    ReleaseCorrupted,
    _collecting_core,
    engine,
    repair,
)
from ktsafe.index._table_core import Rule, Table
from ktsafe.index.table import LocationTable, real_floors
from ktsafe.verify import verify_graph
from ktsafe.working._graph_core import Working, withdraw_edge
from tests.ktsafe.incremental.streams import OPTIONS, SCHEMA, Network, begun, never_afresh

Keys = NDArray[np.int64]
PARAMS = PrivacyParams(k=3, t=Fraction(1, 5), alpha=Fraction(2, 5), epsilon=2)


def seen(release: Release, table: LocationTable) -> list[tuple[int, ...]]:
    """Return class, degree, neighbours and counts of the location of every vertex."""
    t = table.arrays
    at = t.of_vertex
    assert len(at) == release.graph.n_vertices
    counts = (t.cls, t.degree, t.population, t.sensitive, t.real, *seen_by(table))
    parts = [column[at].reshape(-1, 1) for column in counts] + [t.hist[at]]
    return [tuple(row) for row in np.hstack(parts).tolist()]


def seen_by(table: LocationTable) -> tuple[NDArray[np.int32], ...]:
    """Return the sizes of protection sets: all, sensitive, real."""
    return table.arrays.ps_size, table.arrays.ps_sensitive, table.arrays.ps_real


def rebuilt(release: Release, table: LocationTable) -> LocationTable:
    """Return the index as the released graph alone gives it."""
    caps = np.zeros(len(table.arrays.bucket_start) - 1, dtype=np.int64)
    working = release.working()
    made = LocationTable(working, table.rule, caps, real_floors(working, table.rule))
    assert made.arrays.floor.tolist() == table.arrays.floor.tolist()
    return made


def check_against(network: Network, graph: AttributedGraph, keys: Keys, release: Release) -> None:
    """Compare a release with the true graph: people, attributes, ties, and what is inserted."""
    n = len(network.people)
    assert release.keys.tolist() == sorted(network.people)
    values = [tuple(release.graph.values(v).values()) for v in range(n)]
    assert values == [network.people[key] for key in release.keys.tolist()]
    named = release.keys[release.ties]
    assert {tuple(tie) for tie in named.tolist()} == network.ties
    released = {tuple(sorted(edge)) for edge in release.graph.edges.tolist()}
    true, inserted = (
        {tuple(sorted(edge)) for edge in ties.tolist()} for ties in (release.ties, release.inserted)
    )
    assert released == true | inserted
    assert not true & inserted
    assert release.cost == release.graph.n_vertices - n + len(released) - graph.n_edges
    assert set(release.graph.qi_classes[n:].tolist()) <= set(release.graph.qi_classes[:n].tolist())
    assert len(keys) == n


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 3, 5]), st.integers(0, 40))
def test_every_prefix_is_safe_and_its_index_exact(seed: int, k: int, people: int) -> None:
    """After every batch: verified, the truth inside, and the index that of the released graph."""
    params = PrivacyParams(k=k, t=Fraction(1, 5), alpha=Fraction(2, 5), epsilon=2)
    rng = np.random.default_rng(seed)
    network, releases = Network(rng, people), begun(params)
    with never_afresh():
        for batch in range(5):
            graph, keys = network.graph()
            step = releases.release(graph, keys, rng)
            # Of nobody everything is more than a share.
            assert step.is_fresh == (batch == 0) or not graph.n_vertices
            assert releases.last is not None
            verify_graph(releases.last.graph, params).raise_if_unsafe()
            check_against(network, graph, keys, releases.last)
            table = releases._table
            if table is not None:
                assert seen(releases.last, table) == seen(
                    releases.last, rebuilt(releases.last, table)
                )
            network.change()


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**32))
def test_what_was_saved_goes_on_alike(seed: int) -> None:
    """Read back from pages after every batch, the next releases are the same byte for byte."""
    rng = np.random.default_rng(seed)
    network, releases = Network(rng, 30), begun(PARAMS)
    again = begun(PARAMS)
    with never_afresh():
        for batch in range(4):
            graph, keys = network.graph()
            for each in (releases, again):
                each.release(graph, keys, np.random.default_rng([seed, batch]))
            pages = releases.to_pages()
            assert pages == again.to_pages()
            again = IncrementalReleases.from_pages(pages, SCHEMA, PARAMS, OPTIONS)
            network.change()


def test_damaged_pages_are_refused() -> None:
    """A page that is missing, or another's, is noticed."""
    rng = np.random.default_rng(5)
    network, releases = Network(rng, 30), begun(PARAMS)
    with never_afresh():
        for _ in range(2):
            releases.release(*network.graph(), rng)
            network.change()
    pages = releases.to_pages()
    assert {name.split("/")[0] for name in pages} == {
        "meta",
        "codes",
        "keys",
        "ties",
        "inserted",
        "index",
    }
    for name in pages:
        fewer = {other: page for other, page in pages.items() if other != name}
        with pytest.raises(ReleaseCorrupted):
            IncrementalReleases.from_pages(fewer, SCHEMA, PARAMS, OPTIONS)
    moved = np.frombuffer(pages["inserted/000000"], dtype="<i4").reshape(-1, 2)[1:]
    damaged = pages | {"inserted/000000": moved.tobytes()}
    with pytest.raises(ReleaseCorrupted):
        IncrementalReleases.from_pages(damaged, SCHEMA, PARAMS, OPTIONS)


def test_nothing_changed_nothing_moves() -> None:
    """The same graph again gives a release that is no dearer, without computing a location."""
    rng = np.random.default_rng(1)
    network, releases = Network(rng, 40), begun(PARAMS)
    graph, keys = network.graph()
    first = releases.release(graph, keys, rng)
    for _ in range(2):
        step = releases.release(graph, keys, rng)
        assert not step.is_fresh
        assert step.changes == 0
        assert step.cost <= first.cost
    assert step.upkeep.computed == 0
    assert step.upkeep.kept > 0


def test_large_batches_and_drift_are_made_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch beyond the limit, or a cost beyond it, leads to the fresh release of that graph."""
    rng = np.random.default_rng(2)
    network, releases = Network(rng, 40), begun(PARAMS)
    releases.release(*network.graph(), rng)
    for _ in range(10):
        network.change()
    assert releases.release(*network.graph(), rng).is_fresh
    monkeypatch.setattr(engine, "BATCH_SHARE_MAX", 1e9)
    monkeypatch.setattr(engine, "DRIFT_MAX", 0.0)
    before = releases._baseline
    network.change()
    step = releases.release(*network.graph(), rng)
    assert releases._baseline == (step.cost, step_size(network))
    assert before != releases._baseline


def step_size(network: Network) -> int:
    """Return people and ties."""
    return len(network.people) + len(network.ties)


def test_a_lost_repair_leads_to_a_fresh_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without repair somebody stays unsafe: the second look sees it, and nothing unsafe comes."""
    monkeypatch.setattr(engine, "repair", lambda *_: True)
    unsafe, fresh = after_changes()
    assert unsafe == 0
    assert fresh > 1


def test_a_lost_repair_is_seen_by_the_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second look, too, the verifier says so."""
    monkeypatch.setattr(engine, "repair", lambda *_: True)
    monkeypatch.setattr(engine, "_is_safe", lambda _: True)
    assert after_changes()[0] > 0


def test_a_careless_collection_is_seen_by_the_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """If withdrawing made people unsafe, the verifier would say so."""

    def careless(g: Working, _table: Table, _rule: Rule, positions: NDArray[np.int64]) -> int:
        for at in positions:
            withdraw_edge(g, at)
        return len(positions)

    monkeypatch.setattr(_collecting_core, "withdraw_each", careless)
    monkeypatch.setattr(engine, "_is_safe", lambda _: True)
    assert after_changes()[0] > 0


def test_collection_takes_back_what_nobody_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases that withdraw nothing are dearer in the end."""

    def last_cost() -> int:
        rng = np.random.default_rng(6)
        network, releases = Network(rng, 60), begun(PARAMS)
        with never_afresh():
            for _ in range(6):
                step = releases.release(*network.graph(), rng)
                network.change()
        return step.cost

    collected = last_cost()
    monkeypatch.setattr(repair, "TRIED_PER_CHANGE", 0)
    assert collected < last_cost()


def after_changes() -> tuple[int, int]:
    """Return how many vertices a few releases leave unsafe, and how many of them are fresh."""
    rng = np.random.default_rng(3)
    network, releases = Network(rng, 40), begun(PARAMS)
    unsafe = fresh = 0
    with never_afresh():
        for _ in range(8):
            fresh += releases.release(*network.graph(), rng).is_fresh
            assert releases.last is not None
            unsafe += verify_graph(releases.last.graph, PARAMS).n_unsafe
            for _ in range(3):
                network.change()
    return unsafe, fresh


@pytest.mark.parametrize(
    "options",
    [
        AnonymizeOptions(edits="insert+delete"),
        AnonymizeOptions(knowledge="true"),
        AnonymizeOptions(rare_qi="suppress"),
        AnonymizeOptions(over_alpha="suppress"),
        AnonymizeOptions(strategy="aligned"),
    ],
)
def test_what_is_drawn_for_each_release_is_not_carried(options: AnonymizeOptions) -> None:
    """Other options are for fresh releases."""
    assert not package.IncrementalReleases.supports(PARAMS, options)
    assert package.IncrementalReleases.supports(PARAMS, OPTIONS)
