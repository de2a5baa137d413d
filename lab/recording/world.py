"""A small network that changes at random, as changes by key and as tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ktsafe import Schema
from ktsafe.sequence import Changes

SCHEMA: Final = Schema(("group", "age"), "state", frozenset({"ill"}))
SCHEMA_TEXT: Final = """\
[attributes]
quasi_identifiers = ["group", "age"]
sensitive = "state"
sensitive_values = ["ill"]
"""
AGES: Final = ("1", "2", "3")

Tie = tuple[int, int]


class World:
    """People of two groups and a few ages, and their ties.

    Parameters
    ----------
    seed:
        Source of all randomness.
    people, ties:
        How many there are at first.
    ages:
        How many of `AGES` there are.
    """

    def __init__(self, seed: int, people: int, ties: int, ages: int = len(AGES)) -> None:
        self.rng = np.random.default_rng(seed)
        self.ages = AGES[:ages]
        self.people: dict[int, tuple[str, str, str]] = {}
        self.ties: set[Tie] = set()
        self._n_joined = 0
        self._join(people)
        self._tie(ties)
        self.first = _changes({}, set(), self.people, self.ties)

    def change(self, *, ties: int, joins: int, leaves: int, moves: int, states: int) -> Changes:
        """Let so much happen, and return it; joining people get three ties each."""
        people, before = dict(self.people), set(self.ties)
        for key in self._some(leaves):
            del self.people[key]
        self.ties = {tie for tie in self.ties if self.people.keys() >= set(tie)}
        known = sorted(self.ties)
        self.ties -= {known[i] for i in self.rng.permutation(len(known))[:ties].tolist()}
        for key in self._some(moves):
            group, age, state = self.people[key]
            older = self.ages[(self.ages.index(age) + 1) % len(self.ages)]
            is_older = self.rng.random() < 0.5
            self.people[key] = (group, older, state) if is_older else (_other(group), age, state)
        for key in self._some(states):
            self.people[key] = (*self.people[key][:2], self._state())
        self._join(joins)
        self._tie(ties + 3 * joins)
        return _changes(people, before, self.people, self.ties)

    def write(self, folder: Path) -> None:
        """Write the tables as they are, and the schema, into a new folder."""
        folder.mkdir(parents=True)
        (folder / "schema.toml").write_text(SCHEMA_TEXT, encoding="utf-8")
        rows = [(f"p{key}", *values) for key, values in sorted(self.people.items())]
        write_table(folder / "vertices.csv", ["id", *SCHEMA.attributes], rows)
        named = [(f"p{one}", f"p{other}") for one, other in sorted(self.ties)]
        write_table(folder / "edges.csv", ["source", "target"], named)

    def _join(self, count: int) -> None:
        for _ in range(count):
            group, age = "xy"[self.rng.integers(2)], self.ages[self.rng.integers(len(self.ages))]
            self.people[self._n_joined] = (group, age, self._state())
            self._n_joined += 1

    def _state(self) -> str:
        return "ill" if self.rng.random() < 0.08 else ("well", "tired")[self.rng.integers(2)]

    def _some(self, count: int) -> list[int]:
        return sorted(self.rng.choice(sorted(self.people), count, replace=False).tolist())

    def _tie(self, count: int) -> None:
        """Add ties, as a rule within a group."""
        keys = sorted(self.people)
        while count:
            one, other = (keys[i] for i in self.rng.integers(len(keys), size=2).tolist())
            tie = (min(one, other), max(one, other))
            is_near = self.people[one][0] == self.people[other][0] or self.rng.random() < 0.3
            if one != other and tie not in self.ties and is_near:
                self.ties.add(tie)
                count -= 1


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table as CSV, with the line ends of releases."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header, *rows])


def _other(group: str) -> str:
    return "x" if group == "y" else "y"


def _changes(
    people: dict[int, tuple[str, str, str]],
    ties: set[Tie],
    people_after: dict[int, tuple[str, str, str]],
    ties_after: set[Tie],
) -> Changes:
    joined = sorted(people_after.keys() - people.keys())
    stayed = sorted(people_after.keys() & people.keys())
    changed = [key for key in stayed if people[key] != people_after[key]]
    removed = [tie for tie in ties - ties_after if people_after.keys() >= set(tie)]
    return Changes(
        joined=_array(joined),
        joined_values=[people_after[key] for key in joined],
        left=_array(sorted(people.keys() - people_after.keys())),
        changed=_array(changed),
        changed_values=[people_after[key] for key in changed],
        ties_added=_array(sorted(ties_after - ties)),
        ties_removed=_array(sorted(removed)),
    )


def _array(numbers: Sequence[Any]) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)
