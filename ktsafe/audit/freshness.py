"""Freshness: the appearance of true changes in a sequence, by age.

The age of a change is counted in releases: what began since the release before has age 0 in the
release that follows it. Changes older than `AGE_MAX` releases are forgotten, so the memory
grows with what changes and not with the sequence.

    Recent as of i ──follow(release i, release i+1)──▶ Recent as of i+1, Freshness of i+1

How it is computed may be changed (tests/ktsafe/audit/test_freshness.py counts with sets). The pages
of `Recent` lie in the states of services: other columns (`_WIDTHS`) need another `FORMAT`
(`state/keys.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.changes_by_age import AGE_MAX, Aged, AgedTies, Freshness
from ktsafe.audit.cost import Overlap
from ktsafe.graph.latest_graph import of_dark_pairs
from ktsafe.graph.numbering import (
    CameAndWent,
    came_and_went,
    edge_ends,
    edge_keys,
    renumbered,
    union,
)

Numbers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class ReleaseView:
    """A release beside the true graph at its nominal time.

    A key is a number below 2**31 that stands for one person for one life.

    Attributes
    ----------
    people:
        int64, shape (p,): the keys of the present people.
    ties:
        int64, shape (t,): the true ties, as `edge_keys` of their people's keys, ascending.
    ids:
        int64, shape (n,): the published ids of the vertices, ascending.
    owners:
        int64, shape (n,): the key of the person behind each vertex, -1 without one.
    edges:
        int64, shape (m,): the released edges, as `edge_keys` of positions in `ids`, ascending.
    classes:
        int64, shape (n,): vertices of equal published quasi-identifiers have equal numbers.
    """

    people: Numbers
    ties: Numbers
    ids: Numbers
    owners: Numbers
    edges: Numbers
    classes: Numbers

    def between_vertices(self, ties: Numbers) -> Numbers:
        """Return ties as `edge_keys` of their people's positions, -1 without one."""
        ends = edge_ends(ties)
        place = np.full(1 + max(ends.max(initial=-1), self.owners.max(initial=-1)), -1)
        owned = np.flatnonzero(self.owners >= 0)
        place[self.owners[owned]] = owned
        at = place[ends]
        return np.where((at < 0).any(axis=1), -1, edge_keys(at))

    def between_people(self, edges: Numbers) -> Numbers:
        """Return the edges between two people, as `edge_keys` of their keys."""
        return edge_keys(renumbered(self.owners, edges))

    @cached_property
    def published(self) -> Numbers:
        """The keys of the published people, ascending."""
        return np.sort(self.owners[self.owners >= 0])

    def shows(self, keys: Numbers, ids: Numbers) -> NDArray[np.bool_]:
        """Return which vertices are still published and not those of another person.

        Parameters
        ----------
        keys, ids:
            Of one shape: the former owner, and the published id.
        """
        found = np.searchsorted(self.ids, ids)
        there = np.append(self.ids, -1)[found] == ids
        owner = np.append(self.owners, -1)[found]
        shown: NDArray[np.bool_] = there & ((owner < 0) | (owner == keys))
        return shown

    def shows_edges(self, keys: Numbers, ids: Numbers) -> NDArray[np.bool_]:
        """Return which edges are still released, between vertices that `shows` accepts.

        Parameters
        ----------
        keys, ids:
            Shape (x, 2): the former owners of the ends, and their published ids.
        """
        there = self.shows(keys, ids).all(axis=1)
        positions = edge_keys(np.searchsorted(self.ids, ids))
        return there & _among(positions, self.edges)


class Differences(NamedTuple):
    """What changed from one release to the next.

    Attributes
    ----------
    ties:
        The true ties, as `edge_keys` of their people's keys.
    came, went:
        int64, shape (x, 2): the released edges, as published ids.
    """

    ties: CameAndWent
    came: Numbers
    went: Numbers

    @classmethod
    def between(cls, before: ReleaseView, now: ReleaseView) -> Self:
        """Return what differs between two releases of one sequence."""
        known, old, new = now.ids, before.edges, now.edges
        if not np.array_equal(before.ids, known):
            known = union((before.ids, known))
            # Ids ascend, and so do the numbers of their edges.
            old, new = (
                edge_keys(np.searchsorted(known, each.ids)[edge_ends(keys)])
                for each, keys in ((before, old), (now, new))
            )
        came, went = (known[edge_ends(keys)] for keys in came_and_went(old, new))
        return cls(came_and_went(before.ties, now.ties), came, went)


