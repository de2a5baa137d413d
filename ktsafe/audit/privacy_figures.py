"""The privacy of a release, with knowledge of real vertices.

kt-safety compares released vertices with released ones and counts inserted ones as candidates. An
attacker compares a *true* neighbourhood with the release, and may recognize inserted vertices. So
every real vertex gets three figures: the claim of the definition, the figure without inserted
vertices, and the figure against an attacker that knows the true neighbours.

All figures are private: they show which vertices are real.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit import _privacy_core as core
from ktsafe.audit.cost import Traced, share
from ktsafe.audit.distributions import Shares, band_of, ends_of
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import sums_of_neighbours
from ktsafe.params import PrivacyParams
from ktsafe.verify import verify_flags
from ktsafe.verify._attribute_distance_core import WideRows
from ktsafe.verify._stars_core import wide_rows

PAIRS_MAX = 10_000_000
"""Comparisons for `k_known`; beyond it an even sample of the vertices is asked (decision 67)."""
ENDS_AT_ONCE = 1_000_000
"""Neighbours of released vertices that are compared together, if they are of several classes."""

ROWS_MAX = 50
"""Rows of the table of classes that inserted vertices protect."""


class PeopleCounts(msgspec.Struct, frozen=True):
    """Numbers of people's candidates; None without people.

    `risk_mean` is the mean of 1 / candidates.
    """

    min: int | None = None
    p1: int | None = None
    p5: int | None = None
    median: int | None = None
    below_k: int = 0
    share: float | None = None
    risk_mean: float | None = None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates of a group of people.

    `k_known_in_ps` is counted where similarity is one of stars.
    """

    vertices: int
    k_claimed: PeopleCounts
    k_real: PeopleCounts
    k_known: PeopleCounts
    k_known_in_ps: PeopleCounts
    alpha: Shares
    alpha_real: Shares


class GroupOfBand(Group, frozen=True, kw_only=True):
    """Candidates of people in a band of degrees or class sizes."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")


class ClassOfInserted(msgspec.Struct, frozen=True):
    """A class of which some reach k thanks to inserted vertices alone."""

    qi_class: int
    real_members: int
    vertices: int


class InsertedOnly(msgspec.Struct, frozen=True, kw_only=True):
    """People that reach k thanks to inserted vertices alone."""

    vertices: int
    share: float | None
    share_of_larger_classes: float | None
    in_classes_below_k: int
    classes: int
    largest: list[ClassOfInserted]


class Privacy(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates of all people, by degree band, and by class size."""

    real_vertices: int
    k_known_asked: int
    all: Group
    by_true_degree: list[GroupOfBand]
    by_class_size: list[GroupOfBand]
    protected_by_inserted_only: InsertedOnly


@dataclasses.dataclass(frozen=True, eq=False)
class PrivacyFigures:
    """Figures of the real vertices of a release.

    Attributes
    ----------
    params:
        The parameters of the release.
    real:
        int64, shape (r,): the released vertices that have an original.
    true_degree, class_size:
        int64, shape (r,): degree in the true graph, and real members of the vertex's released QI.
    qi_class:
        int64, shape (r,): released QI class.
    k_claimed, k_real:
        int64, shape (r,): members of PS(v), and the real ones among them.
    sensitive, sensitive_real:
        int64, shape (r,): sensitive members of PS(v), and the real ones among them.
    asked:
        int64, positions in `real` for which `k_known` was counted.
    k_known, k_known_ps:
        int64, shape of `asked`: released u with QI(u) = QI(v) whose neighbours' joint tuples
        include those of v's true neighbours that are released; anywhere, and inside PS(v).
    """

    params: PrivacyParams
    real: NDArray[np.int64]
    true_degree: NDArray[np.int64]
    class_size: NDArray[np.int64]
    qi_class: NDArray[np.int64]
    k_claimed: NDArray[np.int64]
    k_real: NDArray[np.int64]
    sensitive: NDArray[np.int64]
    sensitive_real: NDArray[np.int64]
    asked: NDArray[np.int64]
    k_known: NDArray[np.int64]
    k_known_ps: NDArray[np.int64]

    def summary(self) -> Privacy:
        """Return the figures over all, by degree band and by class size."""
        return Privacy(
            real_vertices=len(self.real),
            k_known_asked=len(self.asked),
            all=self._group(np.ones(len(self.real), dtype=np.bool_)),
            by_true_degree=self._by_band(self.true_degree),
            by_class_size=self._by_band(self.class_size),
            protected_by_inserted_only=self._protected_by_inserted(),
        )

    def _group(self, chosen: NDArray[np.bool_]) -> Group:
        params, asked = self.params, chosen[self.asked]
        return Group(
            vertices=int(np.count_nonzero(chosen)),
            k_claimed=_of_counts(self.k_claimed[chosen], params.k),
            k_real=_of_counts(self.k_real[chosen], params.k),
            k_known=_of_counts(self.k_known[asked], params.k),
            k_known_in_ps=_of_counts(self.k_known_ps[asked], params.k),
            alpha=_of_shares(self.sensitive[chosen], self.k_claimed[chosen], params),
            alpha_real=_of_shares(self.sensitive_real[chosen], self.k_real[chosen], params),
        )

    def _by_band(self, values: NDArray[np.int64]) -> list[GroupOfBand]:
        """Summarize by bands 0, 1, 2-3, 4-7 and so on."""
        bands = band_of(values)
        rows = []
        for band in np.unique(bands).tolist():
            first, last = ends_of(band)
            figures = msgspec.structs.asdict(self._group(bands == band))
            rows.append(GroupOfBand(first=first, last=last, **figures))
        return rows

    def _protected_by_inserted(self) -> InsertedOnly:
        """Return classes that reach k thanks to inserted vertices alone.

        There |PS| >= k holds with them only.
        """
        only = (self.k_real < self.params.k) & (self.k_claimed >= self.params.k)
        large = self.class_size >= self.params.k
        classes, counts = np.unique(self.qi_class[only], return_counts=True)
        sizes = dict(zip(self.qi_class[only].tolist(), self.class_size[only].tolist(), strict=True))
        rows = [
            ClassOfInserted(c, sizes[c], count)
            for c, count in zip(classes.tolist(), counts.tolist(), strict=True)
        ]
        rows.sort(key=lambda row: (-row.vertices, row.qi_class))
        return InsertedOnly(
            vertices=int(np.count_nonzero(only)),
            share=share(int(np.count_nonzero(only)), len(only)),
            share_of_larger_classes=share(
                int(np.count_nonzero(only & large)), int(np.count_nonzero(large))
            ),
            in_classes_below_k=int(np.count_nonzero(only & (self.class_size < self.params.k))),
            classes=len(rows),
            largest=rows[:ROWS_MAX],
        )


