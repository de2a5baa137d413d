"""The gate for visible changes: against a count place by place."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.errors import NotKTSafe
from ktsafe.graph.numbering import edge_ends, edge_keys
from ktsafe.sequence import gate
from ktsafe.sequence.gate import check_cover, visible_changes
from ktsafe.sequence.memory.current_release import Current
from ktsafe.sequence.memory.state import State
from tests.ktsafe.sequence.test_planning import pairs_of
from tests.ktsafe.sequence.world import World

Change = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]


def counted(state: State) -> dict[int, Change]:
    """Return, place by place, how many neighbours of which classes it gained and lost."""
    seen: dict[int, tuple[Counter[int], Counter[int]]] = {}
    gained = state.edges.pairs(state.current.gained.array())
    for sign, edges in enumerate((gained, edge_ends(state.current.lost.array()))):
        for u, v in edges.tolist():
            for place, other in ((u, v), (v, u)):
                if state.places.born[place] < state.current.number:
                    seen.setdefault(place, (Counter(), Counter()))[sign][
                        state.places.cls[other]
                    ] += 1
    return {
        place: (tuple(sorted(gained.items())), tuple(sorted(lost.items())))
        for place, (gained, lost) in seen.items()
    }


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.02, 0.5, 1.0]))
def test_changes_are_those_counted_one_by_one(seed: int, share: float) -> None:
    """Whole pairs of classes pass; single edges fail, unless all members happen to change alike."""
    world, rng = World(60, 200, seed), np.random.default_rng(seed)
    sequence = world.begin()
    sequence.advance(world.change(ties=10, joins=6), rng)
    state = sequence.state
    state.current = Current(2, {}, {}, state.current.turns)
    for classes in pairs_of(state):
        rows = np.array(sorted(state.between(state.edges)[classes]), dtype=np.int64)
        some = rows[rng.random(len(rows)) < share]
        if rng.random() < 0.5:
            state.current.gained.add(some)
        else:
            state.current.lost.add(edge_keys(state.edges.pairs(some)))
    expected, n_classes = counted(state), len(state.codes.classes)
    cells, counts = visible_changes(state)
    found: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
    for (place, what), count in zip(cells.tolist(), counts.tolist(), strict=True):
        sign, cls = divmod(what, n_classes)
        found.setdefault(place, ([], []))[sign].append((cls, count))
    assert {p: (tuple(gained), tuple(lost)) for p, (gained, lost) in found.items()} == expected
    is_covered = all(
        len({expected.get(place) for place in members}) == 1
        for members in state.places.members.values()
    )
    assert is_covered or share < 1
    if is_covered:
        check_cover(state)
    else:
        with pytest.raises(NotKTSafe):
            check_cover(state)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.1, 0.5, 1.0]))
def test_the_gate_sees_each_edge_of_a_place(seed: int, share: float) -> None:
    """Whether few places are asked about or nearly all."""
    state, rng = World(40, 120, seed).begin().state, np.random.default_rng(seed)
    places = rng.permutation(state.places.used())[: 1 + int(share * 40)]
    ends = [np.column_stack(each) for each in gate._ends(state, places)]
    seen = sorted(map(tuple, np.concatenate(ends).tolist()))
    number = {place: i for i, place in enumerate(places.tolist())}
    pairs = state.edges.pairs(state.edges.used()).tolist()
    both = [(u, v) for pair in pairs for u, v in (pair, pair[::-1])]
    assert seen == sorted((number[u], v) for u, v in both if u in number)
