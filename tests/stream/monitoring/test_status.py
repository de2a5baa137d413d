"""The HTTP endpoints for operators."""

from __future__ import annotations

import base64
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import msgspec
import pytest

from ktsafe import PrivacyParams
from ktsafe.connectors.base import Misconfigured
from ktsafe.stream.monitoring.board import StatusBoard
from ktsafe.stream.monitoring.diagnosis import Report
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.monitoring.monitoring import (
    ANSWERS_MAX,
    CONNECTIONS_MAX,
    GUARDED,
    NOT_FOUND,
    PROBES,
    Endpoints,
    HttpAnswer,
    StatusServer,
)
from ktsafe.stream.monitoring.serving import LOOPBACK, Gate
from ktsafe.stream.monitoring.summary import Counts


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> PrometheusMetrics:
    return PrometheusMetrics(monotonic_s=clock)


@pytest.fixture
def board(clock: Clock) -> StatusBoard:
    params = PrivacyParams(k=2, alpha="1/2")
    return StatusBoard(params, Counts(), wall_s=clock, monotonic_s=clock)


@pytest.fixture
def server(metrics: PrometheusMetrics, board: StatusBoard) -> Iterator[StatusServer]:
    with StatusServer(Endpoints(metrics, board), port=0) as server:
        yield server


