"""Which quasi-identifiers and which k give what: quick releases of one graph, and what follows.

The price of a release is set by how finely people are told apart, far more than by k. So the
search leaves attributes out: one by one, then more at once, the most promising first. Every figure
is of a release that was made, by the quick search (`effort = "fast"`); the default search gives a
little more.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.errors import Infeasible, NotKTSafe
from stream.study.worth import afresh, without_attributes

GAIN_MIN: Final = 0.05
"""An attribute is advised against if leaving it out gains this much F1 of ties at least."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """A setting and what a release of it was worth.

    Attributes
    ----------
    k:
        Least number of candidates.
    dropped:
        Quasi-identifiers that are left out.
    usefulness:
        See `ktsafe.audit.Usefulness.to_mapping`; None if there is no safe release.
    """

    k: int
    dropped: tuple[str, ...]
    usefulness: dict[str, Any] | None

    @property
    def f1(self) -> float:
        """F1 of ties, 0 where there is no release."""
        return (self.usefulness["edges"]["f1"] or 0.0) if self.usefulness else 0.0

    @property
    def people(self) -> float:
        """The share of people that is shown, 0 where there is no release."""
        return (self.usefulness["vertices"]["recall"] or 0.0) if self.usefulness else 0.0

    def beats(self, other: Tried) -> bool:
        """Whether it is at least as good in k, attributes, ties and people, and not the same."""
        no_worse = (
            self.k >= other.k
            and set(self.dropped) <= set(other.dropped)
            and self.f1 >= other.f1
            and self.people >= other.people
        )
        mine, its = ((t.k, set(t.dropped), t.f1, t.people) for t in (self, other))
        return no_worse and mine != its

    def to_mapping(self) -> dict[str, Any]:
        """Return the setting and its figures, JSON-ready."""
        return {"k": self.k, "dropped": list(self.dropped), "usefulness": self.usefulness}


def tried(
    graph: AttributedGraph,
    params: PrivacyParams,
    ks: Sequence[int],
    go_on: Callable[[int, int], bool],
    *,
    seed: int = 0,
) -> list[Tried]:
    """Make a quick release of one setting after the other, and return what each was worth.

    First nothing is left out, at the k of `params`; then each attribute; then each other k; then
    more attributes at once, those first whose parts gained most by themselves.

    Parameters
    ----------
    params:
        What is promised; its k is the one that is asked for.
    ks:
        Others to try beside it.
    go_on:
        Called with how many settings were tried, of how many; False ends the search. The first
        settings, with each attribute left out once, are always tried.
    seed:
        The same graph and seed give the same figures.
    """
    names = graph.schema.quasi_identifiers
    found: dict[tuple[int, tuple[str, ...]], Tried] = {}
    count = 2 ** len(names) * len({params.k, *ks})

    def one(k: int, dropped: tuple[str, ...]) -> Tried:
        if (k, dropped) not in found:
            asked = dataclasses.replace(params, k=k)
            try:
                figures = afresh(without_attributes(graph, dropped), asked, seed=seed)
            except (Infeasible, NotKTSafe):
                figures = None
            found[k, dropped] = Tried(k, dropped, figures)
        return found[k, dropped]

    base = one(params.k, ())
    gains = {name: one(params.k, (name,)).f1 - base.f1 for name in names}
    for k, dropped in _settings(names, gains, params.k, ks):
        if not go_on(len(found), count):
            break
        one(k, dropped)
    return list(found.values())


def _settings(
    names: Sequence[str], gains: dict[str, float], asked: int, ks: Sequence[int]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield all settings, the most promising first."""
    others = [k for k in dict.fromkeys(ks) if k != asked]
    for k in others:
        yield k, ()
    for size in range(2, len(names) + 1):
        sets = sorted(
            itertools.combinations(names, size),
            key=lambda dropped: -sum(gains[name] for name in dropped),
        )
        for dropped in sets:
            yield asked, dropped
    for size in range(1, len(names) + 1):
        for dropped in itertools.combinations(names, size):
            for k in others:
                yield k, dropped


def front(settings: Sequence[Tried]) -> list[Tried]:
    """Return the settings that no other beats, those of most attributes and greatest k first."""
    best = [one for one in settings if not any(other.beats(one) for other in settings)]
    return sorted(best, key=lambda one: (len(one.dropped), -one.k, -one.f1))


def recommended(settings: Sequence[Tried], k: int) -> Tried:
    """Return the setting that is advised for a k.

    As few attributes are left out as possible: one more only if that gains 0.05 of F1 at least.
    """
    own = [one for one in settings if one.k == k]
    best = next(one for one in own if not one.dropped)
    for size in range(1, 1 + max(len(one.dropped) for one in own)):
        of_size = [one for one in own if len(one.dropped) == size]
        if of_size:
            top = max(of_size, key=lambda one: (one.f1, one.dropped))
            if top.f1 >= best.f1 + GAIN_MIN * (size - len(best.dropped)):
                best = top
    return best


def in_words(base: Tried, advised: Tried) -> str:
    """Return the advice in a sentence."""
    if advised.dropped == base.dropped:
        return "Keep all quasi-identifiers: leaving one out gains little."
    names = " and ".join(f"`{name}`" for name in advised.dropped)
    return f"Drop {names}: {_changes(base, advised)}."


def _changes(base: Tried, advised: Tried) -> str:
    words = []
    for word, kind, figure in (
        ("precision", "edges", "precision"),
        ("recall", "edges", "recall"),
        ("people shown", "vertices", "recall"),
    ):
        before, after = (
            "none" if one.usefulness is None else _figure(one.usefulness[kind][figure])
            for one in (base, advised)
        )
        words.append(f"{word} {before} -> {after}")
    return ", ".join(words)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
