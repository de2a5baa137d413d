"""What changed in the true graph between two releases, by the keys of people."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence as Rows

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph

Values = tuple[str, ...]
"""The category texts of one person: quasi-identifiers, then the sensitive value."""


def _no_keys() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _no_ties() -> NDArray[np.int64]:
    return np.zeros((0, 2), dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Changes:
    """The difference of two true graphs.

    A key is a number of at least 0 that stands for one person for one life: who leaves and comes
    back gets another one.

    Attributes
    ----------
    joined, left, changed:
        int64, shape (n,): keys, each array distinct.
    joined_values, changed_values:
        For each of those keys the texts of all attributes, as in `AttributedGraph.categories`.
    ties_added, ties_removed:
        int64, shape (m, 2): pairs of keys. Ties of somebody who leaves need not be listed.
    """

    joined: NDArray[np.int64] = dataclasses.field(default_factory=_no_keys)
    joined_values: Rows[Values] = ()
    left: NDArray[np.int64] = dataclasses.field(default_factory=_no_keys)
    changed: NDArray[np.int64] = dataclasses.field(default_factory=_no_keys)
    changed_values: Rows[Values] = ()
    ties_added: NDArray[np.int64] = dataclasses.field(default_factory=_no_ties)
    ties_removed: NDArray[np.int64] = dataclasses.field(default_factory=_no_ties)

    def __post_init__(self) -> None:
        for name in ("joined", "left", "changed"):
            keys = np.asarray(getattr(self, name), dtype=np.int64).reshape(-1)
            object.__setattr__(self, name, keys)
            if (keys < 0).any() or not np.diff(np.sort(keys)).all():
                raise InvalidGraph("The keys of changes must be distinct and at least 0.")
        for name in ("ties_added", "ties_removed"):
            ties = np.asarray(getattr(self, name), dtype=np.int64).reshape(-1, 2)
            ties = np.sort(ties, axis=1)
            object.__setattr__(self, name, ties)
            ordered = ties[np.lexsort(ties.T)]
            if np.any(ties[:, 0] == ties[:, 1]) or not np.diff(ordered, axis=0).any(axis=1).all():
                raise InvalidGraph("The ties of changes must be distinct and join two people.")
        if len(self.joined) != len(self.joined_values):
            raise InvalidGraph("Everybody who joins needs attribute values.")
        if len(self.changed) != len(self.changed_values):
            raise InvalidGraph("Everybody who changes needs attribute values.")

    @classmethod
    def of_graph(cls, graph: AttributedGraph, keys: NDArray[np.int64]) -> Changes:
        """Return the changes that make `graph` out of nothing; `keys[v]` is the key of v."""
        named = np.asarray(keys, dtype=np.int64)
        return cls(
            joined=named, joined_values=_values(graph), ties_added=named[graph.edges.astype(int)]
        )


def changes_between(
    old: AttributedGraph,
    old_keys: NDArray[np.int64],
    new: AttributedGraph,
    new_keys: NDArray[np.int64],
) -> Changes:
    """Return what turns one true graph into another; a whole scan of both.

    Examples
    --------
    >>> from ktsafe.datasets import uniform
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0))
    >>> some = np.arange(99)
    >>> changes = changes_between(graph, np.arange(100), graph.subgraph(some), some)
    >>> changes.left.tolist(), len(changes.joined)
    ([99], 0)
    """
    before = dict(zip(old_keys.tolist(), _values(old), strict=True))
    after = dict(zip(new_keys.tolist(), _values(new), strict=True))
    joined = sorted(after.keys() - before.keys())
    changed = sorted(key for key in after.keys() & before.keys() if after[key] != before[key])
    old_ties = {tuple(sorted(tie)) for tie in old_keys[old.edges.astype(int)].tolist()}
    new_ties = {tuple(sorted(tie)) for tie in new_keys[new.edges.astype(int)].tolist()}
    return Changes(
        joined=np.array(joined, dtype=np.int64),
        joined_values=[after[key] for key in joined],
        left=np.array(sorted(before.keys() - after.keys()), dtype=np.int64),
        changed=np.array(changed, dtype=np.int64),
        changed_values=[after[key] for key in changed],
        ties_added=np.array(sorted(new_ties - old_ties), dtype=np.int64).reshape(-1, 2),
        ties_removed=np.array(sorted(old_ties - new_ties), dtype=np.int64).reshape(-1, 2),
    )


def _values(graph: AttributedGraph) -> list[Values]:
    columns = [
        np.array(texts, dtype=object)[graph.codes[:, j]].tolist() if graph.n_vertices else []
        for j, texts in enumerate(graph.categories)
    ]
    return list(zip(*columns, strict=True))
