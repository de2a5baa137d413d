"""The paper's strategies as entries of the registry.

None, pruning, partition, both, kl-graph.

Their releases are for comparison: what the text leaves unsafe stays unsafe, and the strict verifier
says how much that is.
"""

from __future__ import annotations

import dataclasses

from ktsafe.anonymization.request import Request
from ktsafe_lab.paper.graph_generation import Variant, kt_safe_graph
from ktsafe_lab.paper.kl_graph import kl_graph as k_degree_l_diverse
from ktsafe_lab.strategies import Plan


@dataclasses.dataclass(frozen=True)
class ByThePaper:
    """A strategy: Algorithm 1 with what `variant` switches on."""

    variant: Variant

    def __call__(self, request: Request) -> Plan:
        """Return the plan of a release."""
        merged = kt_safe_graph(request, self.variant)
        return Plan(merged.inserted, merged.edges, copied_from=merged.copied_from)

    def in_parts(self, gamma: int, s: int) -> ByThePaper:
        """Return the strategy with other sizes of parts; see `Variant`."""
        return ByThePaper(dataclasses.replace(self.variant, gamma=gamma, s=s))


none = ByThePaper(Variant(partition=False, pruning=False))
"""Algorithm 1 without any optimization."""

pruning = ByThePaper(Variant(partition=False, pruning=True))
"""Algorithm 1 with pivots and kt-tree; its plan is that of `none`."""

partition = ByThePaper(Variant(partition=True, pruning=False))
"""Algorithm 1 with cost-model-based partitioning."""

partition_pruning = ByThePaper(Variant(partition=True, pruning=True))
"""Algorithm 1 with both, the paper's own choice; its plan is that of `partition`."""


def kl_graph(request: Request) -> Plan:
    """Plan a k-degree-l-diverse graph, the paper's competitor, with l = 2."""
    found = k_degree_l_diverse(request.graph, request.params.k, rng=request.rng)
    return Plan(found.inserted, found.edges)
