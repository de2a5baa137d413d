"""Members of cohorts exchange sensitive values: once, and nothing else differs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ktsafe import MISSING
from ktsafe.sequence import Changes, Released, SequenceEngine, SequenceOptions
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

CHANGES = {"ties": 3, "joins": 4, "leaves": 2, "moves": 40, "ill": 4}
N_RELEASES = 6


def begun(values: str, kind: type[SequenceEngine] = SequenceEngine) -> tuple[World, SequenceEngine]:
    """Return a world in which much changes, and a sequence of it."""
    world = World(150, 250, 8, sensitive=0.2)
    options = SequenceOptions(effort="fast", values=values)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    return world, kind.begin(SCHEMA, PARAMS, options, world.first, rng)


def advanced(values: str, look: Callable[[World, SequenceEngine], Any]) -> list[Any]:
    """Return what is seen of each release of a sequence in which much changes."""
    world, sequence = begun(values)
    rng, seen = np.random.default_rng(1), [look(world, sequence)]
    for _ in range(N_RELEASES):
        sequence.advance(world.change(**CHANGES), rng)
        seen.append(look(world, sequence))
    return seen


def texts(released: Released) -> list[str]:
    """Return the sensitive value that each vertex shows."""
    graph = released.graph
    return [graph.values(v)[graph.schema.sensitive] for v in range(graph.n_vertices)]


def places_of_values(released: Released) -> np.ndarray:
    """Return the vertex that shows the value of each."""
    return np.arange(len(released.ids)) if released.value_at is None else released.value_at


def test_all_else_is_as_with_values_in_place() -> None:
    """Ids, owners, ties and rows are the same, and so is the value of each, where it stands."""

    def look(_: World, sequence: SequenceEngine) -> list[Any]:
        released = sequence.released()
        shown = texts(released)
        told = [shown[v] for v in places_of_values(released).tolist()]
        codes = released.graph.codes[:, :-1].tolist()
        edges, keys = released.graph.edges.tolist(), released.keys.tolist()
        return [released.ids.tolist(), keys, codes, edges, told, sequence.figures().moves]

    exchanged, in_place = (advanced(values, look) for values in ("exchanged", "in place"))
    assert exchanged == in_place
    moves = exchanged[-1][-1]
    wanted = ("sensitive_suppressed", "sensitive_company", "counterfeits", "groups_moved")
    assert all(moves[name] for name in wanted)


def test_who_shows_whose_value_never_changes() -> None:
    """From the release on in which a cohort appears, newcomers' ones too, and within the cohort."""

    def look(_: World, sequence: SequenceEngine) -> tuple[dict[int, int], dict[int, int]]:
        released = sequence.released()
        ids = released.ids.tolist()
        at = [ids[v] for v in places_of_values(released).tolist()]
        labels = sequence.cohorts().tolist()
        return dict(zip(ids, at, strict=True)), dict(zip(ids, labels, strict=True))

    known: dict[int, int] = {}
    n_later = 0
    for n, (at, cohort) in enumerate(advanced("exchanged", look)):
        assert sorted(at) == sorted(at.values())
        assert all(cohort[own] == cohort[place] for own, place in at.items())
        assert all(known.get(own, place) == place for own, place in at.items())
        n_later += len(at.keys() - known.keys()) if n else 0
        known |= at
    assert n_later
    elsewhere = sum(own != place for own, place in known.items())
    assert 0.6 < elsewhere / len(known) < 1


def test_a_person_s_value_stands_where_the_private_files_say() -> None:
    """It is the true one, or "-"."""

    def look(world: World, sequence: SequenceEngine) -> None:
        released = sequence.released()
        shown, at = texts(released), places_of_values(released)
        for v, key in enumerate(released.keys.tolist()):
            if key >= 0:
                assert shown[at[v]] in (world.people[key][-1], MISSING)

    advanced("exchanged", look)


def test_alpha_holds_of_places_and_of_people() -> None:
    """At most a share alpha of a cohort shows a sensitive value at some time, or has it shown."""
    places, people = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    sizes: Counter[int] = Counter()

    def look(_: World, sequence: SequenceEngine) -> None:
        released = sequence.released()
        shown, labels = texts(released), sequence.cohorts().tolist()
        sizes.update({x: labels.count(x) for x in set(labels) if x not in sizes})
        for v, place in enumerate(places_of_values(released).tolist()):
            if shown[place] in SCHEMA.sensitive_values:
                places[labels[place]].add(int(released.ids[place]))
                people[labels[v]].add(int(released.ids[v]))

    advanced("exchanged", look)
    assert places
    for found in (places, people):
        assert all(len(ever) <= PARAMS.alpha * sizes[label] for label, ever in found.items())


def test_a_departure_changes_no_value() -> None:
    """The place of a leaver shows what it did, and so does that of the leaver's value."""
    world, sequence = begun("exchanged")
    before = sequence.released()
    shown = dict(zip(before.ids.tolist(), texts(before), strict=True))
    for _ in range(3):
        step = sequence.advance(world.change(ties=0, leaves=20), np.random.default_rng(1))
        assert len(step.vacated)
        after = sequence.released()
        assert dict(zip(after.ids.tolist(), texts(after), strict=True)).items() <= shown.items()


def test_the_place_that_changes_with_a_value_is_drawn_among_the_cohort() -> None:
    """Over many draws each member of a cohort shows a changed value equally often."""
    n, times = 4, 400
    rows = [("x", "1", "well")] * n
    first = Changes(joined=np.arange(n), joined_values=rows)
    hits = np.zeros((n, n), dtype=np.int64)
    for seed in range(times):
        rng = np.random.default_rng(seed)
        options = SequenceOptions(effort="fast", margin=0)
        sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, first, rng)
        ill = Changes(changed=np.array([0]), changed_values=[("x", "1", "ill")])
        sequence.advance(ill, rng)
        released = sequence.released()
        own = int(np.flatnonzero(released.keys == 0)[0])
        hits[own, texts(released).index("ill")] += 1
    assert abs(np.trace(hits) / times - 1 / n) < 0.07
    assert np.abs(hits.sum(axis=0) / times - 1 / n).max() < 0.07


def test_composite_values_and_missing_ones_are_exchanged_like_others() -> None:
    """A cohort shows exactly the values that its people have, "-" and combinations among them."""
    values = ["a | b", "a | -", MISSING, "well", "well", "ill"]
    first = Changes(joined=np.arange(6), joined_values=[("x", "1", text) for text in values])
    params = PARAMS.__class__(k=6, alpha=Fraction(1, 6))
    options, rng = SequenceOptions(effort="fast", margin=0), np.random.default_rng(2)
    released = SequenceEngine.begin(SCHEMA, params, options, first, rng).released()
    assert Counter(texts(released)) == Counter(values)
    assert released.value_at is not None
    assert [texts(released)[v] for v in released.value_at] == [values[k] for k in released.keys]
