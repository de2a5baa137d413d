"""Errors, named by what the caller can do about them.

Messages may be reworded where they are raised. A new error is one remedy: a case in
`ktsafe.stream.errors`, a row in ops/runbook.md (tests/ops/test_runbook.py), and no id or value in
its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class KtsafeError(Exception):
    """Base of every error that names its remedy.

    Parameters
    ----------
    message:
        What is wrong, without attribute values or vertex ids.
    hint:
        What the caller can do about it; empty where nothing can be done.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class InvalidParams(KtsafeError):
    """A privacy parameter out of range, or an unsupported combination."""


class InvalidGraph(KtsafeError):
    """The input is not a simple attributed graph of the given schema."""


class AbsentFromGraph(InvalidGraph):
    """The schema names attributes or sensitive values that no vertex has.

    Most often misspelt.

    Parameters
    ----------
    attributes:
        The names of those attributes.
    n_values:
        The number of those sensitive values.
    """

    def __init__(
        self, message: str, *, hint: str = "", attributes: Sequence[str] = (), n_values: int = 0
    ) -> None:
        super().__init__(message, hint=hint)
        self.attributes = tuple(attributes)
        self.n_values = n_values


class WrittenOtherwise(InvalidGraph):
    """Values are spelt otherwise than they are declared, or than they were.

    Nothing is released.

    Whoever has the same value under two spellings is protected as if these were two values, and a
    sensitive one is not protected at all.
    """


class SeveralFaults(InvalidGraph):
    """The input has several faults; the message tells each.

    Parameters
    ----------
    faults:
        An error for each.
    """

    def __init__(
        self, message: str, *, hint: str = "", faults: Sequence[InvalidGraph] = ()
    ) -> None:
        super().__init__(message, hint=hint)
        self.faults = tuple(faults)


NUMBERS_MAX: Final = 5
"""Lines or rows that an error names; of more the number is told."""


def numbered(word: str, numbers: Sequence[int]) -> str:
    """Return the first of some numbers, and how many more there are.

    Examples
    --------
    >>> numbered("line", [3]), numbered("line", range(3, 10))
    ('line 3', 'lines 3, 4, 5, 6, 7 and 2 more')
    """
    first = ", ".join(map(str, numbers[:NUMBERS_MAX]))
    more = f" and {len(numbers) - NUMBERS_MAX:,} more" if len(numbers) > NUMBERS_MAX else ""
    return f"{word}{'s' * (len(numbers) > 1)} {first}{more}"


def fault(what: str, rows: Sequence[int] = (), *, hint: str = "") -> InvalidGraph:
    """Return an error that names the rows concerned, counted from 0.

    Nothing in them is repeated.

    Examples
    --------
    >>> fault("An id is missing.", range(3, 10)).message
    'An id is missing: rows 3, 4, 5, 6, 7 and 2 more (counted from 0).'
    """
    if not rows:
        return InvalidGraph(what, hint=hint)
    said = f"{what.rstrip('.')}: {numbered('row', rows)} (counted from 0)."
    return InvalidGraph(said, hint=hint)


BadLines = dict[str, list[int]]
"""What is wrong with lines of a file, and which lines."""
NO_ID: Final = "no id"
ID_AGAIN: Final = "an id for the second time"


def told_lines(file: object, bad: BadLines, word: str = "line") -> list[str]:
    """Return a text for each kind of bad lines, without their content.

    Examples
    --------
    >>> told_lines("people.csv", {NO_ID: [3, 7]})
    ['people.csv, lines 3, 7: no id']
    """
    return [f"{file}, {numbered(word, lines)}: {what}" for what, lines in bad.items()]


def raise_together(faults: Sequence[InvalidGraph]) -> None:
    """Raise the only fault, or all of them as one error.

    Raises
    ------
    InvalidGraph
        If there is a fault.
    """
    if len(faults) == 1:
        raise faults[0]
    if faults:
        told = "".join(f" ({i}) {each}" for i, each in enumerate(faults, start=1))
        raise SeveralFaults(f"The graph has {len(faults)} faults:{told}", faults=faults)


class BelowMinimumUtility(KtsafeError):
    """A safe release with too few of the true ties to publish.

    Parameters
    ----------
    reason:
        "costs_more_than_nothing" or "below_min_f1", without the figures.
    """

    def __init__(self, reason: str, *, hint: str = "") -> None:
        super().__init__(f"The release is below the minimum utility ({reason}).", hint=hint)
        self.reason = reason


class NotKTSafe(KtsafeError):
    """The strict verifier found vertices that are not kt-safe: do not publish."""


class Infeasible(KtsafeError):
    """No kt-safe release of this graph exists under the given options."""


class OperationFailed(KtsafeError):
    """Base of operations that a store, source or sink refuses or fails.

    Parameters
    ----------
    op:
        What was being done, such as "open source" or "publish release".
    subject:
        The path, entry, topic or broker concerned; never a person's id, an attribute value or an
        event's content.
    hint:
        What the operator can do about it.
    """

    def __init__(self, op: str, subject: str, hint: str) -> None:
        super().__init__(f"{op}: {subject}:", hint=hint)
        self.op = op
        self.subject = subject
