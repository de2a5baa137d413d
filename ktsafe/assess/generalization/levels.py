"""Levels of one attribute, from its own values to two groups.

    spelling   values that differ in case and spaces only are one; of codes none  (certain)
    ranges     of numbers and dates: up to 16 of about equally many people, at round borders
    merging    values, or ranges next to each other, become fewer by Ward's rule  (value_merging)
    declared   levels that the owner gives take the place of ranges and merging

A name of a group lists only values that at least k people have: that somebody has a rarer one is
nobody's business, and names are published. This, nested levels and round borders are held by
tests/ktsafe/assess/generalization/test_levels.py; constants may be tuned.
"""

from __future__ import annotations

import dataclasses
import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.generalization.value_merging import Items, merged, mixing
from ktsafe.errors import InvalidGraph
from ktsafe.graph import MISSING, AttributedGraph, Groups
from ktsafe.graph.schema_check import Border, bucket_text, date_of

COUNTS: Final = (16, 8, 5, 4, 3, 2)
"""Numbers of groups that an attribute is told in."""

ITEMS_MAX: Final = 400
"""Values that are merged one by one; the rarest of more are one group from the first level on."""

NAMED_MAX: Final = 3
"""Values that the name of a group lists."""

MISSING_MANY: Final = 0.25
"""Share of people from which on a missing value is a group by itself, and not merged."""

_LEADING: Final = re.compile(r"\s*([<>]?)=?\s*(-?\d+(?:\.\d+)?)\s*(?:$|[-+.<]|to\b|and\b)")
"""What ranges begin with that are written as text."""

Declared = Sequence[Border] | Groups
"""A level that an owner gives: borders of numbers or dates, or groups. A group may hold values, and
groups of the level before."""


@dataclasses.dataclass(frozen=True, eq=False)
class Level:
    """One way to tell an attribute of a graph.

    Attributes
    ----------
    of_code:
        int32, shape (categories of the graph,): the group of each.
    texts:
        How each group is told.
    borders, groups:
        What `Schema.buckets` and `Schema.groups` say of it.
    bits:
        The entropy of what is told, over all people.
    """

    of_code: NDArray[np.int32]
    texts: tuple[str, ...]
    borders: tuple[Border, ...]
    groups: Groups
    bits: float


def levels_of(
    graph: AttributedGraph, j: int, k: int, declared: Sequence[Declared] = ()
) -> tuple[Level, ...]:
    """Return the levels of quasi-identifier j, each with fewer groups.

    Parameters
    ----------
    graph:
        The true graph.
    j:
        Which of its quasi-identifiers.
    k:
        A value that fewer people have is not named.
    declared:
        Levels that are given; none: they are derived.

    Raises
    ------
    InvalidGraph
        If a declared level does not fit the attribute.

    Examples
    --------
    >>> from ktsafe.graph import Schema
    >>> schema = Schema(("age",), "ill", frozenset(), {})
    >>> columns = {"age": [*range(20, 60)], "ill": ["no"] * 40}
    >>> graph = AttributedGraph.from_columns(schema, columns, [(0, 1)])
    >>> levels_of(graph, 0, 5)[-1].texts
    ('<44', '>=44')
    """
    maker = _Maker(graph, j, k)
    spelt = maker.spelt()
    if declared:
        return (spelt, *maker.declared(declared, spelt))
    found = [spelt]
    for level in maker.ranges() if maker.is_ordered else maker.categories(spelt):
        if 1 < len(level.texts) < len(found[-1].texts):
            found.append(level)
    return tuple(found)


