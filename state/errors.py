"""Errors of the store, named by what the operator can do about them."""


class StateError(Exception):
    """Base of every error the store raises.

    Parameters
    ----------
    op:
        What was being done.
    subject:
        The path or entry concerned; never a person's id or attribute value.
    hint:
        What the operator can do about it.
    """

    def __init__(self, op: str, subject: str, hint: str) -> None:
        super().__init__(f"{op}: {subject}: {hint}")
        self.op = op
        self.subject = subject
        self.hint = hint


class StateLocked(StateError):
    """Another process holds the store: stop it first."""


class StateUnusable(StateError):
    """The folder cannot be created, read or written."""


class StateCorrupted(StateError):
    """The store does not read back as written: restore a backup, or rebase."""


class StateMismatch(StateError):
    """The store belongs to another source, schema, parameter set or format."""
