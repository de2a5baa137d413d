"""What the service's listening sockets share: a bounded server, answering from a thread."""

from __future__ import annotations

import socketserver
import threading
from types import TracebackType
from typing import Any, Final, Self

CLIENTS_MAX: Final = 8
"""Clients answered at a time; further ones are hung up on, so that they cannot pile up."""


class Bounded(socketserver.ThreadingMixIn):
    """Mixed into a server: a thread for each of a few clients."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._slots = threading.BoundedSemaphore(CLIENTS_MAX)
        super().__init__(*args, **kwargs)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, or hang up."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)  # type: ignore[attr-defined]

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for the next one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over a broken connection: clients may leave at any moment, and nothing is lost."""


class Listener:
    """A bound server that answers between `start` and `close`, or within a `with` block."""

    def __init__(self, server: socketserver.BaseServer, thread_name: str) -> None:
        self._server = server
        self._name = thread_name
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to answer."""
        assert self._thread is None
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.1},
            name=self._name,
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering and free the address. Safe to call twice."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
