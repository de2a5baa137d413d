"""Errors of all packages have one base and one shape."""

from __future__ import annotations

import pytest

import ktsafe.connectors.base
import ktsafe.errors
import ktsafe.state.store_base
import ktsafe.stream.errors
from ktsafe.errors import KtsafeError, OperationFailed

MODULES = (
    ktsafe.connectors.base,
    ktsafe.errors,
    ktsafe.state.store_base,
    ktsafe.stream.errors,
)
KINDS = sorted(
    {
        kind
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, KtsafeError)
    },
    key=lambda kind: kind.__qualname__,
)
HINT = "Do this about it."


def made(kind: type[Exception]) -> Exception:
    """Return an error of a kind, as the program makes it."""
    if issubclass(kind, OperationFailed):
        return kind("open the thing", "place", HINT)
    return kind("Something is wrong.", hint=HINT)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_bears_a_hint_and_ends_with_it(kind: type[Exception]) -> None:
    """You find what to do in the same place of each."""
    error = made(kind)
    assert error.hint == HINT  # type: ignore[attr-defined]
    assert str(error).endswith(HINT)
