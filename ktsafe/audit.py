"""The private audit of one release: what it cost, and how private it really is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.lower_bound import insertion_lower_bound
from ktsafe.params import PrivacyParams
from ktsafe.privacy_figures import checked_original_of, privacy_figures


def audit_release(
    original: AttributedGraph,
    released: AttributedGraph,
    params: PrivacyParams,
    *,
    original_of: NDArray[np.integer[Any]] | None = None,
    certificate: NDArray[np.int32] | None = None,
) -> dict[str, Any]:
    """Return the JSON-ready audit of a release. It is private: it tells who is real.

    Parameters
    ----------
    original, released:
        The true graph at the release's nominal time, and what was released, of one schema.
    params:
        The parameters of the release.
    original_of:
        Integers, shape (released vertices,): the true vertex behind each, -1 for an inserted one.
        None: the first vertices are the originals in order.
    certificate:
        See `ktsafe.verify.verify`. With it, protection sets are counted by its orbits: what is
        left of them at least.

    Returns
    -------
    dict
        `size` of both graphs, `cost` as in `cost_parts`, `privacy` as in `PrivacyFigures`.

    Raises
    ------
    InvalidGraph
        If the two graphs and the mapping do not fit each other.
    """
    figures = privacy_figures(
        original, released, params, original_of=original_of, certificate=certificate
    )
    return {
        "params": params.to_mapping(),
        "size": {
            "original": {"vertices": original.n_vertices, "edges": original.n_edges},
            "released": {"vertices": released.n_vertices, "edges": released.n_edges},
        },
        "cost": cost_parts(original, released, params, original_of=original_of),
        "privacy": figures.to_mapping(),
    }


def cost_parts(
    original: AttributedGraph,
    released: AttributedGraph,
    params: PrivacyParams,
    *,
    original_of: NDArray[np.integer[Any]] | None = None,
) -> dict[str, Any]:
    """Return Cost(G, G') = |V delta V'| + |E delta E'| in its parts, and its yardsticks.

    Parameters are those of `audit_release`.

    Returns
    -------
    dict
        Inserted and deleted vertices and edges and their `total`; `k_copies`, the cost
        (m - 1)(|V| + |E|) of m = max(k, ceil(1 / alpha)) disjoint copies; the insertion
        `lower_bound`; the total over either (None where that is 0). The bound holds for releases
        that delete nothing, so its ratio is None for the others.

    Source: Equation 1. Attribute values are not part of that cost.
    """
    behind = checked_original_of(original, released, original_of)
    named = behind[behind >= 0]
    ends = behind[released.edges]
    between = ends[(ends >= 0).all(axis=1)]
    kept = np.intersect1d(
        _keys(between, original.n_vertices),
        _keys(original.edges, original.n_vertices),
        assume_unique=True,
    )
    parts = {
        "inserted_vertices": released.n_vertices - len(named),
        "deleted_vertices": original.n_vertices - len(named),
        "inserted_edges": released.n_edges - len(kept),
        "deleted_edges": original.n_edges - len(kept),
    }
    total = sum(parts.values())
    copies = (params.group_size_min - 1) * (original.n_vertices + original.n_edges)
    # The bound is one of degrees, which decide similarity only between stars.
    bound = insertion_lower_bound(original, params) if params.sees_stars else None
    only_inserts = parts["deleted_vertices"] == 0 and parts["deleted_edges"] == 0
    return {
        **parts,
        "total": total,
        "k_copies": copies,
        "share_of_k_copies": round(total / copies, 6) if copies else None,
        "lower_bound": bound,
        "times_lower_bound": round(total / bound, 6) if bound and only_inserts else None,
    }


def _keys(edges: NDArray[np.integer[Any]], n: int) -> NDArray[np.int64]:
    """Return a number for each edge of a graph on n vertices, whatever its direction."""
    pairs = edges.astype(np.int64)
    return np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
