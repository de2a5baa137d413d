"""The HTTP endpoints of a service, their answers and their token.

`/status.json` tells what `ktsafe status` shows, `/metrics` is for Prometheus. `/healthz` and
`/readyz` tell nothing but a word, and need no token: probes have none.

Timeouts and texts may be changed. A new path belongs to `GUARDED`, unless it tells nothing but a
word; probes must answer while all else waits (tests/stream/monitoring/test_status.py).
"""

from __future__ import annotations

import errno
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final, NamedTuple

import msgspec

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.secrets import SecretUnreadable, read_secret
from ktsafe.stream.config.connector_kinds import is_loopback
from ktsafe.stream.config.settings import Settings
from ktsafe.stream.monitoring.board import StatusBoard
from ktsafe.stream.monitoring.diagnosis import HEALTHY_WITHIN_S
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.monitoring.serving import (
    CHALLENGE,
    CLIENTS_MAX,
    LOOPBACK,
    TOKEN_CHARS_MIN,
    Bounded,
    Gate,
    Listener,
)
from ktsafe.stream.monitoring.summary import Counts
from ktsafe.stream.process.logs import get_logger

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
PROBES: Final = ("/healthz", "/readyz")
GUARDED: Final = ("/status.json", "/metrics")
NOT_FOUND: Final = f"not found; there are {', '.join((*GUARDED, *PROBES))}\n"


class HttpAnswer(NamedTuple):
    """One answer; `challenge` asks for a token."""

    code: HTTPStatus
    content_type: str
    body: bytes
    challenge: str | None = None


class Endpoints:
    """Answers for one service.

    Parameters
    ----------
    board:
        What `/status.json` tells; None: there is no such path.
    gate:
        Access to guarded paths; None: any client that names this machine in its request.
    secrets:
        Whether `/status.json` tells true sizes and the secrets of releases.
    """

    def __init__(
        self,
        metrics: PrometheusMetrics,
        board: StatusBoard | None = None,
        gate: Gate | None = None,
        *,
        secrets: bool = False,
    ) -> None:
        self._secrets = secrets
        self._metrics = metrics
        self._board = board
        self._gate = Gate(None, LOOPBACK) if gate is None else gate

    def answer(
        self, path: str, *, host: str, accept: str = "", authorization: str = ""
    ) -> HttpAnswer:
        """Return the answer for a path without query, and headers."""
        if path in PROBES:
            return self._health() if path == "/healthz" else self._readiness()
        if path not in GUARDED:
            return HttpAnswer(HTTPStatus.NOT_FOUND, TEXT, NOT_FOUND.encode())
        if not self._gate.is_addressed(host):
            body = b"this address is served to this machine only, under a name of its own\n"
            return HttpAnswer(HTTPStatus.MISDIRECTED_REQUEST, TEXT, body)
        if not self._gate.admits(authorization):
            body = b"a token is needed, see [metrics] token_file\n"
            return HttpAnswer(HTTPStatus.UNAUTHORIZED, TEXT, body, challenge=CHALLENGE)
        if path == "/metrics":
            content_type, body = self._metrics.exposition(accept)
            return HttpAnswer(HTTPStatus.OK, content_type, body)
        if self._board is None:
            return HttpAnswer(HTTPStatus.NOT_FOUND, TEXT, NOT_FOUND.encode())
        report = self._board.report(secrets=self._secrets)
        return HttpAnswer(HTTPStatus.OK, JSON, msgspec.json.encode(report) + b"\n")

    def _health(self) -> HttpAnswer:
        silence_s = self._metrics.silence_s()
        if silence_s <= HEALTHY_WITHIN_S:
            return HttpAnswer(HTTPStatus.OK, TEXT, b"alive\n")
        text = f"main loop silent for {silence_s:.0f} s; see the log\n"
        return HttpAnswer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, text.encode())

    def _readiness(self) -> HttpAnswer:
        if self._metrics.is_ready:
            return HttpAnswer(HTTPStatus.OK, TEXT, b"ready\n")
        return HttpAnswer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, b"starting or stopping\n")


# HTTP for operators: status, metrics, health. Private plane; loopback by default.
#
# What is answered is in `ktsafe.stream.monitoring.monitoring`; here is the server, bounded in
# clients and time.

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
    ktsafe.connectors.base.Misconfigured
        If the address cannot be listened on.
    """

    def __init__(self, endpoints: Endpoints, *, host: str = LOOPBACK, port: int = 9464) -> None:
        self.endpoints = endpoints
        self._host = host
        try:
            server = _server_class(host)((host, port), endpoints)
        except OSError as error:
            other = f"cannot be listened on ({error.strerror}). Check [metrics] listen"
            hint = _HINTS.get(error.errno or 0, other)
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


_HINTS: Final = {
    errno.EADDRINUSE: "another process listens there, perhaps another instance of this service. "
    "Stop it, or give [metrics] listen another port (0 picks a free one)",
    errno.EACCES: "this needs rights the service should not have. Give [metrics] listen a port "
    "above 1023",
    errno.EADDRNOTAVAIL: "this machine has no such address. Give [metrics] listen one of its own",
}
"""Remedies for an address that cannot be listened on."""


# From the `[metrics]` table to what shows a running service.
#
# Metrics, board, HTTP server.


def status_board(settings: Settings, counts: Counts) -> StatusBoard:
    """Return the board of a service, not told anything yet."""
    return StatusBoard(settings.params, counts)


def status_server(settings: Settings, board: StatusBoard) -> tuple[PrometheusMetrics, StatusServer]:
    """Return a service's metrics, and what shows them over HTTP.

    The address is bound, and nothing answered yet.

    Raises
    ------
    ktsafe.connectors.base.Misconfigured
        If the address cannot be listened on, or there is no token where the settings say.
    """
    table = settings.config.metrics
    token = access_token(settings)
    figures = token is not None
    if token is None and not is_loopback(table.host):
        log.warning("metrics are served beyond this machine without a token")
    metrics = PrometheusMetrics(params=settings.params, secrets=figures)
    gate = Gate(token, table.host)
    answers = Endpoints(metrics, board, gate, secrets=figures)
    return metrics, StatusServer(answers, host=table.host, port=table.port)


def access_token(settings: Settings) -> str | None:
    """Return the token that readers must show, None if they need none.

    Raises
    ------
    ktsafe.connectors.base.Misconfigured
        If it cannot be read, or is too short to be one.
    """
    table = settings.config.metrics
    if table.token_file is None:
        return None
    subject = str(settings.path(table.token_file))
    try:
        token = read_secret("token", subject)
    except SecretUnreadable as error:
        raise Misconfigured("serve metrics", subject, str(error)) from None
    if len(token) < TOKEN_CHARS_MIN or not token.isascii():
        hint = f"A token has at least {TOKEN_CHARS_MIN} ASCII characters: openssl rand -hex 32"
        raise Misconfigured("serve metrics", subject, hint)
    return token
