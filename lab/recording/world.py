"""A small network that changes at random, as a graph and as tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, Schema

SCHEMA: Final = Schema(("group", "age"), "state", frozenset({"ill"})).expecting_nothing()
SCHEMA_TEXT: Final = """\
[attributes]
quasi_identifiers = ["group", "age"]
sensitive = "state"
sensitive_values = ["ill"]
"""
EDGE_HEADER: Final = ("source", "target")


class World:
    """People of two groups and a few ages, and their ties; the seed decides all that happens."""

    def __init__(self, seed: int, people: int, ties: int, ages: int = 3) -> None:
        self.rng = np.random.default_rng(seed)
        self.n_ages = ages
        self.people: dict[int, tuple[str, str, str]] = {}
        self.ties: set[tuple[int, int]] = set()
        self._n_joined = 0
        self._join(people)
        self._tie(ties)

    def change(self, *, ties: int, joins: int, leaves: int, moves: int, states: int) -> None:
        """Let so much happen; who joins gets three ties."""
        for key in self._some(leaves):
            del self.people[key]
        known = sorted(tie for tie in self.ties if self.people.keys() >= set(tie))
        self.ties = set(known) - {known[i] for i in self.rng.permutation(len(known))[:ties]}
        for key in self._some(moves):
            group, age, state = self.people[key]
            is_older, older = self.rng.random() < 0.5, str((int(age) + 1) % self.n_ages)
            other = "xy"[group == "x"]
            self.people[key] = (group, older, state) if is_older else (other, age, state)
        for key in self._some(states):
            self.people[key] = (*self.people[key][:2], self._state())
        self._join(joins)
        self._tie(ties + 3 * joins)

    def graph(self) -> tuple[AttributedGraph, NDArray[np.int64]]:
        """Return the network as it is, and the key of each vertex."""
        keys = np.array(sorted(self.people), dtype=np.int64)
        rows = zip(*(self.people[key] for key in keys.tolist()), strict=True)
        columns = dict(zip(SCHEMA.attributes, rows, strict=True))
        edges = np.searchsorted(keys, np.array(sorted(self.ties)))
        return AttributedGraph.from_columns(SCHEMA, columns, edges), keys

    def write(self, folder: Path) -> None:
        """Write the tables as they are, and the schema, into a new folder."""
        folder.mkdir(parents=True)
        (folder / "schema.toml").write_text(SCHEMA_TEXT, encoding="utf-8")
        rows = [(f"p{key}", *values) for key, values in sorted(self.people.items())]
        write_table(folder / "vertices.csv", ("id", *SCHEMA.attributes), rows)
        ties = [(f"p{one}", f"p{other}") for one, other in sorted(self.ties)]
        write_table(folder / "edges.csv", EDGE_HEADER, ties)

    def _join(self, count: int) -> None:
        for _ in range(count):
            group, age = "xy"[self.rng.integers(2)], str(self.rng.integers(self.n_ages))
            self.people[self._n_joined] = (group, age, self._state())
            self._n_joined += 1

    def _state(self) -> str:
        return "ill" if self.rng.random() < 0.08 else ("well", "tired")[self.rng.integers(2)]

    def _some(self, count: int) -> list[int]:
        return sorted(self.rng.choice(sorted(self.people), count, replace=False).tolist())

    def _tie(self, count: int) -> None:
        """Add ties, rather within a group."""
        keys, enough = sorted(self.people), len(self.ties) + count
        while len(self.ties) < enough:
            one, other = sorted(keys[i] for i in self.rng.integers(len(keys), size=2))
            is_near = self.people[one][0] == self.people[other][0] or self.rng.random() < 0.3
            if one != other and is_near:
                self.ties.add((one, other))


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table as CSV, with the line ends of releases."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
