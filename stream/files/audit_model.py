"""The private audit of a release: all figures, written and read.

What measures fills structs, each defined beside it; `Audit` composes them. Readers take attributes,
so a figure of another name is an error of types, and an audit that lacks one is none. A part that
was not measured is None, and is not written.

Figures may be added as optional fields. One that is renamed or becomes required leaves audits of
earlier releases unreadable: they are read again for trends, reports and `status`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

import msgspec

from ktsafe.audit.changes_by_age import ToldFreshness
from ktsafe.audit.cost import Usefulness
from ktsafe.audit.distributions import Band, Both, Mix
from ktsafe.audit.privacy_figures import PeopleCounts
from ktsafe.audit.release_audit import ReleaseAudit
from ktsafe.audit.sequence import Declared
from ktsafe.audit.sequence.figures import ObjectCounts, Published
from ktsafe.audit.sequence.windows import SequenceAudit
from ktsafe.sequence.cost_figures import Figures

Candidates = PeopleCounts | ObjectCounts
"""Of people in one release, or of objects of a sequence."""


class SequenceCost(Figures, frozen=True, kw_only=True):
    """Figures of a sequence; its margin lasts until then, RFC 3339."""

    margin_until: str | None


class BandShare(msgspec.Struct, frozen=True):
    """Targets in a band of people, and the share found."""

    targets: int
    share: float


class AttackResult(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one attack, see `ktsafe.assess.attacks.Result`; `interval` is of 95%."""

    attack: str
    measure: str
    targets: int
    value: float
    interval: tuple[float, float]
    control: float
    without_target: float | None
    promise: float | None
    is_broken: bool
    figures: dict[str, float]
    bands: dict[str, BandShare]

    @property
    def name(self) -> str:
        """The attack without its variant."""
        return self.attack.partition(".")[0]


class Attacks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Results of attacks; `of` names a former release attacked instead."""

    results: list[AttackResult]
    unfinished: list[str]
    of: str | None = None


class AttackFindings(msgspec.Struct, frozen=True):
    """Attacks on a release; the worth of one without a past."""

    attacks: Attacks
    afresh: Usefulness | None = None


class StructureFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one graph.

    Attributes
    ----------
    mean_degree, max_degree:
        In edges.
    isolated:
        The share of vertices without any.
    clustering:
        Mean over all vertices of the share of pairs of neighbours that are tied; 0 for a vertex
        with fewer than two.
    transitivity:
        The share of paths of two edges that are closed; 0 without any.
    largest_component:
        Its share of the vertices.
    assortativity:
        Per quasi-identifier, see `ktsafe.audit.distributions.assortativity`.
    """

    mean_degree: float | None
    max_degree: int
    isolated: float | None
    clustering: float | None
    transitivity: float
    largest_component: float | None
    assortativity: dict[str, float | None]


class PathsFigures(msgspec.Struct, frozen=True):
    """Connected pairs of a sample, and mean distance where connected in both."""

    pairs: int
    connected: Both = Both()
    mean_hops: Both = Both()


class PageRank(msgspec.Struct, frozen=True):
    """Share of the true top k that stays so."""

    k: int
    overlap: float | None


class Communities(msgspec.Struct, frozen=True, kw_only=True):
    """Communities of both graphs, and their agreement beyond chance.

    `ami_again` is that of two runs on the true graph, which no release can be expected to beat.
    """

    original: int
    released: int
    ami: float | None
    ami_again: float | None
    modularity: Both


class ConclusionFigures(msgspec.Struct, frozen=True):
    """A reader's figure in both graphs; rank 1 is the commonest value."""

    of: str
    by: str | None
    ranks: list[int]
    true: int | float
    released: int | float


class Conclusions(msgspec.Struct, frozen=True, kw_only=True):
    """What readers conclude wrongly; means of nothing are None.

    Attributes
    ----------
    conclusions, cells:
        How many of all, and of ties between two values.
    wrong_share:
        The share with an error above 20%.
    cells_empty:
        Cells with ties, and no edge.
    mixing_error:
        The mean error of cells, each at most 1.
    mixing:
        By attribute, the cells of its most frequent values.
    worst:
        What is wrong, the worst first.
    """

    conclusions: int
    wrong_share: float | None
    median_error: float | None
    cells: int
    cells_empty: int
    mixing_error: float | None
    mixing: dict[str, list[ConclusionFigures]]
    worst: list[ConclusionFigures]


class Utility(msgspec.Struct, frozen=True, kw_only=True):
    """What a release is good for, see `ktsafe.assess.utility.utility_figures`."""

    original: StructureFigures
    released: StructureFigures
    degree_emd: float | None
    degree_bands: list[Band]
    attribute_mix: dict[str, Mix]
    paths: PathsFigures
    pagerank: PageRank
    communities: Communities
    conclusions: Conclusions


class StatisticsBudget(msgspec.Struct, frozen=True):
    """Costs of a release's statistics and of 365 days', in millionths.

    No secret: manifests add up to it, but for what is left.
    """

    epsilon_micro: int
    spent_micro: int
    left_micro: int
    omitted: bool = False


NOT_ATTACKED = Attacks([], [])


class Audit(ReleaseAudit, frozen=True, kw_only=True, omit_defaults=True):
    """The private audit of a release.

    Attributes
    ----------
    min_f1:
        The owner's floor.
    seconds:
        What its phases took.
    audit:
        What the auditor of the sequence found.
    sequence, declared, vacated:
        What the sequence holds back; what of it is declared; ids that were left with this release.
    attacks:
        What attacks found, of the service or of a report.
    afresh:
        What a release of the same truth without a past would be worth.
    withdrawn:
        Why the owner withdrew the release; added by a report.
    """

    release_id: str | None = None
    nominal_time: str | None = None
    min_f1: float | None = None
    seconds: dict[str, float] | None = None
    audit: SequenceAudit | None = None
    sequence: SequenceCost | None = None
    declared: Declared | None = None
    vacated: list[str] | None = None
    freshness: ToldFreshness | None = None
    attacks: Attacks = NOT_ATTACKED
    afresh: Usefulness | None = None
    utility: Utility | None = None
    statistics: StatisticsBudget | None = None
    withdrawn: str | None = None

    @property
    def published(self) -> Published | None:
        """Candidates over all releases of a sequence."""
        return self.audit.figures.published if self.audit else None

    @property
    def alike(self) -> ObjectCounts | None:
        """Candidates that changed alike with any release of a sequence."""
        return self.audit.figures.changes.k_delta_all if self.audit else None

    @property
    def margin_until(self) -> str | None:
        """When the margin of a sequence is used up, RFC 3339."""
        return self.sequence.margin_until if self.sequence else None

    @classmethod
    def of(cls, found: ReleaseAudit) -> Self:
        """Return the audit of a release by itself."""
        return cls(**msgspec.structs.asdict(found))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the audit in a file.

        Raises
        ------
        OSError
            If it cannot be read.
        msgspec.DecodeError
            If it is none; figures are not repeated.
        """
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def text(self) -> str:
        """Return the text of the file."""
        return json.dumps(msgspec.to_builtins(self), indent=2, sort_keys=True) + "\n"