class _Maker:
    """Knowledge of one attribute."""

    def __init__(self, graph: AttributedGraph, j: int, k: int) -> None:
        self.graph, self.j, self.k = graph, j, k
        self.name = graph.schema.quasi_identifiers[j]
        self.texts = graph.categories[j]
        self.codes = graph.codes[:, j]
        self.sizes = np.bincount(self.codes, minlength=len(self.texts))
        self.known = [
            i for i, n in enumerate(self.sizes.tolist()) if n and self.texts[i] != MISSING
        ]
        self._is_grouped = self.name in graph.schema.groups
        self._is_nominal = self.name in graph.schema.nominal

    @cached_property
    def borders(self) -> tuple[Border, ...]:
        """Possible borders of ranges; none unless values are numbers or dates."""
        declared = self.graph.schema.buckets.get(self.name, ())
        if self._is_grouped or self._is_nominal or declared:
            return declared if not self._is_grouped else ()
        known = [self.texts[i] for i in self.known]
        counts = self.sizes[self.known]
        if all(map(_is_number, known)):
            numbers = np.array([float(text) for text in known])
            return _round_numbers(np.sort(np.repeat(numbers, counts)))
        if all(date_of(text) for text in known):
            return _round_dates(np.sort(np.repeat(np.array(known, dtype=object), counts)).tolist())
        return ()

    @property
    def is_ordered(self) -> bool:
        return bool(self.borders)

    def spelt(self) -> Level:
        """Return the values, with spellings merged that differ in case or spaces."""
        alike: dict[str, list[int]] = defaultdict(list)
        for i, text in enumerate(self.texts):
            alike[text if self._is_nominal else " ".join(text.casefold().split())].append(i)
        of_code = np.empty(len(self.texts), dtype=np.int64)
        texts, groups = [], {}
        for number, members in enumerate(alike.values()):
            of_code[members] = number
            usual = self.texts[max(members, key=lambda i: (self.sizes[i], -i))]
            texts.append(usual if self._is_nominal else " ".join(usual.split()))
            values = [self.texts[i] for i in members]
            if values != texts[-1:]:
                groups[texts[-1]] = values
        return self._level(of_code, texts, self.graph.schema.buckets.get(self.name, ()), groups)

    def categories(self, spelt: Level) -> Iterator[Level]:
        """Yield levels of merged values."""
        of_code = spelt.of_code.astype(np.int64)
        n = len(spelt.texts)
        sizes = np.bincount(of_code, self.sizes, n)
        if n > ITEMS_MAX:
            rank = np.empty(n, dtype=np.int64)
            rank[np.argsort(-sizes, kind="stable")] = np.arange(n)
            of_code = np.minimum(rank, ITEMS_MAX)[of_code]
            n = ITEMS_MAX + 1
            yield self._named(of_code, n, spelt)
        texts = [spelt.texts[spelt.of_code[i]] for i in np.unique(of_code, return_index=True)[1]]
        order = [] if self._is_nominal else _in_order(texts)
        items = self._items(of_code, n, texts, order)
        for of_item in merged(items, [count + len(items.apart) for count in _counts(n)]):
            yield self._named(of_item[of_code], int(of_item.max()) + 1, spelt)

    def ranges(self) -> Iterator[Level]:
        """Yield levels of ever wider ranges; missing values join the likest one."""
        borders = self.borders
        of_text = {text: i for i, text in enumerate(_ranges(borders))}
        n = len(of_text)
        of_code = np.array(
            [n if text == MISSING else of_text[self._range(text)] for text in self.texts],
            dtype=np.int64,
        )
        has_missing = bool((of_code[self.codes] == n).any())
        items = self._items(of_code, n + has_missing, [""] * n + [MISSING] * has_missing, range(n))
        # A level of n ranges says nothing of many people without a value: they are a group besides.
        counts = [count + len(items.apart) for count in (n, *_counts(n))]
        whole = np.arange(n + has_missing)
        found = [whole] if counts[0] == len(whole) else []
        for of_item in (*found, *merged(items, [c for c in counts if c < len(whole)])):
            yield self._level(*self._in_ranges(of_item, of_code, n))

    def declared(self, levels: Sequence[Declared], spelt: Level) -> Iterator[Level]:
        """Yield the levels that an owner gave."""
        before: Groups = spelt.groups
        for level in levels:
            if isinstance(level, Mapping):
                before = {
                    group: [x for value in values for x in before.get(value, (value,))]
                    for group, values in level.items()
                }
                group_of = {value: g for g, values in before.items() for value in values}
                told = [group_of.get(text, text) for text in self.texts]
                borders = self.graph.schema.buckets.get(self.name, ())
            else:
                borders = tuple(level)
                told = [self._told_in(borders, text) for text in self.texts]
            texts = sorted(set(told))
            of_code = np.array([texts.index(text) for text in told])
            groups = before if isinstance(level, Mapping) else {}
            yield self._level(of_code, texts, borders, groups)

    def _told_in(self, borders: tuple[Border, ...], text: str) -> str:
        if text == MISSING:
            return MISSING
        value: Border | None
        if isinstance(borders[0], str):
            value = date_of(text)
        else:
            value = float(text) if _is_number(text) else None
        if value is None:
            msg = f"A level of {self.name!r} has borders, but not all values are numbers or dates."
            raise InvalidGraph(msg, hint="Give groups of values, and no buckets beside them.")
        return bucket_text(borders, value)

    def _range(self, text: str) -> str:
        if self.name in self.graph.schema.buckets:
            return text
        return bucket_text(self.borders, text if isinstance(self.borders[0], str) else float(text))

    def _items(
        self,
        of_code: NDArray[np.int64],
        n: int,
        texts: Sequence[str],
        chain: Sequence[int] = (),
    ) -> Items:
        sizes = np.bincount(of_code, self.sizes, n).astype(np.int64)
        missing = [i for i, text in enumerate(texts) if text == MISSING]
        many = [i for i in missing if sizes[i] >= MISSING_MANY * sizes.sum()]
        # Where few gave no value, a group of its own would tell little and cost much.
        first = [] if self._is_nominal else list(_abbreviated(texts))
        first += [(i, int(np.argmax(sizes))) for i in missing if not len(chain) and i not in many]
        return Items(
            sizes,
            mixing(self.graph, of_code[self.codes], n),
            chain,
            first,
            many,
        )

    def _in_ranges(
        self, of_item: NDArray[np.int64], of_code: NDArray[np.int64], n: int
    ) -> tuple[NDArray[np.int64], list[str], tuple[Border, ...], Groups]:
        cuts = [i for i in range(1, n) if of_item[i] != of_item[i - 1]]
        borders = tuple(self.borders[i - 1] for i in cuts)
        ranges = _ranges(borders)
        of_group = {int(of_item[i]): ranges[number] for number, i in enumerate([0, *cuts])}
        groups: dict[str, Sequence[str]] = {}
        if len(of_item) > n:
            alone = of_group.get(int(of_item[n]))
            of_group[int(of_item[n])] = MISSING if alone is None else f"{alone} or {MISSING}"
            groups = {} if alone is None else {f"{alone} or {MISSING}": (alone, MISSING)}
        numbers = {group: number for number, group in enumerate(of_group)}
        # A code of a missing value that nobody has is told as the first group: nobody sees it.
        item = np.minimum(of_code, len(of_item) - 1)
        coded = np.array([numbers[int(of_item[i])] for i in item], dtype=np.int64)
        return coded, list(of_group.values()), borders, groups

    def _named(self, of_code: NDArray[np.int64], n: int, spelt: Level) -> Level:
        """Return the level of groups of values, named by what many have."""
        texts: list[str] = []
        groups = {}
        for number in range(n):
            members = np.flatnonzero(of_code == number)
            values = [self.texts[i] for i in members]
            if len(values) == 1:
                texts.append(values[0])
                continue
            people: dict[str, int] = defaultdict(int)
            for i in members:
                people[spelt.texts[spelt.of_code[i]]] += int(self.sizes[i])
            name = _name(people, self.k, is_nominal=self._is_nominal)
            name = _unique(name, {*texts, *self.texts} - set(values))
            texts.append(name)
            groups[name] = values
        return self._level(of_code, texts, self.graph.schema.buckets.get(self.name, ()), groups)

    def _level(
        self,
        of_code: NDArray[np.int64],
        texts: Sequence[str],
        borders: Sequence[Border],
        groups: Groups,
    ) -> Level:
        base = self.graph.schema.groups.get(self.name, {})
        whole = {
            name: tuple(x for value in values for x in base.get(value, (value,)))
            for name, values in groups.items()
        }
        inside = {value for values in whole.values() for value in values}
        kept = {g: tuple(v) for g, v in base.items() if not inside & set(v)}
        share = np.bincount(of_code, self.sizes, len(texts)) / max(self.sizes.sum(), 1)
        bits = float(-(share[share > 0] * np.log2(share[share > 0])).sum())
        return Level(
            of_code.astype(np.int32), tuple(texts), tuple(borders), {**kept, **whole}, bits
        )


