"""Errors of the connectors, named by what the operator can do about them."""


class ConnectorError(Exception):
    """Base of every error a connector raises.

    Parameters
    ----------
    op:
        What was being done, such as "open source" or "publish release".
    subject:
        The topic, path or broker concerned; never an event's content.
    hint:
        What the operator can do about it.
    """

    def __init__(self, op: str, subject: str, hint: str) -> None:
        super().__init__(f"{op}: {subject}: {hint}")
        self.op = op
        self.subject = subject
        self.hint = hint


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
