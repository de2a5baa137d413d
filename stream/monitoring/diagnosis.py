"""The report on a service: figures, problems, and their remedies.

Thresholds are those of `ktsafe status` and may be tuned; alert rules in ops/prometheus/rules have
their own. A problem needs an alert of its name and a row of the runbook, and `REMEDIES` are that
row word by word (tests/ops/test_runbook.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from ktsafe import PrivacyParams
from ktsafe.stream.files.release_figures import ReleaseFigures


class Sample(msgspec.Struct, frozen=True):
    """The feed at one moment. `at_s` is by the wall clock.

    `lag` None where it is unknown.
    """

    at_s: float
    records: int
    lag: int | None


class FeedReport(msgspec.Struct, frozen=True, kw_only=True):
    """How far the feed has been consumed, since the process started.

    Attributes
    ----------
    per_second:
        Records a second over the last minute; None before there is something to compare.
    dead_letters:
        By reason.
    trend:
        Samples of the last hour, the oldest first.
    """

    records: int
    applied: int
    ignored: int
    dead_letters: dict[str, int]
    attributes_dropped: int
    lag: int | None
    per_second: float | None
    trend: list[Sample]


class ProblemReport(msgspec.Struct, frozen=True):
    """A problem for an operator: the alert's name, the case, the remedy."""

    name: str
    says: str
    look: str
    do: str


class PartsReport(msgspec.Struct, frozen=True):
    """The last release's parts, workers, and their share of core seconds."""

    parts: int
    workers: int
    share: float


