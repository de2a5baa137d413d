"""The runbook knows every alert and every exit code."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import ktsafe
import ktsafe.connectors
import ktsafe.state
import ktsafe.stream
from ktsafe.errors import KtsafeError
from ktsafe.stream.errors import Exit, Refused, exit_code
from ktsafe.stream.monitoring.diagnosis import REMEDIES

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = (ROOT / "ops/runbook.md").read_text()
ALERTS = re.findall(
    r"^ *- alert: (\w+)$", (ROOT / "ops/prometheus/rules/ktsafe.yml").read_text(), re.MULTILINE
)


def test_there_are_alerts():
    """The pattern finds the rules."""
    assert len(ALERTS) > 10


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_row(alert):
    """Whoever is woken finds the alert by its name."""
    assert f"| `{alert}` |" in RUNBOOK


def test_rows_and_the_status_say_the_same():
    """The remedies in the service are those of the runbook, word by word and in its order."""
    rows = re.findall(r"^\| `(Ktsafe\w+)` \| (.*) \| (.*) \|$", RUNBOOK, re.MULTILINE)
    told = [row for row in rows if row[0] in REMEDIES]
    assert told == [(name, *remedy) for name, remedy in REMEDIES.items()]


def test_no_row_outlives_its_alert():
    """A renamed alert takes its row along."""
    assert set(re.findall(r"^\| `(Ktsafe\w+)` \|", RUNBOOK, re.MULTILINE)) == set(ALERTS)


@pytest.mark.parametrize("code", list(Exit))
def test_every_exit_code_has_a_row(code):
    """Whoever sees a code finds what it asks for."""
    assert f"| {int(code)} |" in RUNBOOK


BASES = {"OperationFailed", "StateError", "ConnectorError"}
"""Of whom only kinds are raised."""


def errors(base):
    """Yield every kind of an expected error."""
    for kind in base.__subclasses__():
        yield kind
        yield from errors(kind)


def test_every_expected_error_has_a_row_with_its_exit_code():
    """Whoever finds a name in the log finds what it asks for; no row outlives its error."""
    for package in (ktsafe, ktsafe.state, ktsafe.connectors, ktsafe.stream):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    kinds = {kind.__name__: kind for kind in errors(KtsafeError) if kind.__name__ not in BASES}
    assert len(kinds) > 12
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \| .+ \|$", RUNBOOK, re.MULTILINE))
    assert set(rows) == set(kinds)
    # What it becomes on its way out of the state (`ktsafe.stream.release.linked`).
    kinds["SequenceCorrupted"] = kinds["StateCorrupted"]
    bare = {name: kind.__new__(kind) for name, kind in kinds.items() if kind is not Refused}
    found = {name: exit_code(error) for name, error in {**bare, "Refused": Refused("")}.items()}
    assert {name: int(code) for name, code in rows.items()} == found


def test_every_procedure_that_is_named_exists():
    """What the tables send their readers to is in the runbook."""
    named = set(re.findall(r"see \*([^*]+)\*", RUNBOOK))
    assert len(named) >= 4
    headings = re.findall(r"^### (.+)$", RUNBOOK, re.MULTILINE)
    assert [name for name in named if not any(h.startswith(name) for h in headings)] == []
