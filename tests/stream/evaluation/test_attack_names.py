"""The page on attacks knows every attack."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktsafe.stream.evaluation.attacks import NAMES
from ktsafe.stream.files.release_figures import ATTACKS_TOLD

PAGE = (Path(__file__).parents[3] / "docs/attacks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*NAMES, "sybils"])
def test_every_attack_is_explained_and_beside_a_promise_or_none(name: str) -> None:
    """It has a row among the attackers, and stands among what is promised or what is not."""
    attackers, _, promises = PAGE.partition("## Which attack tests which promise")
    assert f"| `{name}`" in attackers or f", `{name}`" in attackers
    assert f"`{name}" in promises.partition("## What was measured")[0]


def test_the_service_runs_attacks_that_there_are() -> None:
    """Its list names attacks of the suite."""
    assert set(ATTACKS_TOLD) <= set(NAMES)
