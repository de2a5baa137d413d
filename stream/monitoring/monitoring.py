"""From the `[metrics]` table to what shows a running service.

Metrics, board, HTTP server.
"""

from __future__ import annotations

from ktsafe.connectors.errors import Misconfigured
from ktsafe.connectors.secrets import SecretUnreadable, read_secret
from ktsafe.stream.config.loopback import is_loopback
from ktsafe.stream.config.settings import MetricsTable, Settings
from ktsafe.stream.monitoring.access import TOKEN_CHARS_MIN, Gate
from ktsafe.stream.monitoring.board import StatusBoard
from ktsafe.stream.monitoring.diagnosis import Circumstances
from ktsafe.stream.monitoring.endpoints import Endpoints
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.monitoring.status import StatusServer
from ktsafe.stream.monitoring.summary import Counts
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)


def status_board(settings: Settings, counts: Counts) -> StatusBoard:
    """Return the board of a service, not told anything yet."""
    setting = Circumstances(
        params=settings.params,
        healthy_within_s=settings.config.metrics.healthy_within_s,
    )
    return StatusBoard(setting, counts)


def status_server(settings: Settings, board: StatusBoard) -> tuple[PrometheusMetrics, StatusServer]:
    """Return a service's metrics, and what shows them over HTTP.

    The address is bound, and nothing answered yet.

    Raises
    ------
    ktsafe.connectors.errors.Misconfigured
        If the address cannot be listened on, or there is no token where the settings say.
    """
    table = settings.config.metrics
    token = access_token(settings)
    figures = shows_figures(table)
    if token is None and not is_loopback(table.host):
        log.warning("metrics are served beyond this machine without a token")
    metrics = PrometheusMetrics(params=settings.params, secrets=figures)
    gate = Gate(token, table.host)
    answers = Endpoints(
        metrics, board, gate, secrets=figures, healthy_within_s=table.healthy_within_s
    )
    return metrics, StatusServer(answers, host=table.host, port=table.port)


def shows_figures(table: MetricsTable) -> bool:
    """Whether the secrets of releases are shown.

    Behind a token, or where local users may see.
    """
    if table.figures == "local users":
        return table.has_token or is_loopback(table.host)
    return table.has_token and table.figures is not False


def access_token(settings: Settings) -> str | None:
    """Return the token that readers must show, None if they need none.

    Raises
    ------
    ktsafe.connectors.errors.Misconfigured
        If it cannot be read, or is too short to be one.
    """
    table = settings.config.metrics
    if table.token_file is None and table.token_env is None:
        return None
    file = None if table.token_file is None else str(settings.path(table.token_file))
    subject = file or f"environment variable {table.token_env}"
    try:
        token = read_secret("token", file, table.token_env)
    except SecretUnreadable as error:
        raise Misconfigured("serve metrics", subject, str(error)) from None
    if len(token) < TOKEN_CHARS_MIN or not token.isascii():
        hint = f"A token has at least {TOKEN_CHARS_MIN} ASCII characters: openssl rand -hex 32"
        raise Misconfigured("serve metrics", subject, hint)
    return token
