"""Friends' values: an attacker with friends' quasi-identifiers and sensitive values.

As `one_hop` by counts of the two together: what one who studies with them, or was treated with
them, may know. No release promises anything about it. Where members of cohorts exchange values,
what friends have is shown at other places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.history import History, VertexKinds
from ktsafe.assess.attacks.common.nearest import ONLY_MISSING, SAME, standings
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.common.together import Together
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

FRIENDS = (3, 5, 10)
"""How many friends are known, of people who have as many."""


def friends_values(
    history: History,
    params: PrivacyParams,
    rng: np.random.Generator,
    name: str = "friends_values",
    counts: Sequence[int] = FRIENDS,
) -> list[Result]:
    """Return the people of the last release found by friends' attributes.

    Parameters
    ----------
    history:
        The releases, or one, and the truth.
    params:
        For what `standing_result` tells; nothing is promised.
    rng:
        Draws which friends are known, uniformly among all of a person's; the same ones at every
        release where they are friends.
    name:
        What the results are called.
    counts:
        Of how many friends each attacker knows that does not know all.

    Returns
    -------
    list of Result
        `all`: all friends are known; the vertex whose neighbours are nearest by L1, added over the
        releases, is named. `3`, `5` and `10`: so many, of people who have as many in the last
        release; the vertex that lacks the fewest of them. Nothing without releases.
    """
    if not history.cases:
        return []
    it, kinds = Together.of(history), kinds_with_values(history)
    seen = it.seen(kinds)
    (found,) = standings(it.known(kinds), seen, it.own, it.classes, [SAME])
    results = [it.guessed(f"{name}.all", params, found)]
    degrees = history.cases[-1].original.degrees[it.vertices]
    drawn = _drawn_ranks(history, rng) if counts else []
    for count in counts:
        some = it.among(degrees >= count)
        known = some.known(kinds, [(rank < count).astype(np.int64) for rank in drawn])
        (found,) = standings(known, seen, some.own, some.classes, [ONLY_MISSING])
        results.append(some.guessed(f"{name}.{count}", params, found))
    return results


def kinds_with_values(history: History) -> VertexKinds:
    """Return the kinds of vertices by quasi-identifier tuple and sensitive value."""
    number: dict[str, int] = {}
    for case in history.cases:
        for graph in (case.original, case.released):
            for text in graph.categories[-1]:
                number.setdefault(text, len(number))

    def value(graph: AttributedGraph) -> NDArray[np.int64]:
        table = np.array([number[text] for text in graph.categories[-1]], dtype=np.int64)
        return table[graph.codes[:, -1]]

    return history.split(value, len(number))


def _drawn_ranks(history: History, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return random ranks of `original.indices` among each person's friends.

    The order is one for all releases, so that the first few of them are the same friends.
    """
    pairs = []
    for case, persons in zip(history.cases, history.persons, strict=True):
        graph = case.original
        person = np.repeat(persons, graph.degrees)
        pairs.append(person * history.n_persons + persons[graph.indices])
    distinct, place = np.unique(np.concatenate(pairs), return_inverse=True)
    luck = np.split(rng.random(len(distinct))[place], np.cumsum([len(each) for each in pairs]))
    ranks = []
    for case, each in zip(history.cases, luck, strict=False):
        graph = case.original
        person = np.repeat(np.arange(graph.n_vertices), graph.degrees)
        rank = np.empty(len(each), dtype=np.int64)
        rank[np.lexsort((each, person))] = np.arange(len(each)) - graph.indptr[person]
        ranks.append(rank)
    return ranks
