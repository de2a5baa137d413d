"""The runbook knows every alert and every exit code."""

import re
from pathlib import Path

import pytest

from stream.errors import Exit
from stream.remedies import REMEDIES

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


def test_rows_and_the_status_page_say_the_same():
    """The remedies in the service are those of the runbook, word by word and in its order."""
    rows = re.findall(r"^\| `(Ktsafe\w+)` \| (.*) \| (.*) \|$", RUNBOOK, re.MULTILINE)
    assert rows == [(name, *remedy) for name, remedy in REMEDIES.items()]


def test_no_row_outlives_its_alert():
    """A renamed alert takes its row along."""
    assert set(re.findall(r"^\| `(Ktsafe\w+)` \|", RUNBOOK, re.MULTILINE)) == set(ALERTS)


@pytest.mark.parametrize("code", list(Exit))
def test_every_exit_code_has_a_row(code):
    """Whoever sees a code finds what it asks for."""
    assert f"| {int(code)} |" in RUNBOOK
