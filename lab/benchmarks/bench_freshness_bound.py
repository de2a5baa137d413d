"""How fresh a sequence can be under cover: its bounds beside what is measured.

    python -m lab.benchmarks.bench_freshness_bound [--demo 2000] [--max-age 12] [--seeds 1]
    python -m lab.benchmarks.bench_freshness_bound --data FOLDER --churn cora [--releases 50]

Four lines a seed, over the span from the first release to the last:

- *news*: true ties that began, for each person, class and release; the share of people with a
  hidden tie to a class, and with one that began within the span: at most so much of what a cohort
  gains in a raise is true, in a cohort as drawn by chance.
- *net changes*: the chance that a change is seen where it is true (`p1`) and where it is not
  (`p0`); the net guess that these two imply, and the one that is counted; the `p0` that a guess of
  .17 would need at this `p1`.
- *age*: the share of true ties and of inserted edges that go for good when their pair is planned
  afresh; the age AUC that these imply, and the one that is counted.
- *frontier*: what happens to guess and age if more inserted edges are exchanged: share of those
  that return otherwise, guess, age AUC.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ktsafe.sequence import SequenceOptions
from lab.benchmarks.bench_growing import published
from lab.benchmarks.sequences.growing_feeds import churned, demo_slots
from lab.benchmarks.sequences.history import Slot, net_guess

BAR = 0.17
"""Net guess over all releases that was asked for. Its price: `docs/how-a-sequence-works.md`."""
SHARES = (0.0, 0.3, 0.6, 1.0)
TURN = 0.8
"""Share of the greatest age in which all pairs are planned afresh (`memory.turns.EARLY`)."""


class Turnover(NamedTuple):
    """Edges that a person shows to a class in a span, for a person and class that changed.

    Attributes
    ----------
    p1, p0:
        The chance that a gain is seen where it is true, and where it is not.
    inserted, exchanged:
        Inserted edges in the end, and the share of them that was not there at first.
    size:
        Members of a cohort.
    changes:
        For each person who changed: how many classes.
    """

    p1: float
    p0: float
    inserted: float
    exchanged: float
    size: float
    changes: NDArray[np.int64]


def named(p1: float, p0: float, changes: int, members: float) -> float:
    """Return the chance that a person is named by net changes among the members of a cohort.

    The attacker knows `changes` classes in which the person changed, and names one of the members
    that show the most of them. Members show each by chance, independently.

    Parameters
    ----------
    p1, p0:
        The chance that the person shows a change, and that another member does.
    changes, members:
        Classes in which the person changed; people in the cohort.

    Examples
    --------
    Who changes as all others do is named by a guess:

    >>> round(named(0.4, 0.4, 3, 10), 6)
    0.1

    Of ten members only one can show a change that others never do:

    >>> round(named(1.0, 0.0, 1, 10), 6)
    1.0
    """
    counts = np.arange(changes + 1)
    own, other = (stats.binom.pmf(counts, changes, p) for p in (p1, p0))
    most = np.cumsum(other)
    less = most - other
    # Of e others that show as much, none more: the sum over e of the chance, over 1 + e.
    chance = np.where(
        other > 1e-12,
        (most**members - less**members) / (members * np.maximum(other, 1e-12)),
        less ** (members - 1),
    )
    return float(own @ chance)


def implied(turnover: Turnover, p0: float) -> float:
    """Return the net guess that chances imply, over the people who changed."""
    counts = np.bincount(turnover.changes)
    each = [
        named(turnover.p1, p0, n, turnover.size) * count for n, count in enumerate(counts) if count
    ]
    return float(sum(each) / counts.sum())


def needed(turnover: Turnover, guess: float) -> float | None:
    """Return the least `p0` at which no more than a share `guess` is named; None if there is none.

    That is by bisection: the more others change, the fewer are named.
    """
    low, high = 0.0, turnover.p1
    if 1 / turnover.size > guess:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if implied(turnover, middle) > guess else (low, middle)
    return high


def age_auc(gone_true: float, gone_inserted: float, releases: int) -> float:
    """Return the chance that a tie is older than an inserted edge, of edges that go by chance.

    Parameters
    ----------
    gone_true, gone_inserted:
        The share of each that goes for good from one release to the next.
    releases:
        So many there are; nothing is older.

    Examples
    --------
    >>> age_auc(0.1, 0.1, 13)
    0.5
    """
    ages = np.arange(releases)
    parts = []
    for gone in (gone_true, gone_inserted):
        lasting = (1 - gone) ** ages
        parts.append(lasting - np.append(lasting[1:], 0.0))
    true, inserted = parts
    below = np.cumsum(inserted) - inserted
    return round(float(true @ (below + inserted / 2)), 6)


def main() -> int:
    """Print the bounds of each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=int, default=2_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--churn", default="")
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--max-age", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=1)
    a = parser.parse_args()
    for seed in range(a.seeds):
        slots = (
            churned(a.data, a.churn, 0.01, a.releases, seed)
            if a.churn
            else demo_slots(a.demo, seed)
        )
        history, _, _ = published(slots, SequenceOptions(max_age=a.max_age), seed)
        _tell(seed, history.slots, history.slots[-1].age_auc or 0.5, TURN * a.max_age)
    return 0


