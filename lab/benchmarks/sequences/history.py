"""What a sequence of releases showed of its network, counted from truth and releases alone.

Of ties that began a releases ago, and still hold with both ends published, the share that is shown,
over the recall of ties that are older; of shown ties that ended a releases ago the share that is
still shown, both people being there. `latest` is the graph of a reader who takes for every pair of
classes that shows nothing what it showed in the release before. The net guess is the share of
people who are named, among the members of their cohort, by an attacker who knows in which classes
they truly gained and lost ties over a span of releases, and compares the releases at both ends.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from statistics import mean

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.denoised import denoised
from ktsafe.assess.attacks.net_changes import NetChange, guessed
from ktsafe.assess.conclusions import conclusions, summary
from ktsafe.audit.sequence.continuity import EdgeAges
from ktsafe.graph.numbering import edge_keys
from ktsafe.sequence import Released, SequenceEngine

Numbers = NDArray[np.int64]
AGES = (1, 4, 8)


@dataclasses.dataclass(frozen=True)
class Slot:
    """One release: ties by the keys of their people, cohorts and classes of published people.

    It is unmoved if it equals the one before although ties changed.
    """

    people: frozenset[int]
    truth: frozenset[int]
    shown: frozenset[int]
    published: dict[int, tuple[int, tuple[int, ...]]]
    f1: float
    f1_latest: float
    cost: float
    age_auc: float | None
    wrong: float
    is_unmoved: bool


@dataclasses.dataclass(frozen=True)
class Shown:
    """Who is there and who is published in a release, by key, and what it is worth."""

    people: frozenset[int]
    published: frozenset[int]
    f1: float
    cost: float


def shown(released: Released, graph: AttributedGraph, keys: Numbers) -> Shown:
    """Return what a release shows of the true graph of these people."""
    truth = edge_keys(np.sort(keys[graph.edges], axis=1))
    owners = np.sort(released.keys[released.graph.edges], axis=1)
    ties = edge_keys(owners[owners[:, 0] >= 0])
    n_edges, n_true = len(owners), int(np.isin(ties, truth).sum())
    return Shown(
        frozenset(keys.tolist()),
        frozenset(released.keys[released.keys >= 0].tolist()),
        2 * n_true / max(n_edges + len(truth), 1),
        (n_edges + len(truth) - 2 * n_true) / max(len(truth), 1),
    )


def wait(
    releases: Sequence[tuple[AbstractSet[int], AbstractSet[int]]], newcomers: AbstractSet[int]
) -> float | None:
    """Return how many releases newcomers wait until they are shown; half of them wait less.

    None where fewer than half of them were shown.

    Parameters
    ----------
    releases:
        For each the people who are there, and those who are published.
    """
    came = {p: i for i in reversed(range(len(releases))) for p in releases[i][0]}
    first = {p: i for i in reversed(range(len(releases))) for p in releases[i][1]}
    waits = sorted(first[p] - came[p] if p in first else np.inf for p in newcomers)
    middle = waits[len(waits) // 2] if waits else np.inf
    return float(middle) if np.isfinite(middle) else None


class History:
    """The releases of a sequence so far."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self._ages = EdgeAges()
        self._numbers: dict[int, int] = {}
        self._last: dict[tuple[object, ...], Numbers] = {}
        self._edges: tuple[bytes, bytes] | None = None
        self._case: Case | None = None

    def add(self, sequence: SequenceEngine, graph: AttributedGraph, keys: Numbers) -> Slot:
        """Note the sequence's current release and the true graph that it shows."""
        released = sequence.released()
        truth = frozenset(edge_keys(np.sort(keys[graph.edges], axis=1)).tolist())
        owners = released.keys[released.graph.edges]
        is_owned = (owners >= 0).all(axis=1)
        ties = np.where(is_owned, edge_keys(np.sort(np.maximum(owners, 0), axis=1)), -1)
        is_true = np.array([tie in truth for tie in ties.tolist()], dtype=np.bool_)
        n_true, n_edges = int(is_true.sum()), len(ties)
        latest = self._latest(released)
        n_latest = sum(tie in truth for tie in latest.tolist())
        codes = map(tuple, released.graph.codes[:, :-1].tolist())
        cohorts = zip(sequence.cohorts().tolist(), codes, strict=True)
        people = zip(released.keys.tolist(), cohorts, strict=True)
        edges = released.ids.tobytes(), np.sort(edge_keys(released.graph.edges)).tobytes()
        is_unmoved = edges == self._edges and truth != self.slots[-1].truth
        self._edges = edges
        order = np.argsort(keys)
        at = np.minimum(np.searchsorted(keys, released.keys, sorter=order), len(keys) - 1)
        self._case = Case(graph, released.graph, np.where(released.keys < 0, -1, order[at]))
        slot = Slot(
            frozenset(keys.tolist()),
            truth,
            frozenset(ties[is_owned].tolist()),
            {key: where for key, where in people if key >= 0},
            2 * n_true / max(n_edges + len(truth), 1),
            2 * n_latest / max(len(latest) + len(truth), 1),
            (n_edges + len(truth) - 2 * n_true) / max(len(truth), 1),
            self._age_auc(released, is_true),
            summary(conclusions(graph, released.graph)).wrong_share or 0.0,
            is_unmoved,
        )
        self.slots.append(slot)
        return slot

    def figures(self) -> dict[str, float | None]:
        """Return the figures of all releases so far."""
        slots, last = self.slots, len(self.slots) - 1
        newcomers = slots[-1].people - slots[0].people
        spans = [(i, min(i + 2, last)) for i in range(0, last - 1, 2)]
        return {
            "F1": mean(slot.f1 for slot in slots),
            "last": slots[-1].f1,
            "latest": mean(slot.f1_latest for slot in slots),
            "cost": mean(slot.cost for slot in slots),
            "worst": max(slot.cost for slot in slots),
            "wrong": mean(slot.wrong for slot in slots),
            "wrong last": slots[-1].wrong,
            **{f"new {age}": self._new(age) for age in AGES},
            "ended 8": self._ended(8),
            "people": len(newcomers & slots[-1].published.keys()) / max(len(newcomers), 1),
            "wait": wait([(s.people, s.published.keys()) for s in slots], newcomers),
            "age": slots[-1].age_auc,
            "guess 2": _rate(net_guess(slots[i], slots[j]) for i, j in spans),
            "guess": _rate([net_guess(slots[0], slots[-1])]),
            "denoised": self._denoised(),
        }

    def _denoised(self) -> float | None:
        """Return the share of people named after denoising the last release, by the best way."""
        if self._case is None or not self._case.released.n_edges:
            return None
        found = denoised(self._case, PrivacyParams(), np.random.default_rng(0))
        return max(result.value for result in found if result.measure == "share")

    def _new(self, age: int) -> float | None:
        """Return the share of new ties that is shown so many releases later, over that of old."""
        n_new = n_shown = expected = 0.0
        for i in range(1, len(self.slots) - age):
            then, now = self.slots[i], self.slots[i + age]
            before = self.slots[i - 1].truth

            def published(ties: Iterable[int], now: Slot = now) -> set[int]:
                there = now.published
                return {tie for tie in ties if tie >> 32 in there and tie & 0xFFFFFFFF in there}

            new = published((then.truth - before) & now.truth)
            old = published(before & now.truth)
            n_new += len(new)
            n_shown += len(new & now.shown)
            expected += len(new) * len(old & now.shown) / max(len(old), 1)
        return n_shown / expected if expected else None

    def _ended(self, age: int) -> float | None:
        """Return the share of shown ties that ended and are shown so many releases later."""
        n_ended = n_shown = 0
        for before, after, now in zip(
            self.slots, self.slots[1:], self.slots[1 + age :], strict=False
        ):
            gone = (before.truth & before.shown) - after.truth - now.truth
            ended = {t for t in gone if t >> 32 in now.people and t & 0xFFFFFFFF in now.people}
            n_ended += len(ended)
            n_shown += len(ended & now.shown)
        return n_shown / n_ended if n_ended else None

    def _latest(self, released: Released) -> Numbers:
        """Return the edges of the latest graph by the keys of people; -1 where one has none."""
        ids, codes = released.ids.tolist(), released.graph.codes[:, :-1].tolist()
        kinds = dict(zip(ids, map(tuple, codes), strict=True))
        pairs: defaultdict[tuple[object, ...], list[list[int]]] = defaultdict(list)
        for ends in released.ids[released.graph.edges].tolist():
            pairs[tuple(sorted(kinds[end] for end in ends))].append(ends)
        shown = {pair: np.array(edges, dtype=np.int64) for pair, edges in pairs.items()}
        known = np.concatenate(
            [
                np.zeros((0, 2), dtype=np.int64),
                *shown.values(),
                *(edges for pair, edges in self._last.items() if pair not in shown),
            ]
        )
        self._last = shown
        known = known[np.isin(known, released.ids).all(axis=1)]
        owners = released.keys[np.searchsorted(released.ids, known)]
        is_owned = (owners >= 0).all(axis=1)
        return np.where(is_owned, edge_keys(np.sort(np.maximum(owners, 0), axis=1)), -1)

    def _age_auc(self, released: Released, is_true: NDArray[np.bool_]) -> float | None:
        numbers = [self._numbers.setdefault(i, len(self._numbers)) for i in released.ids.tolist()]
        keys = edge_keys(np.sort(np.array(numbers, dtype=np.int64)[released.graph.edges], axis=1))
        order = np.argsort(keys)
        found: float | None = self._ages.add(keys[order], is_true[order]).age_auc
        return found


