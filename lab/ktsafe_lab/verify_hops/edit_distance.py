"""Bounded edit distance of rooted graphs, or "undecided".

Edits insert or delete one vertex or one edge and cost 1 each; the two roots are each other's image;
attributes do not enter (Definition 3 compares them by distributions). So the distance is symmetric
and satisfies the triangle inequality, and its parity is known beforehand.

Deciding it is NP-hard in general. In practice bounds and a search that is guided by colour
refinement and deepened limit by limit decide nearly all pairs. A pair that takes too many nodes
stays *undecided*, and the caller must take that for the worse answer. The verifier decides by the
same kernel, `_edit_distance_core.bounded_distance`; the anonymizer uses neither.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe_lab.verify_hops import _edit_distance_core as core
from ktsafe_lab.verify_hops import _rooted_graph_core as graph_core

Rooted = graph_core.Rooted

NODES_MAX = 100_000
"""Pairs of vertices that a search may try before it gives up."""

Answer = Literal["within", "beyond", "undecided"]


@dataclasses.dataclass(frozen=True)
class EditDistanceBounds:
    """Bounds of one distance.

    Attributes
    ----------
    limit:
        The distance that was asked about.
    lower, upper:
        Proven bounds; `upper` is None where no edit path within the limit was found. Bounds are
        followed no further than the limit.
    """

    limit: int
    lower: int
    upper: int | None

    @property
    def answer(self) -> Answer:
        """Whether the distance is within the limit."""
        if self.upper is not None:
            return "within"
        return "beyond" if self.lower > self.limit else "undecided"


def rooted(n: int, edges: ArrayLike, root: int = 0) -> Rooted:
    """Prepare a graph on 0..n-1 with edges (m, 2) and root.

    Vertices may be out of the root's reach.

    Raises
    ------
    InvalidGraph
        If the edges name no simple graph on n vertices, or the root is none of them.
    """
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if not 0 <= root < n:
        raise InvalidGraph("The root is no vertex of the graph.")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n or np.any(pairs[:, 0] == pairs[:, 1])):
        raise InvalidGraph("An edge names a vertex that does not exist, or the same one twice.")
    # The root becomes vertex 0.
    names = np.arange(n)
    names[[0, root]] = names[[root, 0]]
    pairs = names[pairs]
    key = np.concatenate((pairs[:, 0] * n + pairs[:, 1], pairs[:, 1] * n + pairs[:, 0]))
    key.sort()
    if np.any(key[1:] == key[:-1]):
        raise InvalidGraph("An edge is given twice.")
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(key // n, minlength=n), out=indptr[1:])
    indices: NDArray[np.int32] = (key % n).astype(np.int32)
    prepared: Rooted = graph_core.prepared(indptr, indices, graph_core.levels_of(indptr, indices))
    return prepared


def graph_edit_distance(
    first: Rooted, second: Rooted, *, upper_bound: int, nodes_max: int = NODES_MAX
) -> EditDistanceBounds:
    """Bound two rooted graphs' edit distance, as `upper_bound` asks.

    Parameters
    ----------
    first, second:
        From `rooted`.
    upper_bound:
        The distance that is asked about, at least 0.
    nodes_max:
        Greatest number of search nodes. The answer depends on nothing but the arguments.

    Complexity
    ----------
    Exponential in the worst case, cut off at `nodes_max` nodes of O(|V| log |V| + degrees squared)
    each.

    Examples
    --------
    A star of two leaves lacks a vertex and an edge to one of three:

    >>> two, three = rooted(3, [(0, 1), (0, 2)]), rooted(4, [(0, 1), (0, 2), (0, 3)])
    >>> graph_edit_distance(two, three, upper_bound=5).upper
    2
    """
    lower, upper = core.bounded_distance(first, second, upper_bound, nodes_max)
    return EditDistanceBounds(upper_bound, lower, None if upper == core.UNKNOWN else upper)