class TrueGraphReport(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets of the state.

    Sizes of the true graph, and what the last release holds back.
    """

    vertices: int
    edges: int
    store_bytes: int
    erasures_pending: int
    held_back: dict[str, int]
    work: PartsReport | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a service at one moment.

    Attributes
    ----------
    state:
        "starting", "ready", "stopped", or "stuck" where the main loop is silent.
    building:
        The phase of a release that ended last, at first "cut"; empty when none is being built.
    releases:
        The last ones, the newest first.
    published, withheld, slots_skipped:
        Counts since the process started; withheld by reason.
    secrets_shown:
        Whether true sizes and the secrets of releases are in here.
    """

    version: str
    state: str
    at_s: float
    started_s: float
    guarantee: str
    params: dict[str, int | str]
    feed: FeedReport
    building: str
    releases: list[ReleaseFigures]
    published: int
    withheld: dict[str, int]
    slots_skipped: int
    problems: list[ProblemReport]
    secrets_shown: bool
    true_graph: TrueGraphReport | None


# Problems of a running service.
#
# The alerts that the service itself can decide at any time.
#
# Alerts in Prometheus see more (a stopped process, the trend of a day) and should page the
# operator. The problems found here are for `ktsafe status`. Their names are those of the alerts.

HEALTHY_WITHIN_S: Final = 60.0
"""The main loop is stuck when it is silent for longer: a round takes a second."""
START_MAX_S: Final = 600.0
DEAD_LETTERS_MAX: Final = 0.01
"""Share of the records of the window."""
STALLED_S: Final = 600.0
LAG_MAX: Final = 10_000
GROWING_S: Final = 1800.0
RETRYING_S: Final = 600.0
RETRIES_MAX: Final = 3
ERASURE_OVERDUE_S: Final = 3600.0
SKIPPED_MAX: Final = 3
NOTHING_MAX: Final = 1_000
"""Records that may come to nothing after a start, such as heartbeats."""


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """Totals of the run at one moment, `at_s` by a monotonic clock."""

    at_s: float
    wall_s: float
    records: int
    applied: int
    dead_letters: int
    lag: int | None
    publish_retries: int
    dead_letter_retries: int
    state_retries: int
    slots_skipped: int
    has_people: bool
    erasure_overdue_s: float = 0.0


@dataclasses.dataclass(slots=True)
class Latest:
    """What was told last; moments by a clock that never steps back.

    Attributes
    ----------
    state:
        "starting", "ready" or "stopped".
    started_s, alive_s, published_s:
        When the process started, its loop last went round, and it last published (at first: when
        it started).
    withheld:
        Why the last release that was tried is none; empty if it is one.
    erasures, erasure_overdue_s:
        Deletions that have not reached the disk, and for how long one should have.
    other_tables:
        Tables whose rows came, and that the configuration does not name.
    open_transactions:
        Partitions of which the last slot left out what a transaction holds.
    """

    started_s: float
    alive_s: float
    published_s: float
    state: str = "starting"
    withheld: str = ""
    store_bytes: int = 0
    erasures: int = 0
    erasure_overdue_s: float = 0.0
    other_tables: tuple[str, ...] = ()
    open_transactions: int = 0

    def silence_s(self, now_s: float) -> float | None:
        """Return how long the main loop has been stuck, else None."""
        silence_s = now_s - self.alive_s
        return silence_s if self.state == "ready" and silence_s > HEALTHY_WITHIN_S else None


def diagnose(
    trend: Sequence[Moment],
    latest: Latest,
    last: ReleaseFigures | None,
    params: PrivacyParams,
) -> list[ProblemReport]:
    """Return the problems, the gravest first.

    Parameters
    ----------
    trend:
        The last hour, the oldest first; the last one is now.
    last:
        The last release, if there is one.
    """
    found: list[tuple[str, str]] = []
    now_s = trend[-1].at_s
    silence_s = latest.silence_s(now_s)
    if silence_s is not None:
        found.append(("KtsafeLoopStuck", f"The main loop has stood still for {silence_s:.0f} s."))
    starting_for_s = now_s - latest.started_s
    if latest.state == "starting" and starting_for_s > START_MAX_S:
        found.append(("KtsafeNotReady", f"Starting for {starting_for_s / 60:.0f} minutes."))
    if latest.withheld:
        says = (
            f"A release was withheld ({latest.withheld}). Nothing unsafe went out; the last one "
            "stands."
        )
        found.append(("KtsafeReleaseWithheld", says))
    if last is not None and _has_too_few(last, params.k):
        found.append(("KtsafeCandidatesBelowK", "Somebody has fewer than k candidates."))
    if last is not None and _is_found_out(last):
        says = "An attack on the last release exceeds its bound."
        found.append(("KtsafeAttackAbovePromise", says))
    if latest.open_transactions:
        says = (
            f"The last slot left out what an open transaction holds "
            f"({latest.open_transactions} partitions); the next one shows it."
        )
        found.append(("KtsafeTransactionHangs", says))
    if _has_applied_nothing(trend[-1]):
        says = f"None of the {trend[-1].records:,} records read so far could be applied."
        if latest.other_tables:
            says += f" Rows came of other tables: {', '.join(latest.other_tables)}."
        found.append(("KtsafeNothingApplied", says))
    found.extend(_feed_problems(trend))
    return [ProblemReport(name, says, *REMEDIES[name]) for name, says in found]


def _has_applied_nothing(now: Moment) -> bool:
    """Whether the feed seems to be of another kind.

    Of one that was read before, after a while.
    """
    return now.records > (NOTHING_MAX if now.has_people else 0) and not now.applied


def _has_too_few(last: ReleaseFigures, k: int) -> bool:
    if last.secrets is None:
        return False
    promised = (last.secrets.candidates.get(name) for name in ("claimed", "sequence"))
    least = [found.least for found in promised if found is not None and found.least is not None]
    return any(n < k for n in least)


def _is_found_out(last: ReleaseFigures) -> bool:
    attacks = {} if last.secrets is None else last.secrets.attacks
    return any(each.is_broken for each in attacks.values())


def _feed_problems(trend: Sequence[Moment]) -> Iterator[tuple[str, str]]:
    """Yield what the trend tells."""
    now = trend[-1]
    recent = _since(trend, RETRYING_S)
    if now.dead_letter_retries > recent.dead_letter_retries:
        says = "Dead letters cannot be written, so ingest waits; releases go on."
        yield "KtsafeDeadLetterSinkUnwritable", says
    if now.state_retries > recent.state_retries:
        says = "The private folder cannot be written: a release or an erasure waits for room."
        yield "KtsafeStateUnwritable", says
    if now.erasure_overdue_s > ERASURE_OVERDUE_S:
        says = (
            f"Deleted people have been due to be erased for {now.erasure_overdue_s / 60:.0f} min."
        )
        yield "KtsafeErasureOverdue", says
    if now.publish_retries - recent.publish_retries > RETRIES_MAX:
        yield "KtsafePublishRetrying", "The sink has not confirmed a release; it is offered again."
    stalled = _since(trend, STALLED_S)
    waited = now.at_s - stalled.at_s >= STALLED_S * 0.9
    if waited and now.lag and now.records == stalled.records:
        yield "KtsafeIngestStalled", f"{now.lag:,} records wait, and none is consumed."
    growing = _since(trend, GROWING_S)
    if now.lag is not None and now.lag > LAG_MAX and now.at_s - growing.at_s >= GROWING_S * 0.9:
        grown = now.lag - (growing.lag or 0)
        if grown > 0:
            yield "KtsafeLagGrowing", f"The lag has grown by {grown:,} records in half an hour."
    dead = now.dead_letters - growing.dead_letters
    if dead > DEAD_LETTERS_MAX * (now.records - growing.records):
        yield "KtsafeDeadLettersRising", f"{dead:,} of the last records could not be applied."
    skipped = now.slots_skipped - trend[0].slots_skipped
    if skipped > SKIPPED_MAX:
        yield "KtsafeSlotsSkipped", f"{skipped:,} slots had no release of their own within an hour."


def _since(trend: Sequence[Moment], past_s: float) -> Moment:
    """Return the oldest moment within the last so many seconds."""
    return next(moment for moment in trend if trend[-1].at_s - moment.at_s <= past_s)


# Problems of a running service, and their remedies.
#
# The names are those of the alerts; `ops/runbook.md` says the same in the same words, and a test
# compares the two.


class Remedy(NamedTuple):
    """Where to look, and what to do."""

    look: str
    do: str


REMEDIES: Final = {
    "KtsafeLoopStuck": Remedy(
        "broker, disk of the state folder",
        "mend them; stop (a second signal ends it at once) and start",
    ),
    "KtsafeNotReady": Remedy(
        "`/readyz`, log",
        "it names what the start waits for; a large store takes its time",
    ),
    "KtsafeReleaseWithheld": Remedy(
        "its label `reason`",
        "*absent*: nobody has what [attributes] names; correct it, or list it in `expect_absent`; "
        "*written_otherwise*: see *Values that are written otherwise*; *infeasible*: k or alpha "
        "ask for more than the network has; *attacked*: see `KtsafeAttackAbovePromise`; "
        "*costs_more_than_nothing*, *below_min_f1*: see *Releases below the minimum utility*; "
        "*unsafe*, *error*: keep log and audit folder, report",
    ),
    "KtsafeCandidatesBelowK": Remedy(
        "`ktsafe audit` on all releases of the sequence",
        "stop the service, keep state and releases, report: the gate should have withheld it",
    ),
    "KtsafeAttackAbovePromise": Remedy(
        "`attacks` in the release's private `audit.json`: which attack, on whom",
        "kt-safety does not stop this attacker: fewer quasi-identifiers or a larger k, which "
        "need a rebase (see *Begin a new sequence*); `[attack] hold` holds such releases back",
    ),
    "KtsafePublishRetrying": Remedy(
        "broker, rights and space of the sink", "mend them; the same bytes go out once"
    ),
    "KtsafeIngestStalled": Remedy(
        "`KtsafeDeadLetterSinkUnwritable`, `KtsafeLoopStuck`, duration of release phases",
        "mind the retention of the feed: events that expire unread are lost and the service then "
        "refuses (6)",
    ),
    "KtsafeLagGrowing": Remedy("duration of checkpoints", "a faster disk before more cores"),
    "KtsafeNothingApplied": Remedy(
        "`ktsafe_events_total` by outcome, `ktsafe status --dead-letters`",
        "ignored: `[[source.tables]]` names no table that came; dead letters: the topic is "
        "another one",
    ),
    "KtsafeTransactionHangs": Remedy(
        "`kafka-transactions.sh find-hanging`",
        "end the producer's transaction, or abort it there; its events are shown with the next "
        "release",
    ),
    "KtsafeDeadLettersRising": Remedy(
        "`ktsafe_dead_letters_total` by reason",
        "fix the producer and send the events again: they are idempotent and independent of order",
    ),
    "KtsafeDeadLetterSinkUnwritable": Remedy(
        "space, rights, broker of the dead-letter sink", "mend it; ingest resumes by itself"
    ),
    "KtsafeStateUnwritable": Remedy(
        "space and rights of the state folder; `ktsafe_retries_total` by op",
        "make room; what waits is tried again by itself, and no event is lost",
    ),
    "KtsafeErasureOverdue": Remedy(
        'duration of release phases, `ktsafe_retries_total{op="erase"}`',
        "a release in the making holds erasure up until it is staged: less `effort`; a full disk: "
        "make room",
    ),
    "KtsafeSlotsSkipped": Remedy(
        "whether the producers of the feed stood still",
        "a longer `[release] every` if events are always that rare; else nothing",
    ),
}
"""Of the problems that a service sees itself, in the runbook's order."""
