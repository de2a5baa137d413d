"""Releases that use t and epsilon as the definition allows: exact ones with edits undone.

    release  =  in exact cohorts, ties hidden and edges inserted           (ktsafe.exact)
    undo edits, as long as all protection sets stay as they must be        (search)
    inserted edges exchange ends until they look like ties                 (ktsafe.exact.likeness)

The definition asks for no more. Within the tolerance each person stays nearest to itself, though,
which strategy `exact` avoids (ADR 0023).
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from ktsafe.exact.exact_strategy import exact_release
from ktsafe.exact.likeness import disguised
from ktsafe.graph import AttributedGraph
from ktsafe.options import AnonymizeOptions
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Plan, Progress
from ktsafe.tolerant.search import undone


def tolerant(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    executor: Executor | None,  # noqa: ARG001 -- the contract gives it
    report: Progress,
) -> Plan:
    """Return the plan of a release of `graph` that costs at most what its exact one does.

    Parameters as in `ktsafe.strategies.Strategy`; the executor is not used.
    """
    effort = options.effort
    exact = exact_release(graph, params, rng=rng, effort=effort, report=report, disguise=False)
    edges = undone(graph, exact.inserted, exact.edges, params, rng=rng, effort=effort)
    report("undoing", 1.0)
    classes = np.concatenate((graph.qi_classes, exact.inserted))
    edges = disguised(graph, classes, edges, rng=rng, effort=effort)
    report("likeness", 1.0)
    return Plan(inserted=exact.inserted, edges=edges)
