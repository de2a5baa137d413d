"""The releases of one sequence as structures, stars as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit.audited_release import AuditedRelease, Numbering, stable_codes
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend
from ktsafe.sequence_audit.profiles import Profiler, Structure


class StructureReader(CopyOnExtend):
    """Reads the releases of one sequence, in order, with so many threads."""

    def __init__(
        self, params: PrivacyParams, n_attributes: int, workers: int | None = None
    ) -> None:
        # Shared by copies: a code, once given, means the same for ever.
        self._values = [Numbering() for _ in range(n_attributes)]
        self._profiler = Profiler(params, n_attributes, workers)

    def read(
        self,
        release: AuditedRelease,
        vertices: NDArray[np.int64],
        n_numbers: int,
    ) -> Structure:
        """Take the next release.

        Parameters
        ----------
        vertices, n_numbers:
            See `Profiler.read`.

        Raises
        ------
        InvalidGraph
            If the release is no simple graph, or its attributes do not fit the sequence.
        """
        codes = stable_codes(release, self._values)
        return self._profiler.read(vertices, n_numbers, codes, release.edges)

    @property
    def work(self) -> dict[str, int]:
        """Profiles built and pairs of locations compared."""
        profiler = self._profiler
        return {"profiles": profiler.profiles_built, "comparisons": profiler.pairs_compared}
