"""Hooks that the core calls, see `ktsafe.stream.assessment`.

A hook is added to `Assessment` first. Imports stay inside of the methods: the core loads them with
the first call only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ktsafe.assess.attacks import ATTACKS, Case, run
from ktsafe.stream.assessment import Assessment, AttackSettings, Check

if TYPE_CHECKING:
    from ktsafe.anonymization.anonymization import Anonymized
    from ktsafe.assess.generalization.advice import Advice
    from ktsafe.audit import ReleaseAudit, Traced
    from ktsafe.graph import AttributedGraph
    from ktsafe.params import PrivacyParams
    from ktsafe.stream.files.audit_model import Audit
    from ktsafe.stream.files.releases_read import Manifest


class Hooks(Assessment):
    """Each method is described at `Assessment`."""

    def advised(
        self,
        graph: AttributedGraph,
        params: PrivacyParams,
        *,
        hierarchies: Mapping[str, Any] | Path | None = None,
        keep: Collection[str] = (),
        other_ks: Iterable[int] = (),
        releases: int = -1,
        seed: int = 0,
    ) -> Advice:
        """Search for how coarsely to tell each quasi-identifier."""
        from ktsafe.assess.generalization.advice import advised
        from ktsafe.assess.generalization.lattice import Lattice
        from ktsafe.assess.generalization.levels import read_levels

        left = releases

        def go_on(what: str, _done: float) -> bool:
            nonlocal left
            left -= what == "released"
            return left >= 0

        levels = read_levels(hierarchies) if isinstance(hierarchies, Path) else hierarchies
        lattice = Lattice.of(graph, params.k, levels)
        return advised(lattice, params, list(other_ks), go_on, keep=keep, seed=seed)

    def attacked(
        self,
        traced: Traced,
        params: PrivacyParams,
        attacks: Iterable[str] | None,
        rng: np.random.Generator,
    ) -> list[Any]:
        """Run attacks on one release."""
        chosen = ATTACKS if attacks is None else attacks
        case = Case(traced.original, traced.released, traced.behind)
        return run(case, params, rng, attacks=chosen)

    def check(self, settings: AttackSettings) -> Check:
        """Begin to attack releases."""
        from ktsafe.assess.releases.attacker import Attacker

        return Attacker(settings)

    def measured(
        self,
        audit: Audit,
        traced: Traced,
        params: PrivacyParams,
        progress: Callable[[str, float], None],
    ) -> Audit:
        """Measure utility, and attack."""
        from ktsafe.assess.utility import measured

        return measured(
            audit, traced.original, traced.released, traced.behind, params, progress=progress
        )

    def page(self, manifest: Manifest, audit: Audit, sha256: str | None = None) -> str:
        """Write a report on one release."""
        from ktsafe.assess.report.content import ReleaseWithFigures, content
        from ktsafe.assess.report.page import page
        from ktsafe.stream.files.report_texts import now

        return page(content([ReleaseWithFigures(manifest, audit, sha256)], now()))

    def page_of(
        self, told: AttributedGraph, made: Anonymized, params: PrivacyParams, audit: ReleaseAudit
    ) -> str:
        """Write a report on a release in memory."""
        from ktsafe.assess.report.page import page_of

        return page_of(told, made, params, audit)


HOOKS: Final = Hooks()
