"""A stand-in for systemd: hears what a service tells its manager."""

from __future__ import annotations

import socket


class Manager:
    """Listens as a service manager does."""

    def __init__(self, address: str) -> None:
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._channel.bind(address)
        self._channel.setblocking(False)

    def heard(self) -> list[str]:
        """Return what came since the last call."""
        found = []
        while True:
            try:
                found.append(self._channel.recv(4096).decode())
            except BlockingIOError:
                return found

    def close(self) -> None:
        """Listen no more."""
        self._channel.close()
