"""The change attack: who visibly changes must not be alone in how.

D(v) is what v visibly gains and loses from one release to the next: two multisets of classes.
Source: k_delta in the definition of a sequence's guarantee; here counted within v's cohort, which
is part of every CS_W(v).
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State

Change = tuple[tuple[int, ...], tuple[int, ...]]


def visible_changes(state: State) -> dict[int, Change]:
    """Return D of every place that was there before and changed: classes gained and lost."""
    gained: defaultdict[int, list[int]] = defaultdict(list)
    lost: defaultdict[int, list[int]] = defaultdict(list)
    for edges, into in ((state.gained, gained), (state.lost, lost)):
        for u, v in edges:
            into[u].append(state.cls(v))
            into[v].append(state.cls(u))
    return {
        place: (tuple(sorted(gained[place])), tuple(sorted(lost[place])))
        for place in sorted(gained.keys() | lost.keys())
        if state.places.get(place, st.BORN) < state.release
    }


def check_cover(state: State, k: int) -> None:
    """Raise unless every visible change is shared by k members of one cohort.

    Raises
    ------
    NotKTSafe
        If some change is not.
    """
    changes = visible_changes(state)
    shared = Counter((state.cohort(place), change) for place, change in changes.items())
    for place, change in changes.items():
        if shared[state.cohort(place), change] < k:
            raise NotKTSafe(
                "A visible change is shared by too few.", hint="Do not publish this graph."
            )
