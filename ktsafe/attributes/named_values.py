"""Which values a group may be said to stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ktsafe.graph import AttributedGraph, Groups

Named = dict[str, dict[str, list[str]]]
"""For each attribute and group, values."""


def people_of_values(graph: AttributedGraph) -> dict[str, Counter[str]]:
    """Return how many people have each value of each quasi-identifier."""
    found = {}
    for j, name in enumerate(graph.schema.quasi_identifiers):
        sizes = np.bincount(graph.codes[:, j], minlength=len(graph.categories[j])).tolist()
        found[name] = Counter(dict(zip(graph.categories[j], sizes, strict=True)))
    return found


def named_values(groups: Mapping[str, Groups], people: Mapping[str, Counter[str]], k: int) -> Named:
    """Return of each group the values that at least k people have.

    That somebody has a rarer one is not said: a list of values would tell that it exists.

    Examples
    --------
    >>> people = {"town": Counter({"Ulm": 12, "Bonn": 3, "Kiel": 40})}
    >>> named_values({"town": {"south": ("Ulm", "Bonn"), "north": ("Kiel",)}}, people, 10)
    {'town': {'south': ['Ulm'], 'north': ['Kiel']}}
    """
    return {
        name: {
            group: sorted(value for value in values if people[name][value] >= k)
            for group, values in of_name.items()
        }
        for name, of_name in groups.items()
    }
