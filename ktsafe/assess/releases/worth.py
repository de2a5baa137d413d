"""Worth of a sequence, and the privacy receipt of one person.

Figures and words may be added; fields are what `--json` prints. The receipt counts by the releases'
bytes: tests/ktsafe/assess/releases/naive_receipt.py does so by hand. Both are private.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
import numpy as np

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.generalization.quick_release import afresh
from ktsafe.assess.utility import measured
from ktsafe.audit import Overlap, Usefulness, trace, usefulness
from ktsafe.audit.changes_by_age import AGES, RECENT, AgedFigures
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.stream.files.audit_model import Attacks, Audit, Utility
from ktsafe.stream.files.private_audits import read_owners, read_value_places
from ktsafe.stream.files.release_figures import over_time_in_words, watched_of, worth_over_time
from ktsafe.stream.files.releases_read import Release, read_release, release_folders
from ktsafe.stream.files.report_texts import cost_in_words, text_of
from ktsafe.verify import verify

# A sequence's worth by release and on average, and without attributes.


class Counted(msgspec.Struct, frozen=True):
    """Changes of the last releases, and how many are shown."""

    count: int
    shown: int

    @classmethod
    def of(cls, ages: Mapping[str, AgedFigures]) -> Self:
        """Take the recent ones together."""
        recent = ages[RECENT]
        return cls(recent.count, round(recent.count * (recent.shown or 0.0)))


class ReleaseLife(msgspec.Struct, frozen=True, kw_only=True):
    """Changes with one release, and its worth."""

    release_id: str | None
    nominal_time: str | None
    edges: int
    new_ties: Counted
    ended_ties: Counted
    newcomers: Counted
    leavers: Counted
    came: int
    gone: int
    worth: dict[str, float | None]


class Life(msgspec.Struct, frozen=True):
    """The releases of a sequence; mean and worst of each figure."""

    releases: list[ReleaseLife]
    worth: dict[str, dict[str, float | None]]


def over_releases(audits: Sequence[Audit]) -> Life:
    """Return what the releases of a sequence are worth.

    Parameters
    ----------
    audits:
        Their private audits, in order of publication.
    """
    rows = [_row(audit) for audit in audits]
    return Life(rows, worth_over_time([row.worth for row in rows]))


def _row(audit: Audit) -> ReleaseLife:
    fresh = audit.freshness
    new, ended, newcomers, leavers = (
        (Counted.of(ages) for ages in (fresh.ties, fresh.ended, fresh.newcomers, fresh.leavers))
        if fresh
        else [Counted(0, 0)] * 4
    )
    return ReleaseLife(
        release_id=audit.release_id,
        nominal_time=audit.nominal_time,
        edges=audit.size.released.edges,
        new_ties=new,
        ended_ties=ended,
        newcomers=newcomers,
        leavers=leavers,
        came=fresh.changed.came if fresh else 0,
        gone=fresh.changed.gone if fresh else 0,
        worth=watched_of(audit),
    )


def describe_life(found: Life) -> str:
    """Return in words what `over_releases` found.

    A line per release, and the mean.
    """
    heads = ("", "edges", "came", "went", "new ties", "ended, gone", "newcomers", "F1", "latest")
    rows = [heads, *(_cells(row) for row in found.releases)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(heads))]
    lines = [f"life      what changed in the last {AGES[-1]} releases, and what of it readers see"]
    lines += [
        "          " + "  ".join(f"{text:>{w}}" for text, w in zip(row, widths, strict=True))
        for row in rows
    ]
    if mean := over_time_in_words([row.worth for row in found.releases]):
        lines.append(f"worth     {mean}")
    return "\n".join(lines)


def _cells(row: ReleaseLife) -> tuple[str, ...]:
    """Return a line of the table as texts."""
    new, ended, people = row.new_ties, row.ended_ties, row.newcomers
    return (
        (row.nominal_time or row.release_id or "")[:10],
        f"{row.edges:,}",
        f"{row.came:,}",
        f"{row.gone:,}",
        _of(new.shown, new.count),
        _of(ended.count - ended.shown, ended.count),
        _of(people.shown, people.count),
        text_of(row.worth["edge_f1"]),
        text_of(row.worth["edge_f1_latest"]),
    )


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" if whole else "-"


# A release's worth, beside its truth and what was possible.


class Worth(msgspec.Struct, frozen=True, kw_only=True):
    """What a release is worth; it is private.

    Attributes
    ----------
    afresh, without:
        The usefulness of a release of the same true graph that has no past, and of one without
        each quasi-identifier.
    over_time:
        Of all releases of its sequence.
    """

    release_id: str
    usefulness: Usefulness
    utility: Utility | None
    attacks: Attacks
    afresh: Usefulness
    without: dict[str, Usefulness]
    over_time: Life


def worth(
    truth: GraphSnapshot,
    release: Release,
    owners: Mapping[str, str | None],
    audits: Sequence[Audit],
    *,
    seed: int = 0,
) -> Worth:
    """Return what a release is worth.

    Parameters
    ----------
    truth:
        The true graph at the time of the release.
    owners:
        The person behind each released id, None for an inserted vertex.
    audits:
        The private audits of the releases, its own last: attacks that it tells of are not run
        again.
    seed:
        The same graphs and seed give the same figures.

    Raises
    ------
    InvalidGraph
        If graphs and mapping do not fit each other.
    """
    schema = dataclasses.replace(truth.graph.schema, buckets={}, groups={}).expecting_nothing()
    released = AttributedGraph.from_columns(schema, release.columns, release.edges)
    position = {name: v for v, name in enumerate(truth.ids)}
    behind = [position.get(owners.get(name) or "", -1) for name in release.ids]
    traced = trace(truth.graph, released, np.array(behind, dtype=np.int64))
    told = measured(audits[-1], truth.graph, released, traced.behind, release.params, seed=seed)
    return Worth(
        release_id=release.manifest.release_id,
        usefulness=usefulness(traced),
        utility=told.utility,
        attacks=told.attacks,
        afresh=afresh(truth.graph, release.params, seed=seed),
        without={
            name: afresh(without_attributes(truth.graph, [name]), release.params, seed=seed)
            for name in schema.quasi_identifiers
        },
        over_time=over_releases(audits),
    )


def describe_worth(found: Worth) -> str:
    """Return what `worth` found in words, for the owner of the network."""
    ties, people, utility = found.usefulness.edges, found.usefulness.vertices, found.utility
    assert utility is not None
    both, groups = (utility.original, utility.released), utility.communities
    modularity = groups.modularity
    rows = [
        ("", "true", "released", ""),
        ("people", f"{people.true:,}", f"{people.released:,}", _shares(people)),
        ("ties", f"{ties.true:,}", f"{ties.released:,}", _shares(ties)),
        (
            "ties a person",
            *(text_of(graph.mean_degree, ".1f") for graph in both),
            f"distributions {text_of(utility.degree_emd, '.1f')} apart",
        ),
        ("clustering", *(text_of(graph.clustering) for graph in both), ""),
        (
            "modularity",
            *(text_of(figure) for figure in (modularity.original, modularity.released)),
            f"communities agree by {text_of(groups.ami)}, at best {text_of(groups.ami_again)}",
        ),
    ]
    lines = ["worth     the last release beside the truth (for you alone: readers cannot tell)"]
    lines += [f"          {a:<13} {b:>8} {c:>8}   {d}".rstrip() for a, b, c, d in rows]
    lines += [
        f"cost      {cost_in_words(ties)}",
        f"rebase    {_shares(found.afresh.edges)}: ties, if it began anew now",
    ]
    lines += [
        f"          {_shares(figures.edges)}: likewise, without {name}"
        for name, figures in found.without.items()
    ]
    return "\n".join(lines)


def _shares(overlap: Overlap) -> str:
    precision, recall, f1 = map(text_of, (overlap.precision, overlap.recall, overlap.f1))
    return f"precision {precision}, recall {recall}, F1 {f1}"


def without(schema: Schema, left_out: Sequence[str]) -> Schema:
    """Return the schema without some of its quasi-identifiers."""
    return dataclasses.replace(
        schema,
        quasi_identifiers=tuple(q for q in schema.quasi_identifiers if q not in left_out),
        buckets={name: edges for name, edges in schema.buckets.items() if name not in left_out},
        groups={name: groups for name, groups in schema.groups.items() if name not in left_out},
    )


def without_attributes(graph: AttributedGraph, names: Sequence[str]) -> AttributedGraph:
    """Return the graph without some of its quasi-identifiers."""
    kept = [j for j, attribute in enumerate(graph.schema.attributes) if attribute not in names]
    categories = [graph.categories[j] for j in kept]
    schema = without(graph.schema, names)
    return AttributedGraph.from_codes(schema, categories, graph.codes[:, kept], graph.edges)


# The privacy receipt of one person.
#
# It says what was ever shown of the person, and among how many candidates.
#
# It answers a request for access. It is private, the more so as it joins a true id to published
# ones.


class _ReleaseOfPerson(NamedTuple):
    """A release in which a person is: everything by published id."""

    release: Release
    own: str
    kinds: Mapping[str, tuple[str, ...]]
    ties: Mapping[str, set[str]]


class ShownPerson(msgspec.Struct, frozen=True, kw_only=True):
    """What one release shows of a person.

    Attributes
    ----------
    values, ties:
        As shown.
    value_at:
        The published id that shows the sensitive one of the values.
    candidates, people:
        The protection set by the strict verifier, and people among them.
    linked_candidates, linked_people:
        Those left to an attacker that links all releases so far.
    changed_alike:
        Of those left, how many gained and lost neighbours of the same quasi-identifiers since the
        release before; None where nothing of the person changed.
    """

    release_id: str
    sequence_id: str
    nominal_time: str | None
    published_id: str
    values: dict[str, str]
    value_at: str
    ties: int
    candidates: int
    people: int
    linked_candidates: int
    linked_people: int
    changed_alike: int | None


class Receipt(msgspec.Struct, frozen=True):
    """Releases that show a person; `risk` is 1 over `fewest_people`."""

    person: str
    releases: list[ShownPerson]
    fewest_people: int | None
    risk: float | None


def receipt(releases: Sequence[Path], mapping: Path, person: str) -> Receipt:
    """Return what releases show of a person; private.

    Parameters
    ----------
    releases:
        Folders of releases in order of publication, or folders of them.
    mapping:
        The private audit folder.
    person:
        The true id. What was erased has no entry any more, and cannot be told.

    Raises
    ------
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    rows: list[ShownPerson] = []
    before: _ReleaseOfPerson | None = None
    left: set[str] = set()
    for folder in release_folders(releases):
        release = read_release(folder)
        owners = read_owners(mapping, release.manifest.release_id)
        own = next((name for name, owner in owners.items() if owner == person), None)
        if own is None:
            before = None
            continue
        now, value_at = _shown(release, own), _place_of_value(release, own, mapping)
        at = dict.fromkeys(release.columns, own) | {release.manifest.schema.sensitive: value_at}
        candidates = _candidates(release, own)
        follows = _follows(before, now)
        left = left & candidates if follows else candidates
        alike = _changed_alike(before, now, left) if follows and before is not None else None
        rows.append(
            ShownPerson(
                release_id=release.manifest.release_id,
                sequence_id=release.manifest.sequence_id,
                nominal_time=release.manifest.nominal_time,
                published_id=own,
                values={
                    name: column[release.ids.index(at[name])]
                    for name, column in release.columns.items()
                },
                value_at=value_at,
                ties=len(now.ties[own]),
                candidates=len(candidates),
                people=_people(candidates, owners),
                linked_candidates=len(left),
                linked_people=_people(left, owners),
                changed_alike=alike,
            )
        )
        before = now
    fewest = min((row.linked_people for row in rows), default=None)
    return Receipt(person, rows, fewest, None if fewest is None else round(1 / fewest, 6))


