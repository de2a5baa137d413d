"""A frozen copy becomes a graph that says nothing of how the store came to it."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from ktsafe.state.changes import VertexDelete, VertexUpsert
from tests.memory_store import MemoryStore
from tests.state.support import SCHEMA, stamp


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


def test_vertices_are_in_number_order() -> None:
    """A re-used number puts its new holder where the former one was."""
    store = MemoryStore(SCHEMA)
    store.commit([VertexUpsert(stamp(1, i), f"p{i}", {}) for i in range(3)], {})
    assert list(store.snapshot().ids) == ["p0", "p1", "p2"]
    store.commit([VertexDelete(stamp(2), "p1")], {})
    assert list(store.snapshot().ids) == ["p0", "p2"]
    store.commit([VertexUpsert(stamp(3, i), f"q{i}", {}) for i in range(2)], {})
    assert list(store.snapshot().ids) == ["p0", "q0", "p2", "q1"]


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