def _counts(n: int) -> list[int]:
    return [count for count in COUNTS if count < n]


def _ranges(borders: Sequence[Border]) -> list[str]:
    """Return the texts of all buckets, in order."""
    if not borders:
        return [""]
    below = "" if isinstance(borders[0], str) else borders[0] - 1
    return [bucket_text(borders, below), *(bucket_text(borders, edge) for edge in borders)]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _round_numbers(people: NDArray[np.float64]) -> tuple[float, ...]:
    """Return rounded borders of up to 16 ranges of equally many people."""
    distinct = np.unique(people)
    if len(distinct) <= COUNTS[0]:
        return tuple(distinct[1:].tolist())
    cut = np.quantile(people, np.arange(1, COUNTS[0]) / COUNTS[0])
    fine = (cut[-1] - cut[0]) / (2 * COUNTS[0]) or (people[-1] - people[0]) / (2 * COUNTS[0])
    unit = 10 ** math.floor(math.log10(fine))
    step = max(unit * size for size in (1, 2, 5) if unit * size <= fine)
    if np.all(distinct == np.round(distinct)):
        step = max(step, 1)
    rounded = {float(f"{round(x / step) * step:.10g}") for x in cut.tolist()}
    return tuple(sorted(x for x in rounded if people[0] < x <= people[-1]))