def net_guess(before: Slot, after: Slot) -> tuple[float, int]:
    """Return how many people are named by their net changes, on average, and how many changed."""
    there = sorted(before.published.keys() & after.published.keys())
    where = [after.published[key] for key in there]
    classes = {code: i for i, code in enumerate(sorted({code for _, code in where}))}
    cls = np.array([classes[code] for _, code in where], dtype=np.int64)
    cohorts = np.array([cohort for cohort, _ in where], dtype=np.int64)
    changes = [
        NetChange(
            _changes(other.truth - one.truth, there, cls, len(classes)),
            _changes(other.shown - one.shown, there, cls, len(classes)),
        )
        for one, other in ((before, after), (after, before))
    ]
    targets = np.flatnonzero(sum(np.diff(each.true.indptr) for each in changes))
    return float(guessed(changes, cls, cohorts, targets).sum()), len(targets)


def _changes(
    ties: frozenset[int], people: list[int], cls: Numbers, n_classes: int
) -> sparse.csr_matrix:
    """Return whether each person has such a tie to each class: (people, classes)."""
    at = {key: i for i, key in enumerate(people)}
    changed = np.zeros((len(people), n_classes), dtype=np.bool_)
    for tie in ties:
        u, v = at.get(tie >> 32), at.get(tie & 0xFFFFFFFF)
        if u is not None and v is not None:
            changed[u, cls[v]] = changed[v, cls[u]] = True
    return sparse.csr_matrix(changed)


def _rate(found: Iterable[tuple[float, int]]) -> float | None:
    """Return found people over those who changed."""
    parts = list(found)
    people = sum(n for _, n in parts)
    return sum(hits for hits, _ in parts) / people if people else None
