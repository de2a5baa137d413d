"""Propose a role for each column, by fixed rules.

Words and shares may be changed freely: the proposals are for the owner, and no command goes by them
(tests/ktsafe/graph/inputs/test_column_types.py has the rules below).

The owner judges the proposals.

| type | its values, missing ones apart |
|---|---|
| boolean | two words such as `true` and `false`, `yes` and `no`, or 0 and 1 |
| date | dates |
| ordinal | ranges such as `18-24` and `65+`, or words of one scale such as `low` and `high` |
| number | numbers, but for whole ones that are codes |
| nominal | all else |

Whole numbers are codes if the name says so (`country`), if one has a zero in front, if there are
two of them, or if they run from 0 or 1 without a gap to 50 at most; but not if the name says that
something is counted (`age`).

| role | |
|---|---|
| leave out | tells most people apart, says the same of everybody, or is named as contacts are |
| sensitive | is named as health, income and the like are |
| quasi-identifier | anything else: an attacker may know it |
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from ktsafe.graph import MISSING
from ktsafe.graph.inputs.network import Kind, Network
from ktsafe.graph.inputs.spelling import is_number
from ktsafe.graph.schema_check import Border, bucket_text, date_of, likeness

if TYPE_CHECKING:
    from ktsafe.graph.inputs.inspected import InspectedColumn


Type = Literal["boolean", "date", "number", "ordinal", "nominal"]
Role = Literal["quasi-identifier", "sensitive", "leave out"]

CODES_MAX: Final = 50
"""So many codes are still codes."""
APART_MIN: Final = 0.5
"""The share of the people with a text of their own from which on texts tell people apart."""
FEW: Final = 20
"""Of fewer people nothing follows from how many values there are."""
NUMBERS_MIN: Final = 0.9
"""The share of numbers from which on a column is one of numbers with mistakes."""

_BOOLEANS: Final = (
    *({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"on", "off"}, {"0", "1"}),
)
_SCALES: Final = (
    {"very low", "low", "medium", "middle", "moderate", "average", "high", "very high"},
    {"never", "rarely", "seldom", "sometimes", "often", "usually", "always"},
    {"none", "few", "some", "many", "most", "all"},
    {"xxs", "xs", "s", "m", "l", "xl", "xxl"},
    {"very small", "small", "medium", "large", "very large"},
    {"bad", "poor", "fair", "good", "very good", "excellent"},
    {"strongly disagree", "disagree", "neutral", "agree", "strongly agree"},
    {"child", "teenager", "adolescent", "adult", "senior"},
    {"young", "middle-aged", "old"},
    {"primary", "secondary", "tertiary"},
    {"bachelor", "master", "doctorate", "phd"},
)
_RANGE: Final = re.compile(
    r"[<>]=?\s*-?\d[\d.]*|-?\d[\d.]*\s*(-|\u2013|\.\.+<?|to)\s*-?\d[\d.]*|-?\d[\d.]*\s*\+"
)
_COUNTED: Final = frozenset(
    {
        *("age", "ages", "count", "counts", "number", "num", "n", "amount", "sum", "total", "days"),
        *("years", "months", "hours", "minutes", "seconds", "size", "length", "height", "width"),
        *("weight", "score", "points", "rating", "grade", "rank", "level", "distance", "degree"),
        *("views", "visits", "posts", "friends", "followers", "children", "income", "salary"),
        *("price", "cost", "year", "duration", "bmi", "wage", "hops", "pagerank"),
    }
)
_CODED: Final = frozenset(
    {
        *("code", "codes", "class", "type", "kind", "category", "group", "cluster", "community"),
        *("country", "continent", "nation", "nationality", "region", "state", "district", "city"),
        *("town", "ward", "zip", "zipcode", "postcode", "postal", "plz", "gender", "sex", "status"),
        *("race", "ethnicity", "language", "occupation", "job", "industry", "department", "field"),
        *("major", "minor", "dorm", "school", "faculty", "party", "team", "club", "station"),
    }
)
_SENSITIVE: Final = frozenset(
    {
        *("health", "healthy", "disease", "diseases", "diagnosis", "diagnoses", "ill", "illness"),
        *("sick", "hiv", "condition", "medication", "medicine", "drug", "drugs", "treatment"),
        *("therapy", "disability", "disabled", "pregnant", "depression", "mental", "symptom"),
        *("smoker", "smoking", "alcohol", "addiction", "cancer", "diabetes", "infected", "covid"),
        *("income", "salary", "wage", "wages", "wealth", "debt", "credit", "poverty"),
        *("religion", "belief", "faith", "political", "politics", "vote", "votes", "orientation"),
        *("sexuality", "crime", "criminal", "offence", "offense", "conviction", "arrested"),
    }
)
_CONTACTS: Final = frozenset(
    {
        *("name", "names", "firstname", "lastname", "surname", "fullname", "username", "login"),
        *("label", "email", "mail", "phone", "telephone", "mobile", "address", "street", "ssn"),
        *("passport", "ip", "url", "link", "website", "image", "photo", "avatar", "comment"),
        *("comments", "description", "note", "notes", "text", "bio", "x", "y", "z", "r", "g", "b"),
        *("color", "colour", "viz", "index", "unnamed"),
    }
)
_HARMLESS: Final = frozenset(
    {
        *("0", "false", "no", "n", "f", "none", "never", "not", "healthy", "well", "negative"),
        *("neg", "absent", "normal", "unaffected", "clear", "off", "other", "unknown", "nothing"),
    }
)
"""Words that say that there is nothing to be hidden."""


def type_of(name: str, values: Collection[str], n_people: int, kind: Kind | None) -> Type:
    """Return what a column holds.

    Parameters
    ----------
    values:
        Its different values, without those that are missing or look so.
    kind:
        What the format says of it, if anything.

    Examples
    --------
    >>> type_of("age", {"17", "30", "55"}, 99, None), type_of("country", {"0", "1", "2"}, 99, None)
    ('number', 'nominal')
    >>> type_of("age", {"13-17", "18-24", "65+"}, 99, None)
    'ordinal'
    """
    folded = {value.casefold() for value in values}
    if kind == "boolean" or any(len(folded) == 2 and folded == words for words in _BOOLEANS):
        return "boolean"
    if not values:
        return "nominal"
    if all(map(date_of, values)):
        return "date"
    n_numbers = sum(map(is_number, values))
    if n_numbers == len(values):
        return "nominal" if kind == "text" or _are_codes(name, values, n_people) else "number"
    if n_numbers >= NUMBERS_MIN * len(values) and len(values) >= FEW:
        return "number"
    ranges = [_RANGE.fullmatch(value) for value in values]
    if all(found or is_number(v) for found, v in zip(ranges, values, strict=True)):
        return "ordinal"
    is_scale = len(folded) > 1 and any(folded <= scale for scale in _SCALES)
    return "ordinal" if is_scale else "nominal"


def role_of(name: str, type_: Type, counts: Mapping[str, int], n_people: int) -> tuple[Role, str]:
    """Return a column's role, and a reason for special ones.

    Parameters
    ----------
    counts:
        How many people have each value that is not missing.
    """
    n_told = sum(counts.values())
    if len(counts) < 2:
        return "leave out", "says the same of everybody" if counts else "says nothing of anybody"
    is_text = type_ in {"nominal", "ordinal"}
    is_whole = all(value.lstrip("+-").isdecimal() for value in counts)
    if n_people >= FEW and len(counts) == n_told and (is_text or is_whole):
        return "leave out", "tells everybody apart"
    if n_people >= FEW and is_text and len(counts) > APART_MIN * n_told:
        return "leave out", "tells most people apart"
    if _is_of(name, _SENSITIVE):
        return "sensitive", "by its name"
    if _is_of(name, _CONTACTS) and (len(counts) > CODES_MAX or type_ == "number"):
        return "leave out", "by its name"
    return "quasi-identifier", ""


def guarded(values: Collection[str]) -> list[str]:
    """Return a sensitive attribute's values that may count as sensitive.

    Examples
    --------
    >>> guarded(["ill", "well"]), guarded(["low", "high"])
    (['ill'], ['high', 'low'])
    """
    return sorted(value for value in values if value.casefold() not in _HARMLESS) or sorted(values)


def _are_codes(name: str, values: Collection[str], n_people: int) -> bool:
    if not all(value.isdecimal() for value in values) or _is_of(name, _COUNTED):
        return False
    if _is_of(name, _CODED) or any(value[0] == "0" and len(value) > 1 for value in values):
        return True
    least, most = min(map(int, values)), max(map(int, values))
    is_whole_run = least in {0, 1} and most - least + 1 == len(values) <= CODES_MAX
    return len(values) == 2 or (is_whole_run and 2 * len(values) <= n_people)


def _is_of(name: str, words: Collection[str]) -> bool:
    """Whether a word of a name is one of these.

    `ageGroup` and `age_group` are two words.
    """
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(word.casefold() in words for word in found)


# A schema file with proposed roles, to be edited by its owner.

K: Final = 10
"""The default of `ktsafe anonymize --k`."""
ALIKE_MIN: Final = 0.5
"""The share of the people who have K people like them under the quasi-identifiers together."""
UNBUCKETED_MAX: Final = 8
"""Numbers and dates of so many values are told as they are."""
SHARES: Final = (0.25, 0.5, 0.75)
"""Where numbers and dates are cut: about as many people each."""
HEAD: Final = """\
# What `ktsafe inspect` proposes. Edit it: only you know what an attacker may know of people.
[attributes]
"""
UNKNOWN: Final = "# No name tells which attribute is sensitive. If one is, name it and its values."


def proposed_schema(network: Network, columns: Sequence[InspectedColumn]) -> str:
    """Return an `[attributes]` table in TOML, with comments.

    Quasi-identifiers are taken in the order of the columns, as long as enough people stay alike.

    Parameters
    ----------
    columns:
        What is said of each column of the network.
    """
    made = _Made(network)
    for column in columns:
        if not column.is_sound:
            made.leave(column, "correct its values, or its name, first")
        elif column.role == "quasi-identifier":
            made.take(column)
        elif column.role == "sensitive" and not made.sensitive:
            made.guard(column)
        else:
            made.leave(column, "sensitive, too" if column.role == "sensitive" else column.why)
    return made.text()


class _Made:
    """A schema in the making."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._classes: list[Hashable] = [()] * len(network.ids)
        self._names: list[str] = []
        self._nominal: list[str] = []
        self._buckets: dict[str, Sequence[Border]] = {}
        self._left_out: list[str] = []
        self.sensitive: list[str] = []

    def take(self, column: InspectedColumn) -> None:
        """Add a quasi-identifier, unless hardly anybody would have others alike."""
        borders = self._borders(column)
        told = self._told(column.name, borders)
        classes: list[Hashable] = list(zip(self._classes, told, strict=True))
        sizes = Counter(classes)
        k = min(K, max(2, len(classes) // K))
        if sum(n for n in sizes.values() if n >= k) < ALIKE_MIN * len(classes):
            self.leave(column, f"beside those above too few people have {k} others like them")
            return
        self._classes = classes
        self._names.append(column.name)
        self._note(column, borders)

    def guard(self, column: InspectedColumn) -> None:
        """Add the sensitive attribute."""
        borders = self._borders(column)
        told = Counter(text for text in self._told(column.name, borders) if text != MISSING)
        values = [bucket_text(borders, borders[-1])] if borders else guarded(told)
        alike = {likeness(value) for value in values}
        values = sorted(value for value in told if likeness(value) in alike) or values
        listed = ", ".join(f"{_toml(text)} {n}" for text, n in told.most_common(2 * K))
        self.sensitive = [
            f"sensitive = {_toml(column.name)}",
            f"# The values that must not be learnt, of: {listed}",
            f"sensitive_values = [{', '.join(map(_toml, values))}]",
        ]
        if borders:
            self._buckets[column.name] = borders

    def leave(self, column: InspectedColumn, why: str) -> None:
        """Leave out a column."""
        self._left_out.append(f"# Left out: {_toml(column.name)} ({why})")

    def text(self) -> str:
        """Return the file."""
        sensitive = self.sensitive or [UNKNOWN]
        lines = [f"quasi_identifiers = [{', '.join(map(_toml, self._names))}]", *sensitive]
        if self._nominal:
            lines.append(f"nominal = [{', '.join(map(_toml, self._nominal))}]  # codes")
        if self._buckets:
            each = (
                f"{_toml(name)} = [{', '.join(map(_toml, borders))}]"
                for name, borders in self._buckets.items()
            )
            lines.append(f"buckets = {{ {', '.join(each)} }}")
        return HEAD + "\n".join([*lines, *self._left_out]) + "\n"

    def _note(self, column: InspectedColumn, borders: Sequence[Border]) -> None:
        if borders:
            self._buckets[column.name] = borders
        values = {*self._network.columns[column.name]} - {None, MISSING}
        if column.type == "nominal" and all(is_number(value or "") for value in values):
            self._nominal.append(column.name)

    def _borders(self, column: InspectedColumn) -> Sequence[Border]:
        """Return where ranges begin; none where values are told as they are."""
        given = self._network.columns[column.name]
        values = [value for value in given if value is not None and value != MISSING]
        if column.type not in {"number", "date"} or column.distinct <= UNBUCKETED_MAX:
            return ()
        if column.type == "date":
            ascending = sorted(value[:10] for value in values)
            cuts = {ascending[int(share * len(ascending))] for share in SHARES}
            return sorted(cuts - {ascending[0]})
        numbers = np.sort(np.array([float(value) for value in values]))
        found = np.unique(np.quantile(numbers, SHARES, method="nearest"))
        return [
            int(border) if border.is_integer() else border
            for border in found[found > numbers[0]].tolist()
        ]

    def _told(self, name: str, borders: Sequence[Border]) -> list[str]:
        def told(value: str | None) -> str:
            if value is None or value == MISSING or not borders:
                return value or MISSING
            return bucket_text(borders, value if isinstance(borders[0], str) else float(value))

        return [told(value) for value in self._network.columns[name]]


def _toml(value: Border) -> str:
    # The text of JSON is one of TOML, but for the character 127.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
