"""The anonymization cost of a release.

In how many vertices and edges it differs from the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ktsafe.audit.originals import Traced
from ktsafe.audit.usefulness import usefulness
from ktsafe.params import PrivacyParams


def cost_parts(traced: Traced, params: PrivacyParams) -> dict[str, Any]:
    """Return the anonymization cost in its parts, and a yardstick.

    Cost(G, G') = |V delta V'| + |E delta E'|.

    Returns
    -------
    dict
        Inserted and deleted vertices and edges and their `total`; `k_copies`, the cost
        (m - 1)(|V| + |E|) of m = max(k, ceil(1 / alpha)) disjoint copies, and the total over it
        (None where it is 0). `edges_of_withheld` are those deleted edges that have an end which is
        not released.

    Source: Equation 1. Attribute values are not part of that cost.

    Examples
    --------
    >>> from ktsafe.audit import trace
    >>> from ktsafe.graph import AttributedGraph, Schema
    >>> schema = Schema(("city",), "health", frozenset({"ill"}), expect_absent={"ill"})
    >>> columns = {"city": ["B"] * 4, "health": ["well"] * 4}
    >>> truth = AttributedGraph.from_columns(schema, columns, [(0, 1), (1, 2), (2, 3)])
    >>> release = AttributedGraph.from_columns(schema, columns, [(0, 1), (2, 3), (0, 3)])
    >>> cost = cost_parts(trace(truth, release), PrivacyParams(k=2))
    >>> cost["inserted_edges"], cost["deleted_edges"], cost["total"]
    (1, 1, 2)
    """
    original, useful = traced.original, usefulness(traced)
    withheld = np.ones(original.n_vertices, dtype=np.bool_)
    withheld[traced.behind[traced.real]] = False
    of_withheld = int(np.count_nonzero(withheld[original.edges].any(axis=1)))
    parts = {
        "inserted_vertices": useful.vertices.released - useful.vertices.shared,
        "deleted_vertices": useful.vertices.true - useful.vertices.shared,
        "inserted_edges": useful.edges.released - useful.edges.shared,
        "deleted_edges": useful.edges.true - useful.edges.shared,
    }
    total = sum(parts.values())
    copies = (params.group_size_min - 1) * (original.n_vertices + original.n_edges)
    return {
        **parts,
        "edges_of_withheld": of_withheld,
        "total": total,
        "k_copies": copies,
        "share_of_k_copies": round(total / copies, 6) if copies else None,
    }
