"""Insensitive columns of people and of ties, exchanged so that no value tells whose it is.

    strata    =  classes of people; of edges, pairs of classes
    in order  =  values by the true degree of their owners, released rows by their released degree
    bands     =  parts of that order with BAND k rows or more, none of which cuts equal degrees
    exchange  =  in each band, and for each column by itself, values in uniformly random order

A band is a union of sets of equal class and released degree. Whoever knows values, and works out
in which bands they may lie, learns about the class and the true degree of their owner, and within a
cohort nothing: given the release without columns, every order of the values of a band has the same
chance. So each person keeps the candidates of its cohort, at most a share alpha of them sensitive.

A stratum with too few people, ties or rows is put together with others, so nobody's values are
those of a whole class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.columns.shared_values import Value, shared, typed
from ktsafe.graph import AttributedGraph

if TYPE_CHECKING:
    from ktsafe.anonymization import Anonymized

BAND = 3
"""Rows of a band at least, as a multiple of k."""


@dataclasses.dataclass(frozen=True, eq=False)
class Columns:
    """Columns of vertices and of edges, by name.

    Attributes
    ----------
    of_vertices:
        For each column a value for each vertex, in the order of the graph.
    of_edges:
        For each column a value for each of `graph.edges`, in that order.
    """

    of_vertices: Mapping[str, list[Any]] = dataclasses.field(default_factory=dict)
    of_edges: Mapping[str, list[Any]] = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.of_vertices or self.of_edges)

    def typed(self) -> Columns:
        """Return the columns with numbers as numbers, and None where a value is missing."""
        return Columns(
            {name: typed(column) for name, column in self.of_vertices.items()},
            {name: typed(column) for name, column in self.of_edges.items()},
        )


def exchanged(
    true: Columns, original: AttributedGraph, made: Anonymized, k: int, rng: np.random.Generator
) -> Columns:
    """Return the columns of a release.

    Parameters
    ----------
    true:
        Of the vertices and edges of `original`, as `Columns.typed` returns them.
    original:
        The true graph.
    made:
        Its release.
    k:
        Values that fewer than k rows have are not told as they are (`shared_values`).
    rng:
        The only randomness.

    Returns
    -------
    Columns
        Of the vertices and edges of `made.graph`. Nothing of people who are withheld is in them.

    Examples
    --------
    >>> from ktsafe import PrivacyParams, anonymize
    >>> from ktsafe.datasets.synthetic import uniform
    >>> rng = np.random.default_rng(1)
    >>> graph = uniform(60, 200, n_tuples=2, rng=rng)
    >>> made = anonymize(graph, PrivacyParams(k=5), rng=rng)
    >>> told = exchanged(Columns({"shoe": [40, 42, 44] * 20}), graph, made, 5, rng)
    >>> sorted(set(told.of_vertices["shoe"]))
    [40, 42, 44]
    """
    released = made.graph
    published = np.flatnonzero(made.origin >= 0)
    behind = made.origin[published].astype(np.int64)
    classes = released.qi_classes.astype(np.int64)
    people = _Rows(classes[published], original.degrees[behind], behind)
    vertices = _Rows(classes, released.degrees, np.arange(released.n_vertices))
    place = np.full(original.n_vertices, -1, dtype=np.int64)
    place[behind] = published
    ends = place[original.edges]
    both = np.flatnonzero((ends >= 0).all(axis=1))
    n_classes = int(classes.max(initial=0)) + 1
    ties = _Rows(
        _pairs(classes[ends[both]], n_classes),
        original.degrees[original.edges[both]].sum(axis=1),
        both,
    )
    edges = _Rows(
        _pairs(classes[released.edges], n_classes),
        released.degrees[released.edges].sum(axis=1),
        np.arange(released.n_edges),
    )
    return Columns(
        _exchanged(true.of_vertices, people, vertices, k, rng),
        _exchanged(true.of_edges, ties, edges, k, rng),
    )


def exchanged_and_checked(
    true: Columns, original: AttributedGraph, made: Anonymized, k: int, rng: np.random.Generator
) -> Columns:
    """Return the columns of a release, as `exchanged` does, if the verifier lets them pass.

    Raises
    ------
    NotKTSafe
        If not.

    Examples
    --------
    >>> from ktsafe import PrivacyParams, anonymize
    >>> from ktsafe.datasets.synthetic import uniform
    >>> rng = np.random.default_rng(1)
    >>> graph = uniform(60, 200, n_tuples=2, rng=rng)
    >>> made = anonymize(graph, PrivacyParams(k=5), rng=rng)
    >>> shoes = Columns({"shoe": [40, 42, 44] * 20})
    >>> told = exchanged_and_checked(shoes, graph, made, 5, rng)
    >>> sorted(set(told.of_vertices["shoe"]))
    [40, 42, 44]
    """
    # What reads a configuration knows of columns, and does not wait for the verifier's compiler.
    from ktsafe.verify.insensitive_columns import (  # noqa: PLC0415
        check_exchanged,
        check_shared,
    )

    shown = exchanged(true, original, made, k, rng)
    if shown:
        origin = made.origin.tolist()
        own = {
            name: [column[i] if i >= 0 else None for i in origin]
            for name, column in true.of_vertices.items()
        }
        check_shared({**shown.of_vertices}, k)
        check_shared({**shown.of_edges}, k)
        released = made.graph
        check_exchanged(own, shown.of_vertices, released.qi_classes, released.degrees)
    return shown


@dataclasses.dataclass(frozen=True, eq=False)
class _Rows:
    """Rows with the stratum and the degree of each, and their positions in the columns."""

    stratum: NDArray[np.int64]
    degree: NDArray[np.int64]
    position: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.position)

    def of(self, stratum: int) -> _Rows:
        these = np.flatnonzero(self.stratum == stratum)
        return _Rows(self.stratum[these], self.degree[these], self.position[these])


def _exchanged(
    columns: Mapping[str, Sequence[Any]],
    owners: _Rows,
    rows: _Rows,
    k: int,
    rng: np.random.Generator,
) -> dict[str, list[Value]]:
    """Return columns of `rows`, made of the values of `owners`."""
    if not columns:
        return {}
    owners, rows = _put_together(owners, rows, k)
    source = np.full((len(columns), len(rows)), -1, dtype=np.int64)
    for stratum in np.unique(rows.stratum).tolist():
        here, theirs = rows.of(stratum), owners.of(stratum)
        theirs = theirs if len(theirs) >= k else owners
        if len(theirs):
            source[:, here.position] = _drawn(theirs, here, len(columns), BAND * k, rng)
    found = {}
    for (name, column), of_row in zip(columns.items(), source, strict=True):
        values = [None if i < 0 else column[i] for i in of_row.tolist()]
        found[name] = shared(values, k, rng)
    return found


def _put_together(owners: _Rows, rows: _Rows, k: int) -> tuple[_Rows, _Rows]:
    """Return both with one stratum in the place of all that have fewer than k owners or rows."""
    top = int(max(owners.stratum.max(initial=-1), rows.stratum.max(initial=-1))) + 1
    sizes = [np.bincount(each.stratum, minlength=top) for each in (owners, rows)]
    stratum = np.where(np.minimum(*sizes) >= k, np.arange(top), top)
    return (
        dataclasses.replace(owners, stratum=stratum[owners.stratum]),
        dataclasses.replace(rows, stratum=stratum[rows.stratum]),
    )


def _drawn(
    owners: _Rows, rows: _Rows, n_columns: int, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return for each column the position of the owner whose value each row has.

    Owners in the order of their degrees are put beside rows in the order of theirs. Where there are
    fewer owners than rows, some of them count again; where there are more, some are left out.
    """
    n, p = len(rows), len(owners)
    ranked = np.argsort(rows.degree + rng.random(n), kind="stable")
    band = _bands(rows.degree[ranked], size)
    found = np.empty((n_columns, n), dtype=np.int64)
    for column in found:
        chosen = rng.permutation(p)[:n]
        chosen = np.concatenate((chosen, rng.integers(p, size=n - len(chosen))))
        by_degree = np.argsort(owners.degree[chosen] + rng.random(n), kind="stable")
        # A random order within bands: bands are whole numbers, and what is added is less than 1.
        mixed = np.argsort(band + rng.random(n), kind="stable")
        column[ranked] = owners.position[chosen[by_degree[mixed]]]
    return found


def _bands(degrees: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the band of each of ascending degrees; each has `size` of them, or there is one."""
    starts = np.flatnonzero(np.diff(degrees, prepend=degrees[:1] - 1))
    kept: list[int] = [0]
    for start in starts.tolist():
        if start - kept[-1] >= size and len(degrees) - start >= size:
            kept.append(start)
    return np.searchsorted(np.array(kept), np.arange(len(degrees)), side="right") - 1


def _pairs(classes: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return a number for each pair of classes, whatever its direction; shape (m, 2) to (m,)."""
    numbers: NDArray[np.int64] = classes.min(axis=1) * n_classes + classes.max(axis=1)
    return numbers
