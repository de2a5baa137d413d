"""Safety of one subgraph's vertices, in order.

Algorithm 1, lines 4-8; Algorithm 2.

What the text leaves open is read so:

- **Fake duplicates** have "the same associated edges" as their vertex, but an edge to a real
  neighbour changes that neighbour. The appendix's example and its table of degrees (Cora's do not
  change at all) show the edges going to duplicates of the neighbours; so the c-th duplicate of v is
  joined to the c-th duplicates of v's neighbours, made where they do not exist, completed where
  they do. With `duplicates="attached"` they join the neighbours themselves wherever that affects
  nobody, which is the text's letter; the cost then doubles (Cora) or grows sixfold (Uniform).
- **"Affects the privacy of v_l"** (line 19): makes a vertex unsafe that was anonymized before, by
  exact counts of its maximal protection set.
- **A duplicate v_a'** (line 20) carries the edges of v_a to duplicates of their ends. One that is
  made for one edge carries that edge.
- **Fake duplicates of v_m in v.PS** (line 25) are duplicates of v itself, as the prose says.
- **Rehearsed neighbours** (line 17) have quasi-identifiers of HN(v, 1), the closest ones first.
- Fake vertices are not queued (line 4 runs before they exist), so nobody makes them safe.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.paper import _growing_core as growing_core
from ktsafe_lab.paper import _vertex_generation_core as core
from ktsafe_lab.paper._growing_core import Growing, Rule
from ktsafe_lab.paper._kt_tree_as_published_core import KtTree
from ktsafe_lab.paper.kt_tree_as_published import NO_TREE, build_kt_tree
from ktsafe_lab.paper.subgraph import AnonymizedSubgraph, ExpandedSubgraph
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace

Distance = Literal["emd", "l1", "beta"]
Duplicates = Literal["apart", "attached"]

REHEARSED_MAX = 256
"""Fake neighbours after which a rehearsal is given up."""

INT32_MAX = 2**31 - 1


@dataclasses.dataclass(frozen=True, eq=False)
class Setting:
    """What every subgraph of one graph shares.

    Attributes
    ----------
    space:
        The quasi-identifiers of the whole graph.
    classes, is_sensitive:
        Per vertex of the whole graph.
    rule:
        The tolerances.
    attached:
        Whether fake duplicates join real neighbours.
    pivot_degrees:
        Degrees of the pivots, int64; empty: candidates are found by looking at every vertex.
    """

    space: QuasiIdentifierSpace
    classes: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    rule: Rule
    attached: bool
    pivot_degrees: NDArray[np.int64]

    @classmethod
    def of_graph(
        cls,
        graph: AttributedGraph,
        params: PrivacyParams,
        *,
        distance: Distance = "emd",
        duplicates: Duplicates = "apart",
        pivot_degrees: NDArray[np.int64] | None = None,
    ) -> Setting:
        """Collect the setting of a graph."""
        pivots = np.zeros(0, dtype=np.int64) if pivot_degrees is None else pivot_degrees
        return cls(
            QuasiIdentifierSpace.of_graph(graph),
            graph.qi_classes,
            graph.is_sensitive,
            similarity_rule(params, distance),
            duplicates == "attached",
            pivots,
        )


def similarity_rule(params: PrivacyParams, distance: Distance = "emd") -> Rule:
    """Return the tolerances for kernels.

    Parameters
    ----------
    params:
        `n_hops` 0 or 1.
    distance:
        "emd": half the L1 distance of each attribute's distributions is at most t (Eq. 1).
        "l1": the L1 distance is, without the half.
        "beta": every value's share changes by at most t of the smaller share, both ways
        (beta-likeness with beta = t); half the L1 distance is then at most t / 2.

    Raises
    ------
    InvalidParams
        If `n_hops` is above 1.
    """
    if params.n_hops not in {0, 1}:
        msg = "The paper's strategies are built for n_hops 0 and 1."
        raise InvalidParams(msg, hint='For more hops use strategy "aligned".')
    t = params.t / 2 if distance == "l1" else params.t
    return Rule(
        params.epsilon,
        params.k,
        (t.numerator, t.denominator),
        (params.alpha.numerator, params.alpha.denominator),
        growing_core.BETA if distance == "beta" else growing_core.EMD,
        params.n_hops,
    )


def processing_order(part: ExpandedSubgraph) -> NDArray[np.int32]:
    """Return Q_g: vertices by ascending numbers of neighbours (line 4)."""
    degrees = np.bincount(part.edges.reshape(-1), minlength=len(part.origin))
    return np.argsort(degrees, kind="stable").astype(np.int32)


def anonymize_subgraph(
    part: ExpandedSubgraph, setting: Setting, queue: NDArray[np.int32] | None = None
) -> AnonymizedSubgraph:
    """Make every vertex of a subgraph kt-safe, halo vertices included.

    Parameters
    ----------
    part:
        The subgraph g.
    setting:
        What all subgraphs share.
    queue:
        The order of processing, local vertices; None: that of line 4.

    Returns
    -------
    AnonymizedSubgraph
        g'. Every vertex of g is kt-safe in it; its fake vertices may not be.

    *Complexity*: per vertex a scan of its quasi-identifier's vertices, and one per edit.
    """
    order = processing_order(part) if queue is None else np.asarray(queue, dtype=np.int32)
    n, m = len(part.origin), len(part.edges)
    classes = setting.classes[part.origin]
    g = empty_subgraph(setting, 2 * n + 64, 2 * m + 64)
    growing_core.load(g, classes, part.edges)
    g.is_sensitive[:n] = setting.is_sensitive[part.origin]
    tree = NO_TREE
    if len(setting.pivot_degrees):
        degrees = g.degree[:n].astype(np.int64)
        pivots = setting.pivot_degrees
        tree = build_kt_tree(setting.space.tuples, classes, degrees, pivots, len(g.cls))
    work = core.Work(
        order,
        np.zeros(len(order), dtype=np.int64),
        np.zeros(len(g.cls) + len(tree.parent) + 1, dtype=np.int64),
        np.zeros(min(setting.rule.epsilon, REHEARSED_MAX), dtype=np.int64),
        np.zeros((2, setting.space.n_columns), dtype=np.int32),
        setting.attached,
    )
    position = 0
    while position < len(order):
        stopped = core.anonymize_queue(g, tree, setting.rule, work, position)
        if stopped < len(order):
            # What one vertex may need is unknown here; doubling ends soon.
            g = _enlarged(g)
            tree = _with_room(tree, len(g.cls))
            work = work._replace(found=np.zeros(len(g.cls) + len(tree.parent) + 1, dtype=np.int64))
        position = stopped
    spent = np.zeros(n, dtype=np.int64)
    spent[order] = work.spent
    stop_v, stop_e = int(g.size[growing_core.N]), int(g.size[growing_core.M])
    return AnonymizedSubgraph(
        part.origin,
        part.n_owned,
        part.edges,
        g.cls[n:stop_v].copy(),
        g.edges[m:stop_e].copy(),
        spent,
    )


def empty_subgraph(setting: Setting, room_v: int, room_e: int) -> Growing:
    """Return a subgraph without vertices."""
    space = setting.space
    longs = [np.zeros(room_v, dtype=np.int64) for _ in range(8)]
    return Growing(
        size=np.zeros(4, dtype=np.int64),
        offsets=space.offsets,
        columns=space.columns,
        cls=np.zeros(room_v, dtype=np.int32),
        degree=np.zeros(room_v, dtype=np.int32),
        is_sensitive=np.zeros(room_v, dtype=np.bool_),
        is_prior=np.zeros(room_v, dtype=np.bool_),
        hist=np.zeros((room_v, space.n_columns), dtype=np.int32),
        head=longs[0],
        edges=np.zeros((room_e, 2), dtype=np.int32),
        next_arc=np.zeros(2 * room_e, dtype=np.int64),
        class_head=np.full(space.n_classes, -1, dtype=np.int64),
        class_tail=np.full(space.n_classes, -1, dtype=np.int64),
        class_next=longs[1],
        dup_of=longs[2],
        dup_head=longs[3],
        dup_next=longs[4],
        layer=longs[5],
        ps_size=longs[6],
        ps_sensitive=longs[7],
        mark=np.zeros(room_v, dtype=np.int64),
    )


PER_VERTEX = (
    *("cls", "degree", "is_sensitive", "is_prior", "hist", "head", "class_next", "dup_of"),
    *("dup_head", "dup_next", "layer", "ps_size", "ps_sensitive", "mark"),
)
PER_EDGE = ("edges", "next_arc")


def _enlarged(g: Growing) -> Growing:
    """Return the same subgraph with twice the room.

    Raises
    ------
    InvalidParams
        If the output would exceed what 32-bit vertex numbers hold.
    """
    if 2 * max(len(g.cls), len(g.edges)) > INT32_MAX:
        msg = "The strategy's output grows beyond two billion elements."
        raise InvalidParams(msg, hint="Use a smaller k, or a greater alpha or epsilon.")
    larger = {}
    for name in (*PER_VERTEX, *PER_EDGE):
        array = getattr(g, name)
        larger[name] = np.concatenate((array, np.zeros_like(array)))
    return g._replace(**larger)


def _with_room(tree: KtTree, room: int) -> KtTree:
    """Return the same tree with room for more vertices."""
    if not len(tree.parent):
        return tree
    more = np.zeros((room - len(tree.distances), len(tree.pivots)), dtype=np.int64)
    return tree._replace(distances=np.concatenate((tree.distances, more)))
