"""Kernels that let vertices turn: see others instead of some, where that lowers the deficit.

A vertex that gained a true tie leaves the place at which others counted on it. It comes back, or
goes to another place that helps, by letting go of inserted neighbours and getting others. A *turn*
says which: inserted edges to let go of, and classes of which to get a neighbour. It is done if
others bear what it asks of them (`ktsafe.incremental._alternating_core`).
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.incremental._alternating_core import (
    ASKED_MAX,
    OWN_MAX,
    Scene,
    gets,
    is_crowded,
    lets_go,
    meets,
    other_end,
    own_edges,
    undo,
)
from ktsafe.incremental._deficit_core import can_gain, growth, lift, place, turn
from ktsafe.incremental._gaining_core import GROWN, growth_by_class
from ktsafe.index._table_core import NONE, K, Rule, Table
from ktsafe.working._graph_core import Working
from ktsafe.working._random_core import below

# How many of the turns of a vertex are tried, best first.
TURNS_MAX = 12
# Kinds of turns that one vertex looks for by itself.
KINDS = 3
# Edges that a turn lets go of, and neighbours that it gets, at most.
PARTS = 4
# Columns of a list of turns: what orders it, whose turn it is, then the edges, then the classes.
PRICE, WHOSE, LET, CLS = 0, 1, 2, 2 + PARTS


@njit(cache=True, fastmath=False, nogil=True)
def _note(
    turns: NDArray[np.int64],
    n: int,
    price: int,
    v: int,
    let: NDArray[np.int64],
    cls: NDArray[np.int64],
) -> int:
    """Enter a turn into the list of the best, ascending by price; return how many there are."""
    if n == len(turns):
        if turns[n - 1, PRICE] <= price:
            return n
        n -= 1
    at = n
    while at > 0 and turns[at - 1, PRICE] > price:
        turns[at] = turns[at - 1]
        at -= 1
    turns[at, PRICE], turns[at, WHOSE] = price, v
    turns[at, LET : LET + PARTS] = let
    turns[at, CLS : CLS + PARTS] = cls
    return n + 1


@njit(cache=True, fastmath=False, nogil=True)
def _apply(g: Working, s: Scene, v: int, chosen: NDArray[np.int64], back: bool) -> None:
    """Let a lifted v see what a turn leads to, or take that `back`; the table is not asked."""
    for part in range(PARTS):
        let, cls = chosen[LET + part], chosen[CLS + part]
        x = NONE if let == NONE else other_end(g, s, let, v)
        like = NONE if cls == NONE else np.int64(s.members[s.start[cls]])
        if back:
            turn(g, v, like, x)
        else:
            turn(g, v, x, like)


@njit(cache=True, fastmath=False, nogil=True)
def _note_gains(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    v: int,
    lifted: int,
    let: NDArray[np.int64],
    turns: NDArray[np.int64],
    n: int,
) -> int:
    """Note the turns by which v, free of the edges in `let`, gets a neighbour; return how many.

    Without an edge in `let[0]` the neighbour comes in exchange for nothing.
    """
    first, second = let[0], let[1]
    x = NONE if first == NONE else other_end(g, s, first, v)
    y = NONE if second == NONE else other_end(g, s, second, v)
    turn(g, v, x, NONE)
    turn(g, v, y, NONE)
    cls = np.full(PARTS, NONE, dtype=np.int64)
    if can_gain(g, table, v):
        growth_by_class(g, table, rule, v, s.sums, s.is_near)
        for c in range(len(s.start) - 1):
            grown = lifted + s.sums[GROWN, c]
            if grown >= 0 or s.start[c + 1] == s.start[c]:
                continue
            cls[0] = c
            if x == NONE or g.cls[x] != c:
                n = _note(turns, n, grown, v, let, cls)
            # Either of both edges may be what is exchanged.
            if y != NONE and g.cls[y] != c:
                let[0], let[1] = second, first
                n = _note(turns, n, grown, v, let, cls)
                let[0], let[1] = first, second
    turn(g, v, NONE, y)
    turn(g, v, NONE, x)
    return n


@njit(cache=True, fastmath=False, nogil=True)
def _turns(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    v: int,
    lifted: int,
    kind: int,
    turns: NDArray[np.int64],
    random: NDArray[np.uint64],
) -> int:
    """Write the turns of one kind by which a lifted v would lower the deficit; return how many.

    Kind 0 lets go of an inserted edge; 1 gets a neighbour, or exchanges one; 2 does both.
    """
    own = np.empty(OWN_MAX, dtype=np.int64)
    n_own = own_edges(g, s, v, own, random)
    let, none = np.full(PARTS, NONE, dtype=np.int64), np.full(PARTS, NONE, dtype=np.int64)
    n = 0
    if kind == 1:
        n = _note_gains(g, table, rule, s, v, lifted, let, turns, n)
    for first in range(n_own):
        if kind == 0:
            let[1] = own[first]
            x = other_end(g, s, let[1], v)
            turn(g, v, x, NONE)
            grown = lifted + growth(g, table, rule, v)
            if grown < 0:
                n = _note(turns, n, grown, v, let, none)
            turn(g, v, NONE, x)
        elif kind == 1:
            let[0] = own[first]
            n = _note_gains(g, table, rule, s, v, lifted, let, turns, n)
        else:
            for second in range(first + 1, n_own):
                let[0], let[1] = own[first], own[second]
                n = _note_gains(g, table, rule, s, v, lifted, let, turns, n)
    return n


@njit(cache=True, fastmath=False, nogil=True)
def _do_turn(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    v: int,
    chosen: NDArray[np.int64],
    random: NDArray[np.uint64],
) -> bool:
    """Do one turn of a lifted v, if others bear it; v is lifted again if not."""
    if is_crowded(g):
        return False
    _apply(g, s, v, chosen, False)
    place(g, table, rule, v)
    s.n_steps[0] = 0
    for part in range(PARTS):
        let, cls = chosen[LET + part], chosen[CLS + part]
        done = True
        if cls != NONE and gets(g, table, rule, s, v, let, cls, random):
            let = NONE
        elif cls != NONE:
            done = meets(g, table, rule, s, v, cls, random)
        if done and let != NONE:
            done = lets_go(g, table, rule, s, v, let, random)
        if not done:
            undo(g, table, rule, s, 0)
            lift(g, table, rule, v)
            _apply(g, s, v, chosen, True)
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def turn_each(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    vertices: NDArray[np.int32],
    random: NDArray[np.uint64],
) -> int:
    """Let each vertex do a turn, if that lowers the deficit; return how many did."""
    turns = np.empty((TURNS_MAX, CLS + PARTS), dtype=np.int64)
    turned = 0
    for whose in vertices:
        v = np.int64(whose)
        lifted = lift(g, table, rule, v)
        done = False
        for kind in range(KINDS):
            n = _turns(g, table, rule, s, v, lifted, kind, turns, random)
            for i in range(n):
                if _do_turn(g, table, rule, s, v, turns[i], random):
                    done = True
                    break
            if done:
                turned += 1
                break
        if not done:
            place(g, table, rule, v)
    return turned


@njit(cache=True, fastmath=False, nogil=True)
def _class_of(g: Working, wanted: NDArray[np.int64]) -> int:
    """Return the class that counts in the given columns, NONE if there is none."""
    for c in range(g.columns.shape[0]):
        same = True
        for j in range(len(wanted)):
            same = same and g.columns[c, j] == wanted[j]
        if same:
            return c
    return NONE


@njit(cache=True, fastmath=False, nogil=True)
def _wanted_classes(
    g: Working, rule: Rule, short: NDArray[np.int64], cls: NDArray[np.int64]
) -> int:
    """Write classes that together count `short` by column; return how many, NONE if there are none.

    Parts without a class are NONE. `short` is used up.
    """
    q = len(rule.offsets) - 1
    wanted = np.empty(q, dtype=np.int64)
    for part in range(PARTS + 1):
        missing = 0
        for j in range(q):
            for x in range(rule.offsets[j], rule.offsets[j + 1]):
                if short[x] > 0:
                    wanted[j] = x
                    short[x] -= 1
                    missing += 1
                    break
        if missing == 0:
            return part
        if missing < q or part == PARTS:
            return NONE
        cls[part] = _class_of(g, wanted)
        if cls[part] == NONE:
            return NONE
    return NONE


@njit(cache=True, fastmath=False, nogil=True)
def _is_far(rule: Rule, mine: NDArray[np.int32], theirs: NDArray[np.int32]) -> bool:
    """Whether one turn cannot lead from one histogram to the other."""
    for j in range(len(rule.offsets) - 1):
        more, fewer = 0, 0
        for x in range(rule.offsets[j], rule.offsets[j + 1]):
            more += max(0, theirs[x] - mine[x])
            fewer += max(0, mine[x] - theirs[x])
        if more > PARTS or fewer > PARTS:
            return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def _joins(
    g: Working,
    rule: Rule,
    s: Scene,
    v: int,
    row: NDArray[np.int32],
    turns: NDArray[np.int64],
    n: int,
    random: NDArray[np.uint64],
) -> int:
    """Note the turns by which v would see as many of each value as `row`; return how many in all.

    The fewer edges a turn concerns, the lower its price.
    """
    if _is_far(rule, g.hist[v], row):
        return n
    own = np.empty(OWN_MAX, dtype=np.int64)
    n_own = own_edges(g, s, v, own, random)
    short = np.empty(rule.offsets[-1], dtype=np.int64)
    let, cls = np.empty(PARTS, dtype=np.int64), np.empty(PARTS, dtype=np.int64)
    for chosen in range(1 << n_own):
        let[:], cls[:] = NONE, NONE
        size = 0
        for o in range(n_own):
            if chosen >> o & 1:
                if size < PARTS:
                    let[size] = own[o]
                size += 1
        if size > PARTS:
            continue
        fits = True
        for x in range(len(short)):
            short[x] = np.int64(row[x]) - g.hist[v, x]
        for i in range(size):
            y = other_end(g, s, let[i], v)
            for j in range(len(rule.offsets) - 1):
                short[g.columns[g.cls[y], j]] += 1
        for x in range(len(short)):
            fits = fits and short[x] >= 0
        if fits:
            wanted = _wanted_classes(g, rule, short, cls)
            if wanted != NONE and wanted + size > 0:
                n = _note(turns, n, wanted + size, v, let, cls)
    return n


@njit(cache=True, fastmath=False, nogil=True)
def _meetings(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    v: int,
    turns: NDArray[np.int64],
    random: NDArray[np.uint64],
) -> int:
    """Write the cheapest turns by which v and another of its class would be at one place.

    Either of them may turn, unless it is one of exactly k: it would be missed where it is. Nor
    does v go where less would be lacking only for others. Returns how many turns there are.
    """
    first, last = s.start[g.cls[v]], s.start[g.cls[v] + 1]
    offset = below(random, last - first)
    lifted = lift(g, table, rule, v)
    place(g, table, rule, v)
    n = 0
    for step in range(min(last - first, ASKED_MAX)):
        u = np.int64(s.members[first + (offset + step) % (last - first)])
        if u == v:
            continue
        if table.ps_size[table.of_vertex[u]] != rule.limits[K]:
            n = _joins(g, rule, s, u, g.hist[v], turns, n, random)
        if lifted < 0:
            n = _joins(g, rule, s, v, g.hist[u], turns, n, random)
    return n


@njit(cache=True, fastmath=False, nogil=True)
def bring_together(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    vertices: NDArray[np.int32],
    tries_max: int,
    random: NDArray[np.uint64],
) -> int:
    """Lead each vertex to where another of its class is, or one of these to it; return how many.

    At most `tries_max` such turns are looked at for each, those with fewest edges first, and one
    is done if it lowers the deficit.
    """
    turns = np.empty((tries_max, CLS + PARTS), dtype=np.int64)
    met = 0
    for whose in vertices:
        v = np.int64(whose)
        for i in range(_meetings(g, table, rule, s, v, turns, random)):
            u = turns[i, WHOSE]
            lifted = lift(g, table, rule, u)
            _apply(g, s, u, turns[i], False)
            grown = lifted + growth(g, table, rule, u)
            _apply(g, s, u, turns[i], True)
            if grown < 0 and _do_turn(g, table, rule, s, u, turns[i], random):
                met += 1
                break
            place(g, table, rule, u)
    return met
