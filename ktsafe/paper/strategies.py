"""The paper's strategies as entries of the registry: none, pruning, partition, both, kl-graph.

Their releases are for comparison: what the text leaves unsafe stays unsafe, and the strict verifier
says how much that is. With `repair` the default strategy (for n = 0: alignment) runs on top of
their output, which then is safe.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph, Schema
from ktsafe.options import AnonymizeOptions
from ktsafe.paper.kl_graph import kl_graph as k_degree_l_diverse
from ktsafe.paper.kt_safe_graph import Variant, kt_safe_graph
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Plan, Progress, default_strategy, strategy_named


@dataclasses.dataclass(frozen=True)
class ByThePaper:
    """A strategy: Algorithm 1 with what `variant` switches on, repaired if that is asked for."""

    variant: Variant

    def __call__(
        self,
        graph: AttributedGraph,
        params: PrivacyParams,
        *,
        rng: np.random.Generator,
        options: AnonymizeOptions,
        executor: Executor | None,
        report: Progress,
    ) -> Plan:
        """Return the plan of a release of `graph`. Source: `ktsafe.strategies.Strategy`."""
        merged = kt_safe_graph(
            graph, params, self.variant, rng=rng, executor=executor, report=report
        )
        plan = Plan(merged.inserted, merged.edges, copied_from=merged.copied_from)
        return _finished(graph, plan, params, rng, options, executor, report)


none = ByThePaper(Variant(partition=False, pruning=False))
"""Algorithm 1 without any optimization."""

pruning = ByThePaper(Variant(partition=False, pruning=True))
"""Algorithm 1 with pivots and kt-tree; its plan is that of `none`."""

partition = ByThePaper(Variant(partition=True, pruning=False))
"""Algorithm 1 with cost-model-based partitioning."""

partition_pruning = ByThePaper(Variant(partition=True, pruning=True))
"""Algorithm 1 with both, the paper's own choice; its plan is that of `partition`."""


def kl_graph(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    executor: Executor | None,
    report: Progress,
) -> Plan:
    """Plan a k-degree-l-diverse graph, the paper's competitor, with l = 2."""
    found = k_degree_l_diverse(graph, params.k, rng=rng)
    plan = Plan(found.inserted, found.edges)
    return _finished(graph, plan, params, rng, options, executor, report)


def _finished(
    graph: AttributedGraph,
    plan: Plan,
    params: PrivacyParams,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    executor: Executor | None,
    report: Progress,
) -> Plan:
    """Return the plan, made safe by our own means if that is asked for."""
    if not options.repair:
        return plan
    mend = strategy_named(default_strategy(params))
    broken = _outcome(graph, plan)
    mended = mend(broken, params, rng=rng, options=options, executor=executor, report=report)
    fakes = np.full(len(mended.inserted), -1, dtype=np.int32)
    copied = plan.copied_from
    if copied is None:
        copied = np.full(len(plan.inserted), -1, dtype=np.int32)
    return dataclasses.replace(
        mended,
        inserted=np.concatenate((plan.inserted, mended.inserted)).astype(np.int32),
        copied_from=np.concatenate((copied, fakes)),
    )


def _outcome(graph: AttributedGraph, plan: Plan) -> AttributedGraph:
    """Return what a plan would release, its sensitive attribute reduced to yes and no.

    Every original is in it, so quasi-identifier classes keep their numbers.
    """
    classes = np.concatenate((graph.qi_classes, plan.inserted))
    first = np.unique(graph.qi_classes, return_index=True)[1]
    codes = np.empty((len(classes), graph.codes.shape[1]), dtype=np.int32)
    codes[:, :-1] = graph.codes[first[classes], :-1]
    codes[:, -1] = _is_sensitive(graph, plan)
    schema = Schema(graph.schema.quasi_identifiers, graph.schema.sensitive, frozenset({"yes"}))
    categories = (*graph.categories[:-1], ("no", "yes"))
    return AttributedGraph.from_codes(schema, categories, codes, plan.edges)


def _is_sensitive(graph: AttributedGraph, plan: Plan) -> NDArray[np.bool_]:
    """Return whether each vertex of a plan holds a sensitive value."""
    inserted = np.zeros(len(plan.inserted), dtype=np.bool_)
    if plan.copied_from is not None:
        copies = plan.copied_from >= 0
        inserted[copies] = graph.is_sensitive[plan.copied_from[copies]]
    return np.concatenate((graph.is_sensitive, inserted))
