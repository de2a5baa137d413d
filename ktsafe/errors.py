"""Errors of the mechanism, named by what the caller can do about them."""

from __future__ import annotations

from collections.abc import Sequence


class KtsafeError(Exception):
    """Base of every error the mechanism raises.

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
    """A privacy parameter is out of its range, or a combination is not supported."""


class InvalidGraph(KtsafeError):
    """The input is not a simple attributed graph of the given schema."""


class AbsentFromGraph(InvalidGraph):
    """The schema names attributes or sensitive values that no vertex has: most often misspelt.

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


class NotKTSafe(KtsafeError):
    """The strict verifier found vertices that are not kt-safe: do not publish."""


class Infeasible(KtsafeError):
    """No kt-safe release of this graph exists under the given options."""
