"""What a sequence remembers, as a value.

Methods may be added. Pages are a format: a key of `meta` or a table more needs another `VERSION`
and a conversion (`lab/convert/sequence.py`). Saved at any release, a sequence must go on with the
same bytes (tests/ktsafe/sequence/test_sequence.py).

The next release is made of a copy: to keep a state is to keep that release, and nothing is undone.
Tables hold numbers; what these mean for each other, and what happens to them together, is here.

A state is saved as named pages: `meta` is JSON (what is fixed, counters, classes and categories);
every other page holds up to `ROWS_PER_PAGE` rows of one table, little-endian int64.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import KtsafeError
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.sequence.memory.codes import Codes
from ktsafe.sequence.memory.column_table import (
    NEVER,
    NOBODY,
    ColumnTable,
    Integers,
    Numbers,
    PairTable,
    ascending,
    distinct,
)
from ktsafe.sequence.memory.current_release import Current, NumberList
from ktsafe.sequence.memory.sequence_tables import (
    COUNTERFEIT,
    ENDED,
    FALSE,
    INSERTED,
    REAL,
    RESIDUAL,
    TRUE,
    ClearedEdgeTable,
    HiddenTieTable,
    PersonTable,
    PlaceTable,
    ReleasedEdgeTable,
    RowsOfPairs,
    Tie,
    by_classes,
    sums,
)
from ktsafe.sequence.memory.turns import Turns
from ktsafe.sequence.memory.waiting_tree import WaitingTree

META = "meta"
VERSION = 1


class SequenceCorrupted(KtsafeError):
    """The pages of a sequence are not what was saved."""


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
        self.edges = ReleasedEdgeTable()
        self.hidden_ties = HiddenTieTable()
        self.cleared_edges = ClearedEdgeTable()
        self.tree = WaitingTree({})
        self.counts: dict[str, int] = {}
        self.n_cohorts = 0

    def following(self) -> State:
        """Return the next release's state, made of this one, which stays."""
        after = copy.copy(self)
        after.codes, after.current = self.codes.copy(), self.current.following()
        for name in ("places", "people", "edges", "hidden_ties", "cleared_edges"):
            setattr(after, name, getattr(self, name).copy())
        after.counts = dict(self.counts)
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

    # -- pairs of classes ------------------------------------------------------------------------

    def between(self, table: PairTable) -> RowsOfPairs:
        """Return a table's rows of each two published classes."""
        return table.derived(
            "between", self._version(table), lambda: RowsOfPairs(self._between(table))
        )

    def class_pairs(self, table: PairTable, pairs: Numbers) -> Numbers:
        """Return the published classes of the ends of a table's pairs, ascending.

        -1 of withheld people.
        """
        return ascending(self._classes(table)[pairs])

    @property
    def n_inserted(self) -> Counter[Tie]:
        """For two classes how many edges between them are no true ties."""
        return self._n_labelled(FALSE, RESIDUAL, ENDED)

    @property
    def n_ended(self) -> Counter[Tie]:
        """For two classes how many edges between them are `ENDED`."""
        return self._n_labelled(ENDED)

    @property
    def n_young(self) -> Counter[Tie]:
        """For two classes how many hidden ties are younger than both cohorts."""
        ties = self.hidden_ties

        def counted() -> Counter[Tie]:
            born = np.append(self.places.born, NEVER)
            later = born[self.people.place[ties.ends(np.arange(ties.n))]].max(axis=1)
            return sums(self.between(ties), ties.began > later)

        return ties.derived("n_young", self._version(ties), counted)

    def _between(self, table: PairTable) -> Iterator[tuple[Tie, Integers]]:
        rows = np.arange(table.n, dtype=np.int32)
        # A free row's ends are nobody's.
        return by_classes(ascending(self._classes(table).astype(np.int32)[table.ends(rows)]), rows)

    def _classes(self, table: PairTable) -> Numbers:
        """Return the published class of each number in a table, else -1."""
        classes = np.append(self.places.cls, NOBODY)
        if table is self.hidden_ties:
            classes = classes[np.append(self.people.place, NOBODY)]
        return classes

    def _version(self, table: PairTable) -> tuple[int, ...]:
        """Return what differs once a table's pairs, or their classes, are others."""
        own = table.version("low") + self.places.version("cls")
        return own + self.people.version("place") if table is self.hidden_ties else own

    def _n_labelled(self, *labels: int) -> Counter[Tie]:
        edges = self.edges
        version = self._version(edges) + edges.version("is_true")
        return edges.derived(
            str(labels), version, lambda: sums(self.between(edges), np.isin(edges.is_true, labels))
        )

    # -- edges and ties --------------------------------------------------------------------------

    def show(self, ends: Numbers, hidden_rows: Numbers | None = None) -> None:
        """Release edges between places that have none: hidden ties, or inserted.

        Parameters
        ----------
        ends:
            int64, shape (x, 2): their places.
        hidden_rows:
            int64, shape (x,): the row of each in `hidden_ties`, or `NOBODY`; looked up if None.
        """
        ties = self.hidden_ties
        rows = ties.rows_of(self.places.owner[ends]) if hidden_rows is None else hidden_rows
        is_tie = rows != NOBODY
        began = np.full(len(ends), NEVER)
        began[is_tie] = ties.began[rows[is_tie]]
        ties.free(rows[is_tie])
        shown = self.edges.add_pairs(ends, is_true=np.where(is_tie, TRUE, FALSE), began=began)
        self.current.note_shown(shown, ends)
        self._touch(ends)

    def hide(self, rows: Numbers) -> None:
        """Release edges no longer, and hold back true ties."""
        ends, is_tie = self.edges.pairs(rows), self.edges.is_true[rows] == TRUE
        people, began = self.places.owner[ends[is_tie]], self.edges.began[rows[is_tie]]
        self.edges.free(rows)
        self.current.note_dropped(rows, ends)
        self._touch(ends)
        self.hold(people, began)

    def hold(self, ties: Numbers, began: int | Numbers) -> None:
        """Hold ties back, between rows of people: shape (x, 2)."""
        self.hidden_ties.add_pairs(ties, since=self.current.number, began=began)

    def label(self, rows: Numbers, what: int) -> None:
        """Note whether edges are true ties; nothing visible happens."""
        for pair, inside in by_classes(self.class_pairs(self.edges, self.edges.pairs(rows)), rows):
            self.current.note_change(pair, len(inside))
        self.edges.write(rows, is_true=what)

    def relabel(self, rows: Numbers, began: int | Numbers) -> None:
        """Let inserted edges stand for ties that were hidden: nothing visible happens."""
        if len(rows):
            self.label(rows, TRUE)
            self.edges.write(rows, began=began)
            self.count("relabelled", len(rows))

    def remember_cleared(self, ends: Numbers, were_true: NDArray[np.bool_]) -> None:
        """Note what a pair of classes shows before it is hidden."""
        self.cleared_edges.add_pairs(ends, was_true=were_true.astype(np.int64))

    def _touch(self, ends: Numbers) -> None:
        self.current.touched.update(distinct(self.places.cohort[ends]).tolist())

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
        # Ties of theirs to others with a place can be shown from now on.
        ties = self.hidden_ties.rows_around(rows)
        classes = self.class_pairs(self.hidden_ties, self.hidden_ties.pairs(ties))
        for pair, inside in by_classes(classes, ties):
            self.current.note_opened(pair, len(inside))
            self.hidden_ties.write(inside, since=self.current.number)

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
        self.label(edges[first], RESIDUAL)
        self.hold(pairs, began)
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
        self.cleared_edges.free(self.cleared_edges.rows_around(gone))
        self.current.touched.difference_update(labels)
        published: list[int] = self.places.published[gone].tolist()
        self.places.free(gone)
        return published


def state_pages(
    state: State, fixed: Mapping[str, Any], but: Container[str] = ()
) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of all pages but some."""
    meta = {
        "version": VERSION,
        "fixed": fixed,
        **state.meta(),
        "rows": {table.name: table.n for table in state.tables},
    }
    yield META, json.dumps(meta, sort_keys=True).encode()
    for table in state.tables:
        yield from table.pages(but)


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
