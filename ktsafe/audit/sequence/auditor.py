"""The auditor of a sequence: it takes releases one by one.

Source: decision 8 (ops/adr): objects are published ids; the sequence is w-release kt-safe iff for
every v and every set W of at most w releases in which v occurs, |CS_W(v)| >= k and the sensitive
share of CS_W(v) at every release of W in which v occurs is at most alpha.

It may be made faster, or ask for more. tests/ktsafe/audit/sequence/naive_sequence.py judges small
sequences by those words, and test_breaking.py has a sequence broken in every way that is to be
seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from ktsafe.audit.sequence import figures, saved_state, windows
from ktsafe.audit.sequence.audited_release import AuditedRelease, CopyOnExtend, Numbering
from ktsafe.audit.sequence.candidate_sets import CandidateSets, Stage
from ktsafe.audit.sequence.change_history import ChangeHistory, ValueHistory, visible_changes
from ktsafe.audit.sequence.containment import TrueGraph, TruthComparison
from ktsafe.audit.sequence.continuity import Continuity, Owned, Ownership
from ktsafe.audit.sequence.profiles import Structure, StructureReader
from ktsafe.audit.sequence.windows import Checked, Findings, Violations
from ktsafe.params import PrivacyParams
from ktsafe.verify import Verdict, verify

Window = Literal[1, "all"]


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


class SequenceAuditor(CopyOnExtend):
    """Audits releases as they come.

    The cost of one more follows what it changes.

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
        Threads of the strict verifier, and of the comparison of locations.
    keeps_ids:
        Whether the ids of all releases are kept. Without them what is saved does not grow with the
        releases, and their ids have to ascend.

    Examples
    --------
    Three people that are alike, and no ties:

    >>> from ktsafe.audit.sequence import AuditedRelease
    >>> nothing = np.zeros((0, 2), dtype=np.int64)
    >>> release = AuditedRelease(
    ...     "0", "one", PrivacyParams(k=3, alpha="1/3"), ["x", "y", "z"], [["B"]], np.zeros((3, 1)),
    ...     np.zeros(3, dtype=bool), nothing
    ... )
    >>> auditor = SequenceAuditor(Promise("all"))
    >>> auditor.extend(release).is_safe
    True
    """

    NOT_SAVED = frozenset({"promise", "_examples_max", "_workers"})

    def __init__(
        self,
        promise: Promise | None = None,
        *,
        examples_max: int = 10,
        workers: int | None = None,
        keeps_ids: bool = True,
    ) -> None:
        self.promise = Promise() if promise is None else promise
        self._examples_max = examples_max
        self._workers = workers
        self._continuity = Continuity(keeps_ids=keeps_ids)
        self._base = 0
        self._numbering = Numbering()
        self._reader = StructureReader(self._params, 0, workers)
        self._ownership = Ownership()
        self._published = self._new_view()
        self._linked: CandidateSets | None = None
        self._history = ChangeHistory()
        self._values = ValueHistory()
        self._comparison = TruthComparison()

    @property
    def _params(self) -> PrivacyParams:
        return self._continuity.params

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
            If neighbourhoods are no stars.
        """
        found = Violations(release, self._examples_max)
        self._enter(release, found)
        verdict = self._verdict(release, found)
        found.add("not_kt_safe", np.flatnonzero(verdict.is_unsafe))

        vertices = self._base + self._numbering.of(release.ids)
        n_numbers = self._base + len(self._numbering)
        structure = self._reader.read(release, vertices, n_numbers)
        vacated = frozenset(release.vacated)
        every = range(len(release.ids) if vacated else 0)
        is_vacated = np.array([release.id_of(v) in vacated for v in every] or [False])
        owned = self._ownership.add(vertices, n_numbers, release.owners, is_vacated)
        found.add("id_reassigned", owned.reassigned)
        found.add("owner_twice", owned.doubled)
        self._extend_views(release, structure, owned, n_numbers)

        linked: figures.Candidates | UnsetType = UNSET
        by_links: bool | UnsetType = UNSET
        by_ids = self._judge("", self._published, structure.vertices, found)
        if self._linked is not None:
            by_links = self._judge("linked_", self._linked, owned.linked, found)
            linked = figures.candidate_figures(self._linked, self._params)
        newcomers = vertices[owned.is_new & (owned.owner >= 0)]
        measured = figures.SequenceFigures(
            changes=self._judge_changes(structure, found),
            values=self._judge_values(release, structure, found),
            published=self._figures_of_people(release, vertices, owned),
            newcomers=self._figures_of_newcomers(newcomers),
            linked=linked,
        )
        beside = self._comparison.judge(release, structure, owned, truth, self._ownership, found)
        if beside is not None:
            measured = replace(measured, containment=beside[0], persistence=beside[1])
        checked = Checked(self.promise.window, self.promise.cover, by_ids, by_links)
        n_true = None if beside is None else beside[2]
        violations = tuple(found.violations)
        return Findings(release.release_id, violations, checked, measured, verdict, n_true)

    def shares(self) -> dict[str, figures.Shares]:
        """Summarize the sensitive share of CS_all, over all objects."""
        views = {"published": self._published}
        if self._linked is not None:
            views["linked"] = self._linked
        return {name: figures.sensitive_shares(view, self._params) for name, view in views.items()}

    @property
    def n_releases(self) -> int:
        """How many releases were judged."""
        return self._continuity.n_releases

    def pages(self, key: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield all that was learned, by name, for `resume_from`.

        It names nobody: instead of ids, people and values it has hashes that `key` is needed for.

        Parameters
        ----------
        key:
            16 to 64 bytes, the same ones for ever.
        """
        return saved_state.pages(self, key)

    def resume_from(self, pages: Mapping[str, bytes], key: bytes) -> None:
        """Go on from what another auditor had learned when it was saved.

        This one is new.

        Raises
        ------
        UnknownSavedState
            If it is of another version, or it is none. Lead this auditor through all releases.
        """
        saved_state.resume(self, pages, key)

    def resume(self) -> None:
        """Let the reader know the last release's edges, saved with their ages."""
        self._reader.know(self._comparison.edges)

    @property
    def work(self) -> dict[str, int]:
        """Profiles built and pairs of locations compared in this sequence."""
        return self._reader.work

    def _enter(self, release: AuditedRelease, found: Violations) -> None:
        """Check the constants, and begin a new sequence with the release."""
        is_first = not self._continuity.sequence_ids
        if not self._continuity.enter(release, found):
            return
        if not is_first and self._linked is None:
            self._linked = self._published.copy()
        # Numbers are never used again, so the linked view can name all sequences.
        self._base += len(self._numbering)
        self._numbering = Numbering()
        self._reader = self._new_reader(release)
        self._published = self._new_view()
        self._comparison.begin_sequence()
        self._history = ChangeHistory()
        self._values = ValueHistory()

    def _new_view(self) -> CandidateSets:
        return CandidateSets()

    def _new_reader(self, release: AuditedRelease) -> StructureReader:
        return StructureReader(release.params, len(release.categories), self._workers)

    def _verdict(self, release: AuditedRelease, _found: Violations) -> Verdict:
        """Judge a release by itself; count people, and sensitive ones."""
        shown, people = release.is_sensitive, release.has_owner
        own = people & (shown if release.value_at is None else shown[release.value_at])
        graph, flags = (release.codes, shown, release.ties), np.column_stack((people, own))
        return verify(*graph, self._params, flags=flags, workers=self._workers)

    def _decide(self, view: CandidateSets) -> windows.Decision:
        """Decide k and alpha of a view, atom by atom."""
        return windows.decide(view, self._params)

    def _extend_views(
        self, release: AuditedRelease, structure: Structure, owned: Owned, n_numbers: int
    ) -> None:
        linked = owned.linked
        if self._linked is None and not np.array_equal(linked, structure.vertices):
            self._linked = self._published.copy()
        if not self._ownership.is_known:
            # Without owners nobody can be followed from one sequence to the next.
            self._linked = None
        flags = release.is_sensitive
        stage = Stage(structure.vertices, structure.group, structure.similar, flags)
        self._published.add(stage, n_numbers)
        self._published.mark_owned(structure.vertices[owned.owner >= 0], n_numbers)
        if self._linked is not None:
            there = linked >= 0
            stage = Stage(linked[there], structure.group[there], structure.similar, flags[there])
            self._linked.add(stage, n_numbers)
            self._linked.mark_owned(linked[there & (owned.owner >= 0)], n_numbers)

    def _judge(
        self, prefix: str, view: CandidateSets, objects: NDArray[np.int64], found: Violations
    ) -> bool | UnsetType:
        """Decide k and alpha for every promised set of releases.

        Return whether it is certified; UNSET where each release is judged by itself.
        """
        if self.promise.window == 1:
            return UNSET
        decision = self._decide(view)
        for kind, flags in (
            ("too_few_candidates", decision.has_too_few),
            ("undecided", decision.is_undecided),
        ):
            if flags.any():
                known = view.known
                failing = known[flags[view.atom_of[known]]]
                position = np.flatnonzero(np.isin(objects, failing))
                found.add(prefix + kind, position, absent=len(failing) - len(position))
        return decision.has_certificate

    def _judge_changes(self, structure: Structure, found: Violations) -> figures.ChangeFigures:
        """Decide cover, of former changes too; return figures."""
        k = self._params.k
        changes = visible_changes(structure, self._published)
        self._history.add(changes.vertices, changes.label)
        lost = self._history.judge(self._published, k)
        if self.promise.cover:
            uncovered = changes.vertices[changes.k_delta < k]
            found.add("change_uncovered", np.flatnonzero(np.isin(structure.vertices, uncovered)))
            position = np.flatnonzero(np.isin(structure.vertices, lost))
            found.add("cover_lost", position, absent=len(lost) - len(position))
        k_delta_all, alpha_alike = self._history.figures(self._params)
        return figures.ChangeFigures(
            k_delta_all=k_delta_all,
            alpha_alike=alpha_alike,
            k_delta=figures.counts(changes.k_delta, k),
        )

    def _judge_values(
        self, release: AuditedRelease, structure: Structure, found: Violations
    ) -> figures.ValueFigures:
        """Decide whether a changed value tells a departure; return figures of all."""
        vertices = structure.vertices
        has_left = self._ownership.has_left
        if release.value_at is not None:
            # What a vertex shows tells of the person whose value it is.
            has_left = has_left.copy()
            has_left[vertices[release.value_at]] = self._ownership.has_left[vertices]
        changes = self._values.add(release, vertices, has_left, self._published, self._params.k)
        if self.promise.cover:
            failing = np.union1d(changes.telling, changes.uncovered)
            position = np.flatnonzero(np.isin(vertices, failing))
            found.add("value_uncovered", position, absent=len(failing) - len(position))
        return self._values.figures(changes, self._params)

    def _figures_of_people(
        self, release: AuditedRelease, vertices: NDArray[np.int64], owned: Owned
    ) -> figures.Published:
        """Count the candidates of everybody, and those of them that are people."""
        view = self._published
        shows = vertices if release.value_at is None else vertices[release.value_at]
        is_sensitive = view.ever_sensitive[shows] & (owned.owner >= 0)
        shares = figures.sensitive_people(view, self._params, vertices[is_sensitive])
        counted = figures.candidate_figures(view, self._params)
        return figures.Published(**asdict(counted), alpha_real_leavers_known=shares)

    def _figures_of_newcomers(self, newcomers: NDArray[np.int64]) -> figures.ObjectCounts:
        """Count the real candidates of people with ids that are new here.

        Everybody is new in the first release of a sequence; it has no newcomers.
        """
        if self._published.n_releases == 1:
            newcomers = newcomers[:0]
        return figures.real_candidates(self._published, self._params, newcomers)
