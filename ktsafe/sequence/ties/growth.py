"""Which cohorts take part in a wave: those of the due ties, and others that share their cost.

A wave between two classes releases as many edges as its greater side has members. So a cohort on
the lesser side is free, and one on the greater side costs its size; either pays with the ties to
cohorts of the wave that are published with it rather than later, alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ktsafe.sequence.memory.state import State, Tie

EDGES_PER_TIE = 14
"""Edges that publishing one more tie in a wave may cost."""

Pending = dict[int, Tie]
"""Rows of `held`, each with its places, that of the lower class first."""


def grown(state: State, pending: Pending, due: set[int], m: int) -> set[int]:
    """Return the cohorts of the due ties, and those that join them greedily."""
    ends = {row: (state.cohort(u), state.cohort(v)) for row, (u, v) in pending.items()}
    across: defaultdict[int, list[int]] = defaultdict(list)
    for here, there in ends.values():
        across[here].append(there)
        across[there].append(here)
    wave = _Wave(state, m, across)
    for label in sorted({label for row in due for label in ends[row]}):
        wave.add(label)
    while True:
        worth = {
            label: EDGES_PER_TIE * ties - wave.price(label) for label, ties in wave.gain.items()
        }
        best = max(sorted(worth), key=worth.__getitem__, default=None)
        if best is None or worth[best] < 0:
            return wave.chosen
        wave.add(best)


class _Wave:
    """Cohorts chosen so far; what each other one would gain and cost."""

    def __init__(self, state: State, m: int, across: defaultdict[int, list[int]]) -> None:
        self._state = state
        self._m = m
        self._across = across
        self._total: Counter[int] = Counter()
        self._classes = {state.cls(state.members[label][0]) for label in across}
        self.chosen: set[int] = set()
        self.gain: Counter[int] = Counter()

    def add(self, label: int) -> None:
        """Let a cohort take part."""
        self.chosen.add(label)
        self.gain.pop(label, None)
        self._total[self._cls(label)] += self._size(label)
        for other in self._across[label]:
            if other not in self.chosen:
                self.gain[other] += 1

    def price(self, label: int) -> float:
        """Return how many edges a further cohort adds."""
        size, cls = self._size(label), self._cls(label)
        if len(self._classes) == 1:
            return size / 2
        other = max(total for c, total in self._total.items() if c != cls)
        now = self._total[cls]
        return max(now + size, other) - max(now, other)

    def _size(self, label: int) -> int:
        size = len(self._state.members[label])
        return size if size < 2 * self._m else self._m

    def _cls(self, label: int) -> int:
        return self._state.cls(self._state.members[label][0])
