"""Private figures of the current release: its cost, waiting people, the margin.

The margin is foretold at the pace at which people left so far. Figures may be added as fields:
audit.json has them (`stream.files.audit_model`), of earlier releases too, so none is renamed.
Residues and their ages are counted naively in tests/ktsafe/sequence/test_residues.py.
"""

from __future__ import annotations

from bisect import bisect_left

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.column_table import NEVER, NOBODY
from ktsafe.sequence.memory.sequence_tables import REAL, RESIDUAL, TRUE
from ktsafe.sequence.memory.state import State

RELEASES_MAX = 1000
"""No margin is foretold for more releases; it would be the pace of other times."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts; never published.

    Attributes
    ----------
    cost:
        |V symmetric-difference V'| + |E symmetric-difference E'| (Equation 1).
    unowned_vertices, withheld_vertices:
        Places without a person, such as those that people left; people without a place.
    inserted_edges, residual_edges:
        Released edges that are no true tie: inserted ones (true ties that were removed since
        among them), and former ties of people that left the place.
    residual_age_max:
        Releases that have shown residual edges since their person left, the oldest and the median.
    held_edges:
        True ties that are not released; `waiting_edges` of them wait for withheld people.
    held_edge_age_max, withheld_age_max:
        Releases since the oldest of them could have been published, or came.
    held_values:
        Published people whose quasi-identifier shown is not the true one.
    cohorts, cohort_size_min, k_real_min:
        Cohorts; their least size; the least number of people in one that has any.
    margin, margin_lasts:
        People beyond the least size that each cohort began with; releases until one cohort is
        expected to have fewer than k people, 0 if one has; None without a margin, if nobody left
        so far, or beyond `RELEASES_MAX`.
    moves:
        What was done over the whole sequence.
    """

    cost: int
    release: int
    unowned_vertices: int
    withheld_vertices: int
    inserted_edges: int
    residual_edges: int
    residual_age_max: int
    held_edges: int
    waiting_edges: int
    held_edge_age_max: int
    withheld_age_max: int
    held_values: int
    cohorts: int
    cohort_size_min: int
    k_real_min: int
    margin: int
    margin_lasts: int | None
    moves: dict[str, int]


def figures_of(state: State, k: int, margin: int) -> Figures:
    """Count; a scan of all tables."""
    places, edges, people, hidden_ties = (
        table.used() for table in (state.places, state.edges, state.people, state.hidden_ties)
    )
    kind, is_true = state.places.kind[places], state.edges.is_true[edges]
    away = state.people.place == NOBODY
    waits = away[state.hidden_ties.pairs(hidden_ties)].any(axis=1)
    stays = _residual_ages(state, edges[is_true == RESIDUAL])
    since = state.hidden_ties.since[hidden_ties[~waits]]
    came = state.people.since[people[away[people]]]
    real = np.bincount(state.places.cohort[places], kind == REAL)
    parts = {
        "unowned_vertices": int((kind != REAL).sum()),
        "withheld_vertices": len(came),
        "inserted_edges": int(((is_true != TRUE) & (is_true != RESIDUAL)).sum()),
        "residual_edges": len(stays),
        "held_edges": len(hidden_ties),
    }
    return Figures(
        cost=sum(parts.values()),
        **parts,
        release=state.current.number,
        residual_age_max=int(stays.max(initial=0)),
        waiting_edges=int(waits.sum()),
        held_edge_age_max=int(state.current.number - since.min()) if len(since) else 0,
        withheld_age_max=int(state.current.number - came.min()) if len(came) else 0,
        held_values=len(state.people.differing(state.places)),
        cohorts=len(state.places.members),
        cohort_size_min=min((len(part) for part in state.places.members.values()), default=0),
        k_real_min=int(real[real > 0].min()) if (real > 0).any() else 0,
        margin=margin,
        margin_lasts=_margin_lasts(state, k) if margin else None,
        moves=dict(sorted(state.counts.items())),
    )


def _margin_lasts(state: State, k: int) -> int | None:
    """Return after how many releases one cohort is expected below k.

    The chance of leaving with a release is a cohort's own, since those who leave are alike: by
    Bayes' rule from those who left it so far, and from all who left as if they were one more.
    """
    places = state.places.used()
    cohort, left = state.places.cohort[places], state.places.left[places]
    until = np.where(left == NEVER, state.current.number, left)
    n_stayed = np.bincount(cohort, until - state.places.born[places])
    n_left = np.bincount(cohort, left != NEVER)
    people = np.bincount(cohort, state.places.kind[places] == REAL)
    some = people > 0
    people, n_left, n_stayed = people[some], n_left[some], n_stayed[some]
    if (people < k).any():
        return 0
    if not n_left.any():
        return None
    from scipy.special import betainc  # noqa: PLC0415 -- slow to load, and seldom asked for

    # A gamma distribution of the rate; of a Poisson number with it the tail is a beta function.
    scale = n_stayed + n_stayed.sum() / n_left.sum()

    def n_below(releases: int) -> float:
        gone = people * releases
        return float(betainc(people - k + 1, n_left + 1, gone / (gone + scale)).sum())

    if n_below(RELEASES_MAX) < 1:
        return None
    # The least number for which it holds: halved until it is found.
    return bisect_left(range(RELEASES_MAX), x=True, key=lambda releases: n_below(releases) >= 1)


def _residual_ages(state: State, edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the releases that showed each residual edge since departure.

    This one is included.

    A true tie becomes residual when the first of its ends is left.
    """
    left = state.places.left[state.edges.pairs(edges)]
    first = np.where(left == NEVER, state.current.number, left).min(
        axis=1, initial=state.current.number
    )
    ages: NDArray[np.int64] = state.current.number - first + 1
    return ages
