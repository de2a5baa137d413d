"""Best guesses: how many people an attacker finds who knows their true neighbours.

Figures for the private audit, not gates: a gate on one distance would leave the others open.
Denoising first (`ktsafe attack`) takes ten times as long, and is left to you.
"""

from __future__ import annotations

from typing import Any, Final

from ktsafe import PrivacyParams
from ktsafe.attacks import Case
from ktsafe.attacks.one_hop import one_hop
from ktsafe.audit import Traced

EDGES_MAX: Final = 200_000
"""Of the true graph or of the release: so large a graph takes two or three core seconds."""


def best_guesses(
    traced: Traced, params: PrivacyParams, edges_max: int = EDGES_MAX
) -> dict[str, Any]:
    """Return the JSON-ready figures of the attacks with one hop of true knowledge.

    Parameters
    ----------
    traced:
        The release beside the true graph.
    params:
        Its k gives the promise 1/k.
    edges_max:
        Larger graphs are not attacked.

    Returns
    -------
    dict
        `results`: as in `ktsafe.attacks.Result.to_mapping`, best guess and `k_near` among them.
        `skipped`: why there are none; None where there are.
    """
    n_edges = max(traced.original.n_edges, traced.released.n_edges)
    if n_edges > edges_max:
        why = f"more than {edges_max:,} edges; `ktsafe attack` measures any size"
        return {"results": [], "skipped": why}
    found = one_hop(Case(traced.original, traced.released, traced.behind), params)
    return {"results": [result.to_mapping() for result in found], "skipped": None}
