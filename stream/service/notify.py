"""Tells the service manager how the service is (systemd's `Type=notify`, `WatchdogSec=`).

The manager names a datagram socket in NOTIFY_SOCKET and, with a watchdog, how often it wants to
hear in WATCHDOG_USEC. Without them nothing is told. The watchdog is fed by the main loop alone, so
that a loop that hangs is started anew although its other threads live.

Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, MutableMapping
from typing import Final

from ktsafe.stream.observer import Observer

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG: Final = "WATCHDOG_USEC"
WATCHDOG_PID: Final = "WATCHDOG_PID"
PER_WATCHDOG: Final = 3
"""Notices per time that the manager waits for one."""


class Notifier(Observer):
    """Passes readiness, life and end on to the service manager.

    Parameters
    ----------
    environment:
        Where the manager says how to reach it. It is taken out, so no child of this process
        speaks for it.
    """

    def __init__(
        self,
        environment: MutableMapping[str, str],
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic_s = monotonic_s
        self._address = _address(environment.pop(SOCKET, ""))
        self._interval_s = _interval_s(
            environment.pop(WATCHDOG, ""), environment.pop(WATCHDOG_PID, "")
        )
        self._told_at_s = -float("inf")

    def ready(self, is_ready: bool) -> None:
        """Tell that the service consumes, or that it comes to its end."""
        self._tell("READY=1\nSTATUS=consuming" if is_ready else "STOPPING=1\nSTATUS=stopping")

    def alive(self) -> None:
        """Feed the watchdog, if there is one and it is time."""
        if self._interval_s is None:
            return
        now = self._monotonic_s()
        if now - self._told_at_s >= self._interval_s:
            self._told_at_s = now
            self._tell("WATCHDOG=1")

    def _tell(self, text: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.settimeout(1.0)
                channel.sendto(text.encode(), self._address)
        except OSError:
            # Nobody listens, or not now: the service does not depend on being watched.
            return


def _address(name: str) -> str | None:
    """Return the manager's socket address, None if not ours."""
    if name.startswith("@"):  # Of the abstract name space.
        return "\0" + name[1:]
    return name if name.startswith("/") else None


def _interval_s(period_us: str, pid: str) -> float | None:
    """Return the watchdog's interval, None if it does not wait."""
    if not period_us.isdecimal() or int(period_us) == 0:
        return None
    if pid and pid != str(os.getpid()):
        return None
    return int(period_us) / 1e6 / PER_WATCHDOG
