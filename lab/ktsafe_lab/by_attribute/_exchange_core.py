"""Kernels: people of a class exchange neighbours with equal sums of values."""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

TIED = 0.3
"""How often places that show ties may be exchanged, where others always may."""

BOTH = 0.3
"""How often room is sought for a tie for which the other end has none either."""

LOOKS = 8
"""People of the class that are asked for an exchange."""

HANDS = 1000
"""Places that are looked at to hand one on."""


class Seats(NamedTuple):
    """A place for each neighbour of a vertex, and its class.

    Attributes
    ----------
    first:
        int64, shape (n + 1,): the places of each vertex.
    owner:
        int64, shape (places,): the vertex of each.
    kind:
        int64, shape (places,): the class of the neighbour.
    partner:
        int64, shape (places,): the place at the other end, where a tie is shown; else -1.
    tie_at:
        int64, shape (places,): the tie that is shown.
    classes:
        int64, shape (n,).
    columns:
        int64, shape (classes, attributes): the columns in which a vertex of each class counts.
    with_value:
        int64, shape (classes, columns): the class that has this value in place of its own, and
        else the same ones; -1 if there is none.
    ties:
        int64, shape (m, 2).
    hidden, hidden_at:
        int64, shape (m + 1,) and (m,): the ties that are hidden, their number at the end; and where
        each is among them, -1 if it is shown.
    near_first, near:
        int64, shape (n + 1,) and (2 m,): the ties of each vertex.
    """

    first: NDArray[np.int64]
    owner: NDArray[np.int64]
    kind: NDArray[np.int64]
    partner: NDArray[np.int64]
    tie_at: NDArray[np.int64]
    classes: NDArray[np.int64]
    columns: NDArray[np.int64]
    with_value: NDArray[np.int64]
    ties: NDArray[np.int64]
    hidden: NDArray[np.int64]
    hidden_at: NDArray[np.int64]
    near_first: NDArray[np.int64]
    near: NDArray[np.int64]


class Holders(NamedTuple):
    """The places that people of a class have for neighbours of another.

    Attributes
    ----------
    first:
        int64, shape (classes ** 2 + 1,): where those of each pair of classes begin.
    places, at:
        int64, shape (places,): the places in this order, and where each is in it.
    """

    first: NDArray[np.int64]
    places: NDArray[np.int64]
    at: NDArray[np.int64]


@inner_kernel
def _holders(p: Seats) -> Holders:
    """Sort the places by the classes of both ends."""
    q = len(p.columns)
    first = np.zeros(q * q + 1, dtype=np.int64)
    for i in range(len(p.kind)):
        first[p.classes[p.owner[i]] * q + p.kind[i] + 1] += 1
    first = np.cumsum(first)
    filled = first[:-1].copy()
    places, at = np.empty(len(p.kind), dtype=np.int64), np.empty(len(p.kind), dtype=np.int64)
    for i in range(len(p.kind)):
        key = p.classes[p.owner[i]] * q + p.kind[i]
        places[filled[key]], at[i] = i, filled[key]
        filled[key] += 1
    return Holders(first, places, at)


@inner_kernel
def _free_place(p: Seats, u: int, b: int) -> int:
    """Return u's place for class b without shown tie, else -1."""
    for i in range(p.first[u], p.first[u + 1]):
        if p.kind[i] == b and p.partner[i] < 0:
            return i
    return -1


@inner_kernel
def _other_end(p: Seats, tie: int, u: int) -> int:
    """Return the vertex at the other end of a tie."""
    return p.ties[tie, 0] + p.ties[tie, 1] - u


@inner_kernel
def _link(p: Seats, i: int, j: int, tie: int) -> None:
    """Show a tie at two places."""
    p.partner[i], p.partner[j] = j, i
    p.tie_at[i], p.tie_at[j] = tie, tie
    p.hidden[-1] -= 1
    at, last = p.hidden_at[tie], p.hidden[p.hidden[-1]]
    p.hidden[at], p.hidden_at[last], p.hidden_at[tie] = last, at, -1


@inner_kernel
def _unlink(p: Seats, i: int) -> None:
    """Hide the tie that is shown at a place."""
    j = p.partner[i]
    p.partner[i], p.partner[j] = -1, -1
    tie = p.tie_at[i]
    p.hidden[p.hidden[-1]], p.hidden_at[tie] = tie, p.hidden[-1]
    p.hidden[-1] += 1


