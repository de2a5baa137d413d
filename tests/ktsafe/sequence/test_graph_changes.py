"""What turns one true graph into another, by sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.graph import AttributedGraph
from ktsafe.graph.synthetic import uniform
from ktsafe.sequence import changes_between


def facts(
    graph: AttributedGraph, keys: np.ndarray
) -> tuple[dict[int, tuple[str, ...]], set[tuple[int, ...]]]:
    """Return what each key stands for, and the ties as keys, ascending."""
    values = {int(key): tuple(graph.values(v).values()) for v, key in enumerate(keys)}
    return values, {tuple(sorted(tie)) for tie in keys[graph.edges].tolist()}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(0, 35), same_people=st.booleans())
def test_changes_are_the_differences_of_two_sets(seed: int, n: int, same_people: bool) -> None:
    """People who came, went and changed, with their texts, and ties; everything ascending."""
    rng = np.random.default_rng(seed)
    old = uniform(40, 90, rng=rng, n_tuples=int(rng.integers(1, 6))).subgraph(np.arange(n))
    new = uniform(40, 90, rng=rng, n_tuples=int(rng.integers(1, 6))).subgraph(np.arange(35 - n))
    if same_people:
        new = uniform(40, 90, rng=rng, n_tuples=3).subgraph(np.arange(n))
    old_keys = 7 * rng.permutation(50)[: old.n_vertices]
    new_keys = old_keys if same_people else 7 * rng.permutation(50)[: new.n_vertices]
    before, ties = facts(old, old_keys)
    after, new_ties = facts(new, new_keys)
    found = changes_between(old, old_keys, new, new_keys)
    joined = sorted(after.keys() - before.keys())
    changed = sorted(k for k in after.keys() & before.keys() if after[k] != before[k])
    assert found.joined.tolist() == joined
    assert found.joined_values == [after[key] for key in joined]
    assert found.left.tolist() == sorted(before.keys() - after.keys())
    assert found.changed.tolist() == changed
    assert found.changed_values == [after[key] for key in changed]
    assert list(map(tuple, found.ties_added.tolist())) == sorted(new_ties - ties)
    assert list(map(tuple, found.ties_removed.tolist())) == sorted(ties - new_ties)
