"""Errors of the connectors, named by the operator's remedy."""

from __future__ import annotations

from ktsafe.errors import OperationFailed


class ConnectorError(OperationFailed):
    """Base of every error a connector raises."""


class Unavailable(ConnectorError):
    """The other side does not answer or refused for now: retry, bounded."""


class SourceMismatch(ConnectorError):
    """The source is not the one the stored offsets belong to.

    Refuse to start.
    """


class OffsetLost(ConnectorError):
    """A stored offset is no longer retained by the source.

    Refuse to start.
    """


class SinkConflict(ConnectorError):
    """The sink's release is ahead of ours, or differs: refuse."""


class Misconfigured(ConnectorError):
    """The connector's settings cannot work: refuse to start."""
