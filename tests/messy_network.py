"""A network as an owner may have it: spellings, gaps, numbers, repeated edges and loops.

2,500 people and 12,459 ties. Gender is spelt six ways, age is a number with gaps, there are 40
cities, and 26 other columns. Half of the ties are within a city, a quarter among people of about
the same age, and the others close triangles or join anybody.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

N_PEOPLE, N_TIES, N_CITIES, N_OTHERS = 2_500, 12_459, 40, 26
N_REPEATED, N_LOOPS = 3_200, 5
SPELLINGS = ("F", "f ", "female", "M", "male", " Male")
"""Three of either gender."""

ASKED = {
    "quasi_identifiers": ["gender", "age", "city"],
    "sensitive": "health",
    "sensitive_values": ["chronic"],
}


def vertices(seed: int = 0) -> dict[str, list[object]]:
    """Return the columns of the people; None where a value is missing."""
    rng = np.random.default_rng([seed, 1])
    is_male = rng.random(N_PEOPLE) < 0.48
    spelling = rng.choice(3, N_PEOPLE, p=[0.6, 0.1, 0.3]) + 3 * is_male
    weights = 1 / np.arange(1, N_CITIES + 1) ** 0.7
    city = rng.choice(N_CITIES, N_PEOPLE, p=weights / weights.sum())
    age = np.clip(rng.gamma(9, 4.2, N_PEOPLE), 14, 90).astype(int)
    gap = rng.random((3, N_PEOPLE)) < np.array([[0.03], [0.07], [0.02]])
    columns: dict[str, list[object]] = {
        "id": [f"person-{i}" for i in range(N_PEOPLE)],
        "gender": [None if no else SPELLINGS[i] for i, no in zip(spelling, gap[0], strict=True)],
        "age": [None if no else int(x) for x, no in zip(age, gap[1], strict=True)],
        "city": [None if no else f"city {c:02}" for c, no in zip(city, gap[2], strict=True)],
        "health": rng.choice(["chronic", "well"], N_PEOPLE, p=[0.06, 0.94]).tolist(),
    }
    for i in range(N_OTHERS):
        columns[f"other {i:02}"] = rng.integers(0, 5 + i, N_PEOPLE).tolist()
    return columns


def ties(columns: dict[str, list[object]], seed: int = 0) -> list[tuple[int, int]]:
    """Return distinct pairs of positions, without loops."""
    rng = np.random.default_rng([seed, 2])
    popular = rng.lognormal(0, 0.6, N_PEOPLE)
    by_city: dict[object, list[int]] = {}
    for i, city in enumerate(columns["city"]):
        by_city.setdefault(city, []).append(i)
    age = np.array(
        [float(str(x)) if x is not None else rng.uniform(20, 60) for x in columns["age"]]
    )
    order = np.argsort(age, kind="stable")
    rank = np.argsort(order, kind="stable")
    friends: list[list[int]] = [[] for _ in range(N_PEOPLE)]
    found: dict[tuple[int, int], None] = {}
    share = popular / popular.sum()
    while len(found) < N_TIES:
        u, how = int(rng.choice(N_PEOPLE, p=share)), rng.random()
        if how < 0.5:
            v = int(rng.choice(by_city[columns["city"][u]]))
        elif how < 0.75:
            near = rank[u] + int(rng.normal(0, 80))
            v = int(order[min(max(near, 0), N_PEOPLE - 1)])
        elif how < 0.9 and friends[u]:
            v = int(rng.choice(friends[int(rng.choice(friends[u]))]))
        else:
            v = int(rng.choice(N_PEOPLE, p=share))
        pair = (min(u, v), max(u, v))
        if u != v and pair not in found:
            found[pair] = None
            friends[u].append(v)
            friends[v].append(u)
    return list(found)


def edges(pairs: list[tuple[int, int]], seed: int = 0) -> list[tuple[int, int]]:
    """Return the ties with repeats, in either direction, and loops among them."""
    rng = np.random.default_rng([seed, 3])
    repeated = [pairs[i][::-1] for i in rng.integers(len(pairs), size=N_REPEATED)]
    loops = [(int(v), int(v)) for v in rng.integers(N_PEOPLE, size=N_LOOPS)]
    rows = [*pairs, *repeated, *loops]
    return [rows[i] for i in rng.permutation(len(rows))]


def write(folder: Path, seed: int = 0) -> list[str]:
    """Write the network and its schema as files; return the options that name them."""
    columns = vertices(seed)
    names = columns["id"]
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(
            ["" if x is None else x for x in row] for row in zip(*columns.values(), strict=True)
        )
    with (folder / "ties.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows((names[u], names[v]) for u, v in edges(ties(columns, seed), seed))
    (folder / "schema.toml").write_text(
        '[attributes]\nquasi_identifiers = ["gender", "age", "city"]\n'
        'sensitive = "health"\nsensitive_values = ["chronic"]\n'
    )
    return [
        f"--vertices={folder / 'people.csv'}",
        f"--edges={folder / 'ties.csv'}",
        f"--schema={folder / 'schema.toml'}",
    ]
