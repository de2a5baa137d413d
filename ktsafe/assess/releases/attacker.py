"""The service attacks each release beforehand, at low priority, within a budget.

What an attack does not end within the budget is left out, and not begun if by its last time it
would not end. The two releases before are kept in memory, so what changed is attacked each time;
figures of all other attacks stand for a few releases of nearly the same truth, and say so (decision
67). Last of all, the release is compared with one of the same true graph that has no past.

Constants may be tuned: figures are private, and nothing published depends on them unless `[attack]
hold` is set. Attacks may neither delay a release beyond the budget nor fail it
(tests/ktsafe/assess/test_attacker.py).
"""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import ATTACKS, Case, History, Result, run_each
from ktsafe.assess.attacks.friends import friends_degrees, friends_values, sensitive_by_friends
from ktsafe.assess.attacks.known_changes import changes, departure
from ktsafe.assess.attacks.membership import OF_PEOPLE as MEMBERSHIP
from ktsafe.assess.attacks.net_changes import net_changes
from ktsafe.assess.attacks.suite import SequenceAttack, sampled
from ktsafe.assess.generalization.quick_release import afresh, membership
from ktsafe.assess.utility import results_told
from ktsafe.audit import Traced
from ktsafe.graph.numbering import CameAndWent, edge_ends, edge_keys, union
from ktsafe.stream.assessment import AttackSettings, Check, GatedRelease
from ktsafe.stream.errors import FoundByAttack
from ktsafe.stream.files.audit_model import AttackFindings, Attacks
from ktsafe.stream.files.release_figures import AFRESH, ATTACKS_TOLD
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

NICENESS: Final = 10
"""Of the thread that attacks, above that of the process."""
ASKED_EVERY_S: Final = 0.1
KEPT: Final = 2
"""Releases that are kept in memory: net changes are those since the last but one."""
CHANGED_MAX: Final = 0.01
"""Share of the people, or of the ties; while no more has changed, figures stand."""
STANDS_FOR: Final = 12
"""Releases for which figures stand at most, that of the attacks among them."""
CHANGES: Final = frozenset({"changes", "net_changes", "departure"})
"""Attacks on what changed, which run with every release."""
OVER_TIME: Final[Mapping[str, SequenceAttack]] = {
    "friends_values_over_time": lambda history, params, rng: friends_values(
        history, params, rng, "friends_values_over_time", counts=()
    ),
    "sensitive_by_friends_over_time": lambda history, params, rng: sensitive_by_friends(
        history, params, rng, "sensitive_by_friends_over_time"
    ),
    "friends_degrees_over_time": lambda history, params, _rng: friends_degrees(
        history, params, "friends_degrees_over_time", variants=("order",)
    ),
}
"""Attacks on the releases in memory together, by the variants that find most: others cost more."""
NO_KEYS: Final = np.zeros(0, dtype=np.int64)
HINT: Final = "With fewer quasi-identifiers or a larger k fewer people are found."


class CodedPeople(NamedTuple):
    """A true graph's people: numbers, codes, and their meaning."""

    lives: NDArray[np.int64]
    codes: NDArray[np.int32]
    categories: Sequence[Sequence[str]]

    @classmethod
    def of(cls, release: GatedRelease) -> CodedPeople:
        """Return those of a release."""
        original = release.traced.original
        return cls(release.lives, original.codes, original.categories)

    def share_changed(self, now: CodedPeople) -> float:
        """Return the share of people that came, left or have other values."""
        if self.categories != now.categories:
            return 1.0  # Codes mean other values.
        old, new = self.codes, now.codes
        if not np.array_equal(self.lives, now.lives):
            _, here, there = np.intersect1d(
                self.lives, now.lives, assume_unique=True, return_indices=True
            )
            old, new = old[here], new[there]
        n_equal = int((old == new).all(axis=1).sum())
        return 1 - n_equal / max(len(self.lives), len(now.lives), 1)


@dataclasses.dataclass(frozen=True, eq=False)
class _Standing:
    """Attacks' results on one release, and how long they stood.

    Attributes
    ----------
    sequence_id, release_id:
        Of the release that was attacked.
    people, n_ties:
        Of its true graph: a number for every vertex, their codes, and what these mean.
    ties:
        The ties that came and went since.
    over_time:
        Whether releases were attacked together: there was a former one.
    found:
        The results by attack; those over time may be of the release after it.
    releases:
        How many releases they were told of.
    """

    sequence_id: str
    release_id: str
    people: CodedPeople
    n_ties: int
    ties: CameAndWent
    over_time: bool
    found: Mapping[str, Any]
    releases: int = 1

    @classmethod
    def of(cls, release: GatedRelease, over_time: bool, found: Mapping[str, Any]) -> _Standing:
        """Return what was found of a release that was attacked just now."""
        n_ties, ties = release.traced.original.n_edges, CameAndWent(NO_KEYS, NO_KEYS)
        ids = release.sequence_id, release.release_id
        return cls(*ids, CodedPeople.of(release), n_ties, ties, over_time, found)

    def again(self, now: GatedRelease) -> _Standing | None:
        """Return it as it stands for the next release, else None."""
        is_next = self.sequence_id == now.sequence_id
        if not is_next or self.releases >= STANDS_FOR or now.since is None:
            return None
        ties = self.ties.then(now.since.ties)
        n_ties = max(self.n_ties, now.traced.original.n_edges, 1)
        if sum(map(len, ties)) > CHANGED_MAX * n_ties:
            return None
        if self.people.share_changed(CodedPeople.of(now)) > CHANGED_MAX:
            return None
        return dataclasses.replace(self, ties=ties, releases=self.releases + 1)