def _round_dates(people: list[str]) -> tuple[str, ...]:
    """Return dates that border up to 16 ranges of equally many people."""
    cut = [people[len(people) * i // COUNTS[0]] for i in range(1, COUNTS[0])]

    def quarter(text: str) -> str:
        return f"{text[:4]}-{(int(text[5:7]) - 1) // 3 * 3 + 1:02}-01"

    units = (lambda text: f"{text[:4]}-01-01", quarter, lambda text: f"{text[:7]}-01")
    for begins in units:
        if len(set(map(begins, people))) >= COUNTS[0]:
            break
    else:
        begins = lambda text: text[:10]  # noqa: E731
    return tuple(sorted({x for x in map(begins, cut) if people[0] < x <= people[-1]}))


def _in_order(texts: Sequence[str]) -> list[int]:
    """Return texts such as "18-24" and "65+" by their numbers."""
    found = {i: _LEADING.match(text) for i, text in enumerate(texts) if text != MISSING}
    if not all(found.values()):
        return []
    key = {i: (float(m[2]), m[1] != "<") for i, m in found.items() if m is not None}
    return sorted(key, key=key.__getitem__)


def _abbreviated(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield single letters beside the only longer value that they begin."""
    folded = [text.casefold().strip() for text in texts]
    for i, letter in enumerate(folded):
        if len(letter) == 1 and letter.isalpha():
            words = [w for w, word in enumerate(folded) if len(word) > 1 and word[0] == letter]
            if len(words) == 1:
                yield i, words[0]


def _name(sizes: Mapping[str, int], k: int, *, is_nominal: bool) -> str:
    """Return a group's name, by its commonest values with k people.

    Values that begin with numbers stand in their order.
    """
    told = [text for text in sizes if sizes[text] >= k]
    told.sort(key=lambda text: (text == MISSING, -sizes[text], text))
    if not told or told == [MISSING]:
        return "others"
    more = ["others"] if len(told) > NAMED_MAX or len(told) < len(sizes) else []
    named = told[:NAMED_MAX]
    order = [] if is_nominal else _in_order(named)
    return " / ".join([named[i] for i in order or range(len(named))] + more)


def _unique(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(new for i in range(2, 2 + len(taken)) if (new := f"{name} ({i})") not in taken)


def read_levels(path: Path) -> dict[str, list[Declared]]:
    """Return the `[hierarchies]` table of a TOML file, the finest levels first.

    A file without that table has none.

    Raises
    ------
    InvalidGraph
        If the file cannot be read, or the table is no list of levels for each attribute.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("hierarchies", {})
        found: dict[str, list[Declared]] = msgspec.convert(
            table, dict[str, list[list[float | str] | dict[str, list[str]]]]
        )
    except OSError as error:
        raise InvalidGraph(f"{path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        msg = f"{path}: its [hierarchies] are no lists of levels."
        raise InvalidGraph(msg, hint="docs/files.md shows one.") from error
    return found