def _tell(seed: int, slots: Sequence[Slot], auc: float, turn: float) -> None:
    n = len(slots)
    print(f"seed {seed}, news: {_news(slots)}")
    span = _turnover(slots[0], slots[-1])
    hits, people = net_guess(slots[0], slots[-1])
    least = needed(span, BAR)
    print(
        f"seed {seed}, net changes: p1 {span.p1:.3f}, p0 {span.p0:.3f}, implied "
        f"{implied(span, span.p0):.3f}, counted {hits / people:.3f}; for {BAR}: p0 {least:.3f}, "
        f"that is {_edges(least) - _edges(span.p0):.3f} edges more a person and class, of "
        f"{span.inserted:.3f} inserted"
    )
    gone_true, gone_inserted = _gone(slots)
    told = age_auc(gone_true, gone_inserted, n)
    print(
        f"seed {seed}, age: gone a release {gone_true:.4f} of ties, {gone_inserted:.4f} of "
        f"inserted edges; implied {told:.3f}, counted {auc:.3f}"
    )
    turns = (n - 1) / turn
    parts = []
    for share in SHARES:
        stay = (1 - span.exchanged) * (1 - (1 - share) ** turns)
        p0 = 1 - np.exp(-_edges(span.p0) - span.inserted * stay)
        more = gone_inserted + (1 - gone_inserted) * (1 - (1 - share) ** (1 / turn))
        parts.append(f"{share}: {implied(span, p0):.3f}, {age_auc(gone_true, more, n):.3f}")
    print(f"seed {seed}, frontier: {'; '.join(parts)}", flush=True)


def _edges(p: float) -> float:
    """Return the mean number of changes with which a share p sees any."""
    return float(-np.log(1 - p))


def _cells(
    ties: frozenset[int], slot: Slot, at: dict[int, int], classes: dict
) -> NDArray[np.int64]:
    """Return how many ties each person has to each class: int64, shape (people, classes)."""
    found = np.zeros((len(at), len(classes)), dtype=np.int64)
    for tie in ties:
        u, v = tie >> 32, tie & 0xFFFFFFFF
        if u in at and v in at:
            found[at[u], classes[slot.published[v][1]]] += 1
            found[at[v], classes[slot.published[u][1]]] += 1
    return found


def _turnover(before: Slot, after: Slot) -> Turnover:
    """Return what people published at both ends of a span gained, truly and visibly."""
    there = sorted(before.published.keys() & after.published.keys())
    at = {key: i for i, key in enumerate(there)}
    codes = sorted({after.published[key][1] for key in there})
    classes = {code: i for i, code in enumerate(codes)}

    def cells(ties: frozenset[int]) -> NDArray[np.int64]:
        return _cells(ties, after, at, classes)

    # What began, and what ended, each beside what was seen of it.
    true = np.hstack([cells(after.truth - before.truth), cells(before.truth - after.truth)]) > 0
    seen = np.hstack([cells(after.shown - before.shown), cells(before.shown - after.shown)]) > 0
    inserted, came = (
        cells(edges - after.truth) for edges in (after.shown, after.shown - before.shown)
    )
    _, cohort = np.unique([after.published[key][0] for key in there], return_inverse=True)
    sizes = np.bincount(cohort)

    def of_others(values: NDArray[Any]) -> float:
        """Return the mean over true changes of what others of the cohort show who lack them."""
        is_true = true[:, : values.shape[1]]
        sums, others = (np.zeros((len(sizes), values.shape[1])) for _ in range(2))
        np.add.at(sums, cohort, values * ~is_true)
        np.add.at(others, cohort, ~is_true)
        return float((sums[cohort] / np.maximum(others[cohort], 1))[is_true].mean())

    changes = true.sum(axis=1)
    return Turnover(
        float(seen[true].mean()),
        of_others(seen),
        of_others(inserted),
        of_others(came) / max(of_others(inserted), 1e-9),
        float(sizes[cohort].mean()),
        changes[changes > 0],
    )


def _gone(slots: Sequence[Slot]) -> tuple[float, float]:
    """Return the share of true ties, and of inserted edges, that go from release to release.

    An edge that is back in the release after the next was dark. Ties that end are not counted as
    gone: they stay as inserted edges.
    """
    counts = np.zeros((2, 2))
    for now, dark, then in zip(slots, slots[1:], slots[2:], strict=False):
        for i, edges in enumerate((now.shown & now.truth, now.shown - now.truth)):
            gone = edges - dark.shown - then.shown
            counts[i] += len(gone), len(edges)
    return tuple((counts[:, 0] / counts[:, 1]).tolist())


def _news(slots: Sequence[Slot]) -> str:
    """Return how often ties begin, and how many people have hidden ones to a class."""
    first, last = slots[0], slots[-1]
    there = sorted(last.published)
    at = {key: i for i, key in enumerate(there)}
    classes = {code: i for i, code in enumerate(sorted({last.published[k][1] for k in there}))}
    began = sum(len(b.truth - a.truth) for a, b in itertools.pairwise(slots))
    rate = 2 * began / (len(slots) - 1) / (len(at) * len(classes))
    hidden = _cells(last.truth - last.shown, last, at, classes)
    young = _cells(last.truth - last.shown - first.truth, last, at, classes)
    return (
        f"{rate:.4f} ties begin for a person, class and release; with a hidden tie "
        f"{(hidden > 0).mean():.3f}, with a hidden new one {(young > 0).mean():.3f}; half of F1 is "
        f"{last.f1 / 2:.3f}"
    )


if __name__ == "__main__":
    sys.exit(main())