@inner_kernel
def _show_one(p: Seats, i: int) -> bool:
    """Show a hidden tie at free places of both ends, if any."""
    u, b = p.owner[i], p.kind[i]
    if p.partner[i] >= 0:
        return False
    for k in range(p.near_first[u], p.near_first[u + 1]):
        tie = p.near[k]
        x = _other_end(p, tie, u)
        if p.classes[x] == b and p.hidden_at[tie] >= 0:
            j = _free_place(p, x, p.classes[u])
            if j >= 0:
                _link(p, i, j, tie)
                return True
    return False


@kernel
def show(p: Seats, order: NDArray[np.int64]) -> None:
    """Show ties in order where both ends have free places.

    Parameters
    ----------
    p:
        Changed in place.
    order:
        int64: ties.
    """
    for tie in order:
        u, v = p.ties[tie]
        i = _free_place(p, u, p.classes[v])
        j = _free_place(p, v, p.classes[u])
        if p.hidden_at[tie] >= 0 and i >= 0 and j >= 0:
            _link(p, i, j, tie)


@inner_kernel
def _may_go(p: Seats, i: int, rng: np.random.Generator) -> bool:
    """Return whether a place may be exchanged this time."""
    return p.partner[i] < 0 or rng.random() < TIED


@inner_kernel
def _unlike(p: Seats, b: int, c: int, rng: np.random.Generator) -> int:
    """Draw an attribute in which classes b and c have other values.

    -1 if there is none.
    """
    n, found = 0, -1
    for j in range(p.columns.shape[1]):
        if p.columns[b, j] != p.columns[c, j]:
            n += 1
            if rng.random() * n < 1:
                found = j
    return found