def privacy_figures(
    traced: Traced,
    params: PrivacyParams,
    *,
    pairs_max: int = PAIRS_MAX,
) -> PrivacyFigures:
    """Measure the privacy of every real vertex of a release.

    Parameters
    ----------
    traced:
        The release beside the true graph, from `ktsafe.audit.trace`.
    params:
        The parameters of the release.
    pairs_max:
        Comparisons that `k_known` may take before an even sample is asked instead.
    """
    released, behind, real = traced.released, traced.behind, traced.real
    is_real = behind >= 0
    # Of people it counts whether their own value, wherever it stands, is sensitive.
    is_own = np.zeros(released.n_vertices, dtype=np.bool_)
    is_own[real] = released.is_sensitive[traced.value_at]
    ps_size, flagged = verify_flags(
        released.codes[:, :-1],
        np.column_stack((is_real, released.is_sensitive, is_own)),
        released.edges,
        params,
    )
    classes = released.qi_classes.astype(np.int64)
    members = np.bincount(classes[real], minlength=int(classes.max(initial=0)) + 1)
    true_degree = traced.original.degrees[behind[real]]
    asked, counts = _known(traced, params, pairs_max)
    return PrivacyFigures(
        params=params,
        real=real,
        true_degree=true_degree,
        class_size=members[classes[real]].astype(np.int64),
        qi_class=classes[real],
        k_claimed=ps_size[real],
        k_real=flagged[0, real],
        sensitive=flagged[1, real],
        sensitive_real=flagged[2, real],
        asked=asked,
        k_known=counts[0],
        k_known_ps=counts[1],
    )