def describe_receipt(found: Receipt) -> str:
    """Return a receipt as text."""
    if found.risk is None:
        return "no release shows this person, or what showed it was erased"
    lines = []
    for row in found.releases:
        values = ", ".join(f"{name} {value}" for name, value in row.values.items())
        lines += [
            f"{row.release_id}: shown as {row.published_id}: {values}; {row.ties:,} ties",
            (
                f"  candidates {row.candidates:,}, people among them {row.people:,}; over "
                f"all releases so far {row.linked_candidates:,}, people "
                f"{row.linked_people:,}; changed alike "
                f"{text_of(row.changed_alike, ',', 'nothing changed')}"
            ),
        ]
    lines.append(
        "chance of a guess by an attacker that links all releases: "
        f"{found.risk:.3f} at most, 1 over {found.fewest_people:,} people; a tie shown may "
        "be invented, a true one hidden"
    )
    return "\n".join(lines)


def _shown(release: Release, own: str) -> _ReleaseOfPerson:
    classes, meanings = release.classes()
    ids = list(release.ids)
    kinds = {name: meanings[classes[v]] for v, name in enumerate(ids)}
    ties: dict[str, set[str]] = {name: set() for name in ids}
    for u, v in release.edges.tolist():
        ties[ids[u]].add(ids[v])
        ties[ids[v]].add(ids[u])
    return _ReleaseOfPerson(release, own, kinds, ties)


