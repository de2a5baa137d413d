"""What a sequence remembers: tables with their indexes, codes, and the current release.

The tables are the state. Indexes are kept in step by the methods of each table and, where several
change together, by those of `State`; after recovery or an undone release they are rebuilt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.codes import Codes
from ktsafe.sequence.memory.current import Current
from ktsafe.sequence.memory.edge_tables import RESIDUAL, TRUE, FormerEdgeTable, ReleasedEdgeTable
from ktsafe.sequence.memory.kept_kt_tree import KeptKtTree
from ktsafe.sequence.memory.paged_table import NOBODY, PagedTable
from ktsafe.sequence.memory.person_tables import HeldTieTable, PersonTable
from ktsafe.sequence.memory.place_table import COUNTERFEIT, REAL, PlaceTable
from ktsafe.sequence.memory.sorted_numbers import distinct


class State:
    """The tables, and what they share.

    Attributes
    ----------
    codes:
        The numbers of classes and of the texts of attributes.
    current:
        The current release, and how it differs from the former one.
    places, people, edges, held, former:
        Who is published, the true graph's vertices, what is released, true ties that are not, and
        what was released before a pair of classes was cleared.
    tree:
        The kt-tree of people who wait.
    counts:
        Private figures over the whole sequence.
    """

    def __init__(self, n_attributes: int) -> None:
        self.codes = Codes(n_attributes)
        self.current = Current()
        self.places = PlaceTable(self.current)
        self.people = PersonTable(self.current, self.places)
        self.edges = ReleasedEdgeTable(self.current, self.places)
        self.held = HeldTieTable(self.current, self.places, self.people)
        self.former = FormerEdgeTable(self.places)
        self.tree = KeptKtTree()
        self.counts: dict[str, int] = {}

    @property
    def tables(self) -> tuple[PagedTable, ...]:
        """The tables."""
        of_people = (self.places, self.people, self.edges, self.held, self.former)
        return (*of_people, *self.tree.tables)

    def count(self, what: str, times: int = 1) -> None:
        """Count a private figure over the whole sequence."""
        self.counts[what] = self.counts.get(what, 0) + times

    # -- saving and undoing ----------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:
        """Return a copy of all that is remembered beside the tables, JSON-ready."""
        return {
            "release": self.current.number,
            "n_cohorts": self.places.n_cohorts,
            "counts": dict(self.counts),
            "stale": [[*classes, n] for classes, n in sorted(self.current.stale.items())],
            "planned": [[*classes, n] for classes, n in sorted(self.current.planned.items())],
            "classes": list(self.codes.classes),
            "categories": [list(known) for known in self.codes.categories],
        }

    def rebuild(self, meta: dict[str, Any]) -> None:
        """Derive every index from the tables, and the rest from what `meta` returned."""
        self.current.begin(meta["release"])
        self.current.stale = {(a, b): n for a, b, n in meta["stale"]}
        self.counts = meta["counts"]
        self.codes.set(meta["classes"], meta["categories"])
        for table in self.tables:
            table.index()
        self.tree.index()
        self.places.n_cohorts = meta["n_cohorts"]
        # Of older pages nobody knows; ages count from the release at which they are read.
        shown = ([*c, meta["release"]] for c, rows in self.edges.between.items() if rows)
        self.current.planned = {(a, b): n for a, b, n in meta.get("planned", shown)}

    def commit(self) -> None:
        """Make all changes permanent."""
        for table in self.tables:
            table.commit()

    def undo(self, meta: dict[str, Any]) -> None:
        """Restore the tables as of the last commit, and the rest from what `meta` returned."""
        for table in self.tables:
            table.undo()
        self.rebuild(meta)

    # -- where several tables change -------------------------------------------------------------

    def edge_between(self, u: int, v: int) -> int | None:
        """Return the released edge between the places of two people, if there is one."""
        p, q = self.people.place[u], self.people.place[v]
        return None if NOBODY in (p, q) else self.edges.adjacent[p].get(q)

    def settle(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """Give places to people."""
        self.people.place[rows] = places
        self.places.owner[places] = rows
        self.places.kind[places] = REAL
        self.people.withheld.difference_update(rows.tolist())
        self.current.moved.update(rows.tolist())
        self.held.open(rows)

    def vacate(self, row: int) -> int:
        """Turn a person's place into a counterfeit; the person is withheld. Returns the place.

        The released ties stay as residual edges, and are held back for the person.
        """
        place = self.people.place[row]
        self.held.close(row)
        self.people.withhold(row)
        self.places.owner[place] = NOBODY
        self.places.kind[place] = COUNTERFEIT
        self.places.left[place] = self.current.number
        shown = np.array(sorted(self.edges.adjacent[place].items()), dtype=np.int64).reshape(-1, 2)
        ties = shown[self.edges.is_true[shown[:, 1]] == TRUE]
        self.edges.label(ties[:, 1], RESIDUAL)
        others = self.places.owner[ties[:, 0]]
        pairs = np.column_stack((np.full_like(others, row), others))
        self.held.hold(pairs, self.edges.began[ties[:, 1]])
        return place

    def remove_person(self, row: int) -> None:
        """Forget a withheld person and all ties held back."""
        self.held.unhold(np.array(list(self.held.of[row].values()), dtype=np.int64))
        self.people.remove(row)

    def remove_cohort(self, label: int) -> list[int]:
        """Remove a cohort whose places have no edges; return their published ids."""
        self.former.forget_places(set(self.places.members[label]))
        return self.places.remove_cohort(label)

    def move_cohort(self, label: int, cls: int) -> None:
        """Publish another class of a cohort."""
        adjacent = self.edges.adjacent
        members = self.places.members[label]
        edges = distinct(adjacent.around(np.array(members, dtype=np.int64))[2])
        self.edges.forget(edges)
        self.places.move_cohort(label, cls)
        self.edges.note(edges)
