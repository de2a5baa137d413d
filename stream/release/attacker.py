"""The service attacks each release before it is published, at low priority and within a budget.

The figures are private. What an attack does not end within the budget is left out: no release waits
longer than that for it. The two releases before are kept in memory, so that what changed is
attacked, too.
Attacks on one release by itself are run again once `AGAIN` of it has changed; until then their last
figures stand, with the release that they are of.
Last of all, the release of a sequence is compared with one of the same true graph that has no past.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import PrivacyParams
from ktsafe.attacks import ATTACKS, Case, History, Result, run_each
from ktsafe.attacks.coming_and_going import departure
from ktsafe.attacks.known_changes import changes
from ktsafe.attacks.net_changes import net_changes
from ktsafe.generalization.quick_release import afresh
from ktsafe.stream.errors import FoundByAttack
from ktsafe.stream.files.release_figures import AFRESH, ATTACKS_TOLD
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

NICENESS: Final = 10
"""Of the thread that attacks, above that of the process."""
ASKED_EVERY_S: Final = 0.1
KEPT: Final = 2
"""Releases that are kept in memory: net changes are those since the last but one."""
AGAIN: Final = 0.25
"""Share of edges and true ties that change before a release is attacked by itself again.

Attacks cost as much as the whole graph; a release that differs by less costs what changed. Figures
are exact for the release that is named beside them.
"""
HINT: Final = "With fewer quasi-identifiers or a larger k fewer people are found."


@dataclasses.dataclass(frozen=True, slots=True)
class AttackSettings:
    """How the service attacks its releases.

    Attributes
    ----------
    budget_s:
        Seconds that a release waits for its attacks; 0: there are none, and `Attacker` is not
        asked.
    hold:
        Whether a release is withheld against which an attack surely exceeds its promise.
    """

    budget_s: float = 0.0
    hold: bool = False


NO_ATTACKS: Final = AttackSettings()


@dataclasses.dataclass(frozen=True, eq=False)
class AttackTarget:
    """A release under attack: the case, and the people and ids that persist beyond it.

    Attributes
    ----------
    sequence_id:
        Releases of one sequence can be linked.
    ids:
        The published id of every released vertex.
    lives:
        int64: a number for every true vertex, see `ktsafe.state.snapshot.GraphSnapshot`.
    has_past:
        Whether the release depends on those before, so that a rebase could bring something.
    release_id, n_changed:
        Which it is, and `ktsafe.stream.release.mechanism.Built.n_changed`.
    """

    sequence_id: str
    case: Case
    ids: NDArray[np.str_]
    lives: NDArray[np.int64]
    has_past: bool = False
    release_id: str = ""
    n_changed: int | None = None

    @property
    def size(self) -> int:
        """How many edges and true ties there are."""
        return self.case.original.n_edges + self.case.released.n_edges


@dataclasses.dataclass(frozen=True, slots=True)
class _LastAttacked:
    """What attacks on one release by itself found, and how much has changed since."""

    sequence_id: str
    release_id: str
    by_name: dict[str, Any]
    n_changed: int = 0

    def after(self, target: AttackTarget) -> _LastAttacked | None:
        """Return what it is beside a later release; None if that must be attacked anew."""
        if target.n_changed is None or target.sequence_id != self.sequence_id:
            return None
        n_changed = self.n_changed + target.n_changed
        if n_changed > AGAIN * target.size:
            return None
        return dataclasses.replace(self, n_changed=n_changed)


class Attacker:
    """Attacks one release after the other. One call at a time, from any thread."""

    def __init__(self, settings: AttackSettings) -> None:
        self._settings = settings
        self._before: tuple[AttackTarget, ...] = ()
        self._last: AttackTarget | None = None
        self._found: _LastAttacked | None = None
        self._next_found: _LastAttacked | None = None

    def attack(
        self, target: AttackTarget, params: PrivacyParams, go_on: Callable[[], None]
    ) -> dict[str, Any]:
        """Attack a release and return what was found, JSON-ready and private.

        Parameters
        ----------
        params:
            What the release promises.
        go_on:
            Called now and then; may end it by raising.

        Returns
        -------
        dict
            `attacks`: `results` as in `ktsafe.attacks.Result.to_mapping`, and `unfinished`: attacks
            that the budget left no time for, or that failed; `of`: the release that was attacked
            by itself, if that is a former one. `afresh`, if the release has a past
            and there was time: what a rebase would bring, see
            `ktsafe.stream.evaluation.worth.afresh`.

        Raises
        ------
        FoundByAttack
            With `hold`, if the whole interval of a figure exceeds its promise.
        """
        self._last = target
        # What may be held back is judged by itself, however little has changed.
        known = None if self._found is None or self._settings.hold else self._found.after(target)
        work = _Work(_each(target, self._before, params, {} if known is None else known.by_name))
        work.wait(self._settings.budget_s, go_on)
        found = work.found
        if known is None:
            single = {name: found[name] for name in found if name in ATTACKS or name == AFRESH}
            self._next_found = _LastAttacked(target.sequence_id, target.release_id, single)
        else:
            self._next_found = known
        results = [result for name in ATTACKS_TOLD for result in found.get(name, ())]
        if self._settings.hold and any(result.is_broken for result in results):
            raise FoundByAttack("An attack on the release exceeds its promise.", hint=HINT)
        unfinished = [name for name in ATTACKS_TOLD if name not in found]
        told: dict[str, Any] = {
            "results": [result.to_mapping() for result in results],
            "unfinished": unfinished,
        }
        if known is not None:
            told["of"] = known.release_id
        return {"attacks": told} | {name: found[name] for name in (AFRESH,) if name in found}

    def end_build(self, *, staged: bool) -> None:
        """The release attacked last is staged for good, or is none."""
        if staged and self._last is not None:
            self._before = (*self._before, self._last)[-KEPT:]
            self._found = self._next_found
        self._last = self._next_found = None


def _each(
    target: AttackTarget,
    before: tuple[AttackTarget, ...],
    params: PrivacyParams,
    known: dict[str, Any],
) -> Iterator[tuple[str, Any]]:
    """Yield the results of one attack after the other, in the order of `ATTACKS_TOLD`.

    Attacks on the release by itself are not run again where `known` has what they found.
    """
    rng = np.random.default_rng(0)  # Draws samples of a private judgement, nothing published.
    single = run_each(
        target.case, params, rng, attacks=[name for name in ATTACKS_TOLD if name in ATTACKS]
    )
    history = _since(before, target)
    for name in ATTACKS_TOLD:
        if name not in ATTACKS:
            yield name, _linked(name, history, params)
        elif not known:
            yield next(single)
    yield from known.items()
    if target.has_past and not known:
        yield AFRESH, afresh(target.case.original, params)


def _since(before: tuple[AttackTarget, ...], target: AttackTarget) -> History | None:
    """Return the releases before and this one, as far as they can be linked."""
    linked = [each for each in before if each.sequence_id == target.sequence_id]
    if not linked:
        return None
    each_one = (*linked, target)
    ids = np.unique(np.concatenate([each.ids for each in each_one]), return_inverse=True)[1]
    lives = np.unique(np.concatenate([each.lives for each in each_one]), return_inverse=True)[1]
    return History(
        [each.case for each in each_one],
        np.split(ids.astype(np.int64), np.cumsum([len(each.ids) for each in linked])),
        np.split(lives.astype(np.int64), np.cumsum([len(each.lives) for each in linked])),
    )


def _linked(name: str, history: History | None, params: PrivacyParams) -> list[Result]:
    """Attack what changed since the releases before: ties, or people."""
    if history is None:
        return []
    if name == "net_changes":
        return net_changes(history, params, np.random.default_rng(0), spans=("two",))
    last = history.last(2)
    if name == "changes":
        return changes(last, params, spans=("consecutive",))
    return [result for result in departure(last, params) if result.promise is not None]


class _Work:
    """Attacks in a thread of their own, which is the only way to be less urgent than the rest."""

    def __init__(self, each: Iterator[tuple[str, Any]]) -> None:
        self._each = each
        self._stopped = threading.Event()
        self._done = threading.Event()
        self.found: dict[str, Any] = {}
        """Results by attack, and `AFRESH`. Replaced, never changed: readers see whole attacks."""

    def wait(self, budget_s: float, go_on: Callable[[], None]) -> None:
        """Begin, and return when all is done or the budget is spent.

        An attack that runs then ends by itself, and its figures are dropped.
        """
        threading.Thread(target=self._run, name="ktsafe-attacks", daemon=True).start()
        left_s = budget_s
        try:
            while left_s > 0 and not self._done.wait(min(left_s, ASKED_EVERY_S)):
                left_s -= ASKED_EVERY_S
                go_on()
        finally:
            self._stopped.set()

    def _run(self) -> None:
        _lower_priority()
        try:
            for name, results in self._each:
                if self._stopped.is_set():
                    return
                self.found = {**self.found, name: results}
        except Exception as error:  # noqa: BLE001 -- a figure is missed, the release is not
            log.error("an attack failed", count=len(self.found), error=type(error).__name__)
        finally:
            self._done.set()


def _lower_priority() -> None:
    """Let everything else go first, where the system has priorities of threads (Linux)."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
    except (AttributeError, OSError):
        log.debug("attacks run at the priority of the service")
