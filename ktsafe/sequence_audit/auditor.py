"""The auditor of a sequence of releases: takes them one by one, in order.

Source: DESIGN "The sequence": objects are published ids; the sequence is w-release kt-safe iff for
every v and every set W of at most w releases in which v occurs, |CS_W(v)| >= k and the sensitive
share of CS_W(v) at every release of W in which v occurs is at most alpha.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph, InvalidParams
from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit import figures, windows
from ktsafe.sequence_audit.audited_release import AuditedRelease, Numbering, stable_codes
from ktsafe.sequence_audit.candidates import CandidateSets, Stage
from ktsafe.sequence_audit.change_history import ChangeHistory
from ktsafe.sequence_audit.containment import Containment, TrueGraph
from ktsafe.sequence_audit.findings import Findings, Violation
from ktsafe.sequence_audit.ownership import Owned, Ownership
from ktsafe.sequence_audit.persistence import EdgeAges
from ktsafe.sequence_audit.profiles import Profiler, Structure, edge_keys
from ktsafe.sequence_audit.symmetry import SymmetryReader, is_symmetry, orbits_of
from ktsafe.sequence_audit.visible_changes import visible_changes
from ktsafe.verify import verify

Window = int | Literal["all"]


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """What a sequence promises.

    Attributes
    ----------
    window:
        Releases that may be linked: 1 means one by one, "all" any number.
    cover:
        Whether at least k candidates change alike in every visible change.
    """

    window: Window = "all"
    cover: bool = True


class SequenceAuditor:
    """Audits releases as they come; the cost of one more follows what it changes.

    The work that grows faster than the release (building profiles, comparing locations,
    intersecting candidate sets) is done near changes only. To try a release, extend a copy: copies
    are cheap, and the original stays as it is.

    Parameters
    ----------
    promise:
        What to hold the sequence to. Figures are measured whatever is promised.
    examples_max:
        Published ids named per violation.
    workers:
        Threads of the strict verifier.
    """

    def __init__(
        self, promise: Promise | None = None, *, examples_max: int = 10, workers: int | None = None
    ) -> None:
        self.promise = Promise() if promise is None else promise
        self._examples_max = examples_max
        self._workers = workers
        self._release_ids: frozenset[str] = frozenset()
        self._sequence_ids: tuple[str, ...] = ()
        self._params = PrivacyParams()
        self._schema: object = None
        self._base = 0
        self._numbering = Numbering()
        self._values: list[Numbering] = []
        self._profiler = Profiler(self._params, 0)
        self._symmetry = SymmetryReader()
        self._ownership = Ownership()
        self._owners_known = True
        self._published = CandidateSets()
        self._linked: CandidateSets | None = None
        self._is_owned = np.zeros(0, dtype=np.bool_)
        self._is_owned_linked = np.zeros(0, dtype=np.bool_)
        self._ages = EdgeAges()
        self._history = ChangeHistory()
        self._containment = Containment()

    def copy(self) -> SequenceAuditor:
        """Return an auditor that goes on from here by itself."""
        other = copy.copy(self)
        other.__dict__.update(
            _profiler=self._profiler.copy(),
            _symmetry=self._symmetry.copy(),
            _ownership=self._ownership.copy(),
            _published=self._published.copy(),
            _linked=None if self._linked is None else self._linked.copy(),
            _ages=self._ages.copy(),
            _history=self._history.copy(),
            _containment=self._containment.copy(),
        )
        return other

    def extend(self, release: AuditedRelease, truth: TrueGraph | None = None) -> Findings:
        """Add the next release and judge the sequence so far.

        Parameters
        ----------
        truth:
            The true graph at the release's nominal time, if it is at hand.

        Raises
        ------
        InvalidGraph
            If the release is no simple graph, or its attributes do not fit the sequence.
        InvalidParams
            If neighbourhoods are no stars and the release comes without its certificate.
        """
        found = _Violations(release, self._examples_max)
        self._enter(release, found)
        shift = self._checked_shift(release, found)
        verdict = verify(
            release.codes,
            release.is_sensitive,
            release.edges,
            self._params,
            certificate=shift,
            workers=self._workers,
        )
        found.add("not_kt_safe", np.flatnonzero(verdict.is_unsafe))

        vertices = self._base + self._numbering.of(release.ids)
        n_numbers = self._base + len(self._numbering)
        codes = stable_codes(release, self._values)
        if shift is None:
            structure = self._profiler.read(vertices, n_numbers, codes, release.edges)
        else:
            orbit = orbits_of(shift)
            structure = self._symmetry.read(vertices, n_numbers, codes, release.edges, orbit)
        owned = self._ownership.add(vertices, n_numbers, release.owners)
        found.add("id_reassigned", owned.reassigned)
        found.add("owner_twice", owned.doubled)
        self._extend_views(release, structure, owned, n_numbers)

        checked: dict[str, Any] = {"window": self.promise.window, "cover": self.promise.cover}
        checked |= self._judge("", self._published, structure.vertices, found)
        if self._linked is not None:
            checked |= self._judge("linked_", self._linked, owned.linked, found)
        measured = {"changes": self._judge_changes(structure, found)}
        measured["published"] = self._figures_of(self._published, self._is_owned)
        newcomers = vertices[owned.is_new & (owned.owner >= 0)]
        measured["newcomers"] = self._figures_of_newcomers(newcomers)
        if self._linked is not None:
            measured["linked"] = self._figures_of(self._linked, self._is_owned_linked)
        measured |= self._judge_truth(release, structure, owned, truth, found)
        return Findings(release.release_id, tuple(found.violations), checked, measured)

    def shares(self) -> dict[str, Any]:
        """Summarize the greatest sensitive share of CS_all at any release, over all objects.

        Costs a pass over all releases so far.
        """
        views = {"published": self._published}
        if self._linked is not None:
            views["linked"] = self._linked
        return {name: figures.sensitive_shares(view, self._params) for name, view in views.items()}

    @property
    def work(self) -> dict[str, int]:
        """Profiles built and pairs of locations compared in this sequence."""
        profiler = self._profiler
        return {"profiles": profiler.profiles_built, "comparisons": profiler.pairs_compared}

    def _enter(self, release: AuditedRelease, found: _Violations) -> None:
        """Check what must not change, and begin a new sequence where the release does."""
        if release.release_id in self._release_ids:
            found.whole("release_repeated")
        if release.unmatched:
            found.whole("mapping_incomplete", release.unmatched)
        self._release_ids |= {release.release_id}
        if self._sequence_ids[-1:] == (release.sequence_id,):
            if release.params != self._params:
                found.whole("params_changed")
            if release.schema != self._schema:
                found.whole("schema_changed")
            return
        if release.sequence_id in self._sequence_ids:
            found.whole("sequence_reopened")
        if self._sequence_ids and self._linked is None:
            self._linked = self._published.copy()
            self._is_owned_linked = self._is_owned
        self._sequence_ids = (*self._sequence_ids, release.sequence_id)
        self._params, self._schema = release.params, release.schema
        # Numbers are never used again, so that the linked view can name all sequences.
        self._base += len(self._numbering)
        self._numbering = Numbering()
        self._values = [Numbering() for _ in release.categories]
        self._profiler = Profiler(release.params, len(release.categories))
        self._symmetry = SymmetryReader()
        self._published = CandidateSets()
        self._ages = EdgeAges()
        self._history = ChangeHistory()

    def _checked_shift(
        self, release: AuditedRelease, found: _Violations
    ) -> NDArray[np.int64] | None:
        """Return the certificate that decides, None where stars are compared as they are.

        What does not hold is replaced by the map that moves nobody: then nobody has candidates.
        """
        if self._params.sees_stars:
            return None
        if release.shift is None:
            msg = "Beyond one hop a sequence is audited by its private certificates only."
            hint = "Name the private audit folder; `ktsafe verify` judges releases one by one."
            raise InvalidParams(msg, hint=hint)
        shift = np.asarray(release.shift, dtype=np.int64)
        if is_symmetry(shift, release.codes, release.edges):
            return shift
        found.whole("certificate_broken")
        return np.arange(len(release.ids))

    def _extend_views(
        self, release: AuditedRelease, structure: Structure, owned: Owned, n_numbers: int
    ) -> None:
        self._owners_known &= release.owners is not None
        linked = owned.linked
        if self._linked is None and not np.array_equal(linked, structure.vertices):
            self._linked = self._published.copy()
        if not self._owners_known:
            # Without owners nobody can be followed from one sequence to the next.
            self._linked = None
        flags = release.is_sensitive
        stage = Stage(structure.vertices, structure.group, structure.similar, flags)
        self._published.add(stage, n_numbers)
        self._is_owned = _marked(structure.vertices[owned.owner >= 0], n_numbers)
        if self._linked is not None:
            there = linked >= 0
            stage = Stage(linked[there], structure.group[there], structure.similar, flags[there])
            self._linked.add(stage, n_numbers)
            self._is_owned_linked = _marked(linked[there & (owned.owner >= 0)], n_numbers)

    def _judge(
        self, prefix: str, view: CandidateSets, objects: NDArray[np.int64], found: _Violations
    ) -> dict[str, Any]:
        """Decide k and alpha for every set of releases that the promise speaks of."""
        window = self.promise.window
        if window == 1:
            return {f"{prefix}alpha_by": "each release by itself"}
        decision = windows.decide(view, self._params, None if window == "all" else window)
        if not self._params.sees_stars:
            decision = decision.as_proven_only()
        for kind, flags in (
            ("too_few_candidates", decision.has_too_few),
            ("too_sensitive", decision.is_too_sensitive),
            ("undecided", decision.is_undecided),
        ):
            if flags.any():
                known = view.known
                failing = known[flags[view.atom_of[known]]]
                position = np.flatnonzero(np.isin(objects, failing))
                found.add(prefix + kind, position, absent=len(failing) - len(position))
        return {
            f"{prefix}certificate": decision.has_certificate,
            f"{prefix}alpha_by": decision.method,
            f"{prefix}sets_enumerated": decision.sets_enumerated,
        }

    def _judge_changes(self, structure: Structure, found: _Violations) -> dict[str, Any]:
        """Decide cover, of former changes too; return figures."""
        k = self._params.k
        is_owned = self._is_owned if self._owners_known else np.ones_like(self._is_owned)
        changes = visible_changes(structure, self._published, is_owned)
        self._history.add(changes.vertices, changes.label)
        lost = self._history.judge(self._published, k)
        if self.promise.cover:
            uncovered = changes.vertices[changes.k_delta < k]
            found.add("change_uncovered", np.flatnonzero(np.isin(structure.vertices, uncovered)))
            position = np.flatnonzero(np.isin(structure.vertices, lost))
            found.add("cover_lost", position, absent=len(lost) - len(position))
        return self._history.figures(self._params) | {
            "k_delta": figures.counts(changes.k_delta, k),
            "k_delta_real": figures.counts(changes.k_delta_real[is_owned[changes.vertices]], k),
            "k_still": figures.counts(changes.k_still, k),
        }

    def _figures_of(self, view: CandidateSets, is_owned: NDArray[np.bool_]) -> dict[str, Any]:
        was_owned = self._ownership.was_owned
        return figures.candidate_figures(view, self._params, is_owned, was_owned)

    def _figures_of_newcomers(self, newcomers: NDArray[np.int64]) -> dict[str, Any]:
        """Count the real candidates of people whose ids this release shows for the first time.

        Everybody is new in the first release of a sequence; it has no newcomers.
        """
        if len(self._published.stages) == 1:
            newcomers = newcomers[:0]
        return figures.real_candidates(self._published, self._params, self._is_owned, newcomers)

    def _judge_truth(
        self,
        release: AuditedRelease,
        structure: Structure,
        owned: Owned,
        truth: TrueGraph | None,
        found: _Violations,
    ) -> dict[str, Any]:
        """Compare with the true graph, and true ties with inserted ones."""
        if truth is None or release.owners is None:
            self._ages.add(structure.edges, None)
            return {}
        if len(truth.values) != len(release.categories):
            raise InvalidGraph("The true graph has other attributes than the release.")
        people = self._ownership.numbers_of(truth.people)
        contained = self._containment.add(release, owned.owner, truth, people)
        declared = truth.declared
        found.add("owner_unknown", contained.unknown_owner)
        found.add("tie_overdue", contained.overdue)
        found.add("sensitive_differs", contained.sensitive_differs)
        if contained.figures["withheld_people"] > declared.withheld:
            found.whole("person_missing")
        if len(contained.missing_ties) > declared.held_ties:
            found.add("tie_missing", np.unique(contained.missing_ties))
        if len(contained.differing) > declared.held_changes:
            found.add("attribute_differs", contained.differing)
        order = np.argsort(edge_keys(structure.vertices[release.edges]))
        persistence = self._ages.add(structure.edges, contained.is_true[order])
        return {"containment": contained.figures, "persistence": persistence}


class _Violations:
    """Collects the violations of one release."""

    def __init__(self, release: AuditedRelease, examples_max: int) -> None:
        self._release = release
        self._examples_max = examples_max
        self.violations: list[Violation] = []

    def whole(self, kind: str, count: int = 1) -> None:
        """Add a violation of the release as a whole."""
        self.violations.append(Violation(kind, self._release.release_id, count))

    def add(self, kind: str, positions: NDArray[np.int64], *, absent: int = 0) -> None:
        """Add a violation at some vertices, `absent` of which this release does not show."""
        count = len(positions) + absent
        if count:
            names = tuple(self._ids(positions[: self._examples_max].tolist()))
            self.violations.append(Violation(kind, self._release.release_id, count, names))

    def _ids(self, positions: Iterable[int]) -> Iterable[str]:
        return (self._release.ids[v] for v in positions)


def _marked(numbers: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    marks = np.zeros(size, dtype=np.bool_)
    marks[numbers] = True
    return marks
