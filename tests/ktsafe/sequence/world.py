"""A small changing world: a true graph, random changes of it, and what they should lead to."""

from __future__ import annotations

import numpy as np

from ktsafe import PrivacyParams, Schema
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions

SCHEMA = Schema(("a", "b"), "s", frozenset({"ill"}))
PARAMS = PrivacyParams(k=3, alpha="1/3", t="1/10", epsilon=5)

Tie = tuple[int, int]


class World:
    """People with two quasi-identifiers and ties among them, changing at random."""

    def __init__(self, n: int, n_ties: int, seed: int, sensitive: float = 0.1) -> None:
        self.rng = np.random.default_rng(seed)
        self.sensitive = sensitive
        self.next_key = 0
        self.people: dict[int, tuple[str, ...]] = {}
        self.ties: set[Tie] = set()
        joined = [self.newcomer() for _ in range(n)]
        self._add_ties(n_ties)
        self.first = Changes(
            joined=np.array(joined, dtype=np.int64),
            joined_values=[self.people[key] for key in joined],
            ties_added=np.array(sorted(self.ties), dtype=np.int64),
        )

    def begin(self, params: PrivacyParams = PARAMS, **options: object) -> SequenceEngine:
        """Return a sequence of this world's first graph."""
        chosen = SequenceOptions(**{"effort": "fast", **options})  # type: ignore[arg-type]
        return SequenceEngine.begin(SCHEMA, params, chosen, self.first, np.random.default_rng(0))

    def change(
        self, ties: int = 2, joins: int = 0, leaves: int = 0, moves: int = 0, ill: int = 0
    ) -> Changes:
        """Change that much and return it."""
        before = set(self.ties)
        left = self._draw(leaves)
        for key in left:
            del self.people[key]
        self.ties = {tie for tie in self.ties if not set(tie) & set(left)}
        for tie in self._drawn_ties(ties):
            self.ties.discard(tie)
        changed = self._draw(moves + ill)
        for i, key in enumerate(changed):
            old = self.people[key]
            self.people[key] = ("xy"[old[0] == "x"], *old[1:]) if i < moves else (*old[:2], "ill")
        joined = [self.newcomer() for _ in range(joins)]
        self._add_ties(ties + joins)
        removed = [t for t in before - self.ties if not set(t) & set(left)]
        return Changes(
            joined=np.array(joined, dtype=np.int64),
            joined_values=[self.people[key] for key in joined],
            left=np.array(left, dtype=np.int64),
            changed=np.array(changed, dtype=np.int64),
            changed_values=[self.people[key] for key in changed],
            ties_added=np.array(sorted(self.ties - before), dtype=np.int64),
            ties_removed=np.array(sorted(removed), dtype=np.int64),
        )

    def newcomer(self) -> int:
        key, rng = self.next_key, self.rng
        self.next_key += 1
        s = "ill" if rng.random() < self.sensitive else "well"
        self.people[key] = ("xy"[int(rng.integers(2))], "12"[int(rng.integers(2))], s)
        return key

    def _draw(self, count: int) -> list[int]:
        keys = sorted(self.people)
        return sorted(int(k) for k in self.rng.choice(keys, min(count, len(keys)), replace=False))

    def _drawn_ties(self, count: int) -> list[Tie]:
        known = sorted(self.ties)
        return [known[i] for i in self.rng.permutation(len(known))[:count].tolist()]

    def _add_ties(self, count: int) -> None:
        keys = sorted(self.people)
        for _ in range(count):
            u, v = sorted(int(k) for k in self.rng.choice(keys, 2, replace=False))
            self.ties.add((u, v))
