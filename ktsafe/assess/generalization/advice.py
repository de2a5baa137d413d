"""Advice on what to publish: the tried settings, the best, a sentence.

Constants of the choice (`ENOUGH`, `WORTH`) are tastes and may be tuned;
tests/ktsafe/assess/generalization/test_advice.py holds that nothing tried is better on all counts,
and compares with the whole lattice. Sentences may be reworded.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ktsafe.anonymization.request import MIN_F1
from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.neighbourhoods import one_hop
from ktsafe.assess.conclusions import conclusions, summary
from ktsafe.assess.generalization.lattice import Lattice, Levels, climbed, starts
from ktsafe.assess.generalization.quick_release import estimated_worth, quick_release
from ktsafe.audit import Usefulness, usefulness
from ktsafe.errors import Infeasible, InvalidParams, NotKTSafe
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.graph.schemas import schema_toml
from ktsafe.params import PrivacyParams
from ktsafe.stream.files.report_texts import text_of

# Advice as a sentence, and as lines that its owner pastes.


def in_words(advice: Advice) -> str:
    """Return the advice in a sentence."""
    base, best, lattice = advice.base, advice.best, advice.lattice
    if not best.people:
        return f"Nobody can be shown at k = {best.setting.k}: ask for a smaller one."
    if best.setting == base.setting:
        return "Keep all quasi-identifiers as they are: grouping values gains little."
    dropped = [n for n in lattice.graph.schema.quasi_identifiers if n not in best.kept]
    fewer = fewer_values(lattice, best)
    parts = [f"drop {' and '.join(f'`{name}`' for name in dropped)}"] if dropped else []
    if fewer:
        told = (f"`{name}` in {n} values" for name, n in fewer.items())
        parts.insert(0, f"tell {', '.join(told)}")
    said = " and ".join(parts) or "correct the spelling of values"
    return f"{said[0].upper()}{said[1:]}: {_changes(base, best)}."


def fewer_values(lattice: Lattice, tried: Tried) -> dict[str, int]:
    """Return the attributes told in fewer values, and the number told."""
    names = lattice.graph.schema.quasi_identifiers
    return {
        name: len(levels[level].texts)
        for name, levels, level in zip(names, lattice.levels, tried.setting.levels, strict=True)
        if 0 < level < len(levels)
    }


def corrected(lattice: Lattice) -> dict[str, int]:
    """Return the number of merged spellings of each attribute that has any."""
    names = lattice.graph.schema.quasi_identifiers
    return {
        name: len(texts) - len(levels[0].texts)
        for name, levels, texts in zip(
            names, lattice.levels, lattice.graph.categories, strict=False
        )
        if len(levels[0].texts) < len(texts)
    }


def attributes_table(lattice: Lattice, tried: Tried, declared: Mapping[str, Any]) -> str:
    """Return a setting's `[attributes]` table in TOML.

    Parameters
    ----------
    declared:
        What else the table says: sensitive attributes and so on.
    """
    schema = lattice.schema(tried.setting.levels)
    left_out = {*lattice.graph.schema.quasi_identifiers} - {*schema.quasi_identifiers}
    kept = {
        key: [name for name in value if name not in left_out] if key == "nominal" else value
        for key, value in declared.items()
    }
    return schema_toml(schema, kept)


def _changes(base: Tried, best: Tried) -> str:
    if not base.is_made or best.usefulness is None:
        return f"F1 of ties about {base.f1:.2f} -> {best.f1:.2f}"
    before, after = (_shares(one.usefulness) for one in (base, best))
    return ", ".join(f"{word} {before[word]} -> {after[word]}" for word in after)


def _shares(found: Usefulness | None) -> dict[str, str]:
    shares = (found.edges.precision, found.edges.recall, found.vertices.recall) if found else ()
    words = ("precision", "recall", "people shown")
    told = itertools.zip_longest(words, shares)
    return {word: text_of(share, unknown="none") for word, share in told}


# How coarsely to tell people: estimates of many settings, and releases of the best.
#
# lattice of levels of each attribute, left out being the last                  (lattice)
# from the coarsest setting of each set of attributes that is kept, upwards:
# take the neighbouring setting that is estimated best, while one is better (lattice)
# make a quick release of the best; advise it if it is as good as was estimated
# likewise for other k
# while time lasts: release the graph as it is, and the settings that no other beats
#
# The price of a release is set by how finely people are told apart, far more than by k. An estimate
# takes milliseconds; what it takes for lost is off by nearly the same factor for similar settings,
# so each release tells better by how much. Releases are by the quick search (`effort = "fast"`);
# the default search gives a little more.

ENOUGH: Final = 0.5
"""F1 of ties from which on one more attribute that is kept is worth more than better ties."""

WORTH: Final = 0.05
"""F1 of ties that all of an attribute is worth; a part of it in proportion to its entropy."""

TARGETS_MAX: Final = 2_000
"""People on whom guesses are tried."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseSetting:
    """What may be asked of a release.

    Attributes
    ----------
    k:
        Least number of candidates.
    levels:
        For each quasi-identifier how it is told (`Lattice.levels`).
    """

    k: int
    levels: Levels


class ToldSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that was tried, with its figures."""

    k: int
    values: dict[str, int]
    told: float
    f1: float
    people: float
    is_made: bool
    conclusions_wrong: float | None
    found_by_guess: float | None
    usefulness: Usefulness | None


@dataclasses.dataclass(frozen=True, slots=True)
class Tried:
    """A setting and what a release of it is worth.

    Attributes
    ----------
    setting:
        What was asked.
    kept:
        Quasi-identifiers that are told.
    told:
        How much is told of them: 1 for each that is told as it is.
    f1:
        F1 of ties, as estimated; of the release itself if one was made.
    people:
        Share of people that are shown, likewise.
    usefulness:
        None: no release was made, or none is safe.
    is_made:
        Whether a release was tried.
    wrong, found:
        Of a release that was made: the share of a reader's conclusions that are wrong
        (`ktsafe.assess.conclusions`), and of people whom the best guess by one hop finds.
    """

    setting: ReleaseSetting
    kept: tuple[str, ...]
    told: float
    f1: float
    people: float
    usefulness: Usefulness | None = None
    is_made: bool = False
    wrong: float | None = None
    found: float | None = None

    @property
    def merit(self) -> tuple[int, float]:
        """Order of settings: attributes kept, good ties, then ties and detail.

        A release of good ties that tells nothing about people is only better where no other one
        has good ties.
        """
        is_good = self.f1 >= ENOUGH
        return len(self.kept) if is_good else -1, self.f1 + WORTH * self.told

    def beats(self, other: Tried) -> bool:
        """Whether it dominates another in k, detail, ties and people."""
        mine, its = self._merits(), other._merits()
        return mine != its and all(a >= b for a, b in zip(mine, its, strict=True))

    def _merits(self) -> tuple[float, ...]:
        return (self.setting.k, len(self.kept), round(self.told, 9), self.f1, self.people)

    def told_of(self, lattice: Lattice) -> ToldSetting:
        """Return the setting and its figures, JSON-ready."""
        names = lattice.graph.schema.quasi_identifiers
        values = {
            name: len(
                lattice.levels[names.index(name)][self.setting.levels[names.index(name)]].texts
            )
            for name in self.kept
        }
        return ToldSetting(
            k=self.setting.k,
            values=values,
            told=round(self.told, 4),
            f1=round(self.f1, 4),
            people=round(self.people, 4),
            is_made=self.is_made,
            conclusions_wrong=self.wrong,
            found_by_guess=self.found,
            usefulness=self.usefulness,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """Advice, and its alternatives.

    Attributes
    ----------
    lattice:
        How each quasi-identifier may be told.
    base, best:
        The graph as it is, and what is advised; a release of the latter was made.
    prices:
        Of each attribute: what is won if it alone is told with fewer values, or left out.
    front:
        The settings that no other one beats, of those that were tried.
    n_tried:
        How many settings were estimated.
    """

    lattice: Lattice
    base: Tried
    best: Tried
    prices: list[Tried]
    front: list[Tried]
    n_tried: int

    def __str__(self) -> str:
        return in_words(self)

    @property
    def graph(self) -> AttributedGraph:
        """The graph told as is advised."""
        return self.lattice.at(self.best.setting.levels)

    @property
    def schema(self) -> Schema:
        """The schema that tells people as is advised."""
        return self.lattice.schema(self.best.setting.levels)


def advised(
    lattice: Lattice,
    params: PrivacyParams,
    other_ks: Sequence[int],
    go_on: Callable[[str, float], bool],
    *,
    keep: Collection[str] = (),
    seed: int = 0,
) -> Advice:
    """Return the advice, and the unbeaten settings.

    Parameters
    ----------
    lattice:
        The true graph, and how each attribute may be told.
    params:
        What is promised; its k is the one that is asked for.
    other_ks:
        Others to try beside it.
    go_on:
        Called with what is done next and how much of it is done; False ends the search. The k that
        is asked for comes first, in any case: estimates, and a release of what is advised.
    keep:
        Quasi-identifiers that must be told, with two values at least.
    seed:
        The same graph and seed give the same figures.

    Raises
    ------
    InvalidParams
        If an attribute to be kept is no quasi-identifier.
    """
    if unknown := sorted(set(keep) - set(lattice.graph.schema.quasi_identifiers)):
        msg = f"{unknown[0]!r} is to be kept, and is no quasi-identifier."
        raise InvalidParams(msg)
    k, tries = params.k, _Tries(lattice, params, frozenset(keep), seed)
    tries.search(k)
    best = tries.best(k)
    while not best.is_made:
        tries.release(best.setting)
        tries.search(k)
        best = tries.best(k)
    others = [each for each in dict.fromkeys(other_ks) if each != k]
    for number, each in enumerate(others):
        if not go_on("estimated", number / len(others)):
            break
        tries.search(each)
    # A release may tell that another setting is the best, or lets one into the front.
    base, released = ReleaseSetting(k, lattice.finest), 0
    while open_ := [
        one for one in (tries.best(k), tries.of(base), *_worthy(tries.all())) if not one.is_made
    ]:
        if not go_on("released", released / (released + len(open_))):
            break
        tries.release(open_[0].setting)
        released += 1
    made = [one for one in tries.all() if one.is_made and one.setting.k == k]
    best_of_all, n_tried = _worthy(tries.all()), len(tries.all())
    prices = [tries.of(ReleaseSetting(k, levels)) for levels in _alone(lattice)]
    best = max(filter(tries.may_be_advised, made), key=lambda one: one.merit)
    return Advice(lattice, tries.of(base), best, prices, best_of_all, n_tried)


def _alone(lattice: Lattice) -> list[Levels]:
    """Return the settings that coarsen a single attribute."""
    return [
        (*lattice.finest[:j], level, *lattice.finest[j + 1 :])
        for j, levels in enumerate(lattice.levels)
        for level in range(1, len(levels) + 1)
    ]


class _Tries:
    """Settings tried on one graph; estimates are scaled by its releases."""

    def __init__(
        self, lattice: Lattice, params: PrivacyParams, keep: frozenset[str], seed: int
    ) -> None:
        self._lattice, self._params, self._keep, self._seed = lattice, params, keep, seed
        self._estimates: dict[ReleaseSetting, tuple[float, float]] = {}
        self._made: dict[ReleaseSetting, Tried] = {}
        self._expected, self._lost = 0.0, 0.0

    def of(self, setting: ReleaseSetting) -> Tried:
        """Return the result of a setting, estimated if it was not released."""
        if setting not in self._estimates:
            params = dataclasses.replace(self._params, k=setting.k)
            self._estimates[setting] = estimated_worth(self._lattice.at(setting.levels), params)
        if setting in self._made:
            return self._made[setting]
        f1, people = self._estimates[setting]
        factor = self._lost / self._expected if self._expected else 1.0
        return self._tried(setting, max(1 - factor * (1 - f1), 0.0), people)

    def all(self) -> list[Tried]:
        """Return what was tried, those that tell most first."""
        found = [self.of(setting) for setting in self._estimates]
        return sorted(found, key=lambda one: (-one.told, -one.setting.k, one.setting.levels))

    def search(self, k: int) -> None:
        """Estimate settings of a k until no neighbour beats the best."""
        keep = [name in self._keep for name in self._lattice.graph.schema.quasi_identifiers]
        shape = [len(levels) for levels in self._lattice.levels]

        def merit(levels: Levels) -> tuple[int, float]:
            return self.of(ReleaseSetting(k, levels)).merit

        merit(self._lattice.finest)
        climbed(shape, starts(shape, keep), keep, merit)

    def may_be_advised(self, one: Tried) -> bool:
        return self._keep <= set(one.kept)

    def best(self, k: int) -> Tried:
        """Return the best known setting of a k."""
        own = [one for one in self.all() if one.setting.k == k and self.may_be_advised(one)]
        return max(own, key=lambda one: one.merit)

    def release(self, setting: ReleaseSetting) -> None:
        """Make a quick release, and compare its estimate with it."""
        tried = self._made[setting] = made(self._lattice, self._params, setting, self._seed)
        if tried.usefulness is not None:
            self._expected += 1 - self._estimates[setting][0]
            self._lost += 1 - tried.f1

    def _tried(self, setting: ReleaseSetting, f1: float, people: float) -> Tried:
        levels = setting.levels
        kept = tuple(self._lattice.kept(levels))
        return Tried(setting, kept, self._lattice.told(levels), f1, people)


def made(lattice: Lattice, params: PrivacyParams, setting: ReleaseSetting, seed: int) -> Tried:
    """Return what a quick release with a setting is worth."""
    kept, told = tuple(lattice.kept(setting.levels)), lattice.told(setting.levels)
    # What tells more of the ties at one hop does so at others.
    asked = dataclasses.replace(params, k=setting.k, n_hops=1, reading="walk")
    try:
        traced = quick_release(lattice.at(setting.levels), asked, seed=seed)
    except (Infeasible, NotKTSafe):
        return Tried(setting, kept, told, 0.0, 0.0, is_made=True)
    found = usefulness(traced)
    case = Case(traced.original, traced.released, traced.behind)
    case = case.sampled(TARGETS_MAX, np.random.default_rng(seed))
    guesses = [result.value for result in one_hop(case, asked)] if len(case.places) else [0.0]
    return Tried(
        setting,
        kept,
        told,
        found.edges.f1 or 0.0,
        found.vertices.recall or 0.0,
        found,
        is_made=True,
        wrong=summary(conclusions(traced.original, traced.released)).wrong_share,
        found=round(max(guesses), 4),
    )


def _worthy(settings: Sequence[Tried]) -> list[Tried]:
    """Return the settings of the front that are worth naming."""
    return front([one for one in settings if one.f1 >= MIN_F1] or settings)


def front(settings: Sequence[Tried]) -> list[Tried]:
    """Return the undominated settings, the most detailed and greatest k first."""
    best = [one for one in settings if not any(other.beats(one) for other in settings)]
    return sorted(best, key=lambda one: (-len(one.kept), -one.told, -one.setting.k, -one.f1))
