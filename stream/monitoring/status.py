"""HTTP for operators: status, metrics, health. Private plane; loopback by default.

What is answered is in `ktsafe.stream.monitoring.endpoints`; here is the server, bounded in clients
and time.
"""

from __future__ import annotations

import errno
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

from ktsafe.connectors.errors import Misconfigured
from ktsafe.stream.monitoring.access import LOOPBACK
from ktsafe.stream.monitoring.endpoints import PROBES, TEXT, Endpoints, HttpAnswer
from ktsafe.stream.monitoring.serving import CLIENTS_MAX, Bounded, Listener
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

REQUEST_TIMEOUT_S: Final = 10.0
"""For a whole request, from connecting to the last byte of the answer."""
CONNECTIONS_MAX: Final = 128
"""Requests that are being sent; a further one takes the place of the oldest."""
ANSWERS_MAX: Final = CLIENTS_MAX
"""Pages and metrics made at a time. Probes are not among them: they are never kept waiting."""


class StatusServer(Listener):
    """Serves the status of one service from a background thread.

    Binds when it is made, so an address in use stops the start of the service; answers
    between `start` and `close`, or within a `with` block.

    Parameters
    ----------
    host, port:
        Where to listen; port 0 picks a free one, which `port` then tells.

    Raises
    ------
    ktsafe.connectors.errors.Misconfigured
        If the address cannot be listened on.
    """

    def __init__(self, endpoints: Endpoints, *, host: str = LOOPBACK, port: int = 9464) -> None:
        self.endpoints = endpoints
        self._host = host
        try:
            server = _server_class(host)((host, port), endpoints)
        except OSError as error:
            hint = _hint(error)
            raise Misconfigured("serve metrics", f"{host}:{port}", hint) from error
        super().__init__(server, "ktsafe-status")
        self._port: int = server.server_address[1]

    @property
    def port(self) -> int:
        """The port listened on."""
        return self._port

    @property
    def url(self) -> str:
        """The base address, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    def start(self) -> None:
        """Begin to answer."""
        super().start()
        log.info("serving status, metrics and health", url=self.url)


class _StatusServer(Bounded, HTTPServer):
    clients_max = CONNECTIONS_MAX
    connection_s = REQUEST_TIMEOUT_S
    request_queue_size = CONNECTIONS_MAX

    def __init__(self, address: tuple[str, int], endpoints: Endpoints) -> None:
        self.endpoints = endpoints
        self.making = threading.Semaphore(ANSWERS_MAX)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer would look the host's name up, which can hang where DNS does.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]


class _Server6(_StatusServer):
    address_family = socket.AF_INET6


def _server_class(host: str) -> type[_StatusServer]:
    return _Server6 if ":" in host else _StatusServer


class _Handler(BaseHTTPRequestHandler):
    """Answers from what its server was given."""

    server: _StatusServer
    timeout = REQUEST_TIMEOUT_S
    server_version = "ktsafe"
    sys_version = ""

    def do_GET(self) -> None:
        self._send(self._answer())

    def do_HEAD(self) -> None:
        self._send(self._answer())

    def refuse(self) -> None:
        answer = self._answer()
        if answer.code is not HTTPStatus.NOT_FOUND:
            body = b"only GET and HEAD\n"
            answer = HttpAnswer(HTTPStatus.METHOD_NOT_ALLOWED, TEXT, body)
        self._send(answer)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = refuse  # noqa: N815

    def _answer(self) -> HttpAnswer:
        path = self.path.partition("?")[0]
        if path in PROBES:
            return self._made(path)
        with self.server.making:
            return self._made(path)

    def _made(self, path: str) -> HttpAnswer:
        return self.server.endpoints.answer(
            path,
            host=self.headers.get("Host", ""),
            accept=self.headers.get("Accept", ""),
            authorization=self.headers.get("Authorization", ""),
        )

    def _send(self, answer: HttpAnswer) -> None:
        self.send_response(answer.code)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        if answer.code is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        if answer.challenge is not None:
            self.send_header("WWW-Authenticate", answer.challenge)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log no request.

        Paths come from outside, and scrapes would drown the rest.
        """


def _hint(error: OSError) -> str:
    """Return an operator's remedy for an address without listening."""
    match error.errno:
        case errno.EADDRINUSE:
            return (
                "another process listens there, perhaps another instance of this service. Stop "
                "it, or set [metrics] port to another one (0 picks a free one)"
            )
        case errno.EACCES:
            return "this needs rights the service should not have. Set [metrics] port above 1023"
        case errno.EADDRNOTAVAIL:
            return "this machine has no such address. Set [metrics] host to one of its own"
        case _:
            return f"cannot be listened on ({error.strerror}). Check [metrics] host and port"
