"""The kt-tree of waiting people: leaves of like rows with their pivots.

It may be kept or cut otherwise, since it is in no state; it must follow from the waiting people
alone (tests/ktsafe/sequence/test_waiting_tree.py tries histories). Cuts settle who comes together,
and so bytes.

It is kept while no row moves.

    class (a root) -> cuts at a count of neighbours of one class -> leaves, each with its pivot

A row says how many true neighbours of each class a person has; the pivot of a leaf is the
component-wise lower median of its members' rows. A class is cut anew once somebody of it came, left
or has another row; leaves and pivots of the other classes are kept. Nothing of the tree is saved:
it follows from the waiting people, so it is the same after a restart, and forgets departed
people.

Source: the kt-tree and the pivots of Section 5. *Departure*: as in
`ktsafe.anonymization.kt_tree`, whose cuts these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.anonymization.tree_cuts import AT_BORDERS, leaves_of
from ktsafe.params import PrivacyParams
from ktsafe.sequence.memory.column_table import Numbers


class Branch(NamedTuple):
    """The waiting people of one class.

    Attributes
    ----------
    people:
        int64, shape (n,): their rows in the table of people, ascending.
    counts:
        csr of integers, shape (n, classes): their true neighbours of each class.
    leaf:
        int64, shape (n,): the leaf of each of them; leaves are numbered in the order of the tree.
    pivots:
        int32, shape (leaves, columns): of the classes of which anybody here has a neighbour.
    apart, ties:
        Sum of the L1 distances of their rows from the pivots of their leaves, and of their rows.
    """

    people: Numbers
    counts: csr_array
    leaf: Numbers
    pivots: NDArray[np.int32]
    apart: int
    ties: int

    @classmethod
    def of(cls, people: Numbers, counts: csr_array, params: PrivacyParams) -> Branch:
        """Cut people of a class.

        Leaves have at least k of them, alpha is left to their cohorts.
        """
        rows = np.ascontiguousarray(counts[:, np.unique(counts.indices)].toarray(), dtype=np.int32)
        leaf, nobody = np.zeros(len(people), dtype=np.int64), np.zeros(len(people), dtype=np.bool_)
        leaves = leaves_of(rows, nobody, params, ways=AT_BORDERS)[::-1]
        for number, members in enumerate(leaves):
            leaf[members] = number
        medians = np.array([np.sort(rows[x], axis=0)[(len(x) - 1) // 2] for x in leaves])
        apart = int(np.abs(rows - medians[leaf]).sum())
        return cls(people, counts, leaf, medians, apart, int(rows.sum()))

    def holds(self, people: Numbers, counts: csr_array) -> bool:
        """Whether these people wait, and no others, with these rows."""
        known, own = self.counts, counts
        return np.array_equal(self.people, people) and all(
            np.array_equal(getattr(known, part), getattr(own, part))
            for part in ("indptr", "indices", "data")
        )


class WaitingTree(NamedTuple):
    """The tree of one release.

    Attributes
    ----------
    branches:
        By class.
    n_kept, n_computed:
        Leaves whose pivots were kept from the release before, and computed.
    """

    branches: Mapping[int, Branch]
    n_kept: int = 0
    n_computed: int = 0

    def following(
        self, classes: list[tuple[int, Numbers]], counts: csr_array, params: PrivacyParams
    ) -> WaitingTree:
        """Return the tree of the next release.

        Parameters
        ----------
        classes:
            Each class in which anybody waits, and the rows of its people in the table, ascending.
        counts:
            Their true neighbours of each class, class by class: csr of integers.
        params:
            k is used.
        """
        branches = {}
        first = n_kept = n_computed = 0
        for cls, people in classes:
            own = counts[first : first + len(people)]
            first += len(people)
            before = self.branches.get(cls)
            if before is not None and before.holds(people, own):
                branches[cls] = before
                n_kept += len(before.pivots)
            else:
                branches[cls] = Branch.of(people, own, params)
                n_computed += len(branches[cls].pivots)
        return WaitingTree(branches, n_kept, n_computed)