class Attacker(Check):
    """Attacks releases in order, one call at a time."""

    def __init__(self, settings: AttackSettings) -> None:
        self._settings = settings
        self._before: tuple[GatedRelease, ...] = ()
        self._last: GatedRelease | None = None
        self._standing: _Standing | None = None
        self._next_standing: _Standing | None = None
        self._pace: dict[str, float] = {}

    def check(
        self, release: GatedRelease, params: PrivacyParams, go_on: Callable[[], None]
    ) -> AttackFindings:
        """Attack a release and return what was found; it is private.

        Parameters
        ----------
        params:
            What the release promises.
        go_on:
            Called now and then; may end it by raising.

        Returns
        -------
        AttackFindings
            `unfinished` are attacks that the budget left no time for, ended or not begun, or that
            failed; `of` is the release that was attacked, if it is a former one. `afresh`, if there
            was time: what a rebase would bring, see `ktsafe.assess.releases.worth.afresh`.

        Raises
        ------
        FoundByAttack
            With `hold`, if the whole interval of a figure exceeds its promise.
        """
        self._last, standing = _bare(release), self._standing
        linked = (each for each in self._before if each.sequence_id == release.sequence_id)
        before = tuple(map(_bare, linked))
        if standing:
            standing = None if self._settings.hold else standing.again(release)
        anew = {*ATTACKS_TOLD, AFRESH} if standing is None else CHANGES
        if standing and before and not standing.over_time:
            anew = anew | OVER_TIME.keys()
        names = [name for name in (*ATTACKS_TOLD, AFRESH) if name in anew]
        work = _Work(self._settings.budget_s, self._pace, release.traced.original.n_edges)
        work.wait(_each(release, before, params, work.that_fit(names)), go_on)
        found = work.found
        stands = {name: found[name] for name in found if name not in CHANGES}
        if standing:
            stands = {**standing.found, **stands}
            standing = dataclasses.replace(standing, over_time=bool(before), found=stands)
        self._next_standing = standing or _Standing.of(self._last, bool(before), stands)
        found = {**self._next_standing.found, **found}
        results = [result for name in ATTACKS_TOLD for result in found.get(name, ())]
        if self._settings.hold and any(result.is_broken for result in results):
            raise FoundByAttack("An attack on the release exceeds its promise.", hint=HINT)
        unfinished = [name for name in ATTACKS_TOLD if name not in found]
        of = standing.release_id if standing else None
        return AttackFindings(Attacks(results_told(results), unfinished, of), found.get(AFRESH))

    def end_build(self, *, staged: bool) -> None:
        """The release attacked last is staged for good, or is none."""
        if staged and self._last is not None:
            self._before = (*self._before, self._last)[-KEPT:]
            self._standing = self._next_standing
        self._last = self._next_standing = None


def _bare(release: GatedRelease) -> GatedRelease:
    """Return the same without what was worked out of the graphs."""
    of = release.traced
    traced = Traced(of.original.bare(), of.released.bare(), of.behind, of.value_at)
    return dataclasses.replace(release, traced=traced)


def _case(release: GatedRelease) -> Case:
    traced = release.traced
    return Case(traced.original, traced.released, traced.behind)


def _each(
    release: GatedRelease,
    before: tuple[GatedRelease, ...],
    params: PrivacyParams,
    names: Iterable[str],
) -> Iterator[tuple[str, Any]]:
    """Yield attacks' results; each name is asked for in its turn."""
    rng = np.random.default_rng(0)  # Draws samples of a private judgement, nothing published.
    case = _case(release)
    due: list[str] = []
    single = run_each(case, params, rng, attacks=iter(due.pop, ""))
    history = _since(before, release, case)
    for name in names:
        if name in ATTACKS and name != MEMBERSHIP:
            due.append(name)
            yield next(single)
        elif name == MEMBERSHIP:
            yield name, membership(case.original, params)
        elif name == AFRESH:
            yield name, afresh(case.original, params)
        else:
            yield name, _linked(name, history, params)


def _since(before: tuple[GatedRelease, ...], release: GatedRelease, case: Case) -> History | None:
    """Return the former releases and this one, if there are former ones."""
    if not before:
        return None
    each_one = (*before, release)
    known_ids = union([each.ids for each in each_one])
    known_lives = union([each.lives for each in each_one])
    steps = [each.since for each in each_one[1:] if each.since is not None]
    return History(
        [*map(_case, before), case],
        [np.searchsorted(known_ids, each.ids) for each in each_one],
        [np.searchsorted(known_lives, each.lives) for each in each_one],
        steps=[
            (
                CameAndWent(*(_keys(known_lives, edge_ends(keys)) for keys in step.ties)),
                CameAndWent(*(_keys(known_ids, ends) for ends in (step.came, step.went))),
            )
            for step in steps
            if len(steps) == len(before)
        ],
    )


