"""A real Prometheus scrapes a running service and evaluates everything we ask of it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ops import dashboards
from tests.ops.service import RunningService
from tests.ops.tools import tool

DEADLINE_S = 90.0
UNKNOWN_HERE = ("ktsafe_release_interval_seconds", "ktsafe_source_lag_records")
"""NaN where slots follow event time, and where the feed is a file."""

# The first run of the service may have to compile kernels.
pytestmark = pytest.mark.timeout(1000)


class Prometheus:
    """A running Prometheus server."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of an API call; None while it does not answer."""
        url = f"{self._base}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            pytest.fail(f"{parameters}: {error.read().decode()}")
        except OSError:
            return None

    def samples(self, expression: str) -> list[Any]:
        """Return what an expression evaluates to now."""
        data = self.get("/api/v1/query", query=expression)
        assert data is not None
        result: list[Any] = data["result"]
        return result


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Give a running service that asks for a token."""
    tool("prometheus")  # Skips before anything is started.
    service = RunningService(tmp_path_factory.mktemp("service") / "site")
    service.guard("a token for this test only")
    with service.running():
        yield service


@pytest.fixture(scope="module")
def prometheus(
    service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Give a Prometheus that has scraped the service several times with our configuration."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "token").write_text(service.token)
    config = folder / "prometheus.yml"
    config.write_text(_config(service.url, folder / "token"), encoding="utf-8")
    port = _free_port()
    command = [
        tool("prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        server = Prometheus(port)
        _wait(server, process, folder / "log", service)
        yield server
    finally:
        process.kill()
        process.wait()


def _config(url: str, token: Path) -> str:
    """Return our configuration, pointed at a service, with its token, and sped up."""
    text = dashboards.CONFIG.read_text(encoding="utf-8")
    text = re.sub(r"(scrape|evaluation)_interval: 15s", r"\1_interval: 1s", text)
    text = re.sub(
        r"(\n +)# authorization:\n +#   credentials_file: .*",
        rf"\1authorization:\1  credentials_file: {token}",
        text,
    )
    assert str(token) in text
    text = text.replace("127.0.0.1:9464", url.removeprefix("http://"))
    return text.replace("rules/*.yml", str(dashboards.RULES.parent / "*.yml"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(
    server: Prometheus, process: subprocess.Popen[bytes], log: Path, service: RunningService
) -> None:
    """Wait until rates can be computed and every rule has been evaluated; the feed goes on."""

    def ready() -> bool:
        assert process.poll() is None, log.read_text()
        service.go_on(5)
        found = server.get("/api/v1/query", query="increase(ktsafe_apply_duration_seconds_sum[1m])")
        rules = server.get("/api/v1/rules")
        return bool(
            found
            and found["result"]
            and rules["groups"]
            and all(r["health"] == "ok" for g in rules["groups"] for r in g["rules"])
            and len(server.samples("ktsafe_ready offset 3s")) == 1
        )

    until("Prometheus has scraped and evaluated", ready)


def _filled_in(expression: str) -> str:
    """Return a panel's expression as Grafana sends it."""
    for name, value in (
        ("$job", "ktsafe"),
        ("$instance", ".+"),
        ("$__rate_interval", "1m"),
        ("$window", "2s"),
    ):
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


@pytest.mark.parametrize("expression", dict.fromkeys(dashboards.expressions()))
def test_every_panel_has_data(prometheus: Prometheus, expression: str) -> None:
    """Each expression of each dashboard evaluates to at least one number."""
    values = [sample["value"][1] for sample in prometheus.samples(_filled_in(expression))]
    assert values, expression
    if not any(name in expression for name in UNKNOWN_HERE):
        assert set(values) - {"NaN"}, expression


def test_every_alert_evaluates_over_data(prometheus: Prometheus) -> None:
    """Each rule evaluates without an error, and each metric it names has samples."""
    rules = [r for g in prometheus.get("/api/v1/rules")["groups"] for r in g["rules"]]
    assert len(rules) == dashboards.RULES.read_text(encoding="utf-8").count("- alert:")
    for rule in rules:
        assert (rule["health"], rule.get("lastError")) == ("ok", None), rule["name"]
        for name in dashboards.metric_names(rule["query"]) or {"up"}:
            assert prometheus.samples(name), f"{rule['name']}: {name} has no samples"


def test_a_healthy_service_raises_no_alert(prometheus: Prometheus) -> None:
    """With the service at work nothing is pending or firing."""
    assert prometheus.samples('ALERTS{alertname!="KtsafeIngestStalled"}') == []


def test_variables_of_the_dashboard_have_values(prometheus: Prometheus) -> None:
    """Grafana finds job and instance to choose from."""
    assert prometheus.get("/api/v1/label/job/values", **{"match[]": "ktsafe_ready"}) == ["ktsafe"]
    assert len(prometheus.get("/api/v1/label/instance/values")) == 1
