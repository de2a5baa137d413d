"""What a service says of itself: `/status.json` and `ktsafe status` show this."""

from __future__ import annotations

import msgspec

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
