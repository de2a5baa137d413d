"""Changes of the true graph between two releases, by people's keys.

Checks may be added: what does not fit must be refused before anything is changed
(tests/ktsafe/sequence/test_sequence.py, test_graph_changes.py). Keys stand for one life of a person
each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence as Rows

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import are_distinct, edge_ends, edge_keys
from ktsafe.sequence.memory.column_table import Integers, ascending

Values = tuple[str, ...]
"""The category texts of one person: quasi-identifiers, then the sensitive value."""


def _no_keys() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


def _no_ties() -> NDArray[np.int64]:
    return np.zeros((0, 2), dtype=np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Changes:
    """The difference of two true graphs.

    A key is a number of at least 0 that stands for one person for one life: a person that leaves
    and comes back gets another one.

    Attributes
    ----------
    joined, left, changed:
        int64, shape (n,): keys, each array distinct.
    joined_values, changed_values:
        For each of those keys the texts of all attributes, as in `AttributedGraph.categories`.
    ties_added, ties_removed:
        int64 or int32, shape (m, 2): pairs of keys. Ties of a leaver need not be listed;
        only those that are count among what changes (`ktsafe.sequence.memory.turns`).
    """

    joined: NDArray[np.int64] = dataclasses.field(default_factory=_no_keys)
    joined_values: Rows[Values] = ()
    left: NDArray[np.int64] = dataclasses.field(default_factory=_no_keys)
    changed: NDArray[np.int64] = dataclasses.field(default_factory=_no_keys)
    changed_values: Rows[Values] = ()
    ties_added: Integers = dataclasses.field(default_factory=_no_ties)
    ties_removed: Integers = dataclasses.field(default_factory=_no_ties)

    def __post_init__(self) -> None:
        for name in ("joined", "left", "changed"):
            keys = np.asarray(getattr(self, name), dtype=np.int64).reshape(-1)
            object.__setattr__(self, name, keys)
            if (keys < 0).any() or not np.diff(np.sort(keys)).all():
                raise InvalidGraph("The keys of changes must be distinct and at least 0.")
        for name in ("ties_added", "ties_removed"):
            ties = np.asarray(getattr(self, name))
            if ties.dtype != np.int32:
                ties = ties.astype(np.int64, copy=False)
            ties = ascending(ties.reshape(-1, 2))
            object.__setattr__(self, name, ties)
            if np.any(ties[:, 0] == ties[:, 1]) or not _are_distinct(ties):
                raise InvalidGraph("The ties of changes must be distinct and join two people.")
        if len(self.joined) != len(self.joined_values):
            raise InvalidGraph("Everybody that joins needs attribute values.")
        if len(self.changed) != len(self.changed_values):
            raise InvalidGraph("Everybody that changes needs attribute values.")

    @classmethod
    def of_graph(cls, graph: AttributedGraph, keys: NDArray[np.int64]) -> Changes:
        """Return the changes that make `graph` out of nothing.

        `keys[v]` is the key of v.
        """
        named = np.asarray(keys, dtype=np.int64)
        values = _values(graph, np.arange(graph.n_vertices))
        is_small = named.max(initial=0) <= np.iinfo(np.int32).max
        ends: Integers = named.astype(np.int32) if is_small else named
        return cls(joined=named, joined_values=values, ties_added=ends[graph.edges])


def _are_distinct(ties: Integers) -> bool:
    """Return whether no two of some pairs, shape (m, 2), are equal."""
    if ties.dtype == np.int32:
        # The eight bytes of a pair as one number, which is sorted in a fraction of the time.
        return are_distinct(ties.view(np.int64).reshape(-1))
    ordered = ties[np.lexsort(ties.T)]
    return bool(np.diff(ordered, axis=0).any(axis=1).all())


def changes_between(
    old: AttributedGraph,
    old_keys: NDArray[np.int64],
    new: AttributedGraph,
    new_keys: NDArray[np.int64],
) -> Changes:
    """Return what turns one true graph into another.

    A whole scan of both.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0))
    >>> some = np.arange(99)
    >>> changes = changes_between(graph, np.arange(100), graph.subgraph(some), some)
    >>> changes.left.tolist(), len(changes.joined)
    ([99], 0)
    """
    old_order, new_order = np.argsort(old_keys), np.argsort(new_keys)
    before, now = old_keys[old_order], new_keys[new_order]
    stays, is_joined = _among(before, now), ~_among(now, before)
    joined = new_order[is_joined]
    both = new_order[~is_joined]
    changed = both[_differ(old, old_order[stays], new, both)]
    # A key's number is where it stands first; so numbers ascend as keys do.
    known = np.sort(np.concatenate((before, now)))
    old_ties, new_ties = (
        np.sort(edge_keys(np.searchsorted(known, keys)[graph.edges]))
        for graph, keys in ((old, old_keys), (new, new_keys))
    )
    return Changes(
        joined=new_keys[joined],
        joined_values=_values(new, joined),
        left=before[~stays],
        changed=new_keys[changed],
        changed_values=_values(new, changed),
        ties_added=known[edge_ends(new_ties[~_among(new_ties, old_ties)])],
        ties_removed=known[edge_ends(old_ties[~_among(old_ties, new_ties)])],
    )


def _among(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of some values are among others, both ascending."""
    found: NDArray[np.bool_] = np.append(others, -1)[np.searchsorted(others, values)] == values
    return found


def _differ(
    old: AttributedGraph, before: NDArray[np.intp], new: AttributedGraph, now: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return vertices with other texts, of two graphs of the same people."""
    differ = np.zeros(len(now), dtype=np.bool_)
    for j, texts in enumerate(new.categories):
        code_of = {text: code for code, text in enumerate(texts)}
        codes = np.array([code_of.get(text, -1) for text in old.categories[j]], dtype=np.int32)
        differ |= codes[old.codes[before, j]] != new.codes[now, j]
    return differ


def _values(graph: AttributedGraph, vertices: NDArray[np.intp]) -> list[Values]:
    """Return the texts of vertices."""
    columns = [
        np.array(texts, dtype=object)[graph.codes[vertices, j]].tolist() if len(vertices) else []
        for j, texts in enumerate(graph.categories)
    ]
    # People with equal values share them.
    known: dict[Values, Values] = {}
    return [known.setdefault(values, values) for values in zip(*columns, strict=True)]
