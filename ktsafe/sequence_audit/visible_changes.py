"""The change attack: who else visibly changed like v, among those who could still be v.

D_i(v) is the pair of multisets of quasi-identifiers of the neighbours that v gains and loses
between releases i-1 and i, as published ids show. k_delta(v) counts the members of CS_all(v), all
releases up to i, with the same D_i. It is defined for vertices present in both releases whose D_i
is not empty.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.candidates import Candidates
from ktsafe.sequence_audit.profiles import Structure


@dataclasses.dataclass(frozen=True, eq=False)
class VisibleChanges:
    """The vertices that visibly changed at a release.

    Attributes
    ----------
    vertices:
        int64, shape (c,): vertex numbers, ascending.
    k_delta, k_delta_real:
        int64, shape (c,): candidates with the same change, and those of them with an owner.
    k_still:
        int64, shape (s,): for each vertex that did not change although some candidate of its did,
        the candidates that did not change either.
    """

    vertices: NDArray[np.int64]
    k_delta: NDArray[np.int64]
    k_delta_real: NDArray[np.int64]
    k_still: NDArray[np.int64]


def visible_changes(
    structure: Structure, candidates: Candidates, is_real: NDArray[np.bool_]
) -> VisibleChanges:
    """Count for each visibly changed vertex who changed alike.

    Parameters
    ----------
    candidates:
        With this release added, over the same vertex numbers.
    is_real:
        bool, by vertex number.
    """
    changed, label = _labels(structure)
    atom = candidates.atom_of[changed]
    n_labels = int(label.max(initial=-1)) + 1
    keys, first, group = np.unique(atom * n_labels + label, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    counts = np.bincount(group, minlength=len(keys)).astype(np.int64)
    real = np.bincount(group[is_real[changed]], minlength=len(keys)).astype(np.int64)
    pairs = candidates.pairs
    row = keys // max(n_labels, 1)
    lengths = pairs.pointer[row + 1] - pairs.pointer[row]
    of_key = np.repeat(np.arange(len(keys)), lengths)
    offset = np.arange(len(of_key)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    wanted = pairs.member[pairs.pointer[row][of_key] + offset] * n_labels + label[first][of_key]
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    is_hit = keys[place] == wanted
    alike, alike_real = (_sums(of_key[is_hit], x[place[is_hit]], len(keys)) for x in (counts, real))
    return VisibleChanges(
        changed, alike[group], alike_real[group], _still(structure, candidates, changed)
    )


def _labels(structure: Structure) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the changed vertices and a number for each one's D_i; equal numbers iff equal D_i."""
    now, before = structure.tuple_now, structure.tuple_before
    rows = []
    for sign, ends, tuples in ((0, structure.gained, now), (1, structure.lost, before)):
        both = np.concatenate((ends, ends[:, ::-1]))
        both = both[(now[both[:, 0]] >= 0) & (before[both[:, 0]] >= 0)]
        rows.append(np.column_stack((both[:, 0], 2 * tuples[both[:, 1]] + sign)))
    vertex, value = np.concatenate(rows).T
    order = np.lexsort((value, vertex))
    vertex, value = vertex[order], np.ascontiguousarray(value[order])
    changed, begin = np.unique(vertex, return_index=True)
    cuts = [*(8 * begin).tolist(), 8 * len(value)]
    raw = value.tobytes()
    numbers: dict[bytes, int] = {}
    label = [
        numbers.setdefault(raw[cuts[i] : cuts[i + 1]], len(numbers)) for i in range(len(changed))
    ]
    return changed, np.array(label, dtype=np.int64)


def _still(
    structure: Structure, candidates: Candidates, changed: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return k_still of every vertex that has it.

    All candidates of a vertex have its presence, so all of them could have changed or none.
    """
    if not len(changed):
        return np.zeros(0, dtype=np.int64)
    moved = candidates.over_candidates(candidates.per_atom(changed))
    everybody = candidates.over_candidates(candidates.per_atom(candidates.known))
    is_still = structure.tuple_now >= 0
    is_still[changed] = False
    atom = candidates.atom_of[np.flatnonzero(is_still)]
    atom = atom[moved[atom] > 0]
    return (everybody - moved)[atom]


def _sums(row: NDArray[np.int64], values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, row, values)
    return total