def _known(
    traced: Traced, params: PrivacyParams, pairs_max: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return asked positions of `real`, and their k_known, in two ways.

    Anywhere, and inside PS.
    """
    original, released, real = traced.original, traced.released, traced.real
    tuples, degrees = released.qi_classes.astype(np.int64), released.degrees
    # What true vertices show; withheld ones nothing, and ties to them do not count.
    people, shown = traced.behind[real], np.full(original.n_vertices, -1, dtype=np.int32)
    shown[people] = tuples[real]
    _, beside = _neighbours(original, np.flatnonzero(shown < 0))
    known = (original.degrees - np.bincount(beside, minlength=len(shown)))[people]

    # A vertex that contains v's true neighbours has at least its true degree.
    stride = int(max(degrees.max(initial=0), known.max(initial=0))) + 1
    key = tuples * stride + degrees
    order, is_first = _alike(released, tuples, key)
    first = tuples[real] * stride
    begin = np.searchsorted(key[order], first + known)
    stop = np.searchsorted(key[order], first + stride)
    pairs = int((stop - begin).sum())
    asked = np.arange(len(real))
    if pairs > pairs_max:
        by_location = np.argsort(begin, kind="stable")
        asked = np.sort(by_location[:: -(-pairs // pairs_max)])
    # From here on vertices with equal neighbours are one row.
    row_at = np.append(0, np.cumsum(is_first))
    begin, stop = row_at[begin[asked]], row_at[stop[asked]]
    row = np.empty(len(order), dtype=np.int64)
    row[order] = row_at[1:] - 1
    weight, order = np.diff(np.flatnonzero(np.append(is_first, True))), order[is_first]

    codes = released.codes[:, :-1]
    offsets = np.cumsum([0, *(len(texts) for texts in released.categories[:-1])])[:-1]
    columns = np.ascontiguousarray(codes + offsets.astype(np.int32))
    tolerance = (params.t.numerator, params.t.denominator, codes.shape[1])
    counts = np.zeros((2, len(asked)), dtype=np.int64)
    for low, high in _runs_of_classes(tuples[order], degrees[order]):
        # All that is compared is of one class; who has no candidates is asked nowhere.
        vertices, here = order[low:high], np.flatnonzero((begin >= low) & (stop <= high))
        here = here[begin[here] < stop[here]]
        rows = row[real[asked[here]]] - low
        near = core.known_candidates(
            begin[here] - low,
            stop[here] - low,
            _true_runs(original, shown, people[asked[here]]),
            core.Multisets(
                *core.neighbour_runs(released.indptr, released.indices, tuples, vertices)
            ),
        )
        of_row = weight[low:high]
        counts[0, here] = np.bincount(near[:, 0], of_row[near[:, 1]], len(here))
        ends = np.column_stack((rows[near[:, 0]], near[:, 1]))
        sizes = degrees[vertices] + 1
        is_near = 2 * np.abs(np.diff(sizes[ends], axis=1)[:, 0]) <= params.epsilon
        # Few are near anybody that is asked; the attributes around others are not counted.
        needed, at = np.unique(ends[is_near], return_inverse=True)
        some = vertices[needed]
        attributes = WideRows(*wide_rows(some, *_neighbours(released, some), columns))
        similar = near[is_near][
            core.are_similar(at.reshape(-1, 2), attributes, sizes[needed], tolerance)
        ]
        counts[1, here] = np.bincount(similar[:, 0], of_row[similar[:, 1]], len(here))
    return asked, counts


def _true_runs(
    original: AttributedGraph, shown: NDArray[np.int32], people: NDArray[np.int64]
) -> core.Multisets:
    """Return the released tuples of some people's neighbours, by the true graph."""
    begin, near = _neighbours(original, people)
    is_there = shown[near] >= 0
    begin, tuples = np.append(0, np.cumsum(is_there))[begin], shown[near[is_there]]
    every = np.arange(int(tuples.max(initial=-1)) + 1)
    return core.Multisets(*core.neighbour_runs(begin, tuples, every, np.arange(len(people))))


def _alike(
    graph: AttributedGraph, tuples: NDArray[np.int64], key: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return vertices by key and neighbours' tuples; flag each kind's first."""
    # Equal multisets have equal sums; others have with a chance of 2**-62.
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, int(tuples.max(initial=-1)) + 1)
    sums = sums_of_neighbours(graph.indptr, graph.indices, weights[tuples])
    order = np.lexsort((sums, key))
    is_first = np.ones(len(order), dtype=np.bool_)
    before, after = order[:-1], order[1:]
    is_first[1:] = (key[after] != key[before]) | (sums[after] != sums[before])
    return order, is_first


def _runs_of_classes(
    classes: NDArray[np.int64], degrees: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Yield runs of whole classes with about `ENDS_AT_ONCE` neighbours each.

    Classes ascend.
    """
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    ends = (np.cumsum(degrees) - degrees)[starts] // ENDS_AT_ONCE
    cuts = starts[np.flatnonzero(np.diff(ends, prepend=-1))].tolist()
    yield from itertools.pairwise([*cuts, len(classes)])


def _neighbours(
    graph: AttributedGraph, vertices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where vertices' neighbours begin in an array, and the array."""
    indptr = np.concatenate(([0], np.cumsum(graph.degrees[vertices])))
    shift = np.repeat(graph.indptr[vertices] - indptr[:-1], graph.degrees[vertices])
    return indptr, graph.indices[np.arange(indptr[-1]) + shift]


def _of_counts(values: NDArray[np.int64], k: int) -> PeopleCounts:
    """Summarize numbers of candidates; quantiles are lower ones, so each was seen.

    `risk_mean` is the mean over people of 1 / candidates, the average risk.
    """
    if len(values) == 0:
        return PeopleCounts()
    p1, p5, median = np.quantile(values, [0.01, 0.05, 0.5], method="lower").tolist()
    below = int(np.count_nonzero(values < k))
    risk = round(float((1 / np.maximum(values, 1)).mean()), 6)
    return PeopleCounts(int(values.min()), p1, p5, median, below, share(below, len(values)), risk)


def _of_shares(part: NDArray[np.int64], whole: NDArray[np.int64], params: PrivacyParams) -> Shares:
    """Summarize sensitive shares; how many exceed alpha is decided on integers."""
    if len(part) == 0:
        return Shares()
    shares = part / whole
    median, p95, p99 = np.quantile(shares, [0.5, 0.95, 0.99], method="higher").round(6).tolist()
    above = part * params.alpha.denominator > whole * params.alpha.numerator
    most = round(float(shares.max()), 6)
    return Shares(most, p99, p95, median, int(np.count_nonzero(above)))
