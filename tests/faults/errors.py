"""The errors that the surroundings of a service may meet it with, step by step."""

from __future__ import annotations

import errno
from collections.abc import Callable

from ktsafe.connectors.base import ConnectorError, Unavailable
from ktsafe.state.store_base import StateError, StateUnusable
from tests.memory_connectors import Crash

ENDS = (Crash, StateError, ConnectorError, OSError, RuntimeError)
"""What may come out of a service that was failed on purpose."""


def crash(step: str) -> BaseException:
    """End the process here."""
    return Crash(step)


def refused(step: str) -> BaseException:
    """Fail as the object at this step would: the store is unusable, the other side away."""
    if "Store." in step or "Ledger" in step:
        return StateUnusable(step, "store", "planned by a test; free space.")
    return Unavailable(step, "memory", "planned by a test; try again.")


def no_space(step: str) -> BaseException:
    """Fail as a full disk does where nobody translated it."""
    return OSError(errno.ENOSPC, "No space left on device", step)


def defect(step: str) -> BaseException:
    """Fail as a defect of the program would."""
    return RuntimeError(step)


KINDS: dict[str, Callable[[str], BaseException]] = {
    "crash": crash,
    "refused": refused,
    "no space": no_space,
    "defect": defect,
}
"""By name; every one may happen before a call has its effect, or after it."""
