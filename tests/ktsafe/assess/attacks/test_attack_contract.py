"""Attacks from outside: found by their entry point, run when named, held to the same contract."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.assess.attacks import ATTACKS, Case, Result, attack_named, ids_removed, run
from ktsafe.assess.attacks.suite import GROUP
from ktsafe.errors import InvalidParams
from ktsafe.graph.synthetic import uniform
from ktsafe.params import PrivacyParams
from ktsafe_lab.contracts import AttackContract
from tests import plug_ins

PARAMS = PrivacyParams(k=5)


def lottery(case, _params, rng):
    """Name one vertex at random; what is drawn is told as a further figure."""
    drawn = float(rng.random())
    chance = 1 / case.released.n_vertices
    return [Result("lottery", "share", 10, chance, 0.0, 0.5, chance, figures={"drawn": drawn})]


class TestOurs(AttackContract):
    """The attacks that come with the program pass it."""

    @pytest.fixture(params=["one_hop", "membership_of_ties", "sensitive_inference", "two_hops"])
    def attack(self, request):
        return ATTACKS[request.param]


class TestOutside(AttackContract):
    """So does an attack of an installed package."""

    @pytest.fixture
    def attack(self, tmp_path, monkeypatch):
        lines = [f"lottery = {__name__}:lottery"]
        plug_ins.offer(tmp_path, monkeypatch, lines=lines, group=GROUP)
        return attack_named("lottery")


def test_an_attack_from_outside_disturbs_no_other(tmp_path, monkeypatch):
    """Figures of others are as without it, and its own do not depend on which others run."""
    plug_ins.offer(tmp_path, monkeypatch, lines=[f"lottery = {__name__}:lottery"], group=GROUP)
    rng = np.random.default_rng(0)
    graph = uniform(60, 200, rng=rng)
    case = Case(graph, *ids_removed(graph, rng))

    def found(*names):
        results = run(case, PARAMS, np.random.default_rng(1), attacks=names)
        return [result.to_mapping() for result in results]

    ours, (mine,) = found("one_hop", "seeds"), found("lottery")
    assert found("lottery", "one_hop", "seeds") == [mine, *ours]


def test_an_attack_that_nobody_offers_is_refused():
    """The error lists what there is."""
    with pytest.raises(InvalidParams, match="one_hop"):
        attack_named("lottery")
