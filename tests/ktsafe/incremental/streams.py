"""Small networks that change at random, for releases that are made one from the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema
from ktsafe.incremental import IncrementalReleases, engine

SCHEMA = Schema(("a", "b"), "s", frozenset({"yes"}))
TEXTS = (("u", "v", "w"), ("x", "y"), ("no", "yes", "-"))
OPTIONS = AnonymizeOptions(effort="fast")


class Network:
    """People with attributes by key, and ties; `change` is one batch."""

    def __init__(self, rng: np.random.Generator, people: int) -> None:
        self.rng = rng
        self.people: dict[int, tuple[str, str, str]] = {}
        self.ties: set[tuple[int, int]] = set()
        self._n_lives = 0
        for _ in range(people):
            self._join()
        self._tie(2 * people)

    def change(self) -> None:
        """Let ties come and go, people come, leave and change."""
        rng, ties = self.rng, sorted(self.ties)
        for i in rng.permutation(len(ties))[: rng.integers(0, 4)]:
            self.ties.discard(ties[i])
        for _ in range(rng.integers(0, 3)):
            self._join()
        for key in rng.permutation(sorted(self.people))[: rng.integers(0, 3)].tolist():
            if rng.random() < 0.5:
                self.people[key] = self._drawn()
            else:
                del self.people[key]
                self.ties = {tie for tie in self.ties if key not in tie}
        self._tie(int(rng.integers(0, 4)))

    def graph(self) -> tuple[AttributedGraph, NDArray[np.int64]]:
        """Return the true graph, people in random order, and their keys."""
        keys = self.rng.permutation(sorted(self.people))
        place = {key: i for i, key in enumerate(keys.tolist())}
        columns = {
            name: [self.people[key][j] for key in keys.tolist()]
            for j, name in enumerate(SCHEMA.attributes)
        }
        edges = [(place[u], place[v]) for u, v in sorted(self.ties)]
        return AttributedGraph.from_columns(SCHEMA, columns, edges), keys.astype(np.int64)

    def _drawn(self) -> tuple[str, str, str]:
        a, b, s = (
            texts[self.rng.choice(len(texts), p=p)] for texts, p in zip(TEXTS, SHARES, strict=True)
        )
        return a, b, s

    def _join(self) -> None:
        self.people[self._n_lives] = self._drawn()
        self._n_lives += 1

    def _tie(self, count: int) -> None:
        keys = sorted(self.people)
        for _ in range(count if len(keys) > 1 else 0):
            u, v = sorted(self.rng.choice(keys, 2, replace=False).tolist())
            self.ties.add((u, v))


SHARES = ((0.6, 0.35, 0.05), (0.7, 0.3), (0.85, 0.1, 0.05))


@contextlib.contextmanager
def never_afresh() -> Iterator[None]:
    """Let every release but the first be made from the one before."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "BATCH_SHARE_MAX", 1e9)
        patched.setattr(engine, "DRIFT_MAX", 1e9)
        yield


def begun(params: PrivacyParams) -> IncrementalReleases:
    """Return releases of which there is none yet."""
    return IncrementalReleases(params, OPTIONS)
