"""What the board remembers, and what it finds wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.stream.files.release_figures import (
    HISTORY_MAX,
    Attacked,
    CandidateFigures,
    ReleaseFigures,
    Secrets,
)
from ktsafe.stream.monitoring.board import SAMPLE_INTERVAL_S, TREND_S, StatusBoard
from ktsafe.stream.monitoring.diagnosis import REMEDIES
from ktsafe.stream.monitoring.summary import PUBLISHED_MAX, Summary
from ktsafe.stream.observer import Observers

PARAMS = PrivacyParams(k=2, alpha="1/2")
SECRETS = Secrets(
    {"inserted_edges": 3}, {"copies": 6}, {"claimed": CandidateFigures(2, 0, 0.0)}, {}
)


class Service:
    """Tells a board what a service would, at moments that a test chooses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.summary = Summary()
        self.board = StatusBoard(
            PARAMS,
            self.summary.counts,
            wall_s=lambda: self.now + 1e9,
            monotonic_s=lambda: self.now,
        )
        self.tell = Observers(self.summary, self.board)
        self.tell.ready(is_ready=True)

    def minutes(self, count: int, *, records: int = 600, lag: int = 0, growth: int = 0) -> None:
        """Go on for some minutes, with records taken in and a lag in each."""
        for i in range(count):
            self.now += 60
            self.tell.alive()
            if records:
                self.tell.event("edge.add", "applied", records)
            self.tell.lag({("feed", 0): lag + growth * i})

    def audited(self, name: str, secrets: Secrets | None = SECRETS) -> None:
        """Stage a release."""
        self.tell.release_audited(
            ReleaseFigures(
                release_id=name,
                nominal_us=0,
                vertices=1,
                edges=2,
                is_published=False,
                secrets=secrets,
            )
        )

    def problems(self) -> list[str]:
        """Return the names of what is wrong."""
        return [problem.name for problem in self.board.report(secrets=True).problems]


def test_a_service_at_work_has_no_problem() -> None:
    """An hour of steady work, a release confirmed in it: nothing is wrong."""
    service = Service()
    service.minutes(60, lag=50_000, growth=-100)
    service.audited("r1")
    service.tell.release_published("r1", 0, 1, 2)
    assert service.problems() == []
    report = service.board.report(secrets=True)
    assert (report.state, report.published) == ("ready", 1)
    assert report.feed.per_second == pytest.approx(10.0)


def unwritable(service: Service) -> None:
    service.minutes(1)
    service.tell.retry("dead_letter")


def unstaged(service: Service) -> None:
    service.minutes(1)
    service.tell.retry("stage")


def unerased(service: Service) -> None:
    service.tell.erasures(3, 3_601.0)
    service.minutes(1)


def retrying(service: Service) -> None:
    service.minutes(1)
    for _ in range(4):
        service.tell.retry("publish")


def dead(service: Service) -> None:
    service.minutes(20)
    service.tell.dead_letter("late", 200)


def skipped(service: Service) -> None:
    service.minutes(1)
    service.tell.slot_skipped(4)


def too_few(service: Service) -> None:
    few = Secrets({}, {}, {"sequence": CandidateFigures(1, 1, 0.1)}, {})
    service.audited("r1", few)


def found_out(service: Service) -> None:
    found = Attacked(value=0.3, low=0.2, high=0.4, control=0.1, promise=0.1)
    service.audited("r1", Secrets({}, {}, {}, {}, attacks={"one_hop": found}))


def of_another_kind(service: Service) -> None:
    service.tell.event("unknown", "ignored", 5)
    service.tell.other_tables(["public.people"])


CASES: dict[str, Callable[[Service], None]] = {
    "KtsafeReleaseWithheld": lambda service: service.tell.release_withheld("infeasible"),
    "KtsafeCandidatesBelowK": too_few,
    "KtsafeAttackAbovePromise": found_out,
    "KtsafeDeadLetterSinkUnwritable": unwritable,
    "KtsafePublishRetrying": retrying,
    "KtsafeStateUnwritable": unstaged,
    "KtsafeErasureOverdue": unerased,
    "KtsafeIngestStalled": lambda service: service.minutes(11, records=0, lag=5),
    "KtsafeLagGrowing": lambda service: service.minutes(40, lag=20_000, growth=100),
    "KtsafeNothingApplied": of_another_kind,
    "KtsafeTransactionHangs": lambda service: service.tell.open_transactions(2),
    "KtsafeDeadLettersRising": dead,
    "KtsafeSlotsSkipped": skipped,
}


