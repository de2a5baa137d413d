"""The privacy of a release, with knowledge of real vertices.

kt-safety compares released vertices with released ones and counts inserted ones as candidates. An
attacker compares a *true* neighbourhood with the release, and may recognize inserted vertices. So
every real vertex gets three figures: the claim of the definition, the figure without inserted
vertices, and the figure against an attacker that knows the true neighbours.

All figures are private: they show which vertices are real. Bands and constants may be tuned: beyond
`PAIRS_MAX` a sample is asked (decision 67). The definitions of the three are those of
tests/ktsafe/audit/test_release_audit.py.
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
from ktsafe.audit.distributions import band_of, ends_of
from ktsafe.audit.sequence.figures import Shares
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import sums_of_neighbours
from ktsafe.params import PrivacyParams
from ktsafe.verify import Verdict, verify

PAIRS_MAX = 10_000_000
"""Comparisons for `k_known`; beyond it an even sample of the vertices is asked (decision 67)."""
ENDS_AT_ONCE = 1_000_000
"""Neighbours of released vertices that are compared together, if they are of several classes."""


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
    """Candidates of a group of people."""

    vertices: int
    k_claimed: PeopleCounts
    k_real: PeopleCounts
    k_known: PeopleCounts
    alpha: Shares
    alpha_real: Shares


class GroupOfBand(Group, frozen=True, kw_only=True):
    """Candidates of people in a band of degrees or class sizes."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")


class Privacy(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates of all people, by degree band, and by class size."""

    all: Group
    by_true_degree: list[GroupOfBand]
    by_class_size: list[GroupOfBand]


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
    k_claimed, k_real:
        int64, shape (r,): members of PS(v), and the real ones among them.
    sensitive, sensitive_real:
        int64, shape (r,): sensitive members of PS(v), and the real ones among them.
    asked:
        int64, positions in `real` for which `k_known` was counted.
    k_known:
        int64, shape of `asked`: released u with QI(u) = QI(v) whose neighbours' joint tuples
        include those of v's true neighbours that are released.
    """

    params: PrivacyParams
    real: NDArray[np.int64]
    true_degree: NDArray[np.int64]
    class_size: NDArray[np.int64]
    k_claimed: NDArray[np.int64]
    k_real: NDArray[np.int64]
    sensitive: NDArray[np.int64]
    sensitive_real: NDArray[np.int64]
    asked: NDArray[np.int64]
    k_known: NDArray[np.int64]

    def summary(self) -> Privacy:
        """Return the figures over all, by degree band and by class size."""
        return Privacy(
            all=self._group(np.ones(len(self.real), dtype=np.bool_)),
            by_true_degree=self._by_band(self.true_degree),
            by_class_size=self._by_band(self.class_size),
        )

    def _group(self, chosen: NDArray[np.bool_]) -> Group:
        params, asked = self.params, chosen[self.asked]
        return Group(
            vertices=int(np.count_nonzero(chosen)),
            k_claimed=_of_counts(self.k_claimed[chosen], params.k),
            k_real=_of_counts(self.k_real[chosen], params.k),
            k_known=_of_counts(self.k_known[asked], params.k),
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


def privacy_figures(
    traced: Traced,
    params: PrivacyParams,
    verdict: Verdict | None = None,
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
    verdict:
        That of the auditor on the release; None: it is verified here.
    pairs_max:
        Comparisons that `k_known` may take before an even sample is asked instead.
    """
    released, behind, real = traced.released, traced.behind, traced.real
    is_real = behind >= 0
    # Of people it counts whether their own value, wherever it stands, is sensitive.
    is_own = np.zeros(released.n_vertices, dtype=np.bool_)
    is_own[real] = released.is_sensitive[traced.value_at]
    if verdict is None:
        flags = np.column_stack((is_real, is_own))
        shown = released.codes[:, :-1], released.is_sensitive, released.edges
        verdict = verify(*shown, params, flags=flags)
    assert verdict.ps_flags is not None
    k_real, sensitive_real = verdict.ps_flags[:, real]
    classes = released.qi_classes.astype(np.int64)
    members = np.bincount(classes[real], minlength=int(classes.max(initial=0)) + 1)
    true_degree = traced.original.degrees[behind[real]]
    asked, counts = _known(traced, pairs_max)
    return PrivacyFigures(
        params=params,
        real=real,
        true_degree=true_degree,
        class_size=members[classes[real]].astype(np.int64),
        k_claimed=verdict.ps_size[real],
        k_real=k_real,
        sensitive=verdict.ps_sensitive[real],
        sensitive_real=sensitive_real,
        asked=asked,
        k_known=counts,
    )


def _known(traced: Traced, pairs_max: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return asked positions of `real`, and their k_known."""
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
    ranked, least = key[order], first + known
    # Keys that ascend are found near the last one; and all of a class end together.
    begin, by_key = np.empty(len(least), dtype=np.int64), np.argsort(least)
    begin[by_key] = np.searchsorted(ranked, least[by_key])
    ends = np.searchsorted(ranked, np.arange(1, 2 + int(tuples.max(initial=-1))) * stride)
    stop = ends[tuples[real]]
    pairs = int((stop - begin).sum())
    asked = np.arange(len(real))
    if pairs > pairs_max:
        by_location = np.argsort(begin, kind="stable")
        asked = np.sort(by_location[:: -(-pairs // pairs_max)])
    # From here on vertices with equal neighbours are one row.
    row_at = np.append(0, np.cumsum(is_first))
    begin, stop = row_at[begin[asked]], row_at[stop[asked]]
    weight, order = np.diff(np.flatnonzero(np.append(is_first, True))), order[is_first]

    counts = np.zeros(len(asked), dtype=np.int64)
    for low, high in _runs_of_classes(tuples[order], degrees[order]):
        # All that is compared is of one class; who has no candidates is asked nowhere.
        vertices, here = order[low:high], np.flatnonzero((begin >= low) & (stop <= high))
        here = here[begin[here] < stop[here]]
        near = core.known_candidates(
            begin[here] - low,
            stop[here] - low,
            _true_runs(original, shown, people[asked[here]]),
            core.Multisets(
                *core.neighbour_runs(released.indptr, released.indices, tuples, vertices)
            ),
        )
        of_row = weight[low:high]
        counts[here] = np.bincount(near[:, 0], of_row[near[:, 1]], len(here))
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
    # By as much of the sums as there is room for; kinds that share it may be told apart twice.
    room = 62 - int(key.max(initial=0)).bit_length()
    order = np.argsort(key << room | (sums.view(np.uint64) >> np.uint64(64 - room)).view(np.int64))
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
    median = round(float(np.quantile(shares, 0.5, method="higher")), 6)
    above = part * params.alpha.denominator > whole * params.alpha.numerator
    most = round(float(shares.max()), 6)
    return Shares(most, median, int(np.count_nonzero(above)))
