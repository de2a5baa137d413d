"""Figures of the true network from noisy tables, with intervals.

A figure is computed from the tables as they are, and from copies of them with as much noise again.
Its interval is as wide as these spread. Where a release has no tables, its graph gives a value and
nothing gives an interval: how far a graph leans cannot be seen from it.

A figure is a row of `FIGURES`, compared with networkx in tests/ktsafe/reader/test_reader.py.
Constants of intervals are measured (their reasons stand beside them): lower ones tell readers more
than is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DRAWS = 2_000
LEVEL = 0.95
KNOWN = 5
"""A group must have people for so many standard deviations of noise: dividing by less is noise.
"""
T_NOISE_MAX = 1.5
"""Standard deviations of noise beyond which a t is not told.

Readers believe a t beyond 3. At an epsilon of 1 a year six of 1,214 were surely so, all falsely,
with noise of at least 1.8; the five that truly were could not be seen.
"""
WIDER = 1.25
"""How much wider degrees are taken to spread than in the graph, which is narrower than the truth:
by 1.19 in the last release of the demo."""


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A figure of the true network, as far as a release shows.

    Attributes
    ----------
    value:
        The figure; NaN where it cannot be told.
    low, high:
        Its interval of 95%; None where only the graph tells the figure.
    source:
        "tables": from noisy counts of the true network. "graph": from the published graph, which
        leans by an unknown error.
    """

    value: float
    low: float | None
    high: float | None
    source: Literal["tables", "graph"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StudiedTable:
    """Noisy counts of the true network, see `ktsafe.statistics.NoisyTable`."""

    of: str
    by: str | None
    cells: Sequence[tuple[str | None, ...]]
    counts: NDArray[np.int64]
    scale: float
    across: str | None = None

    def __repr__(self) -> str:
        by = " and ".join(name for name in (self.by, self.across) if name is not None)
        of = f"{self.of} by {by}" if by else self.of
        return f"<StudiedTable: {of}, {len(self.counts):,} counts, noise of scale {self.scale:g}>"


@dataclasses.dataclass(frozen=True, eq=False)
class FigureCounts:
    """What figures are computed from, once or in many draws.

    Attributes
    ----------
    names:
        The values of the attribute; the last one, None, stands for all that are not published.
    people:
        float64, shape (draws, values).
    mixing:
        float64, shape (draws, values, values): ties between people of two values, symmetric; on the
        diagonal ties within a value, once.
    degrees:
        float64, shape (draws, bins), or None; bins begin at `bins`.
    across:
        Values of a second attribute; then `mixing` counts, for each value of the first, neighbours
        of each of these, shape (draws, values, values of the second).
    spread:
        Standard deviation of the degrees of the published graph.
    changes:
        float64, shape (draws,), by figure: what began and ended since the release before.
    """

    names: tuple[str | None, ...]
    people: Floats
    mixing: Floats
    bins: NDArray[np.int64]
    degrees: Floats | None
    spread: float = 1.0
    across: tuple[str | None, ...] | None = None
    changes: Mapping[str, Floats] = dataclasses.field(default_factory=dict)

    @property
    def ties(self) -> Floats:
        """All ties, shape (draws,)."""
        total: Floats = np.triu(self.mixing).sum(axis=(1, 2))
        return total

    @property
    def ends(self) -> Floats:
        """Ends of ties by value, shape (draws, values)."""
        ends: Floats = self.mixing.sum(axis=2) + np.einsum("dii->di", self.mixing)
        return ends

    def at(self, value: str | None, names: tuple[str | None, ...] | None = None) -> int:
        """Return where a value is.

        A value that no vertex has raises KeyError.
        """
        names = self.names if names is None else names
        if value is None or value not in names:
            raise KeyError(value)
        return names.index(value)


def _assortativity(counts: FigureCounts, _: tuple[str, ...]) -> Floats:
    ends = counts.ends
    total = np.maximum(ends.sum(axis=1), 1.0)
    inside = 2 * np.einsum("dii->d", counts.mixing) / total
    expected = ((ends / total[:, None]) ** 2).sum(axis=1)
    excess: Floats = (inside - expected) / np.maximum(1 - expected, 1e-9)
    return excess


def _modularity(counts: FigureCounts, _: tuple[str, ...]) -> Floats:
    ends = counts.ends
    total = np.maximum(ends.sum(axis=1), 1.0)
    expected = ((ends / total[:, None]) ** 2).sum(axis=1)
    excess: Floats = 2 * np.einsum("dii->d", counts.mixing) / total - expected
    return excess


def _between(counts: FigureCounts, values: tuple[str, ...]) -> Floats:
    """Return ties between two values; across two attributes, neighbours of either end."""
    second = counts.at(values[1], counts.across)
    ties: Floats = counts.mixing[:, counts.at(values[0]), second]
    return ties


def _of_neighbours(counts: FigureCounts, values: tuple[str, ...]) -> Floats:
    ties = _between(counts, values)
    if counts.across is not None:
        return _ratio(ties, counts.mixing[:, counts.at(values[0])].sum(axis=1))
    return _ratio(ties * (1 + (values[0] == values[1])), counts.ends[:, counts.at(values[0])])


def _degree_gap(counts: FigureCounts, values: tuple[str, ...]) -> Floats:
    first, second = (FIGURES["mean_degree_of"][1](counts, (value,)) for value in values)
    return first - second


def _degree_gap_t(counts: FigureCounts, values: tuple[str, ...]) -> Floats:
    of = [counts.people[:, counts.at(value)] for value in values]
    if any(people[0] <= KNOWN * people.std() for people in of):
        return np.full(len(counts.people), np.nan)
    error = WIDER * counts.spread * np.sqrt(sum(1 / np.maximum(people, 1.0) for people in of))
    t: Floats = _degree_gap(counts, values) / np.maximum(error, 1e-9)
    return t if t.std() <= T_NOISE_MAX else np.full(len(t), np.nan)


def _changed(of: str) -> Callable[[FigureCounts, tuple[str, ...]], Floats]:
    def figure(counts: FigureCounts, _: tuple[str, ...]) -> Floats:
        nothing: Floats = np.full(len(counts.people), np.nan)
        return counts.changes.get(of, nothing)

    return figure


_gained, _lost = _changed("ties_gained"), _changed("ties_lost")

CHANGES: Mapping[tuple[str, str], str] = {
    ("changes of ties", "gained"): "ties_gained",
    ("changes of ties", "lost"): "ties_lost",
    ("changes of people", "joined"): "people_joined",
    ("changes of people", "left"): "people_left",
}
"""Figures of what changed since the release before, by table and cell."""


def _ratio(above: Floats, below: Floats) -> Floats:
    return above / np.maximum(below, 1.0)


FIGURES: Mapping[str, tuple[int, Callable[[FigureCounts, tuple[str, ...]], Floats]]] = {
    "people": (0, lambda c, _: c.people.sum(axis=1)),
    "ties": (0, lambda c, _: c.ties),
    "mean_degree": (0, lambda c, _: _ratio(2 * c.ties, c.people.sum(axis=1))),
    "density": (
        0,
        lambda c, _: _ratio(2 * c.ties, c.people.sum(axis=1) * (c.people.sum(axis=1) - 1)),
    ),
    "isolated_share": (0, lambda c, _: _tail(c, 0, below=1)),
    "assortativity": (0, _assortativity),
    "modularity": (0, _modularity),
    "share_of_ties_within": (0, lambda c, _: _ratio(np.einsum("dii->d", c.mixing), c.ties)),
    "people_of": (1, lambda c, v: c.people[:, c.at(v[0])]),
    "share_of_people": (1, lambda c, v: _ratio(c.people[:, c.at(v[0])], c.people.sum(axis=1))),
    "mean_degree_of": (1, lambda c, v: _ratio(c.ends[:, c.at(v[0])], c.people[:, c.at(v[0])])),
    "share_of_ties_within_of": (
        1,
        lambda c, v: _ratio(2 * c.mixing[:, c.at(v[0]), c.at(v[0])], c.ends[:, c.at(v[0])]),
    ),
    "degree_gap": (2, _degree_gap),
    "degree_gap_t": (2, _degree_gap_t),
    "ties_between": (2, _between),
    "share_of_neighbours": (2, _of_neighbours),
    **{name: (0, _changed(name)) for name in CHANGES.values()},
    "share_of_ties_gained": (0, lambda c, v: _ratio(_gained(c, v), c.ties)),
    "share_of_ties_lost": (
        0,
        lambda c, v: _ratio(_lost(c, v), c.ties - _gained(c, v) + _lost(c, v)),
    ),
}
"""Figures by name, and how many values each is of.

All need an attribute but `WITHOUT_ATTRIBUTE`. `share_of_neighbours` is the share of the second
value among neighbours of the first; it and `ties_between` also go across two attributes.
`modularity` is the share of ties within values, less that by chance. `degree_gap` is the difference
of two mean degrees, `degree_gap_t` the t of that, with degrees that spread a quarter wider than
in the graph; NaN where noise leaves the size of a group, or t itself, open. `share_of_ties_gained`
is of the ties of now, `share_of_ties_lost` of those of the release before; NaN without a table of
changes.
"""

ACROSS = frozenset({"ties_between", "share_of_neighbours"})
WITHOUT_ATTRIBUTE = frozenset(
    {
        *("people", "ties", "mean_degree", "density", "isolated_share"),
        *CHANGES.values(),
        *("share_of_ties_gained", "share_of_ties_lost"),
    }
)


def _tail(counts: FigureCounts, least: int, *, below: int) -> Floats:
    """Return the share of degrees in [`least`, `below`); NaN without table."""
    if counts.degrees is None:
        return np.full(len(counts.people), np.nan)
    chosen = (counts.bins >= least) & (counts.bins < below)
    return _ratio(counts.degrees[:, chosen].sum(axis=1), counts.people.sum(axis=1))


def laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Return whole numbers with probability proportional to exp(-|x| / scale), as float64."""
    chance = 1 - np.exp(-1 / scale)
    return (rng.geometric(chance, shape) - rng.geometric(chance, shape)).astype(np.float64)


def possible(figure: str) -> tuple[float, float]:
    """Return the least and the greatest value that a figure may have."""
    if "share" in figure or figure == "density":
        return 0.0, 1.0
    if figure in {"assortativity", "modularity"}:
        return -1.0, 1.0
    return (-np.inf if figure.startswith("degree_gap") else 0.0), np.inf


def estimate_of(drawn: Floats, figure: str | None = None) -> Estimate:
    """Return the estimate of draws; the first one has no noise added.

    A figure stays within what is possible, a change (None) is free. Sums of figures would lean:
    draws are added up before.
    """
    ends = np.quantile(drawn[1:] - drawn[0], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    told = drawn[0] + np.array([0.0, *ends])
    value, low, high = (np.clip(told, *possible(figure)) if figure else told).tolist()
    return Estimate(value, low, high, "tables")


# Edges of a release, changed to agree with its noisy tables.
#
# Ties between any two classes are fitted to the tables by iterative proportional fitting (Deming
# and Stephan, 1940). Edges are then added and dropped one by one; each is chosen so that
# transitivity stays what it is in the release, which edges drawn at random would lower.


Ints = NDArray[np.int64]
RAKES: Final = 100
"""Rounds in which counts are fitted to the tables of several attributes."""
PRIOR: Final = 0.5
"""Edges that a pair of classes counts beside those shown, if it has `PRIOR_PAIRS` pairs of people:
pairs without an edge are gaps, not zeros, and the tables may ask for some there."""
PRIOR_PAIRS: Final = 1_000
TRIED: Final = 20
"""Draws for an edge that closes a triangle, or is not there yet; then any pair is taken."""
COMPARED: Final = 8
"""Edges of a pair of classes of which the one in fewest triangles is dropped."""


def calibrated_edges(
    columns: Sequence[NDArray[np.str_]],
    edges: Ints,
    tables: Mapping[int, StudiedTable],
    rng: np.random.Generator,
) -> Ints:
    """Return edges with the tables' ties between values.

    Parameters
    ----------
    columns:
        Values of each quasi-identifier, each of shape (n,).
    edges:
        int64, shape (m, 2).
    tables:
        The table of ties by the position of a quasi-identifier in `columns`.
    rng:
        Draws edges, and rounds.

    Returns
    -------
    numpy.ndarray
        int64, shape (m', 2), sorted, the lesser end first.
    """
    classes, of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    wanted = _fitted(classes, of, edges, tables)
    wanted = np.floor(wanted + rng.random(wanted.shape)).astype(np.int64)
    graph = Changing(len(classes), of, np.sort(edges, axis=1))
    p, q = np.triu_indices(len(classes))
    change = wanted[p, q] - graph.counts()[p, q]
    steps = np.repeat(np.arange(len(p)), np.abs(change))
    for at in rng.permutation(steps).tolist():
        step = graph.add if change[at] > 0 else graph.drop
        step(int(p[at]), int(q[at]), rng)
    return graph.edges


def _fitted(
    classes: NDArray[np.str_], of: Ints, edges: Ints, tables: Mapping[int, StudiedTable]
) -> Floats:
    """Return ties between any two classes as an upper triangle."""
    people = np.bincount(of, minlength=len(classes)).astype(np.float64)
    possible = np.triu(np.outer(people, people), 1) + np.diag(people * (people - 1) / 2)
    ties = PRIOR * np.minimum(1.0, possible / PRIOR_PAIRS)
    ends = np.sort(of[edges], axis=1)
    np.add.at(ties, (ends[:, 0], ends[:, 1]), 1.0)
    margins = []
    for column, table in tables.items():
        cell = {frozenset(pair): i for i, pair in enumerate(table.cells)}
        values = classes[:, column].tolist()
        at = np.array([[cell.get(frozenset((a, b)), -1) for b in values] for a in values])
        margins.append((at, np.maximum(table.counts, 0).astype(np.float64)))
    return np.minimum(raked(ties, margins), possible)


def raked(counts: Floats, margins: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Return counts fitted in turn to margins, until all sums agree.

    Parameters
    ----------
    counts:
        float64, any shape; those that are 0 stay so.
    margins:
        Where each count is added up, int64 of the same shape, -1 for nowhere; and the sums.

    Examples
    --------
    >>> rows, columns = np.array([[0, 0], [1, 1]]), np.array([[0, 1], [0, 1]])
    >>> found = raked(np.ones((2, 2)), [(rows, np.array([4.0, 2])), (columns, np.array([3.0, 3]))])
    >>> found.tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """
    fitted = counts.copy()
    for _ in range(RAKES if margins else 0):
        for at, sums in margins:
            is_told = at >= 0
            now = np.bincount(at[is_told], fitted[is_told], len(sums))
            fitted[is_told] *= (sums / np.where(now > 0, now, 1.0))[at[is_told]]
    return fitted


@dataclasses.dataclass(eq=False)
class Changing:
    """A changing graph, with counts of triangles and paths of two edges."""

    n_classes: int
    of: Ints
    first: dataclasses.InitVar[Ints]

    def __post_init__(self, first: Ints) -> None:
        self.near: list[set[int]] = [set() for _ in range(len(self.of))]
        self._between: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._members = [np.flatnonzero(self.of == c) for c in range(self.n_classes)]
        self._triangles = self._paths = 0
        for u, v in first.tolist():
            self._put(u, v)
        self._transitivity = self.closed()

    @property
    def edges(self) -> Ints:
        """All edges, int64, shape (m, 2), sorted."""
        found = sorted((min(e), max(e)) for chosen in self._between.values() for e in chosen)
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def counts(self) -> Ints:
        """Return edges between any two classes, in the upper triangle."""
        found = np.zeros((self.n_classes, self.n_classes), dtype=np.int64)
        for pair, chosen in self._between.items():
            found[pair] = len(chosen)
        return found

    def add(self, p: int, q: int, rng: np.random.Generator) -> None:
        """Add an edge between two classes; it closes a triangle if needed."""
        is_closing = self.closed() < self._transitivity
        for attempt in range(2 * TRIED):
            u = int(rng.choice(self._members[p]))
            if is_closing and attempt < TRIED:
                v = self._friend_of_a_friend(u, q, rng)
            else:
                v = int(rng.choice(self._members[q]))
            if v is not None and u != v and v not in self.near[u]:
                self._put(u, v)
                return

    def drop(self, p: int, q: int, rng: np.random.Generator) -> None:
        """Drop an edge between two classes, one in few triangles if needed."""
        chosen = self._between[p, q]
        asked = COMPARED if self.closed() < self._transitivity else 1
        drawn = rng.integers(len(chosen), size=asked).tolist()
        at = min(drawn, key=lambda i: len(self.near[chosen[i][0]] & self.near[chosen[i][1]]))
        u, v = chosen[at]
        chosen[at] = chosen[-1]
        chosen.pop()
        self.near[u].discard(v)
        self.near[v].discard(u)
        self._count(u, v, -1)

    def _friend_of_a_friend(self, u: int, q: int, rng: np.random.Generator) -> int | None:
        if not self.near[u]:
            return None
        middle = int(rng.choice(sorted(self.near[u])))
        ends = [v for v in sorted(self.near[middle]) if self.of[v] == q and v != u]
        return int(rng.choice(ends)) if ends else None

    def _put(self, u: int, v: int) -> None:
        self._count(u, v, 1)
        self.near[u].add(v)
        self.near[v].add(u)
        p, q = sorted((int(self.of[u]), int(self.of[v])))
        self._between.setdefault((p, q), []).append((u, v))

    def _count(self, u: int, v: int, sign: int) -> None:
        """Count an edge that is not there, as added or as dropped."""
        self._triangles += sign * len(self.near[u] & self.near[v])
        self._paths += sign * (len(self.near[u]) + len(self.near[v]))

    def closed(self) -> float:
        """Return the share of paths of three that are closed."""
        return 3 * self._triangles / self._paths if self._paths else 0.0
