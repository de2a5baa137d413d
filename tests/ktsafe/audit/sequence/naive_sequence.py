"""A literal oracle for sequences: sets, rationals, every set of releases; no auditor's code."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import AuditedRelease
from tests.graphs import ALPHAS


@dataclasses.dataclass
class Plain:
    """A release as plain Python, by published id."""

    sequence_id: str
    tuples: dict[str, tuple[str, ...]]
    sensitive: dict[str, bool]
    edges: set[frozenset[str]]
    owners: dict[str, str | None]
    n_attributes: int
    texts: dict[str, str] | None = None
    vacated: tuple[str, ...] = ()

    def shown(self, v: str) -> str | bool:
        """Return the value that v shows, or whether it is sensitive if values are not given."""
        return self.sensitive[v] if self.texts is None else self.texts[v]

    def neighbours(self, v: str) -> set[str]:
        """Return the neighbours of v."""
        return {u for edge in self.edges if v in edge for u in edge if u != v}

    def audited(self, number: int, params: PrivacyParams) -> AuditedRelease:
        """Return the auditor's input, vertices and values in an order of this release's own."""
        ids = sorted(self.tuples)
        random.Random(number).shuffle(ids)
        place = {v: i for i, v in enumerate(ids)}
        q = self.n_attributes
        categories = [sorted({x[j] for x in self.tuples.values()}) for j in range(q)]
        if number % 2:
            categories = [texts[::-1] for texts in categories]
        codes = [[categories[j].index(self.tuples[v][j]) for j in range(q)] for v in ids]
        return AuditedRelease(
            f"r{number:02d}",
            self.sequence_id,
            params,
            ids,
            categories,
            np.array(codes, dtype=np.int64).reshape(len(ids), q),
            np.array([self.sensitive[v] for v in ids], dtype=np.bool_),
            np.array(
                [[place[v] for v in sorted(edge)] for edge in self.edges], dtype=np.int64
            ).reshape(-1, 2),
            [self.owners[v] for v in ids],
            self.vacated,
            sensitive_texts=None if self.texts is None else [self.texts[v] for v in ids],
        )


def protection_sets(release: Plain, params: PrivacyParams) -> dict[str, set[str]]:
    """Return PS(v) of every vertex, from Definition 3 for one hop and the walk reading."""
    near = {v: [v, *release.neighbours(v)] for v in release.tuples}

    def share(v: str, j: int) -> dict[str, Fraction]:
        count = Counter(release.tuples[u][j] for u in near[v])
        return {x: Fraction(c, len(near[v])) for x, c in count.items()}

    def similar(u: str, v: str) -> bool:
        if release.tuples[u] != release.tuples[v]:
            return False
        if 2 * abs(len(near[u]) - len(near[v])) > params.epsilon:
            return False
        for j in range(len(release.tuples[v])):
            a, b = share(u, j), share(v, j)
            apart = sum((abs(a.get(x, 0) - b.get(x, 0)) for x in {*a, *b}), Fraction(0)) / 2
            if apart > params.t:
                return False
        return True

    return {v: {u for u in near if similar(u, v)} for v in near}


@dataclasses.dataclass
class View:
    """A history seen through objects: per release who is present, similar, sensitive."""

    similar: list[dict[str, set[str]]]
    sensitive: list[set[str]]

    @property
    def objects(self) -> set[str]:
        """Everything that was ever present."""
        return set().union(*self.similar)

    def candidates(self, v: str, chosen: tuple[int, ...]) -> set[str]:
        """Return CS_W(v)."""
        return {
            u
            for u in self.objects
            if all(
                (u in self.similar[i][v]) if v in self.similar[i] else (u not in self.similar[i])
                for i in chosen
            )
        }

    def failing(self, params: PrivacyParams, window: int) -> tuple[set[str], set[str]]:
        """Return who has too few candidates, or too sensitive ones, over some W."""
        few, rich = set(), set()
        releases = range(len(self.similar))
        for size in range(1, min(window, len(releases)) + 1):
            for chosen in itertools.combinations(releases, size):
                for v in self.objects:
                    there = [i for i in chosen if v in self.similar[i]]
                    if not there:
                        continue
                    found = self.candidates(v, chosen)
                    if len(found) < params.k:
                        few.add(v)
                    for i in there:
                        if len(found & self.sensitive[i]) > params.alpha * len(found):
                            rich.add(v)
        return few, rich

    def history(self, v: str) -> tuple[object, ...]:
        """Return all that the releases say about who is like v."""
        return tuple(frozenset(s[v]) if v in s else None for s in self.similar)


def published_view(releases: list[Plain], params: PrivacyParams) -> View:
    """Objects are published ids; all releases are of one sequence."""
    return View(
        [protection_sets(r, params) for r in releases],
        [{v for v, flag in r.sensitive.items() if flag} for r in releases],
    )


def people_among(
    releases: list[Plain], params: PrivacyParams, value_at: dict[str, str]
) -> dict[str, tuple[set[str], set[str]]]:
    """Return for each person who among the candidates is a person today, and which are sensitive.

    `value_at` says which vertex shows the value of each one's owner; who was ever shown there as
    sensitive is.
    """
    view, owners = published_view(releases, params), releases[-1].owners
    people = {v for v, owner in owners.items() if owner is not None}
    ever = set().union(*view.sensitive)
    everything = tuple(range(len(releases)))
    found = {v: view.candidates(v, everything) & people for v in people}
    return {v: (among, {u for u in among if value_at[u] in ever}) for v, among in found.items()}


def linked_view(releases: list[Plain], params: PrivacyParams) -> View:
    """Objects are people where one is or was behind an id, unless published elsewhere since."""
    last: dict[tuple[str, str], str] = {}
    place: dict[str, tuple[str, str]] = {}
    view = View([], [])
    for release in releases:
        name: dict[str, str | None] = {}
        # Who has an owner now comes first: it says where a person is.
        for v, owner in sorted(release.owners.items(), key=lambda item: item[1] is None):
            key = (release.sequence_id, v)
            if owner is not None:
                last[key], place[owner] = owner, key
                name[v] = f"person {owner}"
            elif key in last:
                name[v] = None if place[last[key]] != key else f"person {last[key]}"
            else:
                name[v] = f"id {key}"
        sets = protection_sets(release, params)
        view.similar.append(
            {
                name[v]: {name[u] for u in members if name[u] is not None}
                for v, members in sets.items()
                if name[v] is not None
            }
        )
        view.sensitive.append(
            {name[v] for v, flag in release.sensitive.items() if flag and name[v] is not None}
        )
    return view


def k_deltas(releases: list[Plain], params: PrivacyParams, at: int = -1) -> dict[str, int]:
    """Return k_delta of every vertex that visibly changed at a release, the last if none is given.

    Its candidates are those whom all releases leave, the later ones too.
    """
    return {v: len(found) for v, found in changed_alike(releases, params, at).items()}


def changed_alike(
    releases: list[Plain], params: PrivacyParams, at: int = -1
) -> dict[str, set[str]]:
    """Return for every vertex that visibly changed at a release the candidates who did alike."""
    if len(releases) < 2:
        return {}
    at %= len(releases)
    before, now = releases[at - 1], releases[at]
    view = published_view(releases, params)
    changes = {}
    for v in set(before.tuples) & set(now.tuples):
        old, new = before.neighbours(v), now.neighbours(v)
        gained = Counter(now.tuples[u] for u in new - old)
        lost = Counter(before.tuples[u] for u in old - new)
        changes[v] = (frozenset(gained.items()), frozenset(lost.items()))
    nothing = (frozenset(), frozenset())
    everything = tuple(range(len(releases)))
    return {
        v: {u for u in view.candidates(v, everything) if changes.get(u) == change}
        for v, change in changes.items()
        if change != nothing
    }


def values_alike(releases: list[Plain], params: PrivacyParams, at: int) -> dict[str, set[str]]:
    """Return for every vertex that shows another value than last the candidates that do alike."""
    view = published_view(releases, params)
    now = releases[at]
    changes = {}
    for v in now.tuples:
        former = [release.shown(v) for release in releases[:at] if v in release.tuples]
        if former and former[-1] != now.shown(v):
            changes[v] = (former[-1], now.shown(v))
    everything = tuple(range(len(releases)))
    return {
        v: {u for u in view.candidates(v, everything) if changes.get(u) == change}
        for v, change in changes.items()
    }


def left_behind(releases: list[Plain]) -> list[set[str]]:
    """Return for each release the vertices whose owner is known to have left by then."""
    found: list[set[str]] = []
    left: set[str] = set()
    for i, release in enumerate(releases):
        for v, owner in release.owners.items():
            had_one = any(former.owners.get(v) is not None for former in releases[:i])
            if owner is not None:
                left.discard(v)
            elif had_one or v in release.vacated:
                left.add(v)
        found.append(set(left))
    return found


def telling_values(releases: list[Plain], params: PrivacyParams) -> set[str]:
    """Return whose value tells at the last release that the owner left, now or of late.

    Of late: a former change that was covered by the candidates of the release before.
    """
    left = left_behind(releases)
    last = len(releases) - 1

    def free(at: int, seen: list[Plain]) -> dict[str, set[str]]:
        """Return the changes after a departure that no company explains, as seen at `at`."""
        alike = values_alike(seen, params, at)
        then = published_view(releases[: at + 1], params)
        own = {v for v in alike if v not in left[at] and releases[at].shown(v) == "-"}
        return {
            v: who
            for v, who in alike.items()
            if v in left[at]
            and not (
                releases[at].shown(v) == "-" and own & then.candidates(v, tuple(range(at + 1)))
            )
        }

    found = {v for v, who in free(last, releases).items() if len(who) < params.k}
    for at in range(1, last):
        before = free(at, releases[:-1])
        after = free(at, releases)
        found |= {v for v in before if len(before[v]) >= params.k > len(after[v])}
    return found


@st.composite
def histories(draw: st.DrawFn, *, relink: bool = False) -> list[Plain]:
    """Draw 1 to 4 small releases that change a little, or much, from one to the next.

    With `relink` ids change hands legally: departures, rebirths, and new sequences.
    """
    # Sizes come from the seed too: drawn one by one they would nearly always be small.
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = int(rng.integers(1, 10))
    q = int(rng.integers(0, 3))
    n_values = int(rng.integers(1, 3))
    density = float(rng.choice([0.0, 0.2, 0.5]))
    restless = float(rng.choice([0.0, 0.05, 0.2, 0.5]))
    n_releases = int(rng.choice([1, 2, 3, 4, 4]))

    def fresh_tuple() -> tuple[str, ...]:
        return tuple(str(x) for x in rng.integers(0, n_values, q))

    ids = [f"v{i}" for i in range(n)]
    tuples = {v: fresh_tuple() for v in ids}
    sensitive = {v: bool(rng.random() < 0.25) for v in ids}
    owners: dict[str, str | None] = {v: f"p{v}" if rng.random() < 0.8 else None for v in ids}
    edges = {frozenset(p) for p in itertools.combinations(ids, 2) if rng.random() < density}
    present = set(ids)
    sequence, born = "s0", n
    releases = []
    for i in range(n_releases):
        if i:
            for pair in itertools.combinations(sorted(tuples), 2):
                if rng.random() < restless * 0.3:
                    edges ^= {frozenset(pair)}
            for v in sorted(tuples):
                if rng.random() < restless * 0.3:
                    sensitive[v] = not sensitive[v]
                if rng.random() < restless * 0.3:
                    tuples[v] = fresh_tuple()
                if rng.random() < restless * 0.3:
                    present ^= {v}
                if relink and rng.random() < restless:
                    person, owners[v] = owners[v], None
                    if person is not None and rng.random() < 0.6:
                        new, born = f"v{born}", born + 1
                        tuples[new], sensitive[new] = tuples[v], sensitive[v]
                        owners[new] = person
                        present.add(new)
            if relink and rng.random() < 0.15:
                sequence = f"s{i}"
                name = {v: f"w{i}{v}" for v in tuples}
                tuples = {name[v]: x for v, x in tuples.items()}
                sensitive = {name[v]: x for v, x in sensitive.items()}
                owners = {name[v]: x for v, x in owners.items()}
                edges = {frozenset(name[v] for v in edge) for edge in edges}
                present = {name[v] for v in present}
        releases.append(
            Plain(
                sequence,
                {v: x for v, x in tuples.items() if v in present},
                {v: x for v, x in sensitive.items() if v in present},
                {edge for edge in edges if edge <= present},
                {v: x for v, x in owners.items() if v in present},
                q,
            )
        )
    return releases


def small_params() -> st.SearchStrategy[PrivacyParams]:
    """Draw parameters that small graphs may satisfy."""
    return st.builds(
        PrivacyParams,
        k=st.sampled_from([1, 2, 3]),
        t=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]),
        alpha=st.sampled_from(ALPHAS[2:]),
        epsilon=st.integers(0, 6),
    )
