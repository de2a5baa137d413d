"""HTTP for operators: `/metrics`, `/healthz`, `/readyz`. Private plane; loopback by default.

No answer depends on anything that a client sends but the path, and none holds more than counts.
"""

from __future__ import annotations

import errno
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from connectors.errors import Misconfigured
from stream.logs import get_logger
from stream.metrics import PrometheusMetrics

log = get_logger(__name__)

REQUESTS_MAX: Final = 8
"""Requests answered at a time; further ones are hung up on, so that clients cannot pile up."""
REQUEST_TIMEOUT_S: Final = 10.0

_TEXT: Final = "text/plain; charset=utf-8"


class StatusServer:
    """Serves the status of one service from a background thread.

    Binds when it is made, so that an address in use stops the start of the service; answers
    between `start` and `close`, or within a `with` block.

    Parameters
    ----------
    metrics:
        What is shown, and whether the service is alive and ready.
    host, port:
        Where to listen; port 0 picks a free one, which `port` then tells.
    healthy_within_s:
        `/healthz` fails when the main loop has been silent for longer.

    Raises
    ------
    connectors.errors.Misconfigured
        If the address cannot be listened on.
    """

    def __init__(
        self,
        metrics: PrometheusMetrics,
        *,
        host: str = "127.0.0.1",
        port: int = 9464,
        healthy_within_s: float = 60.0,
    ) -> None:
        self._metrics = metrics
        self._healthy_within_s = healthy_within_s
        self._host = host
        try:
            self._server = _server_class(host)((host, port), _handler_class(self))
        except OSError as error:
            hint = _hint(error)
            raise Misconfigured("serve metrics", f"{host}:{port}", hint) from error
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port listened on."""
        port: int = self._server.server_address[1]
        return port

    @property
    def url(self) -> str:
        """The base address, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    def start(self) -> None:
        """Begin to answer."""
        assert self._thread is None
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.1},
            name="ktsafe-status",
            daemon=True,
        )
        self._thread.start()
        log.info("serving metrics and health", url=self.url)

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

    def answer(self, path: str, accept: str) -> tuple[HTTPStatus, str, bytes]:
        """Return status, content type and body for a path, its query already cut off."""
        match path:
            case "/metrics":
                content_type, body = self._metrics.exposition(accept)
                return HTTPStatus.OK, content_type, body
            case "/healthz":
                silence_s = self._metrics.silence_s()
                if silence_s <= self._healthy_within_s:
                    return HTTPStatus.OK, _TEXT, b"alive\n"
                text = f"main loop silent for {silence_s:.0f} s; see the log\n"
                return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, text.encode()
            case "/readyz":
                if self._metrics.is_ready:
                    return HTTPStatus.OK, _TEXT, b"ready\n"
                return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"starting or stopping\n"
            case _:
                text = "not found; there are /metrics, /healthz and /readyz\n"
                return HTTPStatus.NOT_FOUND, _TEXT, text.encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._slots = threading.BoundedSemaphore(REQUESTS_MAX)
        super().__init__(*args, **kwargs)

    def server_bind(self) -> None:
        # HTTPServer would look the host's name up, which can hang where DNS does.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over a broken connection: clients may leave at any moment, and nothing is lost."""


class _Server6(_Server):
    address_family = socket.AF_INET6


def _server_class(host: str) -> type[_Server]:
    return _Server6 if ":" in host else _Server


def _handler_class(status: StatusServer) -> type[BaseHTTPRequestHandler]:
    """Return a request handler that answers from `status`."""

    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_TIMEOUT_S
        server_version = "ktsafe"
        sys_version = ""

        def do_GET(self) -> None:
            self._send(*self._answer())

        def do_HEAD(self) -> None:
            self._send(*self._answer())

        def refuse(self) -> None:
            code, _, body = self._answer()
            if code is HTTPStatus.NOT_FOUND:
                self._send(code, _TEXT, body)
            else:
                body = b"only GET and HEAD\n"
                self._send(HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, body, Allow="GET, HEAD")

        do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = refuse  # noqa: N815

        def _answer(self) -> tuple[HTTPStatus, str, bytes]:
            return status.answer(self.path.partition("?")[0], self.headers.get("Accept", ""))

        def _send(self, code: HTTPStatus, content_type: str, body: bytes, **headers: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log no request: paths come from outside, and scrapes would drown the rest."""

    return Handler


def _hint(error: OSError) -> str:
    """Return what an operator can do about an address that cannot be listened on."""
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
