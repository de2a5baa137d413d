"""Known columns: the attacker knows all insensitive values of a person, and its neighbours.

As `one_hop` by counts of quasi-identifier tuples, with the columns as further quasi-identifiers:

- `rows`: a vertex that shows another value than the person's is farther away, column by column;
- `bands`: values may be exchanged among vertices of about the same degree, so the attacker asks
  first in which band of its class the values of all columns are likeliest (the test of Homer et
  al. for members of a group), and looks for the person there.

Source: Homer et al., "Resolving individuals contributing trace amounts of DNA to highly complex
mixtures" (PLoS Genetics 2008).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.nearest import Standing, standings
from ktsafe.attacks.common.result import Result
from ktsafe.attacks.one_hop import SAME, guess_result, joint_rows
from ktsafe.params import PrivacyParams

NEIGHBOURS_WEIGH = (0, 1, 3, 100)
"""What a neighbour counts beside a column; the one that finds most people is told."""
BANDS = (1, 3, 10)
"""Least sizes of bands, as multiples of k; the one that finds most people is told."""


def known_columns(
    case: Case,
    params: PrivacyParams,
    true: Mapping[str, Sequence[object]],
    shown: Mapping[str, Sequence[object]],
) -> list[Result]:
    """Return how many people are found by their neighbours and their insensitive values.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k.
    true, shown:
        For each column the value of each true and of each released vertex; None where missing.

    Returns
    -------
    list of Result
        `known_columns.rows` and `known_columns.bands`. Their control is the same attacker without
        the columns, `one_hop.joint`.

    Examples
    --------
    >>> from ktsafe.attacks import ids_removed
    >>> from ktsafe.datasets.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 300, rng=rng)
    >>> case = Case(graph, *ids_removed(graph, rng))
    >>> shoes = rng.integers(30, 50, 200)
    >>> columns = {"shoe": shoes.tolist()}, {"shoe": shoes[case.original_of].tolist()}
    >>> rows, _ = known_columns(case, PrivacyParams(k=10), *columns)
    >>> rows.value > rows.control
    True
    """
    knows, shows, sizes = _coded(true, shown)
    knows = knows[case.people]
    known_rows, shown_rows = joint_rows(case)
    classes, own = case.tuples[1], case.places
    values = _one_hot(knows, sizes), _one_hot(shows, sizes)
    rows, banded = [], []
    for weight in NEIGHBOURS_WEIGH:
        known = sparse.hstack([known_rows * weight, values[0]], format="csr")
        seen = sparse.hstack([shown_rows * weight, values[1]], format="csr")
        rows += standings(known, seen, own, classes, [SAME])
    for times in BANDS:
        band = _bands(classes, case.released.degrees, times * params.k)
        (inside,) = standings(known_rows, shown_rows, own, band, [SAME])
        guess = _likeliest(knows, shows, sizes, band, classes, classes[own])
        # Who looks in a wrong band finds nobody.
        nearer = np.where(guess == band[own], inside.nearer, len(band))
        banded.append(Standing(nearer, inside.tied))
    alone = standings(known_rows, shown_rows, own, classes, [SAME])
    control = guess_result("", case, params, alone[0]).value
    return [
        dataclasses.replace(_best(f"known_columns.{name}", case, params, found), control=control)
        for name, found in (("rows", rows), ("bands", banded))
    ]


def _best(attack: str, case: Case, params: PrivacyParams, found: list[Standing]) -> Result:
    """Return the variant that finds most people."""
    told = [guess_result(attack, case, params, each) for each in found]
    return max(told, key=lambda result: result.value)


def _coded(
    true: Mapping[str, Sequence[object]], shown: Mapping[str, Sequence[object]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Return the values as codes of those that are shown, a column each, and how many there are.

    A number that is not shown is told as the nearest one, any other value as -1.
    """
    knows, shows, sizes = [], [], []
    for name, column in shown.items():
        code = {value: i for i, value in enumerate(dict.fromkeys(column))}
        numbers = [value for value in code if isinstance(value, int | float)]
        for value in set(true[name]) - code.keys():
            if numbers and isinstance(value, int | float):
                code[value] = code[min(numbers, key=lambda known: abs(known - value))]
        knows.append([code.get(value, -1) for value in true[name]])
        shows.append([code[value] for value in column])
        sizes.append(max(code.values(), default=-1) + 1)
    return np.array(knows).T, np.array(shows).T, sizes


def _one_hot(codes: NDArray[np.int64], sizes: list[int]) -> sparse.csr_matrix:
    """Return one feature for each value of each column."""
    row, column = np.nonzero(codes >= 0)
    at = codes[row, column] + (np.cumsum(sizes) - sizes)[column]
    ones = np.ones(len(row), dtype=np.int64)
    return sparse.csr_matrix((ones, (row, at)), shape=(len(codes), sum(sizes)))


def _bands(classes: NDArray[np.int64], degrees: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return a band for each vertex: neighbours in degree of one class, `size` of them or more."""
    band = np.empty(len(classes), dtype=np.int64)
    number = -1
    for members in np.split(
        order := np.lexsort((degrees, classes)), np.flatnonzero(np.diff(classes[order])) + 1
    ):
        fresh, number = 0, number + 1
        for i in range(len(members)):
            is_new = i > 0 and degrees[members[i]] != degrees[members[i - 1]]
            if is_new and i - fresh >= size and len(members) - i >= size:
                fresh, number = i, number + 1
            band[members[i]] = number
    return band


def _likeliest(
    knows: NDArray[np.int64],
    shows: NDArray[np.int64],
    sizes: list[int],
    band: NDArray[np.int64],
    classes: NDArray[np.int64],
    asked: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return for each target the band of the class asked for in which its values are likeliest."""
    n_bands = int(band.max(initial=-1)) + 1
    members = np.bincount(band, minlength=n_bands)
    of_class = np.zeros(n_bands, dtype=np.int64)
    of_class[band] = classes
    score = np.where(of_class == asked[:, None], 0.0, -np.inf)
    for j, size in enumerate(sizes):
        counts = np.zeros((n_bands, size))
        np.add.at(counts, (band, shows[:, j]), 1)
        likely = np.log((counts + 0.5) / (members + size / 2)[:, None])
        is_known = knows[:, j] >= 0
        score[is_known] += likely[:, knows[is_known, j]].T
    found: NDArray[np.int64] = score.argmax(axis=1)
    return found
