"""What releases show of a person, counted by the definition from the files alone, for one hop."""

from __future__ import annotations

import csv
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

EPSILON, T = 5, Fraction(1, 10)
SENSITIVE = "health"


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def counted(home: Path, person: str) -> list[dict[str, Any]]:
    """Return the receipt by the definition alone, for one hop, from the files."""
    told: list[dict[str, Any]] = []
    left: set[str] = set()
    old: dict[str, set[str]] | None = None
    kinds: dict[str, tuple[str, ...]] = {}
    for folder in sorted((home / "releases").glob("0*")):
        owner = {
            row["released_id"]: row["original_id"]
            for row in rows(home / "state" / "audit" / folder.name / "mapping.csv")
        }
        own = [released for released, true in owner.items() if true == person]
        if not own:
            old = None
            continue
        (me,) = own
        people = {row["id"]: row for row in rows(folder / "vertices.csv")}
        at = {
            row["released_id"]: row["value_at"]
            for row in rows(home / "state" / "audit" / folder.name / "values.csv")
        }
        kind = {v: (row["gender"], row["age_band"]) for v, row in people.items()}
        beside: dict[str, set[str]] = {v: set() for v in people}
        for row in rows(folder / "edges.csv"):
            beside[row["source"]].add(row["target"])
            beside[row["target"]].add(row["source"])

        def alike(u: str, v: str, kind=kind, beside=beside) -> bool:
            if kind[u] != kind[v] or 2 * abs(len(beside[u]) - len(beside[v])) > EPSILON:
                return False
            sizes = len(beside[u]) + 1, len(beside[v]) + 1
            for j in range(2):
                counts = [Counter(kind[w][j] for w in (x, *beside[x])) for x in (u, v)]
                values = counts[0].keys() | counts[1].keys()
                shares = [
                    [Fraction(c[x], n) for x in values] for c, n in zip(counts, sizes, strict=True)
                ]
                if sum(abs(a - b) for a, b in zip(*shares, strict=True)) / 2 > T:
                    return False
            return True

        candidates = {u for u in people if alike(me, u)}
        left = candidates if old is None else left & candidates
        changed = None
        if old is not None:
            was = old

            def change(v: str, was=was, beside=beside, kind=kind, before=kinds):
                old_ties = was.get(v, set())
                gained = Counter(kind[w] for w in beside[v] - old_ties)
                return gained, Counter(before[w] for w in old_ties - beside[v])

            if any(change(me)):
                changed = sum(change(u) == change(me) for u in left)
        told.append(
            {
                "published_id": me,
                "values": {
                    **{k: v for k, v in people[me].items() if k != "id"},
                    SENSITIVE: people[at[me]][SENSITIVE],
                },
                "value_at": at[me],
                "ties": len(beside[me]),
                "candidates": len(candidates),
                "people": sum(bool(owner[u]) for u in candidates),
                "linked_candidates": len(left),
                "linked_people": sum(bool(owner[u]) for u in left),
                "changed_alike": changed,
            }
        )
        old, kinds = beside, kind
    return told
