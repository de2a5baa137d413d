"""Own account: an attacker's account names the people tied to it.

One account that is planted and tied to people is enough. The attacker knows all that the account
has: its quasi-identifiers, its sensitive value and its friends, with their quasi-identifiers. It
looks for the account's vertex, and then for friends among the neighbours that this shows.

Source: the active attacks of Backstrom, Dwork and Kleinberg, "Wherefore art thou R3579X?" (WWW
2007), with one account instead of many, and the paper's attributes.

`FRIENDS` and `ACCOUNTS_MAX` may be tuned; tests/ktsafe/assess/attacks/test_own_account.py has
chances counted naively.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.nearest import neighbour_counts
from ktsafe.assess.attacks.common.result import Result, share_result

FRIENDS = 20
"""Ties of the account: the people whose number of ties is nearest to it stand for the attacker."""
ACCOUNTS_MAX = 200
"""Greatest number of accounts that are tried, one by one."""


def own_account(case: Case, rng: np.random.Generator) -> list[Result]:
    """Return the friends named by the owner of an account.

    Each of the targets that have about `FRIENDS` ties is the attacker's account in turn. Its
    candidates are the released vertices of its published tuple (and of its sensitive value, where
    any is shown so) whose counts of neighbours' tuples are nearest to its own. For a friend the
    attacker names, among the vertices of the friend's tuple, one that most candidates are tied to;
    one of all where none is.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws among people with equally many ties.

    Returns
    -------
    list of Result
        `own_account.value`, of an attacker that uses the sensitive value, and `own_account.ties`,
        of one that does not. Targets are published friends; nothing is promised. Control is a
        guess in the friend's class. Friends of one account are not independent, so the intervals
        are too narrow. `figures` counts the `accounts` and tells the mean chance `own` that the
        account's vertex is named.

    *Complexity*: O(`ACCOUNTS_MAX` * edges) at most.

    Examples
    --------
    >>> from ktsafe.assess.attacks import ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> value, _ = own_account(Case(graph, *ids_removed(graph, rng)), rng)
    >>> value.figures["own"] > 0.9, value.value > 5 * value.control
    (True, True)
    """
    accounts = _accounts(case, rng)
    kinds = _Kinds.of(case)
    friends = [published_friends(case, account) for account in accounts.tolist()]
    places = case.own_place[np.concatenate((accounts[:0], *friends))]
    by_chance = 1 / np.diff(kinds.first)[case.tuples[1][places]]
    alike = [_alike(case, account, kinds) for account in accounts.tolist()]
    results = []
    for i, name in enumerate(("value", "ties")):
        own, chances = [], [np.zeros(0)]
        for account, candidates, named in zip(accounts, alike, friends, strict=True):
            own.append(float((candidates[i] == case.own_place[account]).mean()))
            chances.append(friends_named(case, candidates[i], named))
        results.append(
            share_result(
                f"own_account.{name}",
                np.concatenate(chances),
                control=float(by_chance.mean()) if len(by_chance) else 0.0,
                figures={"accounts": len(own), "own": float(np.mean(own)) if own else 0.0},
            )
        )
    return results


class _Kinds(NamedTuple):
    """Released vertices by tuple: those of x are `order[first[x]:first[x + 1]]`.

    `seen`, in this order, counts the tuples of their neighbours.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    seen: sparse.csr_matrix

    @classmethod
    def of(cls, case: Case) -> _Kinds:
        _, kind, n_kinds = case.tuples
        order = np.argsort(kind, kind="stable")
        first = np.searchsorted(kind[order], np.arange(n_kinds + 1))
        return cls(order, first, neighbour_counts(case.released, kind, n_kinds)[order])


def _accounts(case: Case, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the targets with ties in a number nearest to `FRIENDS`."""
    people = rng.permutation(case.people)
    degrees = case.original.degrees[people]
    order = np.argsort(np.abs(degrees - FRIENDS), kind="stable")
    accounts: NDArray[np.int64] = people[order[degrees[order] > 0][:ACCOUNTS_MAX]]
    return accounts


def published_friends(case: Case, account: int) -> NDArray[np.int64]:
    """Return the true neighbours of a person that have a place."""
    graph = case.original
    friends = graph.indices[graph.indptr[account] : graph.indptr[account + 1]]
    return friends[case.own_place[friends] >= 0].astype(np.int64)


def _alike(case: Case, account: int, kinds: _Kinds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the released vertices that may be the account's, at least one.

    First for an attacker that uses the account's sensitive value, then for one that does not.
    """
    graph, kind = case.original, case.published_tuple[account]
    friends = graph.indices[graph.indptr[account] : graph.indptr[account + 1]]
    known = np.bincount(case.published_tuple[friends], minlength=case.tuples[2])
    inside = kinds.order[kinds.first[kind] : kinds.first[kind + 1]]
    rows = kinds.seen.indptr[kinds.first[kind] : kinds.first[kind + 1] + 1]
    entries = slice(rows[0], rows[-1])
    shared = np.minimum(kinds.seen.data[entries], known[kinds.seen.indices[entries]])
    both = np.diff(np.concatenate(([0], np.cumsum(shared)))[rows - rows[0]])
    # L1 of two rows of counts, but for the account's own ties, which all candidates are told by.
    distance = case.released.degrees[inside] - 2 * both
    has_value = case.values[1][inside, -1] == case.values[0][account, -1]
    among = has_value | (not has_value.any())
    least = distance[among].min()
    return inside[among & (distance == least)], inside[distance == distance.min()]


def friends_named(
    case: Case, candidates: NDArray[np.int64], friends: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the chance that each friend is named, shape (friends,).

    `candidates` are the released vertices that may be the account's, `friends` true vertices.
    """
    tuples, size = case.tuples[1:]
    tied = np.zeros(case.released.n_vertices, dtype=np.int64)
    for seen in _neighbours(case, candidates):
        tied[seen] += 1
    there = np.flatnonzero(tied)
    most = np.zeros(size, dtype=np.int64)
    np.maximum.at(most, tuples[there], tied[there])
    best = there[tied[there] == most[tuples[there]]]
    n_best = np.bincount(tuples[best], minlength=size)
    # Of a kind that nobody is tied to all are as good.
    n_best = np.where(most > 0, n_best, np.bincount(tuples, minlength=size))
    places = case.own_place[friends]
    chances: NDArray[np.float64] = (tied[places] == most[tuples[places]]) / n_best[tuples[places]]
    return chances


def _neighbours(case: Case, vertices: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the released neighbours of each vertex."""
    graph = case.released
    for v in vertices.tolist():
        yield graph.indices[graph.indptr[v] : graph.indptr[v + 1]].astype(np.int64)
