"""Errors of the connectors, named by what the operator can do about them."""

from __future__ import annotations

from ktsafe.errors import OperationFailed


class ConnectorError(OperationFailed):
    """Base of every error a connector raises."""


class Unavailable(ConnectorError):
    """The other side does not answer or refused for now: retry, bounded."""


class SourceMismatch(ConnectorError):
    """The source is not the one the stored offsets belong to: refuse to start."""


class OffsetLost(ConnectorError):
    """A stored offset is no longer retained by the source: refuse to start."""


class SinkConflict(ConnectorError):
    """The sink holds a release that is ahead of, or differs from, ours: refuse to publish."""


class Misconfigured(ConnectorError):
    """The connector's settings cannot work: refuse to start."""
