"""Measures what a private audit does not tell yet.

What a release is good for, and attacks on it.

Each figure is made once: what the audit has is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.attacks import ATTACKS, Case, run
from ktsafe.assess.utility import utility_figures
from ktsafe.audit import trace
from ktsafe.audit.model import Audit

REPORTED: Final = tuple(name for name in ATTACKS if name not in {"seeds", "alignment"})
"""Attacks that a report runs where they are missing. The risk curve does what the others do."""


def measured(
    audit: Mapping[str, Any],
    original: AttributedGraph,
    released: AttributedGraph,
    original_of: NDArray[np.integer[Any]],
    params: PrivacyParams,
    *,
    attacks: Iterable[str] = REPORTED,
    seed: int = 0,
    progress: Callable[[str, float], None] = lambda _phase, _done: None,
) -> dict[str, Any]:
    """Return the audit with missing `utility` and `attacks` made.

    Parameters
    ----------
    audit:
        The private audit, as from `ktsafe.audit.audit_release`.
    original, released:
        The true graph and the released one, of one schema.
    original_of:
        Integers, shape (released vertices,): the true vertex behind each, -1 without one.
    attacks:
        Those that are run where the audit has no result of them.
    seed:
        The same graphs and seed give the same figures.
    """
    found = dict(audit)
    rng = np.random.default_rng(seed)
    if "utility" not in found:
        progress("measuring what the release is good for", 0.0)
        found["utility"] = utility_figures(trace(original, released, original_of), rng=rng)
    told = Audit.of(found).attacks
    ended = {each.name for each in told.results}
    if missing := [name for name in attacks if name not in ended]:
        results = run(
            Case(original, released, np.asarray(original_of)),
            params,
            np.random.default_rng(seed),
            attacks=missing,
            progress=lambda name, done: progress(f"attacking: {name}", done),
        )
        before = found.get("attacks", {}).get("results", ())
        found["attacks"] = {
            "results": [*before, *(each.to_mapping() for each in results)],
            "unfinished": [name for name in told.unfinished if name not in missing],
        }
    return found
