"""The private audit of a release, typed: every figure that pages, metrics and status read.

Functions that measure write JSON; readers take attributes of `Audit`, so a figure of another name
is an error of types. A part that an audit does not tell is None, or empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec


class PartFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures that belong together."""


class CountsFigures(PartFigures, frozen=True, omit_defaults=True):
    """Numbers of candidates, the least first; `share` and `below_k` are of those below k."""

    below_k: int
    vertices: int | None = None
    min: int | None = None
    p1: int | None = None
    p5: int | None = None
    median: int | None = None
    share: float | None = None
    risk_mean: float | None = None


class Shares(PartFigures, frozen=True):
    """Sensitive shares of candidates; `above_alpha` counts those above it."""

    max: float | None = None
    p99: float | None = None
    p95: float | None = None
    median: float | None = None
    above_alpha: int = 0


class Params(PartFigures, frozen=True, omit_defaults=True):
    """What the release promises, see `ktsafe.PrivacyParams`; k is 0 where no audit tells."""

    k: int = 0
    alpha: str = "1"


class Size(PartFigures, frozen=True):
    """Of a graph."""

    vertices: int | None = None
    edges: int | None = None


class Sizes(PartFigures, frozen=True):
    """Of the true graph and the released one."""

    original: Size = Size()
    released: Size = Size()


class Suppressed(PartFigures, frozen=True):
    """How many released people, and values, differ from the truth."""

    people_with_other_quasi_identifiers: int | None = None
    quasi_identifiers: int | None = None
    sensitive_values: int | None = None


class Cost(PartFigures, frozen=True):
    """Elements by which the release differs from the truth, see `cost_parts`."""

    inserted_vertices: int = 0
    deleted_vertices: int = 0
    inserted_edges: int = 0
    deleted_edges: int = 0
    edges_of_withheld: int | None = None
    total: int = 0
    k_copies: int | None = None
    share_of_k_copies: float | None = None


class OverlapFigures(PartFigures, frozen=True):
    """A true and a released set, see `ktsafe.audit.cost.Overlap`."""

    true: int = 0
    released: int = 0
    shared: int = 0
    cost: int = 0
    cost_share: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None


class UsefulnessFigures(PartFigures, frozen=True):
    """What a release shares with the truth, see `ktsafe.audit.cost.Usefulness`."""

    costs_more_than_nothing: bool = False
    edges: OverlapFigures = OverlapFigures()
    vertices: OverlapFigures = OverlapFigures()


class Group(PartFigures, frozen=True):
    """Candidates of a group of people: of all, or of those within a band."""

    first: int = msgspec.field(name="from", default=0)
    last: int = msgspec.field(name="to", default=0)
    vertices: int | None = None
    k_claimed: CountsFigures | None = None
    k_real: CountsFigures | None = None
    k_known: CountsFigures | None = None
    k_known_in_ps: CountsFigures | None = None
    alpha: Shares | None = None
    alpha_real: Shares | None = None


class InsertedOnly(PartFigures, frozen=True):
    """People who reach k thanks to inserted vertices alone."""

    vertices: int | None = None
    share: float | None = None
    share_of_larger_classes: float | None = None
    in_classes_below_k: int | None = None
    classes: int | None = None
    largest: list[dict[str, int]] = []


class Privacy(PartFigures, frozen=True):
    """How private people are, see `ktsafe.audit.privacy_figures`."""

    real_vertices: int | None = None
    k_known_asked: int | None = None
    all: Group = Group()
    by_true_degree: list[Group] = []
    by_class_size: list[Group] = []
    protected_by_inserted_only: InsertedOnly = InsertedOnly()


class Checked(PartFigures, frozen=True):
    """How the auditor of the sequence decided."""

    alpha_by: str | None = None


class Published(PartFigures, frozen=True):
    """Candidates over all releases."""

    candidates: CountsFigures | None = None
    candidates_real_leavers_known: CountsFigures | None = None
    alpha_real_leavers_known: Shares | None = None


class ChangesFigures(PartFigures, frozen=True):
    """Candidates that changed alike: with this release, and with any."""

    k_delta: CountsFigures | None = None
    k_delta_all: CountsFigures | None = None


class ContainmentFigures(PartFigures, frozen=True):
    """What the release lacks of the truth."""

    withheld_releases_median: float | None = None


class SequenceFigures(PartFigures, frozen=True):
    """The figures of the auditor of the sequence."""

    published: Published = Published()
    changes: ChangesFigures = ChangesFigures()
    containment: ContainmentFigures = ContainmentFigures()


class SequenceAudit(PartFigures, frozen=True):
    """What the auditor of the sequence found, see `ktsafe.audit.sequence.findings`."""

    safe: bool | None = None
    checked: Checked = Checked()
    figures: SequenceFigures = SequenceFigures()


class ToldSequence(PartFigures, frozen=True):
    """What the sequence holds back, see `ktsafe.sequence.cost_figures.Figures`."""

    withheld_age_max: int | None = None
    held_edge_age_max: int | None = None
    held_values: int | None = None
    residual_edges: int | None = None
    residual_age_max: int | None = None
    margin_until: str | None = None


class AgedFigures(PartFigures, frozen=True):
    """Changes of one age: how many, and the share of them that is shown."""

    count: int | None = None
    shown: float | None = None


class AgedTiesFigures(AgedFigures, frozen=True):
    """The same of ties that hold; `ratio` to the share of older ones."""

    ratio: float | None = None


class TiesOfAge(AgedTiesFigures, frozen=True):
    """The same, and of those between two published people."""

    published: AgedTiesFigures = AgedTiesFigures()


