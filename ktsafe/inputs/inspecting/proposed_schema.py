"""A schema file with proposed roles, to be edited by its owner."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ktsafe.buckets import Border, bucket_text
from ktsafe.graph import MISSING
from ktsafe.inputs.inspecting.column_types import guarded
from ktsafe.inputs.network import Network
from ktsafe.inputs.spelling import is_number
from ktsafe.schema_check import likeness

if TYPE_CHECKING:
    from ktsafe.inputs.inspecting.inspected import InspectedColumn

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
