"""What a sequence remembers, as a value.

The next release is made of a copy.

Tables share their columns with the copy until they are written (`column_table`), and what is
derived of them is found by sorting. To keep a state is to keep that release; nothing is undone.

A state is saved as named pages: `meta` is JSON (what is fixed, counters, classes and categories);
every other page holds up to `ROWS_PER_PAGE` rows of one table, little-endian int64.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import KtsafeError
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.graph.numbering import edge_keys
from ktsafe.sequence.memory.codes import Codes
from ktsafe.sequence.memory.column_table import (
    NEVER,
    NOBODY,
    ROWS_AT_ONCE,
    ColumnTable,
    Numbers,
)
from ktsafe.sequence.memory.sequence_tables import (
    COUNTERFEIT,
    INSERTED,
    REAL,
    RESIDUAL,
    TRUE,
    ClearedEdgeTable,
    HiddenTieTable,
    PersonTable,
    PlaceTable,
    ReleasedEdgeTable,
    Tie,
)
from ktsafe.sequence.memory.turns import Turns
from ktsafe.sequence.memory.waiting_tree import WaitingTree

META = "meta"
VERSION = 1


class SequenceCorrupted(KtsafeError):
    """The pages of a sequence are not what was saved."""


class NumberList:
    """Numbers from 0 in order of arrival, each once."""

    def __init__(self) -> None:
        self._parts: list[Numbers] = []

    def array(self) -> Numbers:
        """Return them, int64, shape (x,)."""
        if len(self._parts) != 1:
            self._parts = [np.concatenate((np.zeros(0, dtype=np.int64), *self._parts))]
        return self._parts[0]

    def add(self, numbers: Numbers) -> None:
        """Add numbers that are not among them."""
        if len(numbers):
            self._parts.append(numbers)

    def remove(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Remove distinct numbers as far as they are among them.

        Return which were.
        """
        were = np.zeros(len(numbers), dtype=np.bool_)
        known = self.array()
        if not len(numbers) or not len(known):
            return were
        # Mostly few of many go: the few are sorted, and the many gone through once.
        order = np.argsort(numbers)
        ordered = numbers[order]
        stays = np.ones(len(known), dtype=np.bool_)
        for start in range(0, len(known), ROWS_AT_ONCE):
            some = known[start : start + ROWS_AT_ONCE]
            at = np.minimum(np.searchsorted(ordered, some), len(ordered) - 1)
            goes = ordered[at] == some
            stays[start : start + ROWS_AT_ONCE] = ~goes
            were[order[at[goes]]] = True
        self._parts = [known[stays]]
        return were


class Current:
    """What the last changes did.

    Attributes
    ----------
    number:
        Of the release, 0 for the first.
    gained:
        The rows of the edges that this release shows and the former did not.
    lost:
        The edges that the former release showed and this one does not, as `edge_keys` of places.
    returned:
        Likewise, edges that were shown before their pair of classes was cleared, of pairs planned
        afresh now.
    touched:
        Cohorts to which anything happened.
    stale:
        For two classes how many true ties between them came or went since it was last decided what
        they show. Remembered, as the tables are.
    planned:
        For two classes the release in which what they show, or showed last, was planned afresh.
        Remembered, as the tables are; forgotten once it is older than the sequence may show.
    turns:
        How far turns of planning pairs afresh have gone. Remembered, as the tables are.
    opened:
        Two classes between which somebody's ties were published in this release.
    """

    def __init__(
        self, number: int, stale: dict[Tie, int], planned: dict[Tie, int], turns: Turns
    ) -> None:
        self.number = number
        self.stale = stale
        self.planned = planned
        self.turns = turns
        self.gained = NumberList()
        self.lost = NumberList()
        self.returned = NumberList()
        self.touched: set[int] = set()
        self.opened: set[Tie] = set()

    def following(self) -> Current:
        """Return the next release, of which nothing is known yet."""
        turns = self.turns.copy()
        return Current(self.number + 1, dict(self.stale), dict(self.planned), turns)

    def note_shown(self, rows: Numbers, edges: Numbers) -> None:
        """Note edges that are released.

        Their rows, and their places, shape (x, 2).
        """
        self.gained.add(rows[~self.lost.remove(edge_keys(edges))])

    def note_dropped(self, rows: Numbers, edges: Numbers) -> None:
        """Note edges released no longer; others may take their rows."""
        self.lost.add(edge_keys(edges)[~self.gained.remove(rows)])

    def note_change(self, classes: Tie, ties: int = 1) -> None:
        """Note that true ties between two classes came or went."""
        self.stale[classes] = self.stale.get(classes, 0) + ties

    def note_opened(self, classes: Tie, ties: int) -> None:
        """Note that true ties between two classes can be shown by now."""
        self.note_change(classes, ties)
        self.opened.add(classes)


