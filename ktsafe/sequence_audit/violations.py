"""The violations that are found in one release."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.audited_release import AuditedRelease
from ktsafe.sequence_audit.findings import Violation


class Violations:
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
