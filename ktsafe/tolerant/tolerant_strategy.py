"""Releases that use t and epsilon as the definition allows: edits of a safe release are undone.

    start    =  the nearer to the truth of
        exact cohorts, more edges inserted than pays there             (ktsafe.exact)
        cohorts nearly equal value by value, whom that leaves unsafe is mended
                                                            (nearly_exact, mending)
    undo edits, as long as all protection sets stay as they must be    (search)
    inserted edges exchange ends until they look like ties             (ktsafe.exact.likeness)

The definition asks for no more. Within the tolerance each person stays nearest to itself, though,
which strategy `exact` avoids (ADR 0023).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.exact_strategy import resembled, undisguised
from ktsafe.exact.likeness import disguised
from ktsafe.graph import edge_keys
from ktsafe.rare_classes import lacking
from ktsafe.strategies import Plan, Request
from ktsafe.tolerant.mending import mended
from ktsafe.tolerant.nearly_exact import nearly_exact
from ktsafe.tolerant.search import undone

PRICE = 0.8
"""What an inserted edge of the exact release costs, where a shown tie gains 2. Less than 1: an
inserted edge is easily undone, a hidden tie seldom. At 1 none costs more than no edge would."""


def tolerant(request: Request) -> Plan:
    """Return the plan of a release that costs at most what one without any edge would."""
    graph = request.graph
    inserted = lacking(graph, request.params)
    starts = [undisguised(request, price=PRICE).edges]
    by_value = _nearly_exact(request, inserted)
    if by_value is not None:
        starts.append(by_value)
    edges = undone(request, inserted, min(starts, key=lambda edges: _edits(request, edges)))
    if _edits(request, edges) > graph.n_edges:
        edges = undone(request, inserted, undisguised(request).edges)
    request.report("undoing", 1.0)
    classes = np.concatenate((graph.qi_classes, inserted))
    edges = disguised(request, classes, edges)
    request.report("likeness", 1.0)
    return Plan(inserted=inserted, edges=edges)


def _nearly_exact(request: Request, inserted: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return the edges of a safe release whose cohorts are nearly equal value by value, if any.

    With one quasi-identifier a value is a tuple, which exact cohorts serve better.
    """
    graph = request.graph
    if graph.codes.shape[1] <= 2 or not graph.n_edges:
        return None
    like = np.concatenate((np.arange(graph.n_vertices), resembled(graph, inserted, request.rng)))
    edges, cohort = nearly_exact(request, inserted, like)
    return mended(request, inserted, edges, cohort)


def _edits(request: Request, edges: NDArray[np.int32]) -> int:
    """Return how many edges are true or shown, but not both."""
    return len(np.setxor1d(edge_keys(request.graph.edges), edge_keys(edges)))