@pytest.mark.parametrize("name", CASES)
def test_each_problem_is_found_alone(name: str) -> None:
    """Each of them is named with its remedy, and nothing else is."""
    service = Service()
    CASES[name](service)
    (problem,) = service.board.report(secrets=True).problems
    assert (problem.name, problem.look, problem.do) == (name, *REMEDIES[name])


@given(
    st.dictionaries(st.sampled_from(["claimed", "sequence"]), st.integers(1, 4)),
    st.lists(st.booleans(), max_size=4),
)
def test_one_of_several_figures_is_enough(least: dict[str, int], are_broken: list[bool]) -> None:
    """Whichever candidates are too few, and whichever attack is beyond its bound."""
    attacks = {
        f"attack {i}": Attacked(value=0.3, low=0.2, high=0.4, control=0.1, promise=bound)
        for i, bound in enumerate(0.1 if is_broken else 0.5 for is_broken in are_broken)
    }
    candidates = {name: CandidateFigures(fewest, 0, 0.0) for name, fewest in least.items()}
    service = Service()
    service.audited("r1", Secrets({}, {}, candidates, {}, attacks=attacks))
    expected = ["KtsafeCandidatesBelowK"] * (min(least.values(), default=PARAMS.k) < PARAMS.k)
    assert service.problems() == expected + ["KtsafeAttackAbovePromise"] * any(are_broken)


def test_a_silent_loop_is_stuck_and_a_long_start_is_told() -> None:
    """Silence counts once the service was ready; before, it is a start, which may take a while."""
    service = Service()
    service.now = 61.0
    assert (service.board.report(secrets=True).state, service.problems()) == (
        "stuck",
        ["KtsafeLoopStuck"],
    )
    service.tell.alive()
    assert service.problems() == []
    starting = StatusBoard(
        PARAMS,
        Summary().counts,
        wall_s=lambda: 0.0,
        monotonic_s=iter([0.0, *[601.0] * 9]).__next__,
    )
    report = starting.report(secrets=True)
    assert (report.state, [p.name for p in report.problems]) == ("starting", ["KtsafeNotReady"])


def test_a_feed_of_which_nothing_is_applied_is_told_with_its_tables() -> None:
    """Not of a graph that is there: a feed may bring heartbeats alone for a while."""
    service = Service()
    service.tell.state({"vertices": 7, "edges": 9}, 0)
    of_another_kind(service)
    assert service.problems() == []
    service.tell.event("unknown", "ignored", 1_000)
    (problem,) = service.board.report(secrets=False).problems
    assert problem.name == "KtsafeNothingApplied"
    assert "1,005 records" in problem.says
    assert "public.people" in problem.says
    service.tell.event("edge.add", "applied", 1)
    assert service.problems() == []


def test_problems_pass() -> None:
    """A confirmed release ends what was said of withheld ones; all else is forgotten in time."""
    service = Service()
    service.tell.release_withheld("unsafe")
    for event in (retrying, skipped, unwritable, unstaged):
        event(service)
    assert len(service.problems()) == 5
    service.audited("r2")
    service.tell.release_published("r2", 0, 1, 2)
    service.minutes(int(TREND_S / SAMPLE_INTERVAL_S))
    assert service.problems() == []


def test_memory_is_bounded() -> None:
    """However long it runs, the board keeps an hour of samples and the last releases."""
    service = Service()
    for i in range(PUBLISHED_MAX + 200):
        service.now += SAMPLE_INTERVAL_S / 2
        service.tell.lag({("feed", 0): i})
        service.audited(f"r{i}")
        service.tell.release_published(f"r{i}", i, 1, 2)
    report = service.board.report(secrets=True)
    assert len(report.feed.trend) == TREND_S / SAMPLE_INTERVAL_S
    assert [figures.release_id for figures in report.releases][:2] == ["r1199", "r1198"]
    assert len(report.releases) == HISTORY_MAX
    assert report.published == PUBLISHED_MAX + 200
    assert len(service.summary.counts.published) == PUBLISHED_MAX


def test_secrets_are_left_out_where_they_are_not_shown() -> None:
    """Without leave a report has public sizes only, but still knows when k is not kept."""
    service = Service()
    too_few(service)
    report = service.board.report(secrets=False)
    assert (report.true_graph, report.releases[0].secrets) == (None, None)
    assert report.releases[0].edges == 2
    assert [problem.name for problem in report.problems] == ["KtsafeCandidatesBelowK"]


def test_problems_are_alerts_with_a_remedy() -> None:
    """Whatever the diagnosis names has a remedy under that name."""
    source = (Path(__file__).parents[3] / "stream/monitoring/diagnosis.py").read_text()
    named = set(re.findall(r'"(Ktsafe\w+)",', source))
    assert named == set(CASES) | {"KtsafeLoopStuck", "KtsafeNotReady"}
    assert named <= set(REMEDIES)
