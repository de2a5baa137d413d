"""Releases that use t and epsilon as the definition allows.

Edits of a safe release are undone.

    start    =  cohorts equal attribute by attribute or by tuple, more edges inserted than pays
        there                                                       (ktsafe_lab.by_attribute)
    undo edits, as long as all protection sets stay as they must be    (search)
    inserted edges exchange ends until they look like ties
    (ktsafe.anonymization.rewiring)

The definition asks for no more. Within the tolerance each person stays nearest to itself, though,
which strategy `exact` avoids (decision 23).
"""

from __future__ import annotations

import numpy as np

from ktsafe.anonymization.request import Request
from ktsafe.anonymization.rewiring import rewired
from ktsafe_lab.by_attribute.attribute_strategy import by_attribute, edits, exact_edges, f1
from ktsafe_lab.strategies import Plan
from ktsafe_lab.tolerant.search import undone

PRICE = 0.8
"""What an inserted edge of the first release costs, where a hidden tie costs 1. Less than 1: an
inserted edge is easily undone, a hidden tie seldom. At 1 none costs more than no edge would."""

F1_GAIN = 0.1
"""By how much F1 has to be higher where cohorts equal attribute by attribute are dearer."""


def tolerant(request: Request) -> Plan:
    """Return a plan that costs no more than showing no edge."""
    graph = request.graph
    start, by_value = exact_edges(request, PRICE), by_attribute(request)
    if by_value is not None and (
        edits(graph, by_value) < edits(graph, start)
        or f1(graph, by_value) > f1(graph, start) + F1_GAIN
    ):
        start = by_value
    edges = undone(request, start)
    if edits(graph, edges) > graph.n_edges:
        edges = undone(request, exact_edges(request))
    request.report("undoing", 1.0)
    edges = rewired(request, edges)
    request.report("likeness", 1.0)
    return Plan(np.zeros(0, dtype=np.int32), edges)