class Changed(PartFigures, frozen=True):
    """Edges that came and went with the release."""

    came: int | None = None
    gone: int | None = None
    came_true: int | None = None
    came_true_share: float | None = None


class ToldFreshness(PartFigures, frozen=True):
    """How far a release follows the network by age, see `ktsafe.audit.freshness.Freshness`."""

    ties: dict[str, TiesOfAge] = {}
    ended: dict[str, AgedFigures] = {}
    ended_by_leaving: dict[str, AgedFigures] = {}
    newcomers: dict[str, AgedFigures] = {}
    leavers: dict[str, AgedFigures] = {}
    changed: Changed = Changed()
    latest: OverlapFigures = OverlapFigures()


class AttackResult(PartFigures, frozen=True):
    """One figure of one attack, see `ktsafe.assess.attacks.Result`; `interval` is of 95%."""

    attack: str
    measure: str
    targets: int
    value: float
    interval: tuple[float, float]
    control: float
    without_target: float | None = None
    promise: float | None = None
    is_broken: bool = False
    figures: dict[str, float] = {}

    @property
    def name(self) -> str:
        """The attack without its variant."""
        return self.attack.partition(".")[0]


class Attacks(PartFigures, frozen=True):
    """Results; attacks that did not end; the former release that was attacked in place of this."""

    results: list[AttackResult] = []
    unfinished: list[str] = []
    of: str | None = None


class StructureFigures(PartFigures, frozen=True):
    """Figures of one graph."""

    mean_degree: float | None = None
    max_degree: int | None = None
    isolated: float | None = None
    clustering: float | None = None
    transitivity: float | None = None
    largest_component: float | None = None
    assortativity: dict[str, float | None] = {}


class Both(PartFigures, frozen=True):
    """A figure of the true graph and of the released one."""

    original: float | None = None
    released: float | None = None


class PathsFigures(PartFigures, frozen=True):
    """Distances of sampled pairs."""

    connected: Both = Both()
    mean_hops: Both = Both()


class PageRank(PartFigures, frozen=True):
    """How many of the most central people stay so."""

    overlap: float | None = None


class Communities(PartFigures, frozen=True):
    """How far communities of both graphs agree."""

    ami: float | None = None
    ami_again: float | None = None
    modularity: Both = Both()


class Band(PartFigures, frozen=True):
    """The share of people with so many ties, in both graphs."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")
    original: float | None = None
    released: float | None = None


class Mix(PartFigures, frozen=True):
    """The shares of an attribute's values in both graphs, and their distance."""

    distance: float | None = None
    values: list[Both] = []


class ConclusionFigures(PartFigures, frozen=True):
    """What a reader works out of both graphs; values by rank."""

    of: str
    by: str | None = None
    ranks: list[int] = []
    true: int | float = 0
    released: int | float = 0


class Conclusions(PartFigures, frozen=True):
    """What readers conclude wrongly, see `ktsafe.assess.conclusions.summary`."""

    conclusions: int = 0
    wrong_share: float | None = None
    cells: int = 0
    cells_empty: int = 0
    mixing_error: float | None = None
    mixing: dict[str, list[ConclusionFigures]] = {}
    worst: list[ConclusionFigures] = []


class Utility(PartFigures, frozen=True):
    """What a release is good for, see `ktsafe.assess.utility.utility_figures`."""

    original: StructureFigures = StructureFigures()
    released: StructureFigures = StructureFigures()
    degree_emd: float | None = None
    degree_bands: list[Band] | None = None
    attribute_mix: dict[str, Mix] | None = None
    paths: PathsFigures = PathsFigures()
    pagerank: PageRank = PageRank()
    communities: Communities = Communities()
    conclusions: Conclusions | None = None


class StatisticsBudget(msgspec.Struct, frozen=True):
    """What the statistics of a release cost, and of the 365 days up to it; in millionths.

    No secret: manifests add up to it, but for what is left.
    """

    epsilon_micro: int
    spent_micro: int
    left_micro: int
    omitted: bool = False


class Audit(PartFigures, frozen=True):
    """The private audit of a release.

    Attributes
    ----------
    audit:
        What the auditor of the sequence found.
    attacks:
        What attacks found, of the service or of a report.
    afresh:
        What a release of the same truth without a past would be worth.
    withdrawn:
        Why the owner withdrew the release; added by a report.

    Examples
    --------
    >>> audit = Audit.of({"privacy": {"all": {"k_real": {"min": 12, "below_k": 0}}}})
    >>> audit.privacy.all.k_real.min, audit.freshness is None
    (12, True)
    """

    params: Params = Params()
    release_id: str | None = None
    nominal_time: str | None = None
    size: Sizes = Sizes()
    suppressed: Suppressed = Suppressed()
    cost: Cost | None = None
    usefulness: UsefulnessFigures = UsefulnessFigures()
    privacy: Privacy = Privacy()
    audit: SequenceAudit = SequenceAudit()
    sequence: ToldSequence = ToldSequence()
    freshness: ToldFreshness | None = None
    attacks: Attacks = Attacks()
    afresh: UsefulnessFigures = UsefulnessFigures()
    utility: Utility | None = None
    statistics: StatisticsBudget | None = None
    withdrawn: str | None = None

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> Self:
        """Return the figures of a private audit, as JSON has them.

        Raises
        ------
        msgspec.ValidationError
            If one is of another kind.
        """
        return msgspec.convert(_told(figures), cls)


def _told(figures: Any) -> Any:
    """Return figures without those that are null: they are not told."""
    if isinstance(figures, Mapping):
        return {name: _told(each) for name, each in figures.items() if each is not None}
    return [_told(each) for each in figures] if isinstance(figures, list | tuple) else figures
