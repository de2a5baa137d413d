"""The private audit of one release: what it cost, and how private it really is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.beta_likeness import beta_figures
from ktsafe.audit.induced_knowledge import induced_knowledge
from ktsafe.audit.link_density import link_figures
from ktsafe.audit.lower_bound import insertion_lower_bound
from ktsafe.audit.originals import Traced, trace
from ktsafe.audit.privacy_figures import privacy_figures
from ktsafe.audit.usefulness import usefulness
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


def audit_release(
    original: AttributedGraph,
    released: AttributedGraph,
    params: PrivacyParams,
    *,
    original_of: NDArray[np.integer[Any]] | None = None,
    certificate: NDArray[np.int32] | None = None,
) -> dict[str, Any]:
    """Return the JSON-ready audit of a release. It is private: it tells who is real.

    Parameters
    ----------
    original, released:
        The true graph at the release's nominal time, and what was released, of one schema.
    params:
        The parameters of the release.
    original_of:
        Integers, shape (released vertices,): the true vertex behind each, -1 for an inserted one.
        None: the first vertices are the originals in order, as `anonymize` never leaves them.
    certificate:
        See `ktsafe.verify.verify`. With it, protection sets are counted by its orbits: what is
        left of them at least.

    Returns
    -------
    dict
        `size` of both graphs, `suppressed` as in `changed_values`, `cost` as in `cost_parts`,
        `usefulness` as in `ktsafe.audit.usefulness.Usefulness`, `privacy` as in
        `ktsafe.audit.privacy_figures.PrivacyFigures`, with `k_known_induced` as in
        `ktsafe.audit.induced_knowledge.InducedKnowledge`, `links` as in `link_figures`,
        `beta_likeness` as in `beta_figures`.

    Raises
    ------
    InvalidGraph
        If the two graphs and the mapping do not fit each other.
    """
    return audit_traced(trace(original, released, original_of), params, certificate=certificate)


def audit_traced(
    traced: Traced,
    params: PrivacyParams,
    *,
    certificate: NDArray[np.int32] | None = None,
) -> dict[str, Any]:
    """Return what `audit_release` does, of a release that is traced already."""
    original, released = traced.original, traced.released
    figures = privacy_figures(traced, params, certificate=certificate)
    induced = induced_knowledge(traced)
    return {
        "params": params.to_mapping(),
        "size": {
            "original": {"vertices": original.n_vertices, "edges": original.n_edges},
            "released": {"vertices": released.n_vertices, "edges": released.n_edges},
        },
        "suppressed": changed_values(traced),
        "cost": cost_parts(traced, params),
        "usefulness": usefulness(traced).to_mapping(),
        "privacy": {
            **figures.to_mapping(),
            # The walk reading says nothing of an attacker who knows ties among neighbours.
            "k_known_induced": induced.to_mapping(params.k),
        },
        "links": link_figures(released, params),
        "beta_likeness": beta_figures(released, params),
    }


def cost_parts(traced: Traced, params: PrivacyParams) -> dict[str, Any]:
    """Return Cost(G, G') = |V delta V'| + |E delta E'| in its parts, and its yardsticks.

    Returns
    -------
    dict
        Inserted and deleted vertices and edges and their `total`; `k_copies`, the cost
        (m - 1)(|V| + |E|) of m = max(k, ceil(1 / alpha)) disjoint copies; the insertion
        `lower_bound`; the total over either (None where that is 0). `edges_of_withheld` are those
        deleted edges that have an end which is not released. The bound is what publishing these
        people with these quasi-identifiers costs at least, and what was withheld; it holds for
        releases that delete no edge among them, so its ratio is None for the others.

    Source: Equation 1. Attribute values are not part of that cost.
    """
    original, useful = traced.original, usefulness(traced)
    withheld = np.ones(original.n_vertices, dtype=np.bool_)
    withheld[traced.behind[traced.real]] = False
    of_withheld = int(np.count_nonzero(withheld[original.edges].any(axis=1)))
    parts = {
        "inserted_vertices": useful.vertices.released - useful.vertices.shared,
        "deleted_vertices": useful.vertices.true - useful.vertices.shared,
        "inserted_edges": useful.edges.released - useful.edges.shared,
        "deleted_edges": useful.edges.true - useful.edges.shared,
    }
    total = sum(parts.values())
    copies = (params.group_size_min - 1) * (original.n_vertices + original.n_edges)
    # The bound is one of degrees, which decide similarity only between stars.
    bound = None
    if params.sees_stars:
        bound = insertion_lower_bound(traced.shown, params)
        bound += parts["deleted_vertices"] + of_withheld
    only_inserts = parts["deleted_edges"] == of_withheld
    return {
        **parts,
        "edges_of_withheld": of_withheld,
        "total": total,
        "k_copies": copies,
        "share_of_k_copies": round(total / copies, 6) if copies else None,
        "lower_bound": bound,
        "times_lower_bound": round(total / bound, 6) if bound and only_inserts else None,
    }


def changed_values(traced: Traced) -> dict[str, int]:
    """Count released people whose values are not the true ones, and such values."""
    original, released, real = traced.original, traced.released, traced.real
    differs = np.zeros((len(real), released.codes.shape[1]), dtype=np.bool_)
    for j in range(differs.shape[1]):
        shown = np.array(released.categories[j], dtype=object)[released.codes[real, j]]
        true = np.array(original.categories[j], dtype=object)[
            original.codes[traced.behind[real], j]
        ]
        differs[:, j] = shown != true
    return {
        "people_with_other_quasi_identifiers": int(differs[:, :-1].any(axis=1).sum()),
        "quasi_identifiers": int(differs[:, :-1].sum()),
        "sensitive_values": int(differs[:, -1].sum()),
    }
