"""Errors of all packages have one shape, though no package may import another's."""

from __future__ import annotations

import inspect

import pytest

import connectors.errors
import ktsafe.errors
import state.errors
import stream.errors
from connectors.errors import ConnectorError
from ktsafe.errors import KtsafeError
from state.errors import StateError

MODULES = (connectors.errors, ktsafe.errors, state.errors, stream.errors)
KINDS = sorted(
    {
        kind
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, stream.errors.EXPECTED)
    },
    key=lambda kind: kind.__qualname__,
)
HINT = "Do this about it."


def made(kind: type[Exception]) -> Exception:
    """Return an error of a kind, as the program makes it."""
    if issubclass(kind, KtsafeError):
        return kind("Something is wrong.", hint=HINT)
    return kind("open the thing", "place", HINT)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_bears_a_hint_and_ends_with_it(kind: type[Exception]) -> None:
    """You find what to do in the same place of each."""
    error = made(kind)
    assert error.hint == HINT  # type: ignore[attr-defined]
    assert str(error).endswith(HINT)


def test_the_bases_of_store_and_connectors_are_alike() -> None:
    """They are one class written twice: neither package may import the other."""
    assert inspect.signature(StateError) == inspect.signature(ConnectorError)
    one, other = made(StateError), made(ConnectorError)
    assert vars(one) == vars(other) == {"op": "open the thing", "subject": "place", "hint": HINT}
    assert str(one) == str(other)