@inner_kernel
def _beside(p: Seats, i: int, j: int, kind: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw another place of i's owner that suits attribute j.

    Its value of attribute j makes i's neighbour one of kind.

    Return it and the class that it becomes, if it gets the value of i's neighbour instead; -1 and
    -1 if there is none.
    """
    u, own, column = p.owner[i], p.columns[p.kind[i], j], p.columns[kind, j]
    n, found, other = 0, -1, -1
    with_ties = rng.random() < TIED
    for k in range(p.first[u], p.first[u + 1]):
        b = p.kind[k]
        # One of the same kind would change nothing.
        if b == kind or p.columns[b, j] != column or (p.partner[k] >= 0 and not with_ties):
            continue
        if p.with_value[b, own] >= 0:
            n += 1
            if rng.random() * n < 1:
                found, other = k, p.with_value[b, own]
    return found, other


@inner_kernel
def _taker(
    p: Seats, h: Holders, u: int, b: int, c: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw places for two classes of another vertex of u's class.

    The classes are b and c; -1 and -1 if none was found.
    """
    key = p.classes[u] * len(p.columns) + b
    width = h.first[key + 1] - h.first[key]
    for _ in range(LOOKS if width else 0):
        i = h.places[h.first[key] + int(rng.random() * width)]
        v, found = p.owner[i], -1
        if v == u or not _may_go(p, i, rng):
            continue
        for k in range(p.first[v], p.first[v + 1]):
            if k != i and p.kind[k] == c and (found < 0 or p.partner[k] < 0):
                found = k
        if found >= 0 and _may_go(p, found, rng):
            return i, found
    return -1, -1


@inner_kernel
def _place_near(p: Seats, u: int, c: int, rng: np.random.Generator) -> int:
    """Draw u's place for a class with fewest values unlike c.

    It has other values than c.

    Return -1 if there is none.
    """
    n_attributes = p.columns.shape[1]
    with_ties = rng.random() < TIED
    n, found, fewest = 0, -1, n_attributes
    for k in range(p.first[u], p.first[u + 1]):
        b = p.kind[k]
        if b == c or (p.partner[k] >= 0 and not with_ties):
            continue
        unlike = 0
        for j in range(n_attributes):
            unlike += p.columns[b, j] != p.columns[c, j]
        if unlike > fewest:
            continue
        if unlike < fewest:
            n, fewest = 0, unlike
        n += 1
        if rng.random() * n < 1:
            found = k
    return found


@inner_kernel
def _complete(
    p: Seats, h: Holders, four: NDArray[np.int64], i: int, c: int, rng: np.random.Generator
) -> bool:
    """Draw the rest of an exchange that brings a place nearer.

    Nearer to one for class c.
    """
    j = _unlike(p, p.kind[i], c, rng)
    if j < 0:
        return False
    kind = p.with_value[p.kind[i], p.columns[c, j]]
    if kind < 0:
        return False
    k, other = _beside(p, i, j, kind, rng)
    if k < 0:
        return False
    four[0], four[1] = i, k
    four[2], four[3] = _taker(p, h, p.owner[i], kind, other, rng)
    return four[2] >= 0


@inner_kernel
def _draw(p: Seats, h: Holders, four: NDArray[np.int64], rng: np.random.Generator) -> bool:
    """Draw two places each of two exchanging vertices of a class.

    Then an end of a hidden tie gets a place for the other, or comes nearer to one.
    """
    if p.hidden[-1] == 0:
        return False
    tie = p.hidden[int(rng.random() * p.hidden[-1])]
    u = p.ties[tie, int(rng.random() * 2)]
    x = _other_end(p, tie, u)
    if _free_place(p, x, p.classes[u]) < 0 and rng.random() > BOTH:
        return False
    i = _place_near(p, u, p.classes[x], rng)
    return i >= 0 and _complete(p, h, four, i, p.classes[x], rng)


@inner_kernel
def _swap(p: Seats, four: NDArray[np.int64]) -> None:
    """Let the first two places change classes with the last two."""
    for i in range(2):
        j = four[i + 2]
        p.kind[four[i]], p.kind[j] = p.kind[j], p.kind[four[i]]


@inner_kernel
def _exchange_four(
    p: Seats, h: Holders, four: NDArray[np.int64], heat: float, rng: np.random.Generator
) -> None:
    """Exchange two places each of two vertices, or undo by chance."""
    hidden = np.empty((4, 3), dtype=np.int64)
    shown = np.empty(8, dtype=np.int64)
    n_hidden, n_shown = 0, 0
    for i in four:
        if p.partner[i] >= 0:
            hidden[n_hidden] = i, p.partner[i], p.tie_at[i]
            _unlink(p, i)
            n_hidden += 1
    _swap(p, four)
    for i in four:
        if _show_one(p, i):
            shown[n_shown] = i
            n_shown += 1
    for k in range(n_hidden):
        if _show_one(p, hidden[k, 1]):
            shown[n_shown] = hidden[k, 1]
            n_shown += 1
    if n_shown < n_hidden and rng.random() >= np.exp((n_shown - n_hidden) / heat):
        for k in range(n_shown):
            _unlink(p, shown[k])
        _swap(p, four)
        for k in range(n_hidden):
            _link(p, hidden[k, 0], hidden[k, 1], hidden[k, 2])
        return
    for k in range(2):
        i, j = four[k], four[k + 2]
        h.places[h.at[i]], h.places[h.at[j]] = j, i
        h.at[i], h.at[j] = h.at[j], h.at[i]


@kernel
def exchange(p: Seats, n_trials: int, heat: float, rng: np.random.Generator) -> None:
    """Let people of a class exchange places, keeping shown ties.

    As many as before can be shown then.

    Values at the two places sum up alike, so nobody has more or fewer neighbours with any.

    Parameters
    ----------
    p:
        `kind`, `partner`, `tie_at`, `hidden` and `hidden_at` are changed in place.
    n_trials:
        Exchanges that are tried.
    heat:
        One that hides x ties more is done with probability exp(-x / heat).
    rng:
        Draws them.
    """
    h = _holders(p)
    four = np.empty(4, dtype=np.int64)
    for _ in range(n_trials):
        if _draw(p, h, four, rng):
            _exchange_four(p, h, four, heat, rng)


@kernel
def hand_on(p: Seats, lacking: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Let vertices exchange places for a class with few partners.

    Parameters
    ----------
    p:
        Changed in place as by exchanges, whatever ties that hides.
    lacking:
        int64, shape (m, 2): vertices and classes.
    rng:
        Draws what is exchanged.
    """
    h = _holders(p)
    four = np.empty(4, dtype=np.int64)
    for u, b in lacking:
        width = p.first[u + 1] - p.first[u]
        for _ in range(HANDS):
            i = p.first[u] + int(rng.random() * width)
            c = p.kind[p.first[u] + int(rng.random() * width)]
            if p.kind[i] == b and _complete(p, h, four, i, c, rng):
                _exchange_four(p, h, four, np.inf, rng)
                break
