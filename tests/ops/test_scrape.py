"""A real Prometheus scrapes a running service and evaluates everything we ask of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ops import dashboards
from tests.ops.prometheus import Prometheus, scraping, until
from tests.ops.service import RunningService
from tests.ops.tools import tool
from tests.service_manager import Manager

UNKNOWN_HERE = ("ktsafe_source_lag_records",)
"""NaN where the feed is a file."""

# The first run of the service may have to compile kernels.
pytestmark = pytest.mark.timeout(1000)


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    """Give a service manager that wants to hear of the service every three seconds."""
    address = str(tmp_path_factory.mktemp("manager") / "notify")
    manager = Manager(address)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NOTIFY_SOCKET", address)
        environment.setenv("WATCHDOG_USEC", "3000000")
        yield manager
    manager.close()


@pytest.fixture(scope="module")
def service(manager: Manager, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
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
    with scraping(service, tmp_path_factory.mktemp("prometheus")) as server:
        until("Prometheus has scraped and evaluated", lambda: _is_ready(server, service))
        yield server


def _is_ready(server: Prometheus, service: RunningService) -> bool:
    """Whether rates can be computed and every rule has been evaluated; the feed goes on."""
    service.go_on(5)
    found = server.get("/api/v1/query", query="increase(ktsafe_apply_duration_seconds_sum[1m])")
    rules = server.get("/api/v1/rules")
    return bool(
        found
        and found["result"]
        and rules
        and rules["groups"]
        and all(r["health"] == "ok" for g in rules["groups"] for r in g["rules"])
        and len(server.samples("ktsafe_ready offset 3s")) == 1
    )


@pytest.mark.parametrize("expression", dict.fromkeys(dashboards.expressions()))
def test_every_panel_has_data(
    prometheus: Prometheus, service: RunningService, expression: str
) -> None:
    """Each expression of each dashboard evaluates to at least one number."""
    query = dashboards.filled_in(expression)
    may_be_unknown = any(name in expression for name in UNKNOWN_HERE)

    def has_data() -> bool:
        values = {sample["value"][1] for sample in prometheus.samples(query)}
        if values - {"NaN"} or (values and may_be_unknown):
            return True
        service.go_on(5)  # Rates are those of the last minute, in which tests may have stood still.
        return False

    until(f"there is data for {expression}", has_data)


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


def test_the_service_manager_heard_of_it(prometheus: Prometheus, manager: Manager) -> None:
    """The process told that it was ready, once, and then that its main loop goes round."""
    heard = [text.splitlines()[0] for text in manager.heard()]
    assert heard.count("READY=1") == 1
    assert heard.count("WATCHDOG=1") >= 2
    assert set(heard) == {"READY=1", "WATCHDOG=1"}


def test_variables_of_the_dashboard_have_values(prometheus: Prometheus) -> None:
    """Grafana finds job and instance to choose from."""
    assert prometheus.get("/api/v1/label/job/values", **{"match[]": "ktsafe_ready"}) == ["ktsafe"]
    assert len(prometheus.get("/api/v1/label/instance/values")) == 1
