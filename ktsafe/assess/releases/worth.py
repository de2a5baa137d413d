"""A release's worth, beside its truth and what was possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.generalization.quick_release import afresh
from ktsafe.assess.releases.measuring import measured
from ktsafe.audit import trace, usefulness
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.stream.files.releases_read import Release
from ktsafe.stream.formatting import cost_in_words, text_of


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
        `release_id`; `usefulness`, see `ktsafe.audit.usefulness`; `utility`, see
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
