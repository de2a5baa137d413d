"""The private audit of one release: its cost, and privacy in fact.

A field here is one of audit.json (`stream.files.audit_model`): add optional ones, rename none, or
audits of earlier releases cannot be read. What is measured comes from the two graphs and the
mapping alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.cost import Cost, Traced, Usefulness, cost_parts, trace, usefulness
from ktsafe.audit.privacy_figures import Privacy, privacy_figures
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify import Verdict


class ParamsTold(msgspec.Struct, frozen=True):
    """What the release promises, see `ktsafe.PrivacyParams`; rationals as text."""

    k: int
    t: str
    alpha: str
    epsilon: int
    n_hops: int
    reading: str


class Size(msgspec.Struct, frozen=True):
    """Of a graph."""

    vertices: int
    edges: int

    @classmethod
    def of(cls, graph: AttributedGraph) -> Self:
        """Count."""
        return cls(graph.n_vertices, graph.n_edges)


class Sizes(msgspec.Struct, frozen=True):
    """Of the true graph and the released one."""

    original: Size
    released: Size


class Suppressed(msgspec.Struct, frozen=True):
    """How many released people, and values, differ from the truth."""

    people_with_other_quasi_identifiers: int
    quasi_identifiers: int
    sensitive_values: int


class ReleaseAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The private audit of one release by itself."""

    params: ParamsTold
    size: Sizes
    suppressed: Suppressed
    cost: Cost
    usefulness: Usefulness
    privacy: Privacy


def audit_release(
    original: AttributedGraph,
    released: AttributedGraph,
    params: PrivacyParams,
    *,
    original_of: NDArray[np.integer[Any]] | None = None,
    value_at: NDArray[np.integer[Any]] | None = None,
) -> ReleaseAudit:
    """Return the audit of a release. It is private.

    It shows which vertices are real.

    Parameters
    ----------
    original, released:
        The true graph at the release's nominal time, and what was released, of one schema.
    params:
        The parameters of the release.
    original_of:
        Integers, shape (released vertices,): the true vertex behind each, -1 for an inserted one.
        None: the first vertices are the originals in order, as `anonymize` never leaves them.
    value_at:
        Integers, shape (released vertices,): the vertex that shows the sensitive value of each, as
        in `ktsafe.Anonymized`. None: each shows its own.

    Raises
    ------
    InvalidGraph
        If the two graphs and the mapping do not fit each other.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> from ktsafe import anonymize
    >>> rng, params = np.random.default_rng(0), PrivacyParams(k=5)
    >>> graph = uniform(100, 300, rng=rng, n_tuples=2)
    >>> made = anonymize(graph, params, rng=rng)
    >>> audit = audit_release(
    ...     graph, made.graph, params, original_of=made.origin, value_at=made.value_at
    ... )
    >>> audit.privacy.all.k_real.min >= 5, audit.cost.total > 0
    (True, True)
    """
    return audit_traced(trace(original, released, original_of, value_at), params)


def audit_traced(
    traced: Traced, params: PrivacyParams, verdict: Verdict | None = None
) -> ReleaseAudit:
    """Return what `audit_release` does, of a release that is traced already.

    Parameters
    ----------
    verdict:
        That of the auditor on the release; None: it is verified here.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> from ktsafe.audit import trace
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0), n_tuples=2)
    >>> audit_traced(trace(graph, graph), PrivacyParams(k=5)).cost.total
    0
    """
    return ReleaseAudit(
        params=msgspec.convert(params.to_mapping(), ParamsTold),
        size=Sizes(Size.of(traced.original), Size.of(traced.released)),
        suppressed=changed_values(traced),
        cost=cost_parts(traced, params),
        usefulness=usefulness(traced),
        privacy=privacy_figures(traced, params, verdict).summary(),
    )


def changed_values(traced: Traced) -> Suppressed:
    """Count released people with untrue values, and such values.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> from ktsafe.audit import trace
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0), n_tuples=2)
    >>> changed_values(trace(graph, graph)).sensitive_values
    0
    """
    differs = np.column_stack([shown != true for shown, true in _values(traced)])
    return Suppressed(
        people_with_other_quasi_identifiers=int(differs[:, :-1].any(axis=1).sum()),
        quasi_identifiers=int(differs[:, :-1].sum()),
        sensitive_values=int(differs[:, -1].sum()),
    )


def values_told(traced: Traced) -> dict[str, dict[str, int]]:
    """Count what became of the values of released people, attribute by attribute.

    Exchanged values count as shown: they stand at another place.

    Returns
    -------
    dict
        For each attribute how many values are `shown` as given and how many are told `otherwise`
        (not as given, and not missing); of those that became missing, how many are `sensitive` and
        how many `harmless`. People who had none do not count.

    Examples
    --------
    >>> from ktsafe.audit import trace
    >>> from ktsafe.graph import AttributedGraph, Schema
    >>> schema = Schema((), "health", frozenset({"ill"}), expect_absent={"ill"})
    >>> given, told = (
    ...     AttributedGraph.from_columns(schema, {"health": values}, [])
    ...     for values in (["ill", "ill", "well", None], ["ill", None, None, None])
    ... )
    >>> values_told(trace(given, told))
    {'health': {'shown': 1, 'otherwise': 0, 'sensitive': 1, 'harmless': 1}}
    """
    sensitive = traced.original.is_sensitive[traced.behind[traced.real]]
    found: dict[str, dict[str, int]] = {}
    schema = traced.original.schema
    for name, (shown, true) in zip(schema.attributes, _values(traced), strict=True):
        is_same, is_missing, had = shown == true, shown == 0, true != 0
        suppressed = had & is_missing
        bad = sensitive if name == schema.sensitive else np.zeros(len(sensitive), dtype=np.bool_)
        found[name] = {
            "shown": int((had & is_same).sum()),
            "otherwise": int((had & ~is_same & ~is_missing).sum()),
            "sensitive": int((suppressed & bad).sum()),
            "harmless": int((suppressed & ~bad).sum()),
        }
    return found


def _values(traced: Traced) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, by attribute, released and true values of each released person.

    Equal numbers are equal texts, and 0 is a missing one. The sensitive one is that of the place
    where the person's value stands.
    """
    original, released, real = traced.original, traced.released, traced.real
    for j, name in enumerate(released.schema.attributes):
        at = traced.value_at if name == released.schema.sensitive else real
        number = {MISSING: 0}
        shown, true = (
            np.array([number.setdefault(text, len(number)) for text in graph.categories[j]])
            for graph in (released, original)
        )
        yield shown[released.codes[at, j]], true[original.codes[traced.behind[real], j]]
