"""The strategies that this package adds to `ktsafe`.

Pyproject.toml names each as entry point.
"""

from __future__ import annotations

from typing import Final

from ktsafe.anonymization.strategies import Entry

_PAPER: Final = "ktsafe_lab.paper.paper_strategies"

_ALIGNED: Final = "ktsafe_lab.alignment.aligned_strategy"

ALIGNED: Final = Entry(
    _ALIGNED,
    "aligned",
    "groups under one shift: safe for any number of hops and both readings",
    any_reach=True,
)
ROBUST: Final = Entry(
    _ALIGNED,
    "robust",
    "the same groups, twice the ties: an attacker that knows the whole network finds few",
    any_reach=True,
)
ATTRIBUTE: Final = Entry(
    "ktsafe_lab.by_attribute.attribute_strategy",
    "attribute",
    "cohorts whose members have equal neighbours attribute by attribute",
)
TOLERANT: Final = Entry(
    "ktsafe_lab.tolerant.tolerant_strategy",
    "tolerant",
    "the paper's definition to the letter: edits undone as t and epsilon allow",
)
NONE: Final = Entry(_PAPER, "none", "the paper's algorithm, not optimized, unsafe", zero_hops=True)
PRUNING: Final = Entry(
    _PAPER, "pruning", "the paper's, with pivots and kt-tree, unsafe", zero_hops=True
)
PARTITION: Final = Entry(
    _PAPER, "partition", "the paper's, divided by its cost model, unsafe", zero_hops=True
)
PARTITION_PRUNING: Final = Entry(
    _PAPER, "partition_pruning", "the paper's own choice, unsafe", zero_hops=True
)
KL_GRAPH: Final = Entry(_PAPER, "kl_graph", "the paper's competitor: equal degrees, unsafe")
