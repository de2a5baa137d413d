"""The risk curve once more, by whole matrices and from the description alone.

Of the attacker's own code nothing is used: features, ranks, first links and rounds are written
anew. What is drawn (ties and seeds) is given. As a program it compares the two on a release:
`python -m tests.ktsafe.assess.attacks.naive_risk CASE.pickle`, a pickled `Case`.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.alignment import SEEDS, TIES, risk_curve

ROUNDS = {True: 60, False: 30}
"""Rounds of an attacker without seeds, and of one with them."""


def matrix(n: int, edges: np.ndarray) -> sparse.csr_array:
    """Return the adjacency matrix of a list of ties."""
    both = np.concatenate((edges, edges[:, ::-1])).reshape(-1, 2)
    return sparse.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n))


def ranks(values: np.ndarray) -> np.ndarray:
    """Return the mean rank of each value over how many there are."""
    ordered = np.sort(values)
    first = np.searchsorted(ordered, values, side="left")
    last = np.searchsorted(ordered, values, side="right")
    return (first + 1 + last) / 2 / len(values)


def features(beside: sparse.csr_array, kinds: np.ndarray, n_kinds: int) -> np.ndarray:
    """Return degree, triangles, clustering, two layers of means over neighbours, and kinds."""
    degree = np.asarray(beside.sum(axis=1)).reshape(-1)
    triangles = np.asarray((beside @ beside * beside).sum(axis=1)).reshape(-1) / 2
    clustering = triangles / np.maximum(degree * (degree - 1) / 2, 1)
    own = np.stack((degree, triangles, clustering), axis=1)
    once = beside @ own / np.maximum(degree, 1)[:, None]
    twice = beside @ once / np.maximum(degree, 1)[:, None]
    near = beside @ np.eye(n_kinds)[kinds]
    far = beside @ near
    shape = np.hstack((own, once, twice))
    counts = np.hstack((near, far))
    columns = [ranks(column) for column in shape.T]
    columns += [2 / np.sqrt(counts.shape[1]) * ranks(column) for column in counts.T]
    return np.stack(columns, axis=1)


def found(case: Case, ties: np.ndarray, seeds: np.ndarray) -> float:
    """Return the share of published people, seeds left out, whom the attacker names rightly."""
    n, m = case.original.n_vertices, case.released.n_vertices
    texts = [
        [tuple(graph.values(v)[a] for a in graph.schema.quasi_identifiers) for v in range(size)]
        for graph, size in ((case.original, n), (case.released, m))
    ]
    place = {int(p): u for u, p in enumerate(case.original_of) if p >= 0}
    number = {kind: i for i, kind in enumerate(sorted({*texts[0], *texts[1]}))}
    true, shown = (np.array([number[kind] for kind in each]) for each in texts)
    published = true.copy()
    for person, u in place.items():
        published[person] = shown[u]
    known, seen = matrix(n, ties), matrix(m, case.released.edges)
    link = {int(v): place[int(v)] for v in seeds}
    if not len(seeds):
        link = nearest(
            features(known, true, len(number)),
            features(seen, shown, len(number)),
            published,
            shown,
        )
    rare = [np.maximum(np.asarray(a.sum(axis=1)).reshape(-1), 1) ** -0.25 for a in (known, seen)]
    admitted = published[:, None] == shown[None, :]
    admitted[seeds.astype(int)] = False
    admitted[:, [place[int(v)] for v in seeds]] = False
    chances = np.zeros(n)
    for _ in range(ROUNDS[not len(seeds)]):
        people, places = list(link), list(link.values())
        worth = rare[0][people] * rare[1][places]
        bridge = sparse.csr_array((worth, (people, places)), shape=(n, m))
        scores = (known @ bridge @ seen).toarray() * rare[0][:, None] * rare[1][None, :]
        scores *= admitted
        best, best_back = scores.max(axis=1), scores.max(axis=0)
        tops = (scores >= best[:, None] * (1 - 1e-9)) & (scores > 0)
        chances = np.array(
            [1 / tops[v].sum() if v in place and tops[v, place[v]] else 0.0 for v in range(n)]
        )
        new = {int(v): place[int(v)] for v in seeds}
        for v in np.flatnonzero(tops.sum(axis=1) == 1):
            u = int(tops[v].argmax())
            if scores[v, u] >= best_back[u] * (1 - 1e-9):
                new[int(v)] = u
        if new == link:
            break
        link = new
    others = [v for v in place if v not in set(seeds.tolist())]
    return float(chances[others].mean())


def nearest(
    known: np.ndarray, seen: np.ndarray, published: np.ndarray, shown: np.ndarray
) -> dict[int, int]:
    """Return pairs of a person and a place that are each other's nearest of their kind."""
    link = {}
    for kind in np.intersect1d(published, shown):
        people, places = np.flatnonzero(published == kind), np.flatnonzero(shown == kind)
        apart = np.stack([((seen[places] - known[v]) ** 2).sum(axis=1) for v in people])
        for i, j in enumerate(apart.argmin(axis=1)):
            if apart[:, j].argmin() == i:
                link[int(people[i])] = int(places[j])
    return link


def curve(case: Case, seed: int) -> dict[tuple[float, float], float]:
    """Return one draw of the curve, drawn as the attacker draws it."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(case.original.n_edges)
    published = case.original_of[case.original_of >= 0]
    people = []
    for share in SEEDS:
        size = min(max(round(share * len(published)), 1), len(published))
        drawn = rng.choice(published, size, replace=False) if share else published[:0]
        people.append(drawn)
    return {
        (ties, seeds): found(case, case.original.edges[order[: round(ties * len(order))]], who)
        for ties in TIES
        for seeds, who in zip(SEEDS, people, strict=True)
    }


def apart(case: Case, seed: int = 0) -> float:
    """Return the greatest difference between the two on a case."""
    results = risk_curve(case, np.random.default_rng(seed), draws=(1, 1))
    told = {(each.figures["ties"], each.figures["seeds"]): each.value for each in results}
    mine = curve(case, seed)
    assert told.keys() == mine.keys()
    return max(abs(told[key] - mine[key]) for key in told)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, round(apart(pickle.loads(Path(name).read_bytes())), 6))  # noqa: S301