def ask(
    server: StatusServer, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], str]:
    """Return status, headers and body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def test_health_follows_the_main_loop(
    server: StatusServer, metrics: PrometheusMetrics, clock: Clock
) -> None:
    """/healthz is 200 while the loop goes round, 503 when it has been silent for too long."""
    clock.now = 60.0
    assert ask(server, "/healthz")[0] == 200
    clock.now = 61.0
    code, _, body = ask(server, "/healthz")
    assert (code, "silent for 61 s" in body) == (503, True)
    metrics.alive()
    assert ask(server, "/healthz")[0] == 200


def test_readiness_follows_the_service(server: StatusServer, metrics: PrometheusMetrics) -> None:
    """/readyz is 503 until the service says that it is ready, and again when it stops."""
    assert ask(server, "/readyz")[0] == 503
    metrics.ready(is_ready=True)
    assert ask(server, "/readyz")[0] == 200
    metrics.ready(is_ready=False)
    assert ask(server, "/readyz")[0] == 503


@pytest.mark.parametrize("path", ["/metrics/", "/metricsx", "/../metrics", "/%6detrics", "/x"])
def test_other_paths_are_not_found(server: StatusServer, path: str) -> None:
    """Nothing but the listed paths is there, and the answer does not repeat what was asked."""
    code, _, body = ask(server, path)
    assert code == 404
    assert body == NOT_FOUND


def test_without_a_board_there_is_no_status(metrics: PrometheusMetrics) -> None:
    """Where nobody remembers anything, metrics and health are served alone."""
    with StatusServer(Endpoints(metrics), port=0) as bare:
        assert [ask(bare, path)[0] for path in ("/status.json", "/metrics")] == [404, 200]


def test_the_status_is_one_report(server: StatusServer, board: StatusBoard) -> None:
    """/status.json encodes the report; it loads nothing and is not kept."""
    board.ready(is_ready=True)
    code, headers, body = ask(server, "/status.json")
    assert (code, headers["Content-Type"]) == (200, "application/json")
    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"
    assert msgspec.json.decode(body, type=Report).state == "ready"


TOKEN = "correct horse battery"  # noqa: S105 -- of this test only


@pytest.fixture
def guarded(metrics: PrometheusMetrics, board: StatusBoard) -> Iterator[StatusServer]:
    with StatusServer(Endpoints(metrics, board, Gate(TOKEN, LOOPBACK)), port=0) as server:
        yield server


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize(
    "shown",
    [
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        basic("wrong"),
        f"Digest {TOKEN}",
        "Basic %%%",
        "Basic " + "A" * 9000,
        TOKEN,
    ],
)
def test_a_token_keeps_everything_from_strangers(
    guarded: StatusServer, path: str, shown: str
) -> None:
    """Without the token, whatever is shown instead, the answer says nothing but what is needed."""
    code, headers, body = ask(guarded, path, Authorization=shown)
    assert code == 401
    assert headers["WWW-Authenticate"].startswith("Basic ")
    assert body == "a token is needed, see [metrics] token_file\n"


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize("shown", [f"Bearer {TOKEN}", f"bearer  {TOKEN}", basic(TOKEN)])
def test_the_token_opens_as_bearer_and_as_password(
    guarded: StatusServer, path: str, shown: str
) -> None:
    """Prometheus shows it one way, browsers the other; and behind a proxy any host name will do."""
    assert ask(guarded, path, Authorization=shown, Host="status.example")[0] == 200


def test_probes_need_no_token(guarded: StatusServer) -> None:
    """Whoever restarts a container knows no secret; health tells a word."""
    assert (ask(guarded, "/healthz")[0], ask(guarded, "/readyz")[0]) == (200, 503)


@pytest.mark.parametrize("path", GUARDED)
def test_a_foreign_name_for_this_machine_is_refused(server: StatusServer, path: str) -> None:
    """A page that points its own name to loopback reads nothing while there is no token."""
    assert ask(server, path, Host="evil.example:9464")[0] == 421
    assert ask(server, path, Host="127.0.0.1.evil.example")[0] == 421
    for name in ("localhost:9464", "127.0.0.1", "[::1]:9464"):
        assert ask(server, path, Host=name)[0] == 200


def test_a_query_does_not_change_the_path(server: StatusServer) -> None:
    """A query string is passed over."""
    assert ask(server, "/healthz?verbose=1")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(server: StatusServer, method: str) -> None:
    """Only GET and HEAD are allowed, and the answer says so; an unknown path stays unknown."""
    code, headers, _ = ask(server, "/metrics", method)
    assert (code, headers["Allow"]) == (405, "GET, HEAD")
    assert ask(server, "/nothing", method)[0] == 404


def test_head_has_headers_only(server: StatusServer) -> None:
    """HEAD gives the length of the body and no body."""
    code, headers, body = ask(server, "/healthz", "HEAD")
    assert (code, headers["Content-Length"], body) == (200, "6", "")


def test_answers_do_not_name_the_platform(server: StatusServer) -> None:
    """The server names itself without versions."""
    assert ask(server, "/healthz")[1]["Server"].strip() == "ktsafe"


def test_an_address_in_use_is_refused_with_advice(metrics: PrometheusMetrics) -> None:
    """A second server on the same port cannot start, and the error says what to do."""
    with (
        StatusServer(Endpoints(metrics), port=0) as first,
        pytest.raises(Misconfigured, match=r"\[metrics\] listen") as caught,
    ):
        StatusServer(Endpoints(metrics), port=first.port)
    assert caught.value.subject == f"127.0.0.1:{first.port}"


def test_a_foreign_address_is_refused_with_advice(metrics: PrometheusMetrics) -> None:
    """An address that this machine does not have cannot be listened on."""
    with pytest.raises(Misconfigured, match=r"\[metrics\] listen"):
        StatusServer(Endpoints(metrics), host="192.0.2.1", port=0)


def test_closing_frees_the_port(metrics: PrometheusMetrics) -> None:
    """After closing (twice does no harm) nobody answers and the port can be taken again."""
    server = StatusServer(Endpoints(metrics), port=0)
    server.start()
    port = server.port
    assert ask(server, "/healthz")[0] == 200
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    with StatusServer(Endpoints(metrics), port=port) as again:
        assert ask(again, "/healthz")[0] == 200


def test_a_server_that_never_started_can_be_closed(metrics: PrometheusMetrics) -> None:
    """Closing before starting frees the address without waiting for a thread."""
    server = StatusServer(Endpoints(metrics), port=0)
    server.close()
    assert not [t for t in threading.enumerate() if t.name == "ktsafe-status"]


def connected(server: StatusServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def drip(client: socket.socket) -> bool:
    """Send one more byte of a header that never ends; False if the server has hung up."""
    try:
        client.sendall(b"x")
        client.setblocking(False)
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        client.settimeout(20)


def test_idle_clients_do_not_pile_up(server: StatusServer) -> None:
    """Clients that say nothing take a bounded number of places; the oldest makes room."""
    with ExitStack() as stack:
        idle = [stack.enter_context(connected(server)) for _ in range(CONNECTIONS_MAX)]
        stack.enter_context(connected(server))
        assert idle[0].recv(1) == b""


@pytest.mark.parametrize("path", [*PROBES, "/metrics"])
def test_dripping_clients_keep_nobody_from_an_answer(
    server: StatusServer, metrics: PrometheusMetrics, path: str
) -> None:
    """With 64 requests that never end, and with more than there are places, all is answered."""
    metrics.ready(is_ready=True)
    with ExitStack() as stack:
        clients = []
        for n in (8, 64, CONNECTIONS_MAX + 8):
            while len(clients) < n:
                clients.append(stack.enter_context(connected(server)))
                clients[-1].sendall(b"GET / HTTP/1.1\r\nX-a: ")
            assert drip(clients[-1])
            assert ask(server, path)[0] == 200


def test_a_request_has_a_deadline_whatever_it_sends(
    server: StatusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that is never silent and never done is hung up on all the same."""
    monkeypatch.setattr(server._server, "connection_s", 0.3)
    with connected(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX-a: ")
        drips = 0
        while drip(client) and drips < 200:
            drips += 1
            time.sleep(0.05)
        assert drips < 200


def test_probes_are_answered_while_all_else_waits(
    server: StatusServer, metrics: PrometheusMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Health does not queue behind pages and metrics that take long to make."""
    release, begun = threading.Event(), threading.Semaphore(0)
    answer = server.endpoints.answer

    def slow(path: str, **headers: str) -> HttpAnswer:
        if path == "/metrics":
            begun.release()
            release.wait(20)
        return answer(path, **headers)

    monkeypatch.setattr(server.endpoints, "answer", slow)
    with ExitStack() as stack:
        for _ in range(ANSWERS_MAX + 4):
            client = stack.enter_context(connected(server))
            client.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
        for _ in range(ANSWERS_MAX):
            assert begun.acquire(timeout=20)
        assert ask(server, "/healthz")[0] == 200
        release.set()
        assert client.recv(15) == b"HTTP/1.0 200 OK"


@pytest.mark.parametrize("line", [b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"])
def test_garbage_does_not_stop_the_server(server: StatusServer, line: bytes) -> None:
    """Bytes that are no request are refused or hung up on, and the next request is answered."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(line)
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    assert ask(server, "/healthz")[0] == 200