@dataclasses.dataclass(frozen=True, eq=False)
class Recent:
    """The changes of the last `AGE_MAX` releases; immutable.

    Attributes
    ----------
    release:
        Index of the release in its sequence, 0 for the first.
    since:
        Index of the release after which changes were followed: 0, unless an older version began
        the sequence.
    ties:
        int64, shape (x, 2): `edge_keys` of a tie that holds, and the release at which it began.
    ended:
        int64, shape (x, 6): for a tie that ended while it was shown the keys of its two people, the
        published ids of their vertices, the release at which it ended, and 1 if one of them left.
    newcomers:
        int64, shape (x, 2): the key of a present person, and the release of the arrival.
    leavers:
        int64, shape (x, 3): the key of a departed person, the published id of this person's
        vertex, and the release of the departure.
    dark:
        int64, shape (x, 2): the edges that the latest graph has beside the release, as ids.
    """

    release: int
    since: int
    ties: Numbers
    ended: Numbers
    newcomers: Numbers
    leavers: Numbers
    dark: Numbers

    @classmethod
    def begin(cls, release: int = 0) -> Self:
        """Return the memory after a first release."""
        return cls(release, release, **{name: _empty(width) for name, width in _WIDTHS.items()})

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Yield the memory as named pages of little-endian int64."""
        yield "release", np.array([self.release, self.since], dtype="<i8").tobytes()
        for name in _WIDTHS:
            yield name, getattr(self, name).astype("<i8").tobytes()

    @classmethod
    def from_pages(cls, pages: Mapping[str, bytes]) -> Self:
        """Return the memory that was saved.

        Raises
        ------
        KeyError, ValueError
            If pages are missing or damaged.
        """
        tables = {
            name: np.frombuffer(pages[name], dtype="<i8").astype(np.int64).reshape(-1, width)
            for name, width in _WIDTHS.items()
        }
        release, since = np.frombuffer(pages["release"], dtype="<i8").tolist()
        return cls(release, since, **tables)


_WIDTHS: Final = {"ties": 2, "ended": 6, "newcomers": 2, "leavers": 3, "dark": 2}


def follow(
    recent: Recent | None, before: ReleaseView | None, now: ReleaseView, n_shown: int
) -> tuple[Recent, Freshness, Differences | None]:
    """Count how far a release follows the changes since those before it.

    Parameters
    ----------
    recent:
        The changes up to the release before; None for the first release of a sequence.
    before:
        The release before, None if there is none.
    n_shown:
        How many of the true ties are released.

    Returns
    -------
    tuple
        The changes up to this release, the figures, and what changed since the release before.

    Complexity
    ----------
    O(E log E) for two releases of E edges and ties; what is remembered is O(recent changes).

    Examples
    --------
    >>> ids, people = np.arange(3), np.arange(3)
    >>> edges = edge_keys(np.array([[0, 1]]))
    >>> published = {"ids": ids, "owners": people, "edges": edges, "classes": ids}
    >>> first = ReleaseView(people, edges, **published)
    >>> then = ReleaseView(people, edge_keys(np.array([[0, 2]])), **published)
    >>> recent, _, _ = follow(None, None, first, 1)
    >>> recent, found, _ = follow(recent, first, then, 0)
    >>> found.ties.began.count[0], found.ended.count[0], found.ended.shown[0]
    (1, 1, 1)
    """
    if recent is None or before is None:
        recent, step = Recent.begin(), None
        dark = came = edge_ends(now.edges[:0])
    else:
        step = Differences.between(before, now)
        dark = _dark(np.concatenate((step.went, recent.dark)), now)
        recent = _next(recent, before, now, now.ids[dark], step.ties)
        came = np.searchsorted(now.ids, step.came)
    n = recent.release
    is_shown = _among(now.between_vertices(recent.ties[:, 0]), now.edges)
    is_published = _both_published(recent.ties[:, 0], now)
    ages = n - recent.ties[:, 1]
    published = int(_both_published(now.ties, now).sum())
    ended, left = recent.ended, recent.leavers
    ended_ages, left_with = n - ended[:, 4], ended[:, 5] == 1
    still = now.shows_edges(ended[:, :2], ended[:, 2:4])
    found = Freshness(
        ties=AgedTies(Aged.of(ages, is_shown), len(now.ties), n_shown),
        ties_published=AgedTies(
            Aged.of(ages[is_published], is_shown[is_published]), published, n_shown
        ),
        ended=Aged.of(ended_ages[~left_with], still[~left_with]),
        ended_by_leaving=Aged.of(ended_ages[left_with], still[left_with]),
        newcomers=Aged.of(
            n - recent.newcomers[:, 1], _among(recent.newcomers[:, 0], now.published)
        ),
        leavers=Aged.of(n - left[:, 2], now.shows(left[:, 0], left[:, 1])),
        came=len(came) if step else len(now.edges),
        gone=len(step.went) if step else 0,
        came_true=_n_true(came, now) if step else n_shown,
        latest=_latest(dark, now, n_shown),
    )
    return recent, found, step


def _next(
    recent: Recent, before: ReleaseView, now: ReleaseView, dark: Numbers, changed: CameAndWent
) -> Recent:
    """Return the changes up to `now`, without old and ended ones."""
    n = recent.release + 1
    born, over = changed
    joined, left = came_and_went(before.people, now.people)
    people = np.sort(now.people, kind="stable")

    ties = recent.ties[_among(recent.ties[:, 0], now.ties)]
    lost = before.between_vertices(over)
    lost = edge_ends(np.sort(lost[_among(lost, before.edges)]))
    now_ended = np.column_stack((before.owners[lost], before.ids[lost], _twice(len(lost), n)))
    ended = np.concatenate((recent.ended, now_ended))
    ended = ended[~_among(edge_keys(ended[:, :2]), now.ties)]
    ended[:, 5] = (ended[:, 5] == 1) | _among(ended[:, :2], left).any(axis=1)
    newcomers = recent.newcomers[_among(recent.newcomers[:, 0], people)]
    had = _among(before.owners, left)
    now_left = np.column_stack((before.owners[had], before.ids[had], np.full(had.sum(), n)))
    return Recent(
        n,
        recent.since,
        ties=_young(np.concatenate((ties, _dated(born, n))), 1, n),
        ended=_young(ended, 4, n),
        newcomers=_young(np.concatenate((newcomers, _dated(joined, n))), 1, n),
        leavers=_young(np.concatenate((recent.leavers, now_left)), 2, n),
        dark=dark,
    )


def _dark(former: Numbers, now: ReleaseView) -> Numbers:
    """Return the latest graph's additional edges, as positions in `ids`.

    What a dark pair showed before is among the edges that went, or was dark already: `former`.
    """
    at = _position(former, now.ids)
    at = at[(at >= 0).all(axis=1)]
    return at[of_dark_pairs(now.classes, edge_ends(now.edges), at)]


def _position(ids: Numbers, others: Numbers) -> Numbers:
    """Return where ids stand among others, which ascend.

    -1 where they do not.
    """
    place = np.searchsorted(others, ids)
    place[np.append(others, -1)[place] != ids] = -1
    return place


def _latest(dark: Numbers, now: ReleaseView, shown: int) -> Overlap:
    """Compare the latest graph with the truth, given `shown` true ties."""
    return Overlap.of(len(now.ties), len(now.edges) + len(dark), shown + _n_true(dark, now))


def _n_true(edges: Numbers, now: ReleaseView) -> int:
    """Return how many edges of positions are true ties."""
    # In order they are found near the last one.
    return int(_among(np.sort(now.between_people(edges)), now.ties).sum())


def _both_published(keys: Numbers, release: ReleaseView) -> NDArray[np.bool_]:
    """Return which ties have both their people in the release."""
    # A table of keys, which are dense, beats looking for every end of a million ties.
    last = max(release.people.max(initial=0), release.owners.max(initial=0))
    published = np.zeros(1 + int(last), dtype=np.bool_)
    published[release.published] = True
    both: NDArray[np.bool_] = published[keys >> 32] & published[keys & 0xFFFFFFFF]
    return both


def _among(values: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """Return which values of at least 0 are among others, which ascend."""
    found: NDArray[np.bool_] = np.append(others, -1)[np.searchsorted(others, values)] == values
    return found & (values >= 0)


def _young(rows: Numbers, column: int, release: int) -> Numbers:
    """Return the rows with a recent enough release in a column."""
    return rows[release - rows[:, column] <= AGE_MAX]


def _dated(keys: Numbers, release: int) -> Numbers:
    return np.column_stack((keys, np.full(len(keys), release, dtype=np.int64)))


def _twice(count: int, release: int) -> Numbers:
    """Return columns of ties ended at a release without a departure."""
    return np.column_stack((np.full(count, release), np.zeros(count, dtype=np.int64)))


def _empty(width: int) -> Numbers:
    return np.zeros((0, width), dtype=np.int64)
