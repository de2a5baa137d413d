"""The kept kt-tree: people who wait, in leaves of like rows, from release to release.

    class (a root) -> cuts at a count of neighbours of one class -> leaves, each with its pivot

    update:  people whose rows changed descend anew
             of the leaves that this touched, one with fewer than m people joins its sibling
                                              one with 2 m and more is cut at a border
                                              the others' pivots are computed

A row says how many true neighbours of each class a person has; the pivot of a leaf is the
component-wise lower median of its members' rows. Work goes with the people who moved and the leaves
that they touched, not with all who wait. Three tables are the tree: they are saved page by page,
and undone, with the rest of a sequence.

Source: the kt-tree and the pivots of Section 5. *Departure*: as in `ktsafe.exact.kt_tree`, whose
cuts these are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.exact.kt_tree import cut_at_border
from ktsafe.params import PrivacyParams
from ktsafe.sequence.memory.column_table import FREE, ColumnTable, Numbers

NOWHERE = FREE
"""Class of people who wait no longer; parent of a root; column of a leaf."""


class NodeTable(ColumnTable):
    """Nodes of the tree.

    Attributes
    ----------
    cls, parent:
        The class; the node above, `NOWHERE` for a root.
    column, border, below, above:
        Of an inner node the class whose neighbours are counted, the least count of the upper side,
        and the nodes of both sides. The column of a leaf is `NOWHERE`.
    ties, apart:
        Of a leaf the sum of its members' rows, and of their L1 distances from the pivot.
    """

    name = "kt_nodes"
    columns = ("cls", "parent", "column", "border", "below", "above", "ties", "apart")
    cls: Numbers
    parent: Numbers
    column: Numbers
    border: Numbers
    below: Numbers
    above: Numbers
    ties: Numbers
    apart: Numbers


class PivotTable(ColumnTable):
    """The counts of pivots that are not 0: how many neighbours of class `column`."""

    name = "kt_pivots"
    columns = ("leaf", "column", "count")
    leaf: Numbers
    column: Numbers
    count: Numbers


class MemberTable(ColumnTable):
    """Who is in which leaf."""

    name = "kt_members"
    columns = ("person", "leaf")
    person: Numbers
    leaf: Numbers


RowsOf = Callable[[list[int]], csr_array]
"""Returns the rows of a list of people: csr of integers, shape (people, classes)."""


class KeptKtTree:
    """A kt-tree that follows changes.

    Attributes
    ----------
    members:
        For each leaf its people.
    computed, moved:
        Since `count_anew`: the leaves whose pivots were computed, and how many people came, left or
        changed leaves.
    pairs:
        Since `count_anew`: how pairs of people of one class were decided, of whom one descended or
        begins a block. "boxes": a cut parts them. "pivots": they share a leaf, whose pivot stands
        for both. "compared": rows that were set against a pivot, or lie in one leaf of a block.
    """

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.pivots = PivotTable()
        self.where = MemberTable()
        self.members: dict[int, set[int]] = {}
        self.computed: set[int] = set()
        self.moved = 0
        self.pairs: Counter[str] = Counter()
        self._sizes: Counter[int] = Counter()
        self._row_of: dict[int, int] = {}
        self._roots: dict[int, int] = {}
        self._pivot_rows: defaultdict[int, dict[int, int]] = defaultdict(dict)

    @property
    def tables(self) -> tuple[NodeTable, PivotTable, MemberTable]:
        """The three tables."""
        return (self.nodes, self.pivots, self.where)

    def index(self) -> None:
        """Derive every index from the tables."""
        nodes, where, pivots = self.nodes.used(), self.where.used(), self.pivots.used()
        is_root = self.nodes.parent[nodes] == NOWHERE
        self._roots = {self.nodes.cls[node]: node for node in nodes[is_root].tolist()}
        is_leaf = self.nodes.column[nodes] == NOWHERE
        self.members = {leaf: set() for leaf in nodes[is_leaf].tolist()}
        self._row_of = dict(zip(self.where.person[where].tolist(), where.tolist(), strict=True))
        for person, leaf in zip(self._row_of, self.where.leaf[where].tolist(), strict=True):
            self.members[leaf].add(person)
        self._sizes = Counter(self.nodes.cls[self.where.leaf[where]].tolist())
        self._pivot_rows.clear()
        for row in pivots.tolist():
            self._pivot_rows[int(self.pivots.leaf[row])][int(self.pivots.column[row])] = row

    def copy(self) -> KeptKtTree:
        """Return a tree that is the same and follows changes by itself."""
        twin = KeptKtTree()
        twin.nodes, twin.pivots = self.nodes.copy(), self.pivots.copy()
        twin.where = self.where.copy()
        twin.index()
        return twin

    def count_anew(self) -> None:
        """Begin a release: no pivot was computed, nobody moved."""
        self.computed.clear()
        self.pairs.clear()
        self.moved = 0

    # -- asking ----------------------------------------------------------------------------------

    def leaf_of(self, person: int) -> int:
        """Return the leaf of somebody who is in the tree."""
        return int(self.where.leaf[self._row_of[person]])

    def pivot(self, leaf: int) -> dict[int, int]:
        """Return the counts of a pivot that are not 0, by class."""
        return {c: int(self.pivots.count[row]) for c, row in self._pivot_rows[leaf].items()}

    def leaves(self, cls: int) -> list[int]:
        """Return the leaves of a class, in the order of the tree."""
        return [node for node in self._below(self._roots.get(cls)) if node in self.members]

    def likeness(self, cls: int) -> tuple[int, int]:
        """Return the distances of a class's people from their pivots, and their ties, in sum."""
        leaves = self.leaves(cls)
        return int(self.nodes.apart[leaves].sum()), int(self.nodes.ties[leaves].sum())

    def groups(
        self, cls: int, people: Iterable[int], may_part: Callable[[list[list[int]]], bool]
    ) -> list[list[int]]:
        """Return people of a class by the leaves that they are in.

        Below a node all are one group if they may not be parted into the groups of its sides.
        """
        wanted, found = set(people), {}
        for node in reversed(list(self._below(self._roots.get(cls)))):
            if node in self.members:
                found[node] = [sorted(self.members[node] & wanted)]
                continue
            below, above = self._sides(node)
            sides = found.pop(below) + found.pop(above)
            whole = sorted(person for group in sides for person in group)
            found[node] = sides if may_part(sides) else [whole]
        groups = next(iter(found.values()), [])
        together = sum(len(group) ** 2 for group in groups)
        everybody = sum(map(len, groups))
        self.pairs["boxes"] += (everybody**2 - together) // 2
        self.pairs["compared"] += (together - everybody) // 2
        return groups

    def _below(self, node: int | None) -> Iterator[int]:
        """Yield a node and all below it, each before its sides."""
        waiting = [] if node is None else [node]
        while waiting:
            node = waiting.pop()
            yield node
            if node not in self.members:
                waiting += reversed(self._sides(node))

    # -- following changes -----------------------------------------------------------------------

    def update(self, classes: Mapping[int, int], rows_of: RowsOf, params: PrivacyParams) -> None:
        """Let people descend who came, left, or have another row or class.

        Parameters
        ----------
        classes:
            The class of each of them, `NOWHERE` of those who left.
        rows_of:
            Tells the rows of anybody in the tree.
        params:
            Leaves have at least k people. Alpha is left to those who form cohorts of them.
        """
        touched = set()
        for person in sorted(person for person in classes if classes[person] == NOWHERE):
            if person in self._row_of:
                touched.add(self._take(person))
        here = sorted(person for person in classes if classes[person] != NOWHERE)
        for person, row in zip(here, _dicts(rows_of(here)), strict=True):
            touched |= self._put(person, self._descend(self._root(classes[person]), row))
        for leaf in self._joined(touched, rows_of, params.k):
            self._grow(leaf, rows_of, params)
        for person in here:
            leaf = self.leaf_of(person)
            inside = len(self.members[leaf])
            self.pairs["boxes"] += self._sizes[classes[person]] - inside
            self.pairs["pivots"] += inside - 1

    def _root(self, cls: int) -> int:
        """Return the root of a class, a new leaf if it has none."""
        if cls not in self._roots:
            self._roots[cls] = self._new_leaf(cls, NOWHERE)
        return self._roots[cls]

    def _new_leaf(self, cls: int, parent: int) -> int:
        row = self.nodes.add(
            1,
            cls=cls,
            parent=parent,
            column=NOWHERE,
            border=0,
            below=NOWHERE,
            above=NOWHERE,
            ties=0,
            apart=0,
        )
        node = int(row[0])
        self.members[node] = set()
        return node

    def _sides(self, node: int) -> tuple[int, int]:
        """Return the nodes on both sides of an inner node."""
        return int(self.nodes.below[node]), int(self.nodes.above[node])

    def _descend(self, node: int, row: Mapping[int, int]) -> int:
        """Return the leaf below a node to which a row belongs."""
        nodes = self.nodes
        while node not in self.members:
            is_above = row.get(int(nodes.column[node]), 0) >= nodes.border[node]
            node = self._sides(node)[int(is_above)]
        return node

    def _take(self, person: int) -> int:
        """Take somebody out; return the leaf."""
        row = self._row_of.pop(person)
        leaf = int(self.where.leaf[row])
        self.where.free(np.array([row]))
        self.members[leaf].discard(person)
        self._sizes[int(self.nodes.cls[leaf])] -= 1
        self.moved += 1
        return leaf

    def _put(self, person: int, leaf: int) -> set[int]:
        """Put somebody into a leaf; return it and the one where they were."""
        row = self._row_of.get(person)
        if row is None:
            self._row_of[person] = int(self.where.add(1, person=person, leaf=leaf)[0])
            self._sizes[int(self.nodes.cls[leaf])] += 1
            before = leaf
        else:
            before = int(self.where.leaf[row])
            if before != leaf:
                self.where.write(row, leaf=leaf)
                self.members[before].discard(person)
                self._sizes[int(self.nodes.cls[before])] -= 1
                self._sizes[int(self.nodes.cls[leaf])] += 1
        self.moved += row is None or before != leaf
        self.members[leaf].add(person)
        return {before, leaf}

    def _joined(self, touched: set[int], rows_of: RowsOf, least: int) -> list[int]:
        """Join leaves with fewer people than that; return the leaves that are touched then."""
        todo, left = sorted(touched), set(touched)
        while todo:
            leaf = todo.pop()
            if leaf not in self.members or len(self.members[leaf]) >= least:
                continue
            if self.nodes.parent[leaf] != NOWHERE:
                came_to = self._join(leaf, rows_of)
                todo += sorted(came_to)
                left |= came_to
            elif not self.members[leaf]:
                del self._roots[int(self.nodes.cls[leaf])]
                self._free(leaf)
        return sorted(left & self.members.keys())

    def _join(self, leaf: int, rows_of: RowsOf) -> set[int]:
        """Let the members of a leaf descend its sibling, which takes the place of their parent.

        Returns the leaves that they came to.
        """
        nodes, members = self.nodes, sorted(self.members[leaf])
        parent = int(nodes.parent[leaf])
        below, above = self._sides(parent)
        sibling = above if below == leaf else below
        top = int(nodes.parent[parent])
        nodes.write(sibling, parent=top)
        if top == NOWHERE:
            self._roots[int(nodes.cls[parent])] = sibling
        elif nodes.below[top] == parent:
            nodes.write(top, below=sibling)
        else:
            nodes.write(top, above=sibling)
        came_to = set()
        for person, row in zip(members, _dicts(rows_of(members)), strict=True):
            came_to |= self._put(person, self._descend(sibling, row))
        self._free(leaf)
        self._free(parent)
        return came_to - {leaf}

    def _grow(self, leaf: int, rows_of: RowsOf, params: PrivacyParams) -> None:
        """Cut a leaf as often as it can be, and compute the pivots of what it becomes."""
        members = sorted(self.members[leaf])
        counts = rows_of(members)
        columns = np.unique(counts.indices)
        rows = np.ascontiguousarray(counts[:, columns].toarray(), dtype=np.int32)
        names = np.array(members)
        todo = [(leaf, np.arange(len(members)))]
        while todo:
            node, chosen = todo.pop()
            cut = cut_at_border(rows[chosen], params)
            if cut is None:
                self._compute(node, rows[chosen], columns)
                continue
            is_above = rows[chosen, cut[0]] >= cut[1]
            sides = [chosen[~is_above], chosen[is_above]]
            cls = int(self.nodes.cls[node])
            below, above = (self._new_leaf(cls, node) for _ in sides)
            self._forget_pivot(node)
            self.computed.discard(node)
            del self.members[node]
            column = int(columns[cut[0]])
            self.nodes.write(node, column=column, border=cut[1], below=below, above=above)
            for side, people_there in zip((below, above), sides, strict=True):
                self.members[side] = set(names[people_there].tolist())
                todo.append((side, people_there))
        for side in self._below(leaf):
            for person in sorted(self.members.get(side, ())):
                row = self._row_of[person]
                if self.where.leaf[row] != side:
                    self.where.write(row, leaf=side)

    def _compute(self, leaf: int, rows: NDArray[np.int32], columns: NDArray[np.int32]) -> None:
        """Compute the pivot of a leaf; what stays the same is not written."""
        self.pairs["compared"] += len(rows)
        pivot = np.sort(rows, axis=0)[(len(rows) - 1) // 2]
        wanted = dict(zip(columns.tolist(), pivot.tolist(), strict=True))
        known = self._pivot_rows[leaf]
        for column, count in wanted.items():
            if count and column not in known:
                known[column] = int(self.pivots.add(1, leaf=leaf, column=column, count=count)[0])
            elif count and self.pivots.count[known[column]] != count:
                self.pivots.write(known[column], count=count)
        gone = sorted(column for column in known if not wanted.get(column))
        self.pivots.free(np.array([known.pop(column) for column in gone], dtype=np.int64))
        ties, apart = int(rows.sum()), int(np.abs(rows - pivot).sum())
        if (self.nodes.ties[leaf], self.nodes.apart[leaf]) != (ties, apart):
            self.nodes.write(leaf, ties=ties, apart=apart)
        self.computed.add(leaf)

    def _forget_pivot(self, node: int) -> None:
        rows = sorted(self._pivot_rows.pop(node, {}).values())
        self.pivots.free(np.array(rows, dtype=np.int64))

    def _free(self, node: int) -> None:
        self._forget_pivot(node)
        self.members.pop(node, None)
        self.computed.discard(node)
        self.nodes.free(np.array([node]))


def _dicts(rows: csr_array) -> Iterator[dict[int, int]]:
    """Yield the entries of each row that are not 0."""
    indptr, indices, data = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()
    for first, last in pairwise(indptr):
        yield dict(zip(indices[first:last], data[first:last], strict=True))
