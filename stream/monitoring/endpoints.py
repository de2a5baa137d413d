"""Answers of the HTTP endpoints, by path and headers alone.

`/status.json` tells what `ktsafe status` shows, `/metrics` is for Prometheus. `/healthz` and
`/readyz` tell nothing but a word, and need no token: probes have none.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from ktsafe.stream.monitoring.access import CHALLENGE, LOOPBACK, Gate
from ktsafe.stream.monitoring.board import StatusBoard
from ktsafe.stream.monitoring.metrics import PrometheusMetrics

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
    healthy_within_s:
        `/healthz` fails when the main loop has been silent for longer.
    """

    def __init__(
        self,
        metrics: PrometheusMetrics,
        board: StatusBoard | None = None,
        gate: Gate | None = None,
        *,
        secrets: bool = False,
        healthy_within_s: float = 60.0,
    ) -> None:
        self._secrets = secrets
        self._metrics = metrics
        self._board = board
        self._gate = Gate(None, LOOPBACK) if gate is None else gate
        self._healthy_within_s = healthy_within_s

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
        if silence_s <= self._healthy_within_s:
            return HttpAnswer(HTTPStatus.OK, TEXT, b"alive\n")
        text = f"main loop silent for {silence_s:.0f} s; see the log\n"
        return HttpAnswer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, text.encode())

    def _readiness(self) -> HttpAnswer:
        if self._metrics.is_ready:
            return HttpAnswer(HTTPStatus.OK, TEXT, b"ready\n")
        return HttpAnswer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, b"starting or stopping\n")
