"""A sequence's worth by release and on average, and without attributes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.generalization.quick_release import afresh
from ktsafe.assess.utility import measured
from ktsafe.audit import trace, usefulness
from ktsafe.audit.freshness import AGES, RECENT
from ktsafe.audit.model import AgedFigures, Audit, ToldFreshness
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.stream.files.freshness_figures import over_time_in_words, worth_over_time
from ktsafe.stream.files.release_figures import watched_of
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.formatting import cost_in_words, text_of


def over_releases(audits: Sequence[Audit]) -> dict[str, Any]:
    """Return what the releases of a sequence are worth, JSON-ready.

    Parameters
    ----------
    audits:
        Their private audits, in order of publication.

    Returns
    -------
    dict
        `releases`: for each the `release_id`, `nominal_time`, number of `edges`, what
        changed and is shown, what `came` and `gone`, and its `worth`. `worth`: mean and worst of
        each figure, see `worth_over_time`.
    """
    rows = [_row(audit) for audit in audits]
    return {"releases": rows, "worth": worth_over_time([row["worth"] for row in rows])}


def _row(audit: Audit) -> dict[str, Any]:
    fresh = audit.freshness or ToldFreshness()
    return {
        "release_id": audit.release_id,
        "nominal_time": audit.nominal_time,
        "edges": audit.size.released.edges,
        "new_ties": _counted(fresh.ties),
        "ended_ties": _counted(fresh.ended),
        "newcomers": _counted(fresh.newcomers),
        "leavers": _counted(fresh.leavers),
        "came": fresh.changed.came,
        "gone": fresh.changed.gone,
        "worth": watched_of(audit),
    }


def _counted(ages: Mapping[str, AgedFigures]) -> dict[str, int | None]:
    """Return how many changed in the last releases, and how many of them are shown."""
    recent = ages.get(RECENT, AgedFigures())
    return {"count": recent.count, "shown": round((recent.count or 0) * (recent.shown or 0.0))}


def describe_life(found: Mapping[str, Any]) -> str:
    """Return in words what `over_releases` found.

    A line per release, and the mean.
    """
    heads = ("", "edges", "came", "went", "new ties", "ended, gone", "newcomers", "F1", "latest")
    rows = [heads, *(_cells(row) for row in found["releases"])]
    widths = [max(len(row[j]) for row in rows) for j in range(len(heads))]
    lines = [f"life      what changed in the last {AGES[-1]} releases, and what of it readers see"]
    lines += [
        "          " + "  ".join(f"{text:>{w}}" for text, w in zip(row, widths, strict=True))
        for row in rows
    ]
    if mean := over_time_in_words([row["worth"] for row in found["releases"]]):
        lines.append(f"worth     {mean}")
    return "\n".join(lines)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a line of the table as texts."""
    new, ended, people = (row[name] for name in ("new_ties", "ended_ties", "newcomers"))
    gone = (ended["count"] or 0) - ended["shown"]
    return (
        (row["nominal_time"] or row["release_id"] or "")[:10],
        text_of(row["edges"], ","),
        text_of(row["came"], ","),
        text_of(row["gone"], ","),
        _of(new["shown"], new["count"]),
        _of(gone, ended["count"]),
        _of(people["shown"], people["count"]),
        text_of(row["worth"].get("edge_f1")),
        text_of(row["worth"].get("edge_f1_latest")),
    )


def _of(part: int, whole: int | None) -> str:
    return f"{part:,} of {whole:,}" if whole else "-"


# A release's worth, beside its truth and what was possible.


def worth(
    truth: GraphSnapshot,
    release: Release,
    owners: Mapping[str, str | None],
    audit: Mapping[str, Any],
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Return JSON-ready figures of a release; they are private.

    Parameters
    ----------
    truth:
        The true graph at the time of the release.
    owners:
        The person behind each released id, None for an inserted vertex.
    audit:
        The private audit of the release: attacks that it tells of are not run again.
    seed:
        The same graphs and seed give the same figures.

    Returns
    -------
    dict
        `release_id`; `usefulness`, see `ktsafe.audit.cost`; `utility`, see
        `ktsafe.assess.utility.utility_figures`; `attacks` as in audits; `afresh`, the usefulness of
        a release of the same true graph that has no past, and under `without` of one without each
        quasi-identifier.

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
    told = measured(audit, truth.graph, released, traced.behind, release.params, seed=seed)
    return {
        "release_id": release.manifest.release_id,
        "usefulness": usefulness(traced).to_mapping(),
        "utility": told["utility"],
        "attacks": told["attacks"],
        "afresh": afresh(truth.graph, release.params, seed=seed),
        "without": {
            name: afresh(without_attributes(truth.graph, [name]), release.params, seed=seed)
            for name in schema.quasi_identifiers
        },
    }


def describe_worth(found: Mapping[str, Any]) -> str:
    """Return what `worth` found in words, for the owner of the network."""
    ties, people = found["usefulness"]["edges"], found["usefulness"]["vertices"]
    utility = found["utility"]
    communities, both = utility["communities"], ("original", "released")
    again = text_of(communities["ami_again"])
    mean_degree, clustering = (
        [utility[graph][name] for graph in both] for name in ("mean_degree", "clustering")
    )
    rows = [
        ("", "true", "released", ""),
        ("people", f"{people['true']:,}", f"{people['released']:,}", _shares(people)),
        ("ties", f"{ties['true']:,}", f"{ties['released']:,}", _shares(ties)),
        (
            "ties a person",
            *(text_of(value, ".1f") for value in mean_degree),
            f"distributions {text_of(utility['degree_emd'], '.1f')} apart",
        ),
        ("clustering", *(text_of(value) for value in clustering), ""),
        (
            "modularity",
            *(text_of(communities["modularity"][graph]) for graph in both),
            f"communities agree by {text_of(communities['ami'])}, at best {again}",
        ),
    ]
    lines = ["worth     the last release beside the truth (for you alone: readers cannot tell)"]
    lines += [f"          {a:<13} {b:>8} {c:>8}   {d}".rstrip() for a, b, c, d in rows]
    lines += [
        f"cost      {cost_in_words(ties)}",
        f"rebase    {_shares(found['afresh']['edges'])}: ties, if it began anew now",
    ]
    lines += [
        f"          {_shares(figures['edges'])}: likewise, without {name}"
        for name, figures in found["without"].items()
    ]
    return "\n".join(lines)


def _shares(overlap: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{word} {text_of(overlap[name])}"
        for name, word in (("precision", "precision"), ("recall", "recall"), ("f1", "F1"))
    )


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
