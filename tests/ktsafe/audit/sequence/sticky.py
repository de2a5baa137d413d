"""A hand-made sequence that is safe for every set of releases, to be broken on purpose.

Cohorts of equal people change their ties only as a whole: a *round* is a perfect matching between
two cohorts of one size, shown or hidden altogether. One tie of each round is true.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import Declared, TrueGraph
from tests.ktsafe.audit.sequence.naive_sequence import Plain

SIZE = 5
PARAMS = PrivacyParams(k=SIZE, t=0, alpha="1/5", epsilon=0)


def member(cohort: int, i: int) -> str:
    """Return the published id of a cohort's i-th member."""
    return f"c{cohort}m{i}"


def round_of(a: int, b: int, shift: int) -> list[frozenset[str]]:
    """Return the ties of a round; the first is the true one."""
    return [frozenset({member(a, i), member(b, (i + shift) % SIZE)}) for i in range(SIZE)]


@dataclasses.dataclass
class Step:
    """One release and the truth behind it."""

    release: Plain
    true_edges: set[frozenset[str]]
    declared: Declared = dataclasses.field(default_factory=Declared)

    def truth(self) -> TrueGraph:
        """Return the true graph: the owners of the first release's ids, and the true ties."""
        people = sorted({p for p in self.release.owners.values() if p is not None})
        place = {p: i for i, p in enumerate(people)}
        id_of = {p: v for v, p in self.release.owners.items() if p is not None}
        owner = self.release.owners
        q = self.release.n_attributes
        return TrueGraph(
            people,
            [[self.release.tuples[id_of[p]][j] for p in people] for j in range(q)],
            ["yes" if self.release.sensitive[id_of[p]] else "no" for p in people],
            np.array(
                [
                    sorted(place[owner[v]] for v in edge)
                    for edge in sorted(map(sorted, self.true_edges))
                ],
                dtype=np.int64,
            ).reshape(-1, 2),
            self.declared,
        )


def sticky(n_releases: int = 5, n_cohorts: int = 6, seed: int = 0) -> list[Step]:
    """Return a safe sequence: rounds come and go, the people stay; one per cohort is sensitive.

    All members have owners but the last of each cohort, which is inserted and in no true tie.
    """
    rng = random.Random(seed)
    ids = [member(c, i) for c in range(n_cohorts) for i in range(SIZE)]
    everything = [
        (a, b, shift)
        for a, b in itertools.combinations(range(n_cohorts), 2)
        for shift in range(SIZE - 1)
    ]
    shown = set(rng.sample(everything, 2 * n_cohorts))
    base = Plain(
        "s",
        {v: (str(int(v[1]) % 3),) for v in ids},
        {v: v.endswith("m1") for v in ids},
        set(),
        {v: None if v.endswith(f"m{SIZE - 1}") else f"person {v}" for v in ids},
        1,
    )
    steps = []
    for i in range(n_releases):
        if i:
            shown ^= set(rng.sample(everything, 3))
        release = copy.deepcopy(base)
        release.edges = {edge for key in shown for edge in round_of(*key)}
        steps.append(Step(release, {round_of(*key)[0] for key in shown}))
    return steps
