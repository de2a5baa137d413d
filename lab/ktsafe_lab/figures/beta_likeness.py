"""How alike neighbourhoods are value by value.

The beta-likeness that a release happens to have.

Half the L1 distance, which `t` bounds, adds up all values: a rare one may double its share and
hardly be seen. Beta-likeness bounds the relative change of every value's share by itself. It is no
part of the definition here; this measures it. Beware that, as `t` in this paper and unlike Cao and
Karras' own, it is about *non-sensitive* attributes of neighbourhoods.

Source: Section 2.2, "updating t-closeness with beta-likeness", for one hop in the walk reading. The
text gives no formula; as in `ktsafe_lab.paper` it is |p - q| / min(p, q) for shares p and q of one
value.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

CELLS_MAX = 5_000_000
"""Counts kept, and counts compared, beyond which nothing is measured."""


def beta_figures(released: AttributedGraph, params: PrivacyParams) -> dict[str, Any] | None:
    """Return the least beta that leaves every vertex k members.

    Parameters
    ----------
    released:
        A release.
    params:
        Its parameters; for others than stars, and for releases too varied, the answer is None.

    Returns
    -------
    dict or None
        `median` and `max` of the least beta of each vertex, None where values that one side lacks
        make it infinite; `vertices_above_t`: for how many it exceeds t, so the release would
        not be safe with beta-likeness in the place of t-closeness and beta = t.
    """
    width = sum(len(texts) for texts in released.categories[:-1])
    if not params.sees_stars or released.n_vertices * width > CELLS_MAX:
        return None
    locations = _locations(released)
    least = _least_beta(*locations, params)
    if least is None:
        return None
    per_vertex = np.repeat(least, locations[1])
    tolerated = float(params.t)
    return {
        "median": _finite(float(np.median(per_vertex))) if len(per_vertex) else None,
        "max": _finite(float(per_vertex.max())) if len(per_vertex) else None,
        "vertices_above_t": int(np.count_nonzero(per_vertex > tolerated)),
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if np.isfinite(value) else None


def _locations(
    graph: AttributedGraph,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return distinct (class, counts), their vertices, and attributes' borders.

    Counts are of the values of all quasi-identifiers, within one hop, the vertex included.
    """
    offsets = np.cumsum([0] + [len(texts) for texts in graph.categories[:-1]]).astype(np.int64)
    n, width = graph.n_vertices, int(offsets[-1])
    ends = np.concatenate((graph.edges, graph.edges[:, ::-1])).astype(np.int64)
    table = np.zeros(n * width, dtype=np.int64)
    for j, offset in enumerate(offsets[:-1].tolist()):
        codes = graph.codes[:, j].astype(np.int64)
        own = np.arange(n) * width + offset + codes
        cells = np.concatenate((own, ends[:, 0] * width + offset + codes[ends[:, 1]]))
        table += np.bincount(cells, minlength=n * width)
    sizes = graph.degrees.astype(np.int64) + 1
    rows = np.column_stack((graph.qi_classes, sizes, table.reshape(n, width)))
    found, population = np.unique(rows, axis=0, return_counts=True)
    return found.astype(np.int64), population.astype(np.int64), offsets


def _least_beta(
    found: NDArray[np.int64],
    population: NDArray[np.int64],
    offsets: NDArray[np.int64],
    params: PrivacyParams,
) -> NDArray[np.float64] | None:
    """Return for each location the least beta that leaves k.

    None if that would take too long.
    """
    classes, sizes, counts = found[:, 0], found[:, 1], found[:, 2:]
    band = params.epsilon // 2
    # Rows ascend by class and size, so those of one band are neighbours.
    place = classes * (int(sizes.max(initial=0)) + band + 1) + sizes
    begin, stop = (
        np.searchsorted(place, place - band),
        np.searchsorted(place, place + band, "right"),
    )
    if int((stop - begin).sum()) * max(counts.shape[1], 1) > CELLS_MAX:
        return None
    least = np.empty(len(found), dtype=np.float64)
    for i, (first, last) in enumerate(zip(begin.tolist(), stop.tolist(), strict=True)):
        mine = counts[i] * sizes[first:last, np.newaxis]
        theirs = counts[first:last] * sizes[i]
        gaps = np.abs(mine - theirs)
        limit = 2 * params.t.numerator * sizes[i] * sizes[first:last]
        similar = np.ones(last - first, dtype=np.bool_)
        for a, b in itertools.pairwise(offsets.tolist()):
            similar &= gaps[:, a:b].sum(axis=1) * params.t.denominator <= limit
        smaller = np.minimum(mine, theirs)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.where(gaps == 0, 0.0, gaps / smaller)
        beta = np.where(similar, change.max(axis=1, initial=0.0), np.inf)
        order = np.argsort(beta)
        enough = np.cumsum(population[first:last][order]) >= params.k
        least[i] = beta[order][np.argmax(enough)] if enough.any() else np.inf
    return least
