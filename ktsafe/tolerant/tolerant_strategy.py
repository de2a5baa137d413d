"""Releases that use t and epsilon as the definition allows: exact ones with edits undone.

    release  =  in exact cohorts, more edges inserted than pays there      (ktsafe.exact)
    undo edits, as long as all protection sets stay as they must be        (search)
    inserted edges exchange ends until they look like ties                 (ktsafe.exact.likeness)

The definition asks for no more. Within the tolerance each person stays nearest to itself, though,
which strategy `exact` avoids (ADR 0023).
"""

from __future__ import annotations

import numpy as np

from ktsafe.exact.exact_strategy import undisguised
from ktsafe.exact.likeness import disguised
from ktsafe.graph import edge_keys
from ktsafe.strategies import Plan, Request
from ktsafe.tolerant.search import undone

PRICES = (0.8, 1.0)
"""What an inserted edge of the exact release costs, where a shown tie gains 2. First less than 1:
an inserted edge is easily undone, a hidden tie seldom. At 1 none costs more than no edge would."""


def tolerant(request: Request) -> Plan:
    """Return the plan of a release that costs at most what one without any edge would."""
    for price in PRICES:
        exact = undisguised(request, price=price)
        edges = undone(request, exact.inserted, exact.edges)
        n_edits = len(np.setxor1d(edge_keys(request.graph.edges), edge_keys(edges)))
        if n_edits <= request.graph.n_edges:
            break
    request.report("undoing", 1.0)
    classes = np.concatenate((request.graph.qi_classes, exact.inserted))
    edges = disguised(request, classes, edges)
    request.report("likeness", 1.0)
    return Plan(inserted=exact.inserted, edges=edges)