def _place_of_value(release: Release, own: str, mapping: Path) -> str:
    """Return the vertex that shows the sensitive value of another one's owner."""
    value_at = read_value_places(mapping, release)
    return own if value_at is None else release.ids[int(value_at[release.ids.index(own)])]


def _candidates(release: Release, own: str) -> set[str]:
    """Return the protection set of a vertex; sets are mutual."""
    is_own = np.array([name == own for name in release.ids])
    found = verify(release.quasi_identifiers(), is_own, release.edges, release.params)
    return {release.ids[v] for v in np.flatnonzero(found.ps_sensitive).tolist()}


def _follows(before: _ReleaseOfPerson | None, now: _ReleaseOfPerson) -> bool:
    """Whether the person kept the id since the release before.

    Both releases are of one sequence.
    """
    if before is None or before.own != now.own:
        return False
    return before.release.manifest.sequence_id == now.release.manifest.sequence_id


def _people(names: set[str], owners: Mapping[str, str | None]) -> int:
    return sum(owners.get(name) is not None for name in names)


def _changed_alike(before: _ReleaseOfPerson, now: _ReleaseOfPerson, left: set[str]) -> int | None:
    """Return how many of those left changed as the person did.

    None where it did not.
    """

    def change(name: str) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
        old, new = before.ties.get(name, set()), now.ties.get(name, set())
        gained = Counter(now.kinds[other] for other in new - old)
        return gained, Counter(before.kinds[other] for other in old - new)

    mine = change(now.own)
    return sum(change(name) == mine for name in left) if any(mine) else None
