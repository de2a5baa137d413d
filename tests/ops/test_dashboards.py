"""Dashboards and alert rules beside the metrics that the service really has."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import combinations
from pathlib import Path

import pytest
import yaml
from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models import dashboard as grafana
from prometheus_client.parser import text_string_to_metric_families

from ktsafe import PrivacyParams
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from tests.ops import dashboards
from tests.ops.tools import ROOT, tool


def everything() -> bytes:
    """Return an exposition with every metric that there is."""
    metrics = PrometheusMetrics(params=PrivacyParams(), secrets=True)
    metrics.lag({("feed", 0): 1})
    _, body = metrics.exposition()
    return body


def exposed() -> dict[str, set[str]]:
    """Return every sample name of the registry with its label names."""
    body = everything()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("path", [*dashboards.DASHBOARDS, dashboards.RULES, *dashboards.RULE_TESTS])
def test_every_metric_named_exists(path: object) -> None:
    """What dashboards, rules, their texts and their tests name is in the registry."""
    with open(str(path), encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    text = re.sub(r"ktsafe_(weeks_)?test\.yml", "", text)
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
                if label not in {"job", "instance"}:  # These are given by Prometheus.
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


def fields(value: object, path: str = "") -> set[str]:
    """Return the places of all fields in a JSON value."""
    if isinstance(value, list):
        return set().union(*(fields(each, path) for each in value))
    if not isinstance(value, dict):
        return set()
    return {f"{path}.{name}" for name in value}.union(
        *(fields(inner, f"{path}.{name}") for name, inner in value.items())
    )


@pytest.mark.parametrize("path", dashboards.DASHBOARDS, ids=lambda path: path.stem)
def test_grafana_knows_every_field(path: Path) -> None:
    """Grafana's own types read each dashboard, its panels and its queries, and lose nothing.

    All but two: a text beside a variable's query, and a title of annotations, which are newer.
    """
    plugins.register_default_plugins()
    written = json.loads(path.read_text(encoding="utf-8"))
    read = grafana.Dashboard.from_json(written)
    again = json.loads(encoder.JSONEncoder(sort_keys=True).encode(read))
    lost = fields(written) - fields(again)
    assert lost <= {".templating.list.definition", ".annotations.list.titleFormat"}
    written["panels"][-1]["fieldConfigs"] = {}
    again = encoder.JSONEncoder(sort_keys=True).encode(grafana.Dashboard.from_json(written))
    assert ".panels.fieldConfigs" not in fields(json.loads(again))


def marked_in_help(mark: str) -> set[str]:
    """Return the metrics whose help text has a mark."""
    families = text_string_to_metric_families(everything().decode())
    return {family.name for family in families if mark in family.documentation}


@pytest.mark.parametrize("mark", ["private", "secret"])
def test_what_tells_of_the_true_graph_is_marked(mark: str) -> None:
    """Panels say private or secret where the help text of their metrics does.

    Events are counted on rows that say so for all their panels.
    """
    names = marked_in_help(mark.upper()) - {"ktsafe_events"}
    assert len(names) >= 5
    marked = 0
    for panel in dashboards.panels():
        asked = " ".join(target["expr"] for target in panel["targets"])
        if any(name in asked for name in names):
            marked += 1
            said = f"{panel['title']} {panel['description']}".lower()
            assert mark in said or "secret" in said, panel["title"]
    assert marked >= 5


def test_secret_dashboards_are_apart_and_say_so() -> None:
    """Secrets of releases are on dashboards of the secret folder only, marked in title and text."""
    secrets = marked_in_help("SECRET")
    for path, dashboard in zip(dashboards.DASHBOARDS, dashboards.dashboards(), strict=True):
        asked = json.dumps(dashboard)
        is_secret = path.parent.name == "secret"
        assert any(name in asked for name in secrets) == is_secret
        assert ("(secret)" in dashboard["title"]) == is_secret
        assert dashboard["description"].startswith("SECRET: ") == is_secret
        assert is_secret or "Private: " in dashboard["description"]


def test_every_dashboard_is_provisioned_into_a_folder_of_its_kind() -> None:
    """Grafana's folder permissions can tell the secret dashboards from the others."""
    text = (ROOT / "ops/grafana/provisioning/dashboards/ktsafe.yaml").read_text(encoding="utf-8")
    provided = {p["folder"]: p["options"]["path"] for p in yaml.safe_load(text)["providers"]}
    kinds = {path.parent.name for path in dashboards.DASHBOARDS}
    assert set(provided.values()) == {f"/etc/grafana/dashboards/{kind}" for kind in kinds}
    assert provided["ktsafe secret"].endswith("/secret")
    compose = (ROOT / "ops/compose.yaml").read_text(encoding="utf-8")
    home = re.search(r"HOME_DASHBOARD_PATH: /etc/grafana/(\S+)", compose)
    assert home is not None
    assert (ROOT / "ops/grafana" / home[1]).exists()


def test_every_alert_is_a_runbook_and_tested() -> None:
    """Each rule has severity, summary, description and action, and a case in the rule tests."""
    rules = dashboards.RULES.read_text(encoding="utf-8").split("- alert: ")[1:]
    tests = "".join(path.read_text(encoding="utf-8") for path in dashboards.RULE_TESTS)
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
        ("test", "rules", *map(str, dashboards.RULE_TESTS)),
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
    done = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=everything(), capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
