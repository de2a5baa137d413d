"""Errors of the store, named by the operator's remedy."""

from __future__ import annotations

from ktsafe.errors import OperationFailed


class StateError(OperationFailed):
    """Base of every error the store raises."""


class StateLocked(StateError):
    """Another process holds the store: stop it first."""


class StateUnusable(StateError):
    """The folder cannot be created, read or written."""


class StateFull(StateUnusable):
    """The disk has no room.

    Make some. A service ends, and waits for room when it starts again.
    """


class StateCorrupted(StateError):
    """The store does not read back as written.

    Restore a backup, or rebase.
    """


class StateMismatch(StateError):
    """The store belongs to another source, schema, parameter set or format."""