def _keys(known: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.int64]:
    """Return ascending keys of edges by ends' places among known ones."""
    return np.sort(edge_keys(np.searchsorted(known, ends.astype(known.dtype))))


def _linked(name: str, history: History | None, params: PrivacyParams) -> list[Result]:
    """Attack changes since former releases, and perhaps the release itself."""
    if history is None:
        return []
    rng = np.random.default_rng(0)
    if name == "net_changes":
        return net_changes(history, params, rng, spans=("two",))
    if name in OVER_TIME:
        return OVER_TIME[name](sampled(history, rng), params, rng)
    last = history.last(2)
    if name == "changes":
        return changes(last, params, spans=("consecutive",))
    return departure(last, params, ways=("named",))


class _Stopped(SystemExit):
    """Ends the thread of attacks.

    Threads end without a word on this kind of error.
    """


class _Work:
    """Attacks in a thread of their own, for lower priority."""

    def __init__(self, budget_s: float, pace: dict[str, float], n_ties: int) -> None:
        self._left_s = budget_s
        self._pace = pace
        self._n_ties = max(n_ties, 1)
        self._stopped = threading.Event()
        self._done = threading.Event()
        self._ending = threading.Lock()
        self._is_over = False
        self.found: dict[str, Any] = {}
        """Results by attack, and `AFRESH`. Replaced, never changed: readers see whole attacks."""

    def that_fit(self, names: Iterable[str]) -> Iterator[str]:
        """Yield attacks in turn, but those that would not end.

        What is left when one is asked for tells what the one before took. The time of one that
        does not end is taken to be twice what it was left. That of one that is not begun is
        halved: what took long since kernels were compiled is tried again.
        """
        for name in names:
            expected_s = self._pace.get(name, 0.0) * self._n_ties
            begun_s = self._left_s
            fits = expected_s <= begun_s
            self._pace[name] = (2 * begun_s if fits else expected_s / 2) / self._n_ties
            if fits:
                yield name
                self._pace[name] = (begun_s - self._left_s) / self._n_ties

    def wait(self, each: Iterator[tuple[str, Any]], go_on: Callable[[], None]) -> None:
        """Begin, and return when all is done or the budget is spent.

        An attack that runs then is ended, as soon as it comes back from compiled code.
        """
        # No daemon: the end of a process in the middle of compiled code would be a crash.
        thread = threading.Thread(target=self._run, args=(each,), name="ktsafe-attacks")
        thread.start()
        try:
            while self._left_s > 0 and not self._done.wait(min(self._left_s, ASKED_EVERY_S)):
                self._left_s -= ASKED_EVERY_S
                go_on()
        finally:
            self._stopped.set()
            if not self._done.is_set():
                threading.Thread(
                    target=self._end, args=(thread,), name="ktsafe-attacks-end"
                ).start()

    def _end(self, thread: threading.Thread) -> None:
        """Raise `_Stopped` in the thread until it ends.

        Attacks of other packages run here, too, so none can be asked to look for a signal. What is
        raised in a callback of the garbage collector is lost there with a warning, so no
        collection begins meanwhile, and nothing is raised in one.
        """
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            while thread.is_alive():
                self._interrupt(thread)
                thread.join(ASKED_EVERY_S)
        finally:
            if was_enabled:
                gc.enable()

    def _interrupt(self, thread: threading.Thread) -> None:
        """Raise `_Stopped` in the thread, unless it ends or collects garbage."""
        raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
        with self._ending:
            if not self._is_over and thread.ident is not None and not _is_collecting(thread):
                raised(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stopped))

    def _run(self, each: Iterator[tuple[str, Any]]) -> None:
        _lower_priority()
        try:
            for name, results in each:
                if self._stopped.is_set():
                    return
                self.found = {**self.found, name: results}
        except Exception as error:  # noqa: BLE001 -- a figure is missed, the release is not
            # What ends it comes out of compiled code as a SystemError.
            if not self._stopped.is_set():
                log.error("an attack failed", count=len(self.found), error=type(error).__name__)
        except _Stopped:
            pass
        finally:
            while not self._is_over:  # It may be raised once more just here.
                try:
                    with self._ending:
                        self._is_over = True
                except _Stopped:
                    continue
            self._done.set()


def _is_collecting(thread: threading.Thread) -> bool:
    """Whether a thread is within a callback of the garbage collector."""
    callbacks = {getattr(each, "__code__", None) for each in gc.callbacks}
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 -- documented so
    while frame is not None and frame.f_code not in callbacks:
        frame = frame.f_back
    return frame is not None


def _lower_priority() -> None:
    """Let everything else go first, where threads have priorities (Linux)."""
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
