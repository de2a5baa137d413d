"""Releases that use t and epsilon as the definition allows: exact ones with edits undone.

    release  =  in exact cohorts, ties hidden and edges inserted           (ktsafe.exact)
    undo edits, as long as all protection sets stay as they must be        (search)
    inserted edges exchange ends until they look like ties                 (ktsafe.exact.likeness)

The definition asks for no more. Within the tolerance each person stays nearest to itself, though,
which strategy `exact` avoids (ADR 0023).
"""

from __future__ import annotations

import numpy as np

from ktsafe.exact.exact_strategy import exact_release
from ktsafe.exact.likeness import disguised
from ktsafe.strategies import Plan, Request
from ktsafe.tolerant.search import undone


def tolerant(request: Request) -> Plan:
    """Return the plan of a release that costs at most what its exact one does."""
    exact = exact_release(request, disguise=False)
    edges = undone(request, exact.inserted, exact.edges)
    request.report("undoing", 1.0)
    classes = np.concatenate((request.graph.qi_classes, exact.inserted))
    edges = disguised(request, classes, edges)
    request.report("likeness", 1.0)
    return Plan(inserted=exact.inserted, edges=edges)
