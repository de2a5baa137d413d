"""Friends' degrees: an attacker with the numbers of friends' ties.

Friends are known by quasi-identifiers and number of ties. A release that is safe for one hop keeps
the members of a cohort alike in whom they are tied to, not in how many ties those have.

Source: the vertex refinement query H2 of Hay et al., "Resisting structural re-identification in
anonymized social networks" (PVLDB 2008), with the paper's attributes.

What is known of friends may be varied: a row of `VARIANTS` is another figure in audits. Naive
counts are in tests/ktsafe/assess/attacks/test_friends_degrees.py and test_friends_values.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.history import History, Together, VertexKinds
from ktsafe.assess.attacks.common.logistic import right_of_highest, sensitive_without
from ktsafe.assess.attacks.common.nearest import ONLY_MISSING, SAME, nearest_share, standings
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

WIDE, NARROW = 2.0, 1.2
"""The next band of degrees begins at so many times the beginning of one, or one above it."""
VARIANTS = {"wide": WIDE, "order": NARROW}
"""By what distance degrees are compared, and in which bands."""


def friends_degrees(
    history: History,
    params: PrivacyParams,
    name: str = "friends_degrees",
    variants: Iterable[str] = VARIANTS,
) -> list[Result]:
    """Return the people of the last release found by friends' degrees.

    Two distances between known and released friends, each added over the releases:

    - `wide`: L1 of counts by quasi-identifier tuple and band of degree, each twice as wide as the
      one before;
    - `order`: friends of a tuple are compared in the order of their degrees, each by the bands
      between the two (the earth mover's distance), a fifth as wide; one too many counts all of its
      bands.

    Parameters
    ----------
    history:
        The releases, or one, and the truth.
    params:
        Its k gives the promise 1/k, if it promises two hops; else there is none.
    name:
        What the results are called.
    variants:
        Which of `VARIANTS`.

    Returns
    -------
    list of Result
        One per distance, see `standing_result`. Nothing without releases.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 800, rng=rng)
    >>> history = History.of(Case(graph, *ids_removed(graph, rng)))
    >>> found = friends_degrees(history, PrivacyParams(k=10))
    >>> [result.attack for result in found]
    ['friends_degrees.wide', 'friends_degrees.order']
    >>> found[0].value > 0.9
    True
    """
    if not history.cases:
        return []
    it, is_promised = Together.of(history), params.n_hops >= 2
    results = []
    for variant in variants:
        kinds, n_bands = _by_band(history, VARIANTS[variant])
        together = n_bands if variant == "order" else 1
        rows = it.known(kinds), it.seen(kinds)
        (found,) = standings(*rows, it.own, it.classes, [SAME], together)
        results.append(it.guessed(f"{name}.{variant}", params, found, is_promised=is_promised))
    return results


def _by_band(history: History, width: float) -> tuple[VertexKinds, int]:
    """Return vertices' kinds by tuple and band of degree, and band number."""
    graphs = [graph for case in history.cases for graph in (case.original, case.released)]
    begins = begins_of_bands(max(int(graph.degrees.max(initial=0)) for graph in graphs), width)
    return history.split(lambda graph: bands(graph.degrees, begins), len(begins)), len(begins)


def begins_of_bands(most: int, width: float) -> list[int]:
    """Return each band's least degree; the last band holds `most`."""
    begins = [1]
    while begins[-1] < most:
        begins.append(max(begins[-1] + 1, int(begins[-1] * width)))
    return begins


def bands(degrees: NDArray[np.integer[Any]], begins: Sequence[int]) -> NDArray[np.int64]:
    """Return the band of each degree; 0 shares that of 1."""
    found: NDArray[np.int64] = np.searchsorted(begins, degrees, side="right") - 1
    return np.maximum(found, 0)


# Friends' values: an attacker with friends' quasi-identifiers and sensitive values.
#
# As `one_hop` by counts of the two together: what one who studies with them, or was treated with
# them, may know. No release promises anything about it. Where members of cohorts exchange values,
# what friends have is shown at other places.

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
    drawn = _drawn_ranks(history, rng, it.people) if counts else []
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


def _drawn_ranks(
    history: History, rng: np.random.Generator, people: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return random ranks of `original.indices` among each person's friends.

    Of other people it tells nothing. The order is one for all releases, so that the first few of
    them are the same friends.
    """
    pairs = []
    for case, persons in zip(history.cases, history.persons, strict=True):
        graph = case.original
        person = np.repeat(persons, graph.degrees)
        pairs.append(person * history.n_persons + persons[graph.indices])
    distinct, place = np.unique(np.concatenate(pairs), return_inverse=True)
    luck = np.split(rng.random(len(distinct))[place], np.cumsum([len(each) for each in pairs]))
    ranks = []
    for case, persons, each in zip(history.cases, history.persons, luck, strict=False):
        graph = case.original
        person = np.repeat(np.arange(graph.n_vertices), graph.degrees)
        at = np.flatnonzero(np.isin(persons, people)[person])
        rank = np.zeros(len(each), dtype=np.int64)
        rank[at[np.lexsort((each[at], person[at]))]] = at - graph.indptr[person[at]]
        ranks.append(rank)
    return ranks


# Sensitive by friends.
#
# The attacker says "is sensitive" by what a person's friends have.
#
# As `friends_values` with all friends known. kt-safety bounds the share of sensitive ones among the
# candidates of an attacker that knows no values; this one chooses among them by values.


def sensitive_by_friends(
    history: History,
    params: PrivacyParams,
    rng: np.random.Generator,
    name: str = "sensitive_by_friends",
) -> list[Result]:
    """Return how often "is sensitive" is right in the last release.

    Parameters
    ----------
    history:
        The releases, or one, and the truth.
    params:
        Its alpha is told beside the figure; nothing is promised.
    rng:
        Draws the folds of what is said without the person (`common.without_target`).
    name:
        What the result is called.

    Returns
    -------
    list of Result
        `named`: of the people whose nearest vertices, by the quasi-identifiers and values of all
        their friends, added over the releases, mostly show a sensitive value, the share that is
        sensitive. Its control is the share of all people; without the target as many are named by
        the chance that they are sensitive. `figures` tells alpha. Nothing without releases.
    """
    if not history.cases:
        return []
    it, kinds, last = Together.of(history), kinds_with_values(history), history.cases[-1]
    flags = np.zeros((history.n_ids, 1))
    flags[history.ids[-1], 0] = last.released.is_sensitive
    share = nearest_share(it.known(kinds), it.seen(kinds), it.own, it.classes, SAME, flags)[:, 0]
    truth = last.original.is_sensitive[it.vertices]
    named = share > 0.5
    without = sensitive_without(last, it.vertices, rng)
    return [
        share_result(
            f"{name}.named",
            truth[named].astype(np.float64),
            control=float(truth.mean()) if len(truth) else 0.0,
            figures={
                "named": int(named.sum()),
                "sensitive": int(truth.sum()),
                "alpha": float(params.alpha),
            },
            without_target=right_of_highest(without, truth, int(named.sum())),
        )
    ]
