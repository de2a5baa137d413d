"""Which quasi-identifiers and which k give what: estimates of all settings, releases of the best.

    for each attribute left out, told in broader buckets or kept:
        estimate what a release would be worth         (milliseconds, `ktsafe.exact.estimate`)
    make a quick release of the best; advise it if it is as good as that
    likewise for other k
    while time lasts: release the graph as it is, and the settings that no other beats

The price of a release is set by how finely people are told apart, far more than by k. An estimate
is too hopeful by nearly the same factor for all settings of a graph, so each release tells better
by how much. The graph as it is makes the dearest release, so it comes after the advice. Releases
are made by the quick search (`effort = "fast"`); the default search gives a little more.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.errors import Infeasible, NotKTSafe
from ktsafe.exact.estimate import estimated_shares
from ktsafe.stream.figure_text import text_of
from ktsafe.stream.study.worth import afresh, without_attributes

GAIN_MIN: Final = 0.025
"""F1 of ties that each step must gain at least: 0.05 that an attribute is left out."""

HOPEFUL: Final = 1.25
"""What a release costs, over its estimate, before one was made: 1.1 to 1.4 on most networks."""

COARSE_MAX: Final = 3**6
"""Settings of one k beyond which attributes are kept or left out, and no buckets merged."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseSetting:
    """What may be asked of a release.

    Attributes
    ----------
    k:
        Least number of candidates.
    broader:
        Quasi-identifiers told in buckets twice as broad (`broader_buckets`).
    dropped:
        Quasi-identifiers that are left out.
    """

    k: int
    broader: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def given_up(self) -> int:
        """Steps by which less is told: one for broader buckets, two for a whole attribute."""
        return len(self.broader) + 2 * len(self.dropped)

    def is_one_step(self, k: int) -> bool:
        """Whether it has this k and one attribute is left out, or told in broader buckets."""
        return self.k == k and len(self.broader) + len(self.dropped) == 1

    def of(self, graph: AttributedGraph) -> AttributedGraph:
        """Return the graph as this setting tells it."""
        for name in self.broader:
            graph = _told_broader(graph, name)
        return without_attributes(graph, self.dropped) if self.dropped else graph


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """A setting and what a release of it is worth.

    Attributes
    ----------
    setting:
        What was asked.
    f1:
        F1 of ties, as estimated; of the release itself if one was made.
    people:
        Share of people that are shown, likewise.
    usefulness:
        See `ktsafe.audit.Usefulness.to_mapping`. None: no release was made, or none is safe.
    is_made:
        Whether a release was tried.
    """

    setting: ReleaseSetting
    f1: float
    people: float
    usefulness: dict[str, Any] | None = None
    is_made: bool = False

    def beats(self, other: Tried) -> bool:
        """Whether it is at least as good in k, what is told, ties and people, and better in one."""
        mine, its = self._merits(), other._merits()
        return mine != its and all(a >= b for a, b in zip(mine, its, strict=True))

    def _merits(self) -> tuple[float, ...]:
        return (self.setting.k, -self.setting.given_up, self.f1, self.people)

    def to_mapping(self) -> dict[str, Any]:
        """Return the setting and its figures, JSON-ready."""
        return {
            "k": self.setting.k,
            "broader": list(self.setting.broader),
            "dropped": list(self.setting.dropped),
            "f1": round(self.f1, 4),
            "people": round(self.people, 4),
            "is_made": self.is_made,
            "usefulness": self.usefulness,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """What is advised, and what else there is.

    Attributes
    ----------
    base, best:
        The graph as it is, and what is advised; a release of the latter was made.
    prices:
        Of each attribute: what is won if it alone is left out or told in broader buckets.
    front:
        The settings that no other one beats.
    """

    base: Tried
    best: Tried
    prices: list[Tried]
    front: list[Tried]


def settings_of(schema: Schema, ks: Sequence[int]) -> list[ReleaseSetting]:
    """Return all settings, those that give up least first."""
    names = schema.quasi_identifiers
    levels = [(0, 1, 2) if broader_buckets(schema, name) else (0, 2) for name in names]
    if np.prod([len(some) for some in levels]) > COARSE_MAX:
        levels = [(0, 2)] * len(names)
    found = [
        ReleaseSetting(
            k,
            tuple(name for name, level in zip(names, chosen, strict=True) if level == 1),
            tuple(name for name, level in zip(names, chosen, strict=True) if level == 2),
        )
        for k in dict.fromkeys(ks)
        for chosen in itertools.product(*levels)
    ]
    return sorted(found, key=lambda one: (one.given_up, ks.index(one.k)))


def advised(
    graph: AttributedGraph,
    params: PrivacyParams,
    other_ks: Sequence[int],
    go_on: Callable[[str, float], bool],
    *,
    seed: int = 0,
) -> Advice:
    """Return what is advised, and the settings that no other one beats.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        What is promised; its k is the one that is asked for.
    other_ks:
        Others to try beside it.
    go_on:
        Called with what is done next and how much of it is done; False ends the search. The k that
        is asked for comes first, in any case: estimates, and a release of what is advised.
    seed:
        The same graph and seed give the same figures.
    """
    base, k = ReleaseSetting(params.k), params.k
    guess = _Estimates(graph, params)
    found = {one: guess.of(one) for one in settings_of(graph.schema, (k,))}

    def release(setting: ReleaseSetting) -> Tried:
        found[setting] = made(graph, params, setting, seed)
        guess.learn(found[setting])
        found.update({one: guess.of(one) for one, tried in found.items() if not tried.is_made})
        return recommended(list(found.values()), k)

    best = recommended(list(found.values()), k)
    while not best.is_made:
        best = release(best.setting)
    others = [one for one in settings_of(graph.schema, other_ks) if one not in found]
    for number, setting in enumerate(others):
        if not go_on("estimated", number / len(others)):
            break
        found[setting] = guess.of(setting)
    # A release may tell that another setting is the best, or lets one into the front.
    released, next_best = 0, best
    while open_ := [
        one for one in (found[base], next_best, *front(list(found.values()))) if not one.is_made
    ]:
        if not go_on("released", released / (released + len(open_))):
            break
        next_best = release(open_[0].setting)
        best = next_best if next_best.is_made else best
        released += 1
    prices = [one for one in found.values() if one.setting.is_one_step(k)]
    return Advice(found[base], best, prices, front(list(found.values())))


class _Estimates:
    """Estimates of one graph, scaled by what its releases cost."""

    def __init__(self, graph: AttributedGraph, params: PrivacyParams) -> None:
        self._graph, self._params = graph, params
        self._shares: dict[ReleaseSetting, tuple[float, float]] = {}
        self._expected, self._spent = 0.0, 0.0

    def of(self, setting: ReleaseSetting) -> Tried:
        if setting not in self._shares:
            params = dataclasses.replace(self._params, k=setting.k)
            self._shares[setting] = estimated_shares(setting.of(self._graph), params)
        cost, people = self._shares[setting]
        factor = self._spent / self._expected if self._expected else HOPEFUL
        # As many ties are hidden as edges are inserted.
        return Tried(setting, max(1 - min(factor * cost, 1.0) / 2, 0.0), people)

    def learn(self, tried: Tried) -> None:
        """Compare an estimate with the release."""
        if tried.usefulness is not None:
            self._expected += self._shares[tried.setting][0]
            self._spent += tried.usefulness["edges"]["cost_share"] or 0.0


def made(
    graph: AttributedGraph,
    params: PrivacyParams,
    setting: ReleaseSetting,
    seed: int,
) -> Tried:
    """Return what a quick release with a setting is worth."""
    asked = dataclasses.replace(params, k=setting.k)
    try:
        found = afresh(setting.of(graph), asked, seed=seed)
    except (Infeasible, NotKTSafe):
        return Tried(setting, 0.0, 0.0, is_made=True)
    f1, people = found["edges"]["f1"] or 0.0, found["vertices"]["recall"] or 0.0
    return Tried(setting, f1, people, found, is_made=True)


def front(settings: Sequence[Tried]) -> list[Tried]:
    """Return the settings that no other beats, those that give up least and greatest k first."""
    best = [one for one in settings if not any(other.beats(one) for other in settings)]
    return sorted(best, key=lambda one: (one.setting.given_up, -one.setting.k, -one.f1))


def recommended(settings: Sequence[Tried], k: int) -> Tried:
    """Return the setting that is advised for a k.

    As little is given up as possible: a step more only if that gains `GAIN_MIN` of F1 at least.
    """
    own = [one for one in settings if one.setting.k == k]
    best = next(one for one in own if not one.setting.given_up)
    for steps in range(1, 1 + max(one.setting.given_up for one in own)):
        of_size = [one for one in own if one.setting.given_up == steps]
        if of_size:
            top = max(of_size, key=lambda one: (one.f1, one.setting.dropped, one.setting.broader))
            if top.f1 >= best.f1 + GAIN_MIN * (steps - best.setting.given_up):
                best = top
    return best


def broader_buckets(schema: Schema, name: str) -> tuple[float, ...]:
    """Return every second border of an attribute's buckets; none if it has less than two."""
    return tuple(schema.buckets.get(name, ())[1::2])


def _told_broader(graph: AttributedGraph, name: str) -> AttributedGraph:
    """Return the graph with an attribute told in buckets twice as broad."""
    schema = graph.schema
    buckets = {**schema.buckets, name: broader_buckets(schema, name)}
    coarse = dataclasses.replace(schema, buckets=buckets)
    borders = schema.buckets[name]
    inside = (borders[0] - 1, *borders, None)
    broader = {schema.category(name, x): coarse.category(name, x) for x in inside}
    j = schema.attributes.index(name)
    texts = [broader[text] for text in graph.categories[j]]
    merged = sorted(set(texts))
    codes = graph.codes.copy()
    codes[:, j] = np.array([merged.index(text) for text in texts], dtype=np.int32)[codes[:, j]]
    categories = [*graph.categories[:j], merged, *graph.categories[j + 1 :]]
    return AttributedGraph.from_codes(coarse, categories, codes, graph.edges)


def in_words(base: Tried, best: Tried) -> str:
    """Return the advice in a sentence."""
    if not best.people:
        return f"Nobody can be shown at k = {best.setting.k}: ask for a smaller one."
    if best.setting == base.setting:
        return "Keep all quasi-identifiers: leaving one out gains little."
    parts = [
        f"{verb} {' and '.join(f'`{name}`' for name in names)}"
        for verb, names in (
            ("drop", best.setting.dropped),
            ("halve the buckets of", best.setting.broader),
        )
        if names
    ]
    said = " and ".join(parts)
    return f"{said[0].upper()}{said[1:]}: {_changes(base, best)}."


def _changes(base: Tried, best: Tried) -> str:
    if base.usefulness is None and not base.is_made:
        return f"F1 of ties about {base.f1:.2f} -> {best.f1:.2f}"
    words = []
    for word, kind, figure in (
        ("precision", "edges", "precision"),
        ("recall", "edges", "recall"),
        ("people shown", "vertices", "recall"),
    ):
        before, after = (
            "none" if one.usefulness is None else text_of(one.usefulness[kind][figure])
            for one in (base, best)
        )
        words.append(f"{word} {before} -> {after}")
    return ", ".join(words)
