"""Whether the network is spelt as it was.

What a program writes otherwise is no change of people.

A producer that begins to write `3.0` for `3` changes everybody at once. Published, all would appear
a second time, and whoever has a sensitive value could have one that nobody declared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ktsafe import AttributedGraph
from ktsafe.errors import WrittenOtherwise
from ktsafe.graph.inputs.spelling import looks_missing
from ktsafe.sequence import Changes, SequenceEngine
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

_MEANT = "If it is meant, set [release] change_max = 1 for this release."


def check_spelt_as_before(
    engine: SequenceEngine, changes: Changes, graph: AttributedGraph, change_max: float
) -> None:
    """Refuse a network in which more changed at once than people change.

    Parameters
    ----------
    engine:
        The sequence as of the release before.
    changes:
        What changed since.
    graph:
        The network now.
    change_max:
        The greatest share of the people of both dates whose value of one attribute may differ;
        1: all of it is meant. Fewer than k people are never too many.

    Raises
    ------
    WrittenOtherwise
        With the attribute. No value is named but those that the schema declares.
    """
    if change_max >= 1:
        return
    held = engine.sensitive_texts()
    shown = {graph.categories[-1][code] for code in np.unique(graph.codes[:, -1])}
    if held and not held & shown:
        named = ", ".join(map(repr, sorted(held)))
        msg = f"No person has a sensitive value of {graph.schema.sensitive!r} any more: {named}."
        raise WrittenOtherwise(msg, hint=f"See how the feed spells it. {_MEANT}")
    stayed = graph.n_vertices - len(changes.joined)
    bound = max(engine.params.k, change_max * stayed)
    before = engine.values_of(changes.changed)
    for j, name in enumerate(graph.schema.attributes):
        now = changes.changed_values
        changed = sum(old[j] != new[j] for old, new in zip(before, now, strict=True))
        if changed > bound:
            msg = f"More than {change_max:.0%} of the people changed {name!r} at once."
            raise WrittenOtherwise(msg, hint=f"It looks as if it is written otherwise. {_MEANT}")


def told_once() -> Callable[[AttributedGraph], None]:
    """Return a first warning of texts such as `NULL`.

    They are values like any other.

    The log names the attributes, and no value.
    """
    graphs_told = 0

    def tell(graph: AttributedGraph) -> None:
        nonlocal graphs_told
        graphs_told += 1
        if graphs_told == 1 and (names := _that_look_missing(graph)):
            hint = "They are published as values like any other. Leave out those that are missing."
            log.warning("values look missing", subject=", ".join(names), hint=hint)

    return tell


def _that_look_missing(graph: AttributedGraph) -> list[str]:
    schema = graph.schema
    return [
        name
        for j, name in enumerate(schema.attributes)
        if any(looks_missing(graph.categories[j][code]) for code in np.unique(graph.codes[:, j]))
    ]
