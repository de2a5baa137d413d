"""Result of `protect`: the release, and privately the mapping.

What it prints may be changed. Everything but `graph` and `generalized` is private, and
`PrivateMapping` prints its size alone (tests/ktsafe/protection/test_protect.py).
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe.anonymization.anonymization import Anonymized
from ktsafe.audit import ReleaseAudit, Traced, audit_release, trace, usefulness
from ktsafe.audit.cost import Overlap, Usefulness
from ktsafe.graph import AttributedGraph
from ktsafe.graph.schemas import Named
from ktsafe.params import PrivacyParams
from ktsafe.reader.published import html_table
from ktsafe.stream.assessment import Advised, assessment, is_installed
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.releases_write import ReleaseHeader
from ktsafe.stream.files.single_release import (
    atomic_folder,
    check_folders,
    write_private,
    written_and_verified,
)
from ktsafe.verify import Verdict, verify_graph

PAGE_TIES_MAX = 20_000
"""Ties up to which a notebook shows the report: it attacks the release, which takes seconds."""


class PrivateMapping(Mapping[int, Hashable]):
    """The mapping of ids.

    The id in the release -> the id that the owner gave. Never publish it.

    Inserted vertices have no entry. What it prints is its size alone.
    """

    def __init__(self, ids: Mapping[int, Hashable]) -> None:
        self._ids = dict(ids)

    def __getitem__(self, published: int) -> Hashable:
        return self._ids[published]

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<private: ids of {len(self)} published people>"


@dataclasses.dataclass(frozen=True, eq=False)
class Provenance:
    """Where a release comes from; private.

    Attributes
    ----------
    given:
        The true graph as its owner tells it.
    told:
        The same as the release tells it: the groups of a generalization are its values.
    made:
        The release and its mapping.
    ids:
        The text of each true vertex's id.
    advice:
        What the generalization went by; None without one.
    named:
        Groups of values, and which of them may be named.
    ignored:
        What was left out and counted: repeated edges, self-loops.
    """

    given: AttributedGraph
    told: AttributedGraph
    made: Anonymized
    ids: list[str]
    advice: Advised | None
    named: Named
    ignored: dict[str, int]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """A verified release, and privately what became of the graph.

    Attributes
    ----------
    graph:
        The release, in the kind that was given; its vertices are numbered anew, in random order.
        It alone may be published.
    params:
        What holds for every vertex of it.
    private_mapping:
        The true id of each published person.
    generalized:
        For each attribute that is told in groups of values the groups, with the values that at
        least k people have: for readers.
    provenance:
        Where it comes from; private.
    """

    graph: Any
    params: PrivacyParams
    private_mapping: PrivateMapping
    generalized: Named
    provenance: Provenance

    @cached_property
    def utility(self) -> Usefulness:
        """How many ties and people are true: precision, recall, F1, cost."""
        return usefulness(self._traced)

    @cached_property
    def _traced(self) -> Traced:
        made = self.provenance.made
        return trace(self.provenance.told, made.graph, made.origin, made.value_at)

    def verify(self) -> Verdict:
        """Let the strict verifier judge the release once more.

        Its counts are by vertex, in the order of the release.
        """
        made = self.provenance.made
        return verify_graph(made.graph, self.params)

    def advise(
        self,
        *,
        keep: Collection[str] = (),
        other_ks: Iterable[int] = (),
        releases: int = 0,
        seed: int = 0,
    ) -> Advised:
        """Return how coarsely to tell each quasi-identifier, as `ktsafe advise` does; private.

        Parameters
        ----------
        keep:
            Quasi-identifiers that must be told.
        other_ks:
            Other k to estimate.
        releases:
            How many releases are made besides that of what is advised.
        seed:
            The same seed gives the same figures.
        """
        hooks = assessment("Protected.advise")
        return hooks.advised(
            self.provenance.given,
            self.params,
            keep=keep,
            other_ks=other_ks,
            releases=releases,
            seed=seed,
        )

    def attack(self, attacks: Iterable[str] | None = None, *, seed: int = 0) -> list[Any]:
        """Run known attacks as `ktsafe audit --attacks` does; results are private.

        Parameters
        ----------
        attacks:
            Names of `ktsafe.assess.attacks.ATTACKS`; None: all.
        seed:
            The same seed gives the same figures.

        Returns
        -------
        list of ktsafe.assess.attacks.Result
        """
        hooks = assessment("Protected.attack")
        return hooks.attacked(self._traced, self.params, attacks, np.random.default_rng(seed))

    def audit(self) -> ReleaseAudit:
        """Return the private audit: cost, privacy and utility, see `ktsafe.audit`."""
        told, made = self.provenance.told, self.provenance.made
        return audit_release(
            told,
            made.graph,
            self.params,
            original_of=made.origin,
            value_at=made.value_at,
        )

    def to_html(self) -> str:
        """Return the report of `ktsafe audit --page` as one page of HTML.

        The page is private.

        It attacks the release, which takes seconds, on large networks minutes.
        """
        return self._page

    def save(self, out: Path | str, audit: Path | str) -> None:
        """Write release and private audit to new folders, as `ktsafe anonymize`.

        What was written is read again and verified before it appears. Ids are drawn afresh.

        Parameters
        ----------
        out:
            The folder to publish.
        audit:
            The private folder, with the mapping of ids.

        Raises
        ------
        InvalidGraph
            If a folder exists, or one lies in the other.
        NotKTSafe
            If the strict verifier does not pass what was written.
        """
        out, audit = Path(out), Path(audit)
        check_folders(out, audit)
        made, params = self.provenance.made, self.params
        header = ReleaseHeader(
            out.name, "single", None, params, generalized=self.generalized, values=made.values
        )
        with atomic_folder(out) as release_room, atomic_folder(audit) as audit_room:
            _, _, ids = written_and_verified(release_room, made, header, shown=True)
            write_private(audit_room, self.provenance.ids, made, ids, Audit.of(self.audit()))

    def report(self) -> str:
        """Return a few lines about safety and utility, private to the owner."""
        return "\n".join(f"{name:9} {text}" for name, text in self._lines())

    def __repr__(self) -> str:
        released = self.provenance.made.graph
        f1 = self.utility.edges.f1
        worth = "" if f1 is None else f", F1 of ties {f1:.2f}"
        return (
            f"<Protected: {released.n_vertices} vertices, {released.n_edges} edges, "
            f"kt-safe with k={self.params.k}{worth}>"
        )

    def _repr_html_(self) -> str:
        if self.provenance.told.n_edges <= PAGE_TIES_MAX and is_installed():
            # The page has its own styles and dark colours, which are not to leak into a notebook.
            page = html.escape(self._page, quote=True)
            return f'<iframe srcdoc="{page}" style="width:100%;height:34em;border:0"></iframe>'
        return html_table(self._lines())

    @cached_property
    def _page(self) -> str:
        told, made = self.provenance.told, self.provenance.made
        return assessment("The report").page_of(told, made, self.params, self.audit())

    def _lines(self) -> Iterator[tuple[str, str]]:
        params, utility = self.params, self.utility
        alike = f"at least k={params.k} alike, at most {float(params.alpha):.0%} of them sensitive"
        yield "safety", f"kt-safe, verified: {alike}"
        yield "people", _compared(utility.vertices)
        yield "ties", _compared(utility.edges)
        if (share := utility.edges.cost_share) is not None:
            yield "cost", f"{share:.2f} of the true ties; 1.00 would be to publish none"
        if self.provenance.advice is not None:
            yield "told", str(self.provenance.advice)
        if said := ", ".join(f"{n:,} {what}" for what, n in self.provenance.ignored.items() if n):
            yield "ignored", said


def _compared(overlap: Overlap) -> str:
    shares = (
        f"{name} {share:.2f}"
        for name in ("precision", "recall")
        if (share := getattr(overlap, name)) is not None
    )
    return f"{overlap.true:,} true, {overlap.released:,} released; {', '.join(shares)}".rstrip("; ")
