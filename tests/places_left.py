"""Places that people leave in a sequence of releases, found from the files with no code of ours.

`lab/trials/departures.py` says what the attacker knows and how an id is named.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Rows = dict[str, tuple[str, ...]]


class Shown(NamedTuple):
    """A release as its files have it, and the person behind each id."""

    values: Rows
    neighbours: dict[str, set[str]]
    owners: dict[str, str]


def shown(release: Path, private: Path, attributes: dict[str, Any]) -> Shown:
    names = [*attributes["quasi_identifiers"], attributes["sensitive"]]
    with (release / "vertices.csv").open(encoding="utf-8", newline="") as file:
        values = {row["id"]: tuple(row[x] for x in names) for row in csv.DictReader(file)}
    neighbours: dict[str, set[str]] = {v: set() for v in values}
    with (release / "edges.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            neighbours[row["source"]].add(row["target"])
            neighbours[row["target"]].add(row["source"])
    with (private / "mapping.csv").open(encoding="utf-8", newline="") as file:
        owners = {
            row["released_id"]: row["original_id"]
            for row in csv.DictReader(file)
            if row["original_id"]
        }
    return Shown(values, neighbours, owners)


def chances(history: list[Shown]) -> Iterator[tuple[float, float, float]]:
    """Yield, for every place that its owner left, how likely it is named: by all, value, none."""
    for before, after in itertools.pairwise(history):
        for own, person in before.owners.items():
            if after.owners.get(own) == person:
                continue
            alike = [v for v in before.values if before.values[v][:-1] == before.values[own][:-1]]
            every = {v: _change(before, after, v) for v in alike}
            values = {v: change[:2] for v, change in every.items()}
            yield _named(own, [values, every]), _named(own, [values]), 1 / len(alike)


def _change(before: Shown, after: Shown, v: str) -> tuple[Any, ...]:
    """Return what is visibly different of an id; one that vanished is told by what it was."""
    old, new = before.neighbours[v], after.neighbours.get(v, set())
    gained = Counter(after.values[u][:-1] for u in new - old)
    lost = Counter(before.values[u][:-1] for u in old - new)
    kinds = frozenset(gained.items()), frozenset(lost.items())
    now = after.values.get(v)
    same = before.values[v] == now
    return (() if same else before.values[v], () if same else now, *kinds)


def _named(own: str, looks: list[dict[str, Any]]) -> float:
    """Return how likely an id is named: one of the rarest look, of those of the rarest next one."""
    left = list(looks[0])
    for changes in looks:
        times = Counter(changes.values())
        least = min(times[changes[v]] for v in left)
        left = [v for v in left if times[changes[v]] == least]
    return (own in left) / len(left)
