"""Strategies are found by name, those of installed packages too, which nobody believes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ktsafe import AnonymizeOptions, InvalidParams, NotKTSafe, PrivacyParams, anonymize
from ktsafe.anonymization.anonymization import anonymize_unverified
from ktsafe.anonymization.strategies import (
    STRATEGIES,
    Request,
    check_strategy,
    is_own,
    strategy_named,
    strategy_names,
)
from ktsafe.graph.datasets import uniform
from ktsafe.verify import verify_graph
from tests import plug_ins
from tests.plug_ins import offer

GRAPH = uniform(60, 200, n_tuples=3, rng=np.random.default_rng(1))
PARAMS = PrivacyParams(k=5)


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with two strategies."""
    offer(tmp_path, monkeypatch)


def asked(strategy: str) -> Request:
    """Return what is asked for in these tests."""
    rng = np.random.default_rng(0)
    return Request(GRAPH, PARAMS, rng, AnonymizeOptions(strategy=strategy))


def made(strategy: str):
    """Return a release."""
    options = AnonymizeOptions(strategy=strategy)
    return anonymize(GRAPH, PARAMS, rng=np.random.default_rng(0), options=options)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_registered_strategy_exists(name: str) -> None:
    """Each entry names a function that can be loaded."""
    assert is_own(name)
    assert callable(strategy_named(name))


@pytest.mark.usefixtures("outside")
def test_an_installed_package_adds_strategies() -> None:
    """They are listed after ours and found by name."""
    names = strategy_names()
    assert names[: len(STRATEGIES)] == list(STRATEGIES)
    assert {"truth", "nothing"} <= set(names[len(STRATEGIES) :])
    assert strategy_named("truth") is plug_ins.truth
    assert not is_own("truth")
    with pytest.raises(InvalidParams, match="protects one hop"):
        check_strategy("truth", PrivacyParams(n_hops=2))


@pytest.mark.usefixtures("outside")
def test_a_strategy_from_outside_is_verified() -> None:
    """An unsafe release is not returned, and the error names the strategy; a safe one is."""
    with pytest.raises(NotKTSafe, match="'truth' left"):
        made("truth")
    assert not verify_graph(anonymize_unverified(asked("truth")).graph, PARAMS).is_safe
    assert verify_graph(made("nothing").graph, PARAMS).is_safe


def test_an_unknown_strategy_names_the_laboratory() -> None:
    """The error says what there is and which package has more."""
    with pytest.raises(InvalidParams, match=r"There is exact; .*ktsafe-lab"):
        made("magic")


def test_no_package_replaces_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of ours is ours, whatever is installed."""
    offer(tmp_path, monkeypatch, lines=["exact = tests.plug_ins:TRUTH"])
    assert strategy_named("exact") is not plug_ins.truth
    assert strategy_names().count("exact") == 1


def test_two_packages_with_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which one is meant would depend on the installation."""
    offer(tmp_path / "a", monkeypatch, lines=["mine = tests.plug_ins:TRUTH"])
    offer(tmp_path / "b", monkeypatch, name="another", lines=["mine = tests.plug_ins:NOTHING"])
    with pytest.raises(InvalidParams, match="Several installed packages"):
        strategy_named("mine")


def test_what_is_no_entry_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what an entry point must name."""
    offer(tmp_path, monkeypatch, lines=["mine = tests.plug_ins:truth"])
    with pytest.raises(InvalidParams, match="must name a"):
        strategy_named("mine")
