"""A frozen copy becomes a graph that says nothing of how the store came to it."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from ktsafe.state.changes import EdgeAdd, VertexDelete, VertexUpsert
from tests.memory_store import MemoryStore
from tests.state.support import SCHEMA, exactly, stamp


def test_categories_are_sorted_and_only_those_in_use() -> None:
    """Values that were overwritten, or whose holders are gone, leave no trace in a snapshot."""
    store = MemoryStore(SCHEMA)
    store.commit(
        [
            VertexUpsert(stamp(1, 0), "ann", {"gender": "x", "illness": "zoster"}),
            VertexUpsert(stamp(1, 1), "bob", {"gender": "m", "illness": "flu"}),
            VertexUpsert(stamp(1, 2), "cyd", {"gender": "q", "illness": "none"}),
            VertexUpsert(stamp(2, 3), "ann", {"gender": "f", "illness": "none"}),
            VertexDelete(stamp(2, 4), "cyd"),
        ],
        {},
    )
    graph = store.snapshot().graph
    assert graph.categories == (("f", "m"), ("-",), ("flu", "none"))


def test_equal_graphs_are_equal_snapshots() -> None:
    """Histories that give vertices equal numbers give equal arrays, whatever came between."""
    plain, eventful = MemoryStore(SCHEMA), MemoryStore(SCHEMA)
    people = [VertexUpsert(stamp(5, i), f"p{i}", {"age": str(20 * i)}) for i in range(4)]
    ring = [EdgeAdd(stamp(6, i), f"p{i}", f"p{(i + 1) % 4}") for i in range(4)]
    plain.commit([*people, *ring], {})
    eventful.commit([VertexUpsert(stamp(1, i), f"p{i}", {"age": "90"}) for i in range(4)], {})
    eventful.commit([EdgeAdd(stamp(2), "p0", "p2"), VertexDelete(stamp(3), "p0")], {})
    eventful.commit([*reversed(ring), *reversed(people)], {})
    eventful.prune(10)
    assert exactly(plain.snapshot()) == exactly(eventful.snapshot())


def test_vertices_are_in_number_order() -> None:
    """A re-used number puts its new holder where the former one was."""
    store = MemoryStore(SCHEMA)
    store.commit([VertexUpsert(stamp(1, i), f"p{i}", {}) for i in range(3)], {})
    assert list(store.snapshot().ids) == ["p0", "p1", "p2"]
    store.commit([VertexDelete(stamp(2), "p1")], {})
    assert list(store.snapshot().ids) == ["p0", "p2"]
    store.commit([VertexUpsert(stamp(3, i), f"q{i}", {}) for i in range(2)], {})
    assert list(store.snapshot().ids) == ["p0", "q0", "p2", "q1"]


def test_groups_of_a_schema_hold_who_gave_no_value() -> None:
    """Missing values become their group, as in a graph of the same people's columns."""
    schema = dataclasses.replace(SCHEMA, groups={"gender": {"f or -": ("f", "-")}})
    store = MemoryStore(schema)
    genders = ("f", None, "m")
    changes = [
        VertexUpsert(stamp(1, i), f"p{i}", {"gender": gender, "illness": "none"})
        for i, gender in enumerate(genders)
    ]
    store.commit([*changes, VertexUpsert(stamp(1, 3), "p3", {"illness": "none"})], {})
    graph = store.snapshot().graph
    assert [graph.values(v)["gender"] for v in range(4)] == ["f or -", "f or -", "m", "f or -"]


@pytest.mark.parametrize("seed", range(4))
def test_values_of_groups_are_counted_among_those_who_exist(seed: int) -> None:
    """As a count of the people's own values says, and codes of groups stay what they are."""
    rng = np.random.default_rng(seed)
    schema = dataclasses.replace(SCHEMA, groups={"gender": {"b or c": ("b", "c"), "d": ("-",)}})
    store, held, before = MemoryStore(schema), {}, None
    for moment in range(1, 40):
        name, value = f"p{rng.integers(9)}", (None, *"abcde")[rng.integers(6)]
        if rng.random() < 0.3:
            store.commit([VertexDelete(stamp(moment), name)], {})
            held.pop(name, None)
        else:
            told = {"gender": value, "illness": "none"}
            store.commit([VertexUpsert(stamp(moment), name, told)], {})
            held[name] = "-" if value is None else value
        snapshot = store.snapshot()
        assert snapshot.arrays.people_of_values() == {"gender": Counter(held.values())}
        shown = {n: snapshot.graph.values(v)["gender"] for v, n in enumerate(snapshot.ids)}
        groups = {"b": "b or c", "c": "b or c", "-": "d"}
        assert shown == {n: groups.get(text, text) for n, text in held.items()}
        texts = snapshot.arrays.categories[0]
        assert before is None or texts[: len(before)] == before
        before = texts
    assert SCHEMA.groups == {}
    assert MemoryStore(SCHEMA).snapshot().arrays.people_of_values() == {}
