"""The page on attacks knows every attack."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktsafe.assess.releases.attacks import NAMES
from ktsafe.stream.files.release_figures import ATTACKS_TOLD

PAGE = (Path(__file__).parents[4] / "docs/attacks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_attack_is_explained(name: str) -> None:
    """It has a row among the attackers; `tests/security` knows which sentence it tries."""
    assert f"| `{name}`" in PAGE or f", `{name}`" in PAGE


def test_the_service_runs_attacks_that_there_are() -> None:
    """Its list names attacks of the suite."""
    assert set(ATTACKS_TOLD) <= set(NAMES)
