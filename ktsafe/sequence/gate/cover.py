"""The change attack: who visibly changes must not be alone in how.

D(v) is what v visibly gains and loses from one release to the next: two multisets of classes.
Source: k_delta in the definition of a sequence's guarantee. Here v's whole cohort, which is part of
every CS_W(v), changes as v does.
"""

from __future__ import annotations

from collections import defaultdict

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.memory.state import State

Change = tuple[tuple[int, ...], tuple[int, ...]]


def visible_changes(state: State) -> dict[int, Change]:
    """Return D of every place that was there before and changed: classes gained and lost."""
    gained: defaultdict[int, list[int]] = defaultdict(list)
    lost: defaultdict[int, list[int]] = defaultdict(list)
    for edges, into in ((state.current.gained, gained), (state.current.lost, lost)):
        # What only newcomers see changed for nobody.
        pairs = edges.array()
        is_seen = (state.places.born[pairs] < state.current.number).any(axis=1)
        for u, v in pairs[is_seen].tolist():
            into[u].append(state.places.cls[v])
            into[v].append(state.places.cls[u])
    return {
        place: (tuple(sorted(gained[place])), tuple(sorted(lost[place])))
        for place in sorted(gained.keys() | lost.keys())
        if state.places.born[place] < state.current.number
    }


def check_cover(state: State) -> None:
    """Raise unless all members of a cohort change alike, or none does.

    Then no later split of a cohort can part those who changed alike: whatever the parts are, each
    has at least k of them.

    Raises
    ------
    NotKTSafe
        If some members change otherwise than the rest of their cohort.
    """
    changes = visible_changes(state)
    for label in sorted({state.places.cohort[place] for place in changes}):
        if len({changes.get(place) for place in state.places.members[label]}) > 1:
            raise NotKTSafe(
                "A visible change is not shared by the whole cohort.",
                hint="Do not publish this graph.",
            )
