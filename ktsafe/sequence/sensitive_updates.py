"""Sensitive values of a sequence: exchanged once, changed where that is safe.

Each place shows the value of a drawn member, and who shows whose never changes. So a value that
changes changes at the place that shows it; the place of somebody who left goes on to show what it
did, and so does the one that shows the leaver's value.

Which company keeps "-" may be chosen otherwise; alpha, and that departures change nothing, may not
be given up (tests/ktsafe/sequence/test_exchanged_values.py, test_departures.py, test_policies.py).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.anonymization import of_purpose, places_of_values
from ktsafe.anonymization.tree_cuts import bearable
from ktsafe.errors import Infeasible
from ktsafe.graph import MISSING
from ktsafe.sequence.memory.codes import GONE
from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.memory.sequence_tables import COUNTERFEIT
from ktsafe.sequence.step_context import StepContext


def exchange_values(context: StepContext, first_cohort: int) -> None:
    """Let the members of each cohort from a number on exchange values.

    None was released yet.
    """
    state = context.state
    if context.spec.options.values == "in place":
        return
    places = np.flatnonzero(state.places.cohort >= first_cohort)
    drawn = places_of_values(state.places.cohort[places], of_purpose(context.rng, "values"))
    state.exchange_values(places, places[drawn])


# Sensitive updates: published unless the cohort's ever-sensitive share would exceed alpha.
#
# A person without room shows "-" instead. By itself that would tell what it hides, since only such
# changes end in "-". So others of the cohort, drawn at random, show "-" too: as long as any are
# left, at most alpha of those that show it instead of their value hide a sensitive one. And in a
# cohort without room "-" is kept whatever the value becomes, or a change would tell them apart.
# Why: decision 20.


def show_sensitive(context: StepContext, row: int) -> None:
    """Publish a person's true sensitive value, or "-" beyond alpha."""
    state = context.state
    code, place = state.people.sensitive[row], state.places.value_at[state.people.place[row]]
    is_sensitive = context.is_sensitive(code)
    if is_sensitive and not (
        state.places.ever[place] or _has_room(context, state.places.cohort[place])
    ):
        state.count("sensitive_suppressed")
        state.publish_sensitive(place, _suppressed(context), is_sensitive=False)
    elif state.places.sensitive[place] != code and not _is_kept_missing(context, place):
        state.publish_sensitive(place, code, is_sensitive=is_sensitive)


def shows_missing(context: StepContext, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which places show "-"."""
    is_missing = np.array([text == MISSING for text in context.state.codes.sensitive], np.bool_)
    shown: NDArray[np.bool_] = is_missing[context.state.places.sensitive[places]]
    return shown


def _is_kept_missing(context: StepContext, place: int) -> bool:
    """Whether a place keeps "-", since others of its cohort hide values."""
    state = context.state
    shown = state.codes.sensitive[state.places.sensitive[place]]
    return (
        shown == MISSING
        and MISSING not in context.spec.schema.sensitive_values
        and not _has_room(context, state.places.cohort[place])
    )


def keep_company(context: StepContext, labels: Iterable[int], seen: Container[int]) -> None:
    """Suppress company in changed cohorts, until "-" tells at most alpha.

    Those whose value is missing anyway do not count: they may have shown it before. The value of
    nobody who left changes unless one of somebody does: `seen` are the cohorts in which somebody's
    value went missing in this release.
    """
    state = context.state
    texts = state.codes.sensitive
    if MISSING in context.spec.schema.sensitive_values or MISSING not in texts:
        return
    missing = texts.index(MISSING)
    for label in sorted(labels):
        masked = hidden = 0
        others = []
        # By the places of those whose value it is, wherever it stands.
        for place in state.places.members[label].tolist():
            shown = state.places.sensitive[state.places.value_at[place]]
            owner = state.places.owner[place]
            if shown != missing:
                if not context.is_sensitive(shown):
                    others.append(place)
            elif owner != NOBODY:
                masked += state.people.sensitive[owner] != missing
                hidden += context.has_sensitive_value(owner)
        wanted = max(0, math.ceil(hidden / context.spec.params.alpha) - masked)
        drawn = [others[i] for i in context.rng.permutation(len(others)).tolist()]
        for place in _company(context, drawn, wanted, is_seen=label in seen):
            place_of_value = state.places.value_at[place]
            state.publish_sensitive(place_of_value, missing, is_sensitive=False)
            state.count("sensitive_company")


def _company(context: StepContext, drawn: list[int], wanted: int, *, is_seen: bool) -> list[int]:
    """Return the first places drawn, with at least one owner.

    There is none if none was among them.
    """
    places = context.state.places
    chosen = drawn[:wanted]
    if is_seen or any(places.owner[place] != NOBODY for place in chosen):
        return chosen
    somebody = [place for place in drawn if places.owner[place] != NOBODY]
    if somebody and chosen:
        return [somebody[0], *chosen[1:]]
    return [place for place in chosen if places.kind[place] != COUNTERFEIT]


def _has_room(context: StepContext, label: int) -> bool:
    """Whether one more member of a cohort may be published sensitive."""
    places = context.state.places
    members = places.members[label]
    most = bearable(np.array(len(members)), context.spec.forming)
    return bool(places.ever[members].sum() < most)


def _suppressed(context: StepContext) -> int:
    """Return the missing value's code, or another harmless one.

    Raises
    ------
    Infeasible
        If there is none.
    """
    texts = context.state.codes.sensitive
    if MISSING in context.spec.schema.sensitive_values:
        for code, text in enumerate(texts):
            if not text.startswith(GONE) and not context.is_sensitive(code):
                return code
        msg = "A value must be suppressed, but every value is sensitive."
        raise Infeasible(msg, hint=f"Do not declare {MISSING!r} sensitive.")
    if MISSING not in texts:
        texts.append(MISSING)
    return texts.index(MISSING)
