"""Releases beside the true graph: what they hold back, and what the age of edges tells."""

from __future__ import annotations

from typing import Any

import numpy as np

from ktsafe.errors import InvalidGraph
from ktsafe.sequence_audit.audited_release import AuditedRelease
from ktsafe.sequence_audit.containment import Containment, TrueGraph
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend
from ktsafe.sequence_audit.findings import Violations
from ktsafe.sequence_audit.ownership import Owned, Ownership
from ktsafe.sequence_audit.persistence import EdgeAges
from ktsafe.sequence_audit.profiles import Structure, edge_keys


class TruthComparison(CopyOnExtend):
    """Compares releases with the true graph, where it is at hand, in order."""

    def __init__(self) -> None:
        self._ages = EdgeAges()
        self._containment = Containment()

    def begin_sequence(self) -> None:
        """Begin a new sequence, whose edges are all new."""
        self._ages = EdgeAges()

    def judge(
        self,
        release: AuditedRelease,
        structure: Structure,
        owned: Owned,
        truth: TrueGraph | None,
        ownership: Ownership,
        found: Violations,
    ) -> dict[str, Any]:
        """Compare with the true graph, and true ties with inserted ones."""
        if truth is None or release.owners is None:
            self._ages.add(structure.edges, None)
            return {}
        if len(truth.values) != len(release.categories):
            raise InvalidGraph("The true graph has other attributes than the release.")
        people = ownership.numbers_of(truth.people)
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
