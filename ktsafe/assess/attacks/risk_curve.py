"""Risk curve: people found, by the known share of the network.

The attacker knows everybody's attributes, a random share of the true ties, no false one, and where
a few people are. Without such seeds it does what `alignment` does, with them what `seeds` does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.alignment import ROUNDS, first_links, place_features
from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.propagation import propagate
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.assess.attacks.seeds import ROUNDS as SEED_ROUNDS
from ktsafe.assess.attacks.seeds import drawn
from ktsafe.graph import AttributedGraph

NAME: Final = "risk_curve"
TIES: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS: Final = (0.0, 0.01, 0.05)
DRAWS: Final = (2, 5)
STEEP: Final = 0.5
"""By how much the curve rises from one point to the next but one where the point between is steep.

There one draw finds most people and the next hardly any: in releases of the demo .05 in 19 and .80
in 33 draws, so two draws agree in half of all runs, and the next run says something else.
"""
LARGE: Final = 20_000
"""People above which there is one draw, with fewer rounds."""
LARGE_ROUNDS: Final = 15


def risk_curve(
    case: Case,
    rng: np.random.Generator,
    *,
    ties: Sequence[float] = TIES,
    seeds: Sequence[float] = SEEDS,
    draws: tuple[int, int] = DRAWS,
) -> list[Result]:
    """Return the share found, by known shares of ties and people.

    Nothing is promised against this attacker.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws which ties and which people are known. Within a draw a lesser share of the ties is
        among a greater one.
    ties, seeds:
        Shares of the true ties, and of the published people, that are known.
    draws:
        How often these are drawn, and how often where the curve is steep (`STEEP`). Of more than
        `LARGE` people there is one draw.

    Returns
    -------
    list of Result
        `risk_curve.60% ties, 1% seeds` and so on: the share of the people attacked, seeds left
        out, that are named rightly, the mean over the draws. Its interval is the band that holds
        those of all draws, so where the curve is steep it may reach from .05 to .80.
        The control is a uniform guess in the class. `figures` has the shares `ties` and `seeds`.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.datasets import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> case = Case(graph, *ids_removed(graph, rng))
    >>> least, most = risk_curve(case, rng, ties=(0.1, 1.0), seeds=(0.05,))
    >>> least.value < 0.2 < 0.9 < most.value
    True
    """
    is_large = case.original.n_vertices > LARGE
    rounds_max = LARGE_ROUNDS if is_large else max(ROUNDS, SEED_ROUNDS)
    seen = place_features(case)
    found: dict[tuple[float, float], list[Result]] = {(a, b): [] for a in ties for b in seeds}
    least, most = (1, 1) if is_large else draws
    for draw in range(most):
        wanted = found.keys() if draw < least else _steep(found, ties, seeds)
        if not wanted:
            break
        order = rng.permutation(case.original.n_edges)
        whom = {share: drawn(case, share, rng) if share else _NOBODY for share in seeds}
        for share, of_people in (point for point in found if point in wanted):
            known, known_people = (
                _knowing(case, order[: round(share * len(order))]),
                whom[of_people],
            )
            first = None if of_people else first_links(known, seen)[0]
            rounds = min(SEED_ROUNDS if of_people else ROUNDS, rounds_max)
            guesses = propagate(known, known_people, rounds=rounds, first=first)
            others = case.people[~np.isin(case.people, known_people)]
            one = share_result(
                f"{NAME}.{said(share, of_people)}",
                guesses.chances[others],
                control=case.by_chance,
                figures={"ties": share, "seeds": of_people},
            )
            found[share, of_people].append(one)
    return [_together(results) for results in found.values()]


def said(ties: float, seeds: float) -> str:
    """Return what the attacker knows, in words.

    Examples
    --------
    >>> said(0.6, 0.01)
    '60% ties, 1% seeds'
    """
    return f"{ties:.0%} ties, {seeds:.0%} seeds"


def _steep(
    found: Mapping[tuple[float, float], Sequence[Result]],
    ties: Sequence[float],
    seeds: Sequence[float],
) -> set[tuple[float, float]]:
    """Return the points between two neighbours that are far apart."""
    steep = set()
    for of_people in seeds:
        shares = [_together(found[share, of_people]).value for share in ties]
        for before, share, after in zip(shares, ties[1:-1], shares[2:], strict=False):
            if after - before > STEEP:
                steep.add((share, of_people))
    return steep


_NOBODY: Final = np.zeros(0, dtype=np.int64)


def _together(results: Sequence[Result]) -> Result:
    """Return the mean of several draws, and an interval of all."""
    return dataclasses.replace(
        results[0],
        value=sum(each.value for each in results) / len(results),
        low=min(each.low for each in results),
        high=max(each.high for each in results),
    )


def _knowing(case: Case, ties: NDArray[np.int64]) -> Case:
    """Return the case of an attacker with only these true ties."""
    graph = case.original
    kept = graph.edges[np.sort(ties)]
    known = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, kept)
    return dataclasses.replace(case, original=known)
