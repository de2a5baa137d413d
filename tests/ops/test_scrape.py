"""A real Prometheus scrapes a real status server and evaluates everything we ask of it."""

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

from stream.metrics import PrometheusMetrics
from stream.status import StatusServer
from tests.ops import dashboards
from tests.ops.tools import tool

DEADLINE_S = 90.0


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
def metrics() -> PrometheusMetrics:
    """Give metrics as after some work; the rest is as it is from the start."""
    metrics = PrometheusMetrics(release_interval_s=3600)
    metrics.ready(is_ready=True)
    metrics.lag({("feed", 0): 10, ("feed", 1): 20})
    metrics.state({"vertices": 5, "edges": 6}, 4096)
    metrics.release_phase("verify", 0.5)
    metrics.release_published("r1", 1_000_000, 12, 34)
    return metrics


@pytest.fixture(scope="module")
def prometheus(
    metrics: PrometheusMetrics, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Give a Prometheus that has scraped a status server several times with our configuration."""
    binary = tool("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with StatusServer(metrics, port=0) as status:
        config = folder / "prometheus.yml"
        config.write_text(_config(status.port), encoding="utf-8")
        port = _free_port()
        command = [
            binary,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            server = Prometheus(port)
            _wait(server, process, folder / "log", metrics)
            yield server
        finally:
            process.kill()
            process.wait()


def _config(port: int) -> str:
    """Return our configuration, pointed at a port and sped up."""
    text = dashboards.CONFIG.read_text(encoding="utf-8")
    text = re.sub(r"(scrape|evaluation)_interval: 15s", r"\1_interval: 1s", text)
    text = text.replace("127.0.0.1:9464", f"127.0.0.1:{port}")
    return text.replace("rules/*.yml", str(dashboards.RULES.parent / "*.yml"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(
    server: Prometheus, process: subprocess.Popen[bytes], log: Path, metrics: PrometheusMetrics
) -> None:
    """Wait until rates can be computed and every rule has been evaluated; count on meanwhile."""

    def ready() -> bool:
        assert process.poll() is None, log.read_text()
        metrics.event("edge.add", "applied")
        metrics.applied(0.01)
        metrics.checkpoint(0.02)
        metrics.release_phase("verify", 0.5)
        metrics.alive()
        found = server.get("/api/v1/query", query="increase(ktsafe_apply_duration_seconds_sum[1m])")
        rules = server.get("/api/v1/rules")
        return bool(
            found
            and found["result"]
            and rules["groups"]
            and all(r["health"] == "ok" for g in rules["groups"] for r in g["rules"])
        )

    until("Prometheus has scraped and evaluated", ready)


def _filled_in(expression: str) -> str:
    """Return a panel's expression as Grafana sends it."""
    for name, value in (("$job", "ktsafe"), ("$instance", ".+"), ("$__rate_interval", "1m")):
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


@pytest.mark.parametrize("expression", dict.fromkeys(dashboards.expressions()))
def test_every_panel_has_data(prometheus: Prometheus, expression: str) -> None:
    """Each expression of each dashboard evaluates to at least one sample."""
    assert prometheus.samples(_filled_in(expression)), expression


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
