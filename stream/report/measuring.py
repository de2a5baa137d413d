"""Measures what a private audit does not tell yet: what a release is good for, and attacks on it.

Each figure is made once: what the audit has is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.attacks import Case, run
from ktsafe.audit import trace
from ktsafe.audit.utility import utility_figures
from ktsafe.stream.files.nested import at

CHEAP: Final = (
    "one_hop",
    "sensitive_inference",
    "membership_of_ties",
    "membership_of_vertices",
    "partial_knowledge",
)
"""Attacks that a report runs where none were run; `ktsafe attack` has all."""


def measured(
    audit: Mapping[str, Any],
    original: AttributedGraph,
    released: AttributedGraph,
    original_of: NDArray[np.integer[Any]],
    params: PrivacyParams,
    *,
    seed: int = 0,
    progress: Callable[[str, float], None] = lambda _phase, _done: None,
) -> dict[str, Any]:
    """Return the audit with `utility` and `attacks`, those that it lacks made now.

    Parameters
    ----------
    audit:
        The private audit, as from `ktsafe.audit.audit_release`.
    original, released:
        The true graph and the released one, of one schema.
    original_of:
        Integers, shape (released vertices,): the true vertex behind each, -1 without one.
    seed:
        The same graphs and seed give the same figures.
    """
    found = dict(audit)
    rng = np.random.default_rng(seed)
    if "utility" not in found:
        progress("measuring what the release is good for", 0.0)
        found["utility"] = utility_figures(trace(original, released, original_of), rng=rng)
    if not (at(found, "attacks.results") or at(found, "best_guesses.results")):
        results = run(
            Case(original, released, np.asarray(original_of)),
            params,
            np.random.default_rng(seed),
            attacks=CHEAP,
            progress=lambda name, done: progress(f"attacking: {name}", done),
        )
        found["attacks"] = {"results": [each.to_mapping() for each in results], "unfinished": []}
    return found
