"""Edges of a release with everybody's wanted neighbours by value.

    places   =  for each vertex one for each neighbour: at first what its cohort gets by class
    ties are shown where both ends have a free place for each other
    people of a class exchange two places each, whose values sum up alike:
        (young, north) and (old, south) for (young, south) and (old, north)
        if at least as many ties can be shown then, or as chance will have it, cooler each time
    free places are joined, pair of classes by pair of classes; who finds no partner hands one on

Whoever exchanges keeps its counts of every value, and its neighbours keep theirs, since both are of
one class: every step is as safe as the first.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.pair_edges import joined
from ktsafe.anonymization.request import Effort, Request
from ktsafe_lab.by_attribute import _exchange_core as core
from ktsafe_lab.by_attribute.targets import Kinds
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace

TRIALS: dict[Effort, int] = {"fast": 1, "balanced": 5}
"""Exchanges that are tried in each round, for each place."""

HEATS = tuple(np.linspace(0.4, 0.03, 20).tolist())
"""Heat of each round."""

ATTEMPTS = 30
"""Times that places are joined, and others handed on, until all find a partner."""


def edges_of(request: Request, kinds: Kinds, number: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """Return edges with everybody's wanted number of neighbours by value.

    Parameters
    ----------
    request:
        Of its graph the ties, as many of which as possible are shown.
    kinds:
        The released vertices.
    number:
        int64, shape (n, classes): a way to have them, by class. What the vertices of two classes
        want of each other is equal, and within a class it is even.

    Returns
    -------
    int32, shape (edges, 2), or None
        None where no simple graph was found.
    """
    ties, rng = request.graph.edges, request.rng
    places = seats_of(kinds, number, ties)
    room = number[ties, kinds.classes[ties[:, ::-1]]].sum(axis=1) + 0.01 * rng.random(len(ties))
    core.show(places, np.argsort(-room, kind="stable"))
    trials = TRIALS[request.options.effort] * len(places.kind)
    for i, heat in enumerate(HEATS, 1):
        core.exchange(places, trials, heat, rng)
        core.show(places, rng.permutation(len(ties)))
        request.report("exchanging", i / len(HEATS))
    for _ in range(ATTEMPTS):
        edges, lacking = _joined(kinds, places, rng)
        core.hand_on(places, lacking, rng)  # If nobody lacks one, too: so it is compiled in time.
        if not len(lacking):
            return edges
        core.show(places, rng.permutation(len(ties)))
    return None


def seats_of(kinds: Kinds, number: NDArray[np.int64], ties: NDArray[np.int32]) -> core.Seats:
    """Return the places of all vertices, without a tie."""
    n, q = number.shape
    near = np.argsort(ties.reshape(-1), kind="stable")
    n_places = int(number.sum())
    return core.Seats(
        first=np.concatenate(([0], np.cumsum(number.sum(axis=1)))),
        owner=np.repeat(np.arange(n), number.sum(axis=1)),
        kind=np.repeat(np.tile(np.arange(q), n), number.reshape(-1)),
        partner=np.full(n_places, -1, dtype=np.int64),
        tie_at=np.full(n_places, -1, dtype=np.int64),
        classes=kinds.classes,
        columns=kinds.space.columns,
        with_value=_with_value(kinds.space),
        ties=ties.astype(np.int64),
        hidden=np.append(np.arange(len(ties)), len(ties)),
        hidden_at=np.arange(len(ties)),
        near_first=np.searchsorted(np.sort(ties.reshape(-1)), np.arange(n + 1)),
        near=near // 2,
    )


def _with_value(space: QuasiIdentifierSpace) -> NDArray[np.int64]:
    """Return each class's counterpart with another value, else -1.

    All other values are the same.
    """
    class_of = {tuple(own): c for c, own in enumerate(space.columns.tolist())}
    found = np.full((space.n_classes, space.n_columns), -1, dtype=np.int64)
    for own, c in class_of.items():
        for j, (first, end) in enumerate(itertools.pairwise(space.offsets.tolist())):
            for column in range(first, end):
                found[c, column] = class_of.get((*own[:j], column, *own[j + 1 :]), -1)
    return found


def _joined(
    kinds: Kinds, places: core.Seats, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return shown ties, and edges that join free places."""
    q, classes = kinds.space.n_classes, kinds.classes
    is_free = places.partner < 0
    owner, kind = places.owner[is_free], places.kind[is_free]
    pair_of = np.minimum(classes[owner], kind) * q + np.maximum(classes[owner], kind)
    owner = owner[np.argsort(pair_of, kind="stable")]
    shown = places.ties[places.hidden_at < 0]
    swapped = classes[shown[:, 0]] > classes[shown[:, 1]]
    shown[swapped] = shown[swapped, ::-1]
    pair_shown = classes[shown[:, 0]] * q + classes[shown[:, 1]]
    shown = shown[np.argsort(pair_shown, kind="stable")]
    members = np.argsort(classes, kind="stable")
    of_class = np.split(members, np.cumsum(np.bincount(classes, minlength=q))[:-1])
    local = np.empty(len(classes), dtype=np.int64)
    found, lacking = [np.zeros((0, 2), dtype=np.int32)], [np.zeros((0, 2), dtype=np.int64)]
    pair_of.sort()
    pair_shown.sort()
    for pair in np.union1d(pair_of, pair_shown):
        a, b = divmod(int(pair), q)
        vertices = of_class[a] if a == b else np.concatenate((of_class[a], of_class[b]))
        local[vertices] = np.arange(len(vertices))
        own = owner[slice(*np.searchsorted(pair_of, [pair, pair + 1]))]
        kept = shown[slice(*np.searchsorted(pair_shown, [pair, pair + 1]))]
        lack = np.bincount(local[own], minlength=len(vertices))
        n_a = len(of_class[a])
        edges, missing = joined(n_a, lack, local[kept], rng)
        found.append(vertices[edges].astype(np.int32))
        if missing:
            wanted = lack + np.bincount(local[kept].reshape(-1), minlength=len(lack))
            short = np.flatnonzero(wanted > np.bincount(edges.reshape(-1), minlength=len(lack)))
            lacking.append(np.column_stack((vertices[short], np.where(short < n_a, b, a))))
    return np.concatenate(found), np.concatenate(lacking)
