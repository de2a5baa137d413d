"""How far releases follow the network, taken up where the last staged release left it."""

from __future__ import annotations

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.audit import Traced, trace
from ktsafe.audit.changes_by_age import ToldFreshness
from ktsafe.graph.synthetic import uniform
from ktsafe.sequence import Changes, Released, SequenceEngine, SequenceOptions
from ktsafe.stream.release.true_changes import Following

PEOPLE, TIES, RELEASES = 60, 200, 5


def beside(engine: SequenceEngine) -> tuple[Traced, Released]:
    """Return the current release beside its true graph, and as the mechanism tells it."""
    (truth, keys), released = engine.truth(), engine.released()
    place = {key: v for v, key in enumerate(keys.tolist())}
    behind = np.array([place.get(key, -1) for key in released.keys.tolist()])
    return trace(truth, released.graph, behind, released.value_at), released


def run(*, restarts: bool = False, forget_at: int | None = None) -> list[ToldFreshness]:
    """Return the figures of a few releases, in each of which some ties end and others begin."""
    rng = np.random.default_rng(0)
    graph = uniform(PEOPLE, TIES, rng=rng, n_tuples=2)
    engine = SequenceEngine.begin(
        graph.schema,
        PrivacyParams(k=3, alpha="1/2"),
        SequenceOptions(effort="fast"),
        Changes.of_graph(graph, np.arange(PEOPLE)),
        rng,
    )
    pages: dict[str, bytes] = {}
    following, found = Following(pages), []
    for release in range(RELEASES):
        if release:
            following.prepare(engine)
            truth, keys = engine.truth()
            ties = keys[truth.edges]
            free = np.array([pair for pair in np.ndindex(PEOPLE, PEOPLE) if pair[0] < pair[1]])
            taken = {tuple(sorted(tie)) for tie in ties.tolist()}
            free = np.array([pair for pair in free.tolist() if tuple(pair) not in taken])
            removed = ties[rng.choice(len(ties), 6, replace=False)]
            added = free[rng.choice(len(free), 6, replace=False)]
            engine.advance(Changes(ties_added=added, ties_removed=removed), rng)
        truth, keys = engine.truth()
        traced, released = beside(engine)
        figures = following.follow(traced, keys, released)[0]
        pages = dict(following.pages())
        # What was counted for a release that is none is counted anew.
        following.end_build(staged=False)
        assert following.follow(traced, keys, released)[0] == figures
        assert dict(following.pages()) == pages
        following.end_build(staged=True)
        found.append(figures)
        if restarts:
            following = Following(pages)
        if release == forget_at:
            following = Following({})
    return found


def test_a_restart_changes_no_figure() -> None:
    """The release before comes from the mechanism, and recent changes from the pages."""
    straight = run()
    assert run(restarts=True) == straight
    assert straight[-1].ties["2"].count > 0


def test_a_sequence_of_an_older_version_is_taken_up() -> None:
    """Where no page tells, all ties count as old, and what changes from then on is counted."""
    straight, later = run(), run(forget_at=2)
    assert later[:3] == straight[:3]
    last, found = straight[-1].ties, later[-1].ties
    assert found["1"].count == last["1"].count
    assert last["2"].count > found["2"].count == 0
    assert later[-1].changed == straight[-1].changed


def test_how_far_back_is_known_is_known() -> None:
    """From its beginning everything; of a sequence that was taken up, what came since."""
    rng = np.random.default_rng(0)
    graph = uniform(PEOPLE, TIES, rng=rng, n_tuples=2)
    keys, options = np.arange(PEOPLE), SequenceOptions(effort="fast")
    engine = SequenceEngine.begin(
        graph.schema, PrivacyParams(k=3), options, Changes.of_graph(graph, keys), rng
    )
    following = Following({})
    traced, released = beside(engine)
    following.follow(traced, keys, released)
    assert following.knows(9)
    engine.advance(Changes(), rng)
    following = Following({})
    for known in (1, 2):
        following.prepare(engine)
        engine.advance(Changes(), rng)
        traced, released = beside(engine)
        following.follow(traced, keys, released)
        assert following.knows(known)
        assert not following.knows(known + 1)
        following.end_build(staged=True)
