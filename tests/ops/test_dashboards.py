"""Dashboards and alert rules beside the metrics that the service really has."""

from __future__ import annotations

import re
import subprocess
from itertools import combinations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stream.metrics import PrometheusMetrics
from tests.ops import dashboards
from tests.ops.tools import ROOT, tool


def exposed() -> dict[str, set[str]]:
    """Return every sample name of the registry with its label names."""
    metrics = PrometheusMetrics()
    metrics.lag({("feed", 0): 1})
    _, body = metrics.exposition()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("path", [*dashboards.DASHBOARDS, dashboards.RULES, dashboards.RULE_TESTS])
def test_every_metric_named_exists(path: object) -> None:
    """What dashboards, rules, their texts and their tests name is in the registry."""
    with open(str(path), encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    text = re.sub(r"ktsafe_test\.yml", "", text)
    names = dashboards.metric_names(text)
    assert names
    assert names - set(exposed()) == set()


def test_every_metric_of_ours_is_on_a_dashboard_or_in_a_rule() -> None:
    """No metric is kept for nobody."""
    named = dashboards.metric_names(dashboards.RULES.read_text(encoding="utf-8"))
    for expression in dashboards.expressions():
        named |= dashboards.metric_names(expression)
    stems = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named}
    ours = {
        re.sub(r"_(bucket|sum|count)$", "", name) for name in exposed() if name.startswith("ktsafe")
    }
    assert ours - stems == set()


def test_labels_grouped_by_exist() -> None:
    """Expressions group by labels that their metrics have."""
    found = exposed()
    grouped = 0
    for expression in dashboards.expressions():
        names = dashboards.metric_names(expression)
        for labels in re.findall(r"by \(([a-z, ]+)\)", expression):
            for label in labels.split(", "):
                grouped += 1
                assert any(label in found[name] for name in names), expression
    assert grouped


def test_dashboards_can_be_provisioned() -> None:
    """Each has a fixed uid, a variable for the data source, and uses no other data source."""
    for path, dashboard in zip(dashboards.DASHBOARDS, dashboards.dashboards(), strict=True):
        assert dashboard["uid"] == path.stem
        assert dashboard.get("id") is None
        variables = {v["name"]: v["type"] for v in dashboard["templating"]["list"]}
        assert variables["datasource"] == "datasource"
        for panel in dashboards.panels():
            for asked in (panel, *panel["targets"]):
                assert asked["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    provider = (ROOT / "ops/grafana/provisioning/datasources/prometheus.yaml").read_text()
    assert "uid: ktsafe-prometheus" in provider


def test_panels_say_what_they_show_and_do_not_overlap() -> None:
    """Every panel has a title, a description, a unit and a place of its own."""
    for panel in dashboards.panels():
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
    for dashboard in dashboards.dashboards():
        assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
        for one, other in combinations([p["gridPos"] for p in dashboard["panels"]], 2):
            apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
            apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
            assert apart_x or apart_y


def test_what_tells_of_the_true_graph_is_marked() -> None:
    """Panels of true sizes and of how hard hiding was say that they are private."""
    private = (
        "ktsafe_graph_elements",
        "ktsafe_store_size_bytes",
        "release_phase_duration",
        "ktsafe_sequence_",
        "ktsafe_erasures_pending",
    )
    marked = 0
    for panel in dashboards.panels():
        asked = " ".join(target["expr"] for target in panel["targets"])
        if any(name in asked for name in private):
            marked += 1
            assert "private" in f"{panel['title']} {panel['description']}".lower()
    assert marked == 7


def test_every_alert_is_a_runbook_and_tested() -> None:
    """Each rule has severity, summary, description and action, and a case in the rule tests."""
    rules = dashboards.RULES.read_text(encoding="utf-8").split("- alert: ")[1:]
    tests = dashboards.RULE_TESTS.read_text(encoding="utf-8")
    assert len(rules) >= 7
    for rule in rules:
        name = rule.split()[0]
        for key in ("severity:", "summary:", "description:", "action:"):
            assert key in rule, f"{name} lacks {key}"
        assert name in tests, f"{name} is not tested"


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", str(dashboards.CONFIG)),
        ("check", "rules", "--lint-fatal", str(dashboards.RULES)),
        ("test", "rules", str(dashboards.RULE_TESTS)),
    ],
    ids=["config", "rules", "tests"],
)
def test_promtool_accepts(arguments: tuple[str, ...]) -> None:
    """Prometheus' own tool finds nothing wrong, and the alerts fire when they should only."""
    done = subprocess.run(
        [tool("promtool"), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_exposition() -> None:
    """The metrics pass `promtool check metrics`: format, names, units and help texts."""
    metrics = PrometheusMetrics()
    metrics.lag({("feed", 0): 1})
    _, body = metrics.exposition()
    done = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=body, capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
