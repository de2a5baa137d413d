"""What every attack on one release must do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ktsafe.assess.attacks import Case, Result, ids_removed
from ktsafe.assess.attacks.suite import Attack
from ktsafe.graph import AttributedGraph
from ktsafe.graph.synthetic import uniform
from ktsafe.params import PrivacyParams

PARAMS = PrivacyParams(k=5)


def made_case(*, is_hidden: bool) -> Case:
    """Return a small release.

    The truth without its ids, or that without any edge.
    """
    rng = np.random.default_rng(0)
    graph = uniform(80, 300, rng=rng, n_tuples=3)
    released, original_of = ids_removed(graph, rng)
    if is_hidden:
        released = AttributedGraph.from_codes(
            released.schema, released.categories, released.codes, released.edges[:0]
        )
    return Case(graph, released, original_of)


class AttackContract:
    """Subclasses give an `attack` fixture: what the entry point names."""

    @pytest.fixture(params=[False, True], ids=["all ties", "no ties"])
    def case(self, request: pytest.FixtureRequest) -> Case:
        return made_case(is_hidden=request.param)

    def results(self, attack: Attack, case: Case, seed: int = 0) -> list[Result]:
        return attack(case, PARAMS, np.random.default_rng(seed))

    def test_figures_lie_in_their_intervals(self, attack: Attack, case: Case) -> None:
        """Each is a share from 0 to 1, with a control.

        Without targets there is no figure.
        """
        found = self.results(attack, case)
        assert found
        for result in found:
            assert isinstance(result, Result)
            assert result.measure in {"share", "auc"}
            if result.targets:
                assert 0 <= result.low <= result.value <= result.high <= 1
                assert 0 <= result.control <= 1

    def test_names_are_distinct(self, attack: Attack, case: Case) -> None:
        """A figure is found by its name in reports."""
        names = [result.attack for result in self.results(attack, case)]
        assert len(set(names)) == len(names)

    def test_the_same_seed_gives_the_same_figures(self, attack: Attack, case: Case) -> None:
        """Randomness comes from the given generator alone."""
        first, second = (
            [each.to_mapping() for each in self.results(attack, case)] for _ in range(2)
        )
        assert first == second

    def test_results_are_json_without_ids(self, attack: Attack, case: Case) -> None:
        """Bands are named by degrees or sizes.

        Reports never name a person or a value.
        """
        text = json.dumps([each.to_mapping() for each in self.results(attack, case)])
        values = {text for texts in case.original.categories for text in texts}
        assert not [value for value in values if f'"{value}"' in text]

    def test_the_case_is_as_it_was(self, attack: Attack, case: Case) -> None:
        """Other attacks see the same release after it."""
        released, original = case.released.edges.copy(), case.original.edges.copy()
        original_of = case.original_of.copy()
        self.results(attack, case)
        assert np.array_equal(case.released.edges, released)
        assert np.array_equal(case.original.edges, original)
        assert np.array_equal(case.original_of, original_of)
