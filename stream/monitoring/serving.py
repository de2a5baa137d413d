"""Access to the HTTP endpoints: for clients with the token.

Bounds may be tuned. Tokens are compared in constant time, and clients that drip, pile up or send
rubbish keep nobody from an answer (tests/stream/monitoring/test_status.py). The control socket uses
`Bounded`, too.

The token comes as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic with any user
name, which browsers ask for. It travels as it is: beyond loopback a proxy with TLS belongs in
front.

Without a token a server on loopback answers only requests that are addressed to loopback. A page
from elsewhere, open in a browser of this machine, could otherwise point its own name here and read
the answers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import socket
import socketserver
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from ktsafe.stream.config.connector_kinds import is_loopback

LOOPBACK: Final = "127.0.0.1"
TOKEN_CHARS_MIN: Final = 16
HEADER_CHARS_MAX: Final = 4096
CHALLENGE: Final = 'Basic realm="ktsafe", charset="UTF-8"'


class Gate:
    """Admits requests by their Authorization header.

    Parameters
    ----------
    token:
        None: every client that reaches the server is admitted.
    host:
        Where the server listens.
    """

    def __init__(self, token: str | None, host: str) -> None:
        self._digest = None if token is None else _digest(token.encode())
        self._is_local = token is None and is_loopback(host)

    def is_addressed(self, host_header: str) -> bool:
        """Whether a request with this Host header is meant for us.

        An empty text stands for none.
        """
        return not self._is_local or is_loopback(_without_port(host_header))

    def admits(self, authorization: str) -> bool:
        """Whether a request with this header (empty: none) may be answered.

        Digests of equal length are compared in constant time, so neither the token nor its
        length can be found by measuring.
        """
        if self._digest is None:
            return True
        shown = _shown(authorization)
        return hmac.compare_digest(_digest(shown), self._digest) and bool(shown)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _shown(authorization: str) -> bytes:
    """Return the token that a header shows, empty if there is none."""
    scheme, _, rest = authorization[:HEADER_CHARS_MAX].partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip().encode()
        case "basic":
            try:
                decoded = base64.b64decode(rest.strip(), validate=True)
            except (binascii.Error, ValueError):
                return b""
            return decoded.partition(b":")[2]
        case _:
            return b""


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# What the service's listening sockets share.
#
# A bounded server, answering from a thread.
#
# A connection costs a thread until it is answered, so both their number and their time are bounded.
# A read timeout is not enough: a client that sends a byte now and then never reaches it.

CLIENTS_MAX: Final = 8
"""Clients of the control socket at a time; further ones are hung up on."""


class Bounded(socketserver.ThreadingMixIn):
    """Mixed into a server: a thread for each of a few clients.

    Attributes
    ----------
    clients_max:
        Connections at a time.
    connection_s:
        How long each may last, whatever it does; None: as long as it likes. With a limit a further
        client takes the place of the oldest, without one it is hung up on.
    """

    daemon_threads = True
    block_on_close = False
    clients_max: ClassVar[int] = CLIENTS_MAX
    connection_s: ClassVar[float | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._open: dict[socket.socket, float] = {}
        """When each connection began, the oldest first."""
        self._lock = threading.Lock()
        super().__init__(*args, **kwargs)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, or hang up on one."""
        with self._lock:
            if len(self._open) >= self.clients_max:
                if self.connection_s is None:
                    self.shutdown_request(request)  # type: ignore[attr-defined]
                    return
                self._hang_up(next(iter(self._open)))
            self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for the next one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)

    def service_actions(self) -> None:
        """Close overdue connections. The server's loop calls this at every poll interval."""
        super().service_actions()  # type: ignore[misc]
        if self.connection_s is not None:
            with self._lock:
                before = time.monotonic() - self.connection_s
                for request in [asked for asked, at in self._open.items() if at <= before]:
                    self._hang_up(request)

    def _hang_up(self, request: socket.socket) -> None:
        """End a connection; its thread finds it closed and goes."""
        del self._open[request]
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over a broken connection.

        Clients may leave at any moment, and nothing is lost.
        """


class Listener:
    """A bound server that answers from `start` to `close`.

    A `with` block closes it, too.
    """

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
