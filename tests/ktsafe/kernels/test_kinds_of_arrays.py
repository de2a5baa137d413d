"""Kernels are compiled for the way in which arrays lie, so all must lie alike."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.types import Array

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.anonymization import rewiring
from ktsafe.audit import audit_release
from ktsafe.graph.synthetic import uniform


def kinds() -> set[tuple[str, str]]:
    """Return kernels with the arguments for which they were compiled, if an array lies otherwise.

    Columns that kernels know as parts of what they are given lie as they do in every run.
    """
    files = [module for name, module in sys.modules.items() if name.endswith("_core")]
    return {
        (each.__name__, str(kind))
        for module in files
        for each in vars(module).values()
        if isinstance(each, Dispatcher)
        for kind in each.signatures
        if any(isinstance(one, Array) and one.layout != "C" for one in kind)
    }


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_large_releases_need_no_other_kernels(monkeypatch: pytest.MonkeyPatch, effort: str) -> None:
    """Where edges are sampled, as in large ones, what is given lies as all of them would.

    The toy runs make small releases: a service would compile what they do not need as it runs.
    """
    monkeypatch.setattr(rewiring, "SAMPLE", 10)
    before, rng = kinds(), np.random.default_rng(0)
    graph = uniform(300, 3000, n_tuples=3, rng=rng)
    params, options = PrivacyParams(k=5), AnonymizeOptions(effort=effort)
    made = anonymize(graph, params, rng=rng, options=options)
    audit_release(graph, made.graph, params, original_of=made.origin)
    assert kinds() <= before
