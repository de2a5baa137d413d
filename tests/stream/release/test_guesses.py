"""Best guesses in the private audit of a release."""

from __future__ import annotations

import json

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.attacks import ids_removed, run
from ktsafe.audit import trace
from ktsafe.datasets.synthetic import uniform
from stream.release.guesses import best_guesses

PARAMS = PrivacyParams(k=5)


def test_guesses_are_those_of_the_attacks() -> None:
    """They are what `ktsafe attack` finds with one hop, k_near among them, JSON-ready."""
    graph = uniform(60, 120, rng=np.random.default_rng(1))
    released, behind = ids_removed(graph, np.random.default_rng(2))
    found = best_guesses(trace(graph, released, behind), PARAMS)
    expected = run(graph, released, behind, PARAMS, np.random.default_rng(3), attacks=["one_hop"])
    assert found == {"results": [result.to_mapping() for result in expected], "skipped": None}
    json.dumps(found, allow_nan=False)
    joint = next(r for r in found["results"] if r["attack"] == "one_hop.joint")
    assert joint["value"] > joint["control"]
    assert {"k_near_below_k", "k_near_median", "best_rank_guess"} <= set(joint["figures"])


def test_large_graphs_are_passed_over_and_it_is_said() -> None:
    """Above the stated size there are no figures, and the audit says why."""
    graph = uniform(60, 120, rng=np.random.default_rng(1))
    released, behind = ids_removed(graph, np.random.default_rng(2))
    found = best_guesses(trace(graph, released, behind), PARAMS, edges_max=119)
    assert found["results"] == []
    assert "more than 119 edges" in found["skipped"]