class State:
    """The tables, and what they share.

    Attributes
    ----------
    codes:
        The numbers of classes and of the texts of attributes.
    current:
        The current release, and how it differs from the former one.
    places, people, edges, hidden_ties, cleared_edges:
        Published vertices, the true graph's vertices, what is released, true ties that are not, and
        what was released before a pair of classes was cleared.
    tree:
        The kt-tree of waiting people, as the current release asked it. It is not saved.
    counts:
        Private figures over the whole sequence.
    n_cohorts:
        How many cohorts there ever were; the next one's label.
    """

    def __init__(self, n_attributes: int) -> None:
        self.codes = Codes([], [[] for _ in range(n_attributes)])
        self.current = Current(-1, {}, {}, Turns())
        self.places = PlaceTable()
        self.people = PersonTable()
        self.edges = ReleasedEdgeTable(self)
        self.hidden_ties = HiddenTieTable(self)
        self.cleared_edges = ClearedEdgeTable(self)
        self.tree = WaitingTree({})
        self.counts: dict[str, int] = {}
        self.n_cohorts = 0

    def following(self) -> State:
        """Return the next release's state, made of this one, which stays."""
        after = State(0)
        after.codes = self.codes.copy()
        after.current = self.current.following()
        after.places, after.people = self.places.copy(), self.people.copy()
        after.edges, after.hidden_ties = self.edges.of(after), self.hidden_ties.of(after)
        after.cleared_edges = self.cleared_edges.of(after)
        after.tree = self.tree
        after.counts, after.n_cohorts = dict(self.counts), self.n_cohorts
        return after

    @property
    def tables(self) -> tuple[ColumnTable, ...]:
        """The tables."""
        return (self.places, self.people, self.edges, self.hidden_ties, self.cleared_edges)

    def settle(self) -> None:
        """Forget the changes of this release, and the room they leave."""
        current = self.current
        current.gained, current.lost, current.returned = NumberList(), NumberList(), NumberList()
        for table in (self.edges, self.hidden_ties, self.cleared_edges):
            table.pack()

    def count(self, what: str, times: int = 1) -> None:
        """Count a private figure over the whole sequence."""
        self.counts[what] = self.counts.get(what, 0) + times

    def meta(self) -> dict[str, Any]:
        """Return all that is remembered beside the tables, JSON-ready."""
        return {
            "release": self.current.number,
            "n_cohorts": self.n_cohorts,
            "counts": self.counts,
            "stale": [[*classes, n] for classes, n in sorted(self.current.stale.items())],
            "planned": [[*classes, n] for classes, n in sorted(self.current.planned.items())],
            "turns": self.current.turns.to_mapping(),
            "classes": self.codes.classes,
            "categories": self.codes.categories,
        }

    def take(self, meta: dict[str, Any]) -> None:
        """Take what `meta` returned, beside the tables."""
        self.counts, self.n_cohorts = meta["counts"], meta["n_cohorts"]
        self.codes = Codes(meta["classes"], meta["categories"], self.codes.key)
        stale, planned = ({(a, b): n for a, b, n in meta[name]} for name in ("stale", "planned"))
        self.current = Current(meta["release"], stale, planned, Turns.from_mapping(meta["turns"]))

    def forget_texts(self, kept: Collection[str], alive: Numbers | None = None) -> None:
        """Keep only hashes of attribute texts without a holder and a place.

        Parameters
        ----------
        kept:
            Texts that stay in any case.
        alive:
            Keys of the people who count; None: all of them.
        """
        if not self.codes.key:
            return
        places, people = self.places.used(), self.people.used()
        if alive is not None:
            people = people[np.isin(self.people.key[people], alive)]
        classes = np.concatenate((self.places.cls[places], self.people.cls[people]))
        sensitive = np.concatenate((self.places.sensitive[places], self.people.sensitive[people]))
        self.codes.forget(np.unique(classes), np.unique(sensitive), kept)

    def truth(self, schema: Schema) -> tuple[AttributedGraph, NDArray[np.int64]]:
        """Return the true graph and the key of each vertex, ascending.

        A whole scan.

        True ties are the released edges that are true, between the owners of their places, and
        those that are held back.
        """
        rows = self.people.used()
        rows = rows[np.argsort(self.people.key[rows])]
        position = np.full(self.people.n + 1, -1, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        shown = self.edges.pairs(np.flatnonzero(self.edges.is_true == TRUE))
        hidden_ties = self.hidden_ties.pairs(self.hidden_ties.used())
        ends = np.concatenate((self.places.owner[shown], hidden_ties))
        codes = self.codes.table(self.people.cls[rows], self.people.sensitive[rows])
        graph = AttributedGraph.from_codes(schema, self.codes.categories, codes, position[ends])
        return graph, self.people.key[rows]

    # -- people ----------------------------------------------------------------------------------

    def join(self, keys: Numbers, cls: Numbers, sensitive: Numbers) -> None:
        """Add withheld people."""
        since = self.current.number
        self.people.add(
            len(keys), key=keys, place=NOBODY, cls=cls, sensitive=sensitive, since=since
        )

    def assign_places(self, rows: Numbers, places: Numbers) -> None:
        """Give places to people."""
        self.people.write(rows, place=places)
        self.places.write(places, owner=rows, kind=REAL)
        self.hidden_ties.open(rows)

    def vacate(self, rows: Numbers) -> Numbers:
        """Turn people's places into counterfeits; the people are withheld. Returns the places.

        The released ties stay as residual edges, and are held back for the people.
        """
        places, number = self.people.place[rows], self.current.number
        position, other, edges = self.edges.around(places)
        # A tie of two of them goes with the first.
        _, first = np.unique(edges, return_index=True)
        first = np.sort(first[self.edges.is_true[edges[first]] == TRUE])
        pairs = np.column_stack((rows[position[first]], self.places.owner[other[first]]))
        began = self.edges.began[edges[first]]
        self.people.write(rows, place=NOBODY, since=number)
        self.places.write(places, owner=NOBODY, kind=COUNTERFEIT, left=number)
        self.edges.label(edges[first], RESIDUAL)
        self.hidden_ties.hold(pairs, began)
        return places

    def remove_people(self, rows: Numbers) -> None:
        """Forget withheld people and all ties held back."""
        self.hidden_ties.free(self.hidden_ties.rows_around(rows))
        self.people.free(rows)

    # -- places ----------------------------------------------------------------------------------

    def add_places(
        self, published: Numbers, classes: Numbers, sensitive: Numbers, ever: NDArray[np.bool_]
    ) -> Numbers:
        """Add inserted places without edges and without cohort; `form_cohorts` gives them one.

        Returns their numbers, ascending.
        """
        return self.places.add(
            len(published),
            published=published,
            cls=classes,
            sensitive=sensitive,
            ever=ever.astype(np.int64),
            cohort=NOBODY,
            owner=NOBODY,
            kind=INSERTED,
            born=self.current.number,
            left=NEVER,
            value_at=self.places.n + np.arange(len(published)),
        )

    def publish_sensitive(self, place: int, code: int, *, is_sensitive: bool) -> None:
        """Change the published sensitive value of a place."""
        self.places.write(place, sensitive=code)
        if is_sensitive:
            self.places.write(place, ever=1)
        self.current.touched.add(int(self.places.cohort[place]))

    def exchange_values(self, places: Numbers, value_at: Numbers) -> None:
        """Let places show each other's sensitive values from now on.

        Parameters
        ----------
        places:
            Whole cohorts that were never released.
        value_at:
            Which of them shows the value of each.
        """
        shown, ever = self.places.sensitive[places], self.places.ever[places]
        self.places.write(value_at, sensitive=shown, ever=ever)
        self.places.write(places, value_at=value_at)

    def form_cohorts(self, places: Numbers, cohort: int | Numbers = 0) -> None:
        """Make cohorts of places that have none.

        The cohorts' numbers begin at 0.
        """
        self.places.write(places, cohort=self.n_cohorts + cohort)
        before = self.n_cohorts
        self.n_cohorts += int(np.max(cohort)) + 1
        self.current.touched.update(range(before, self.n_cohorts))

    def remove_cohorts(self, labels: list[int]) -> list[int]:
        """Remove cohorts of places without edges; return their published ids."""
        if not labels:
            return []
        gone = np.concatenate([self.places.members[label] for label in labels])
        self.cleared_edges.forget_places(gone)
        self.current.touched.difference_update(labels)
        published: list[int] = self.places.published[gone].tolist()
        self.places.free(gone)
        return published


def state_pages(state: State, fixed: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of all pages."""
    meta = {
        "version": VERSION,
        "fixed": fixed,
        **state.meta(),
        "rows": {table.name: table.n for table in state.tables},
    }
    yield META, json.dumps(meta, sort_keys=True).encode()
    for table in state.tables:
        yield from table.pages()


def state_from_pages(pages: Mapping[str, bytes]) -> tuple[State, dict[str, Any]]:
    """Return the state and the parts that are fixed.

    Raises
    ------
    SequenceCorrupted
        If pages are missing or do not fit each other.
    """
    try:
        meta = json.loads(pages[META])
        if meta["version"] != VERSION:
            raise ValueError
        state = State(len(meta["categories"]))
        for table in state.tables:
            names = sorted(name for name in pages if name.startswith(f"{table.name}/"))
            table.load([pages[name] for name in names])
            if table.n != meta["rows"][table.name]:
                raise ValueError
        state.take(meta)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise SequenceCorrupted(
            "The saved state of the sequence is damaged.",
            hint="Restore it from a backup, or begin a new sequence.",
        ) from error
    return state, meta["fixed"]
