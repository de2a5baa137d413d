"""Problems of a running service, and their remedies.

The names are those of the alerts; `ops/runbook.md` says the same in the same words, and a test
compares the two.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Remedy(NamedTuple):
    """Where to look, and what to do."""

    look: str
    do: str


REMEDIES: Final = {
    "KtsafeDown": Remedy("exit code, last log lines", "the table of exit codes"),
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
    "KtsafeMarginRunsOut": Remedy(
        "`ktsafe status`: the date; the report: people with fewer than k candidates who are people",
        "see *Begin a new sequence*, before that date, perhaps with a greater `[privacy] margin`",
    ),
    "KtsafeReleasesGone": Remedy(
        "log `published releases are gone from the sink`: the first of them",
        "put them back from a reader's copy (see *Another feed or sink*); the last one is sent "
        "again by the service",
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
    "KtsafeResidualLong": Remedy(
        "`ktsafe_sequence_residual_releases`; the audits say how many ties",
        "ties of departed people go as their pairs are planned again; a rebase drops them at once "
        "(see *Begin a new sequence*)",
    ),
    "KtsafeStoreGrowing": Remedy(
        "`ktsafe_graph_elements`, space", "more space, or a look at what the feed sends"
    ),
    "KtsafeSlotsSkipped": Remedy(
        "whether the producers of the feed stood still",
        "a longer `[release] every` if events are always that rare; else nothing",
    ),
    "KtsafeCostRising": Remedy(
        "dashboard *cost and drift*: which part of the cost grew",
        "if inserted ties did, the sequence has aged: a rebase is cheaper, and weakens what was "
        "released (see *Begin a new sequence*)",
    ),
    "KtsafeUsefulnessLow": Remedy(
        "dashboard *cost and drift*: precision, recall, what is inserted and hidden",
        "fewer quasi-identifiers or a smaller k, which need a rebase (see *Begin a new sequence*); "
        "`[release] min_f1` holds such releases back",
    ),
    "KtsafeHeldBackLong": Remedy(
        "dashboard *privacy*: people held back, and for how long",
        "nothing is wrong; coarser quasi-identifiers make fewer people rare, by a rebase (see "
        "*Begin a new sequence*)",
    ),
}
"""By alert, in the runbook's order."""
