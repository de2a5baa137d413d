"""The change attack: the candidates of v that visibly changed like v.

D_i(v) is the pair of multisets of quasi-identifiers of the neighbours that v gains and loses
between releases i-1 and i, as published ids show. k_delta(v) counts the members of CS_all(v), all
releases so far, with the same D_i. It is defined for vertices present in both releases whose D_i
is not empty. Here it is counted for the last release; `change_history` keeps the former ones.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.candidate_sets import CandidateSets
from ktsafe.sequence_audit.change_history import alike
from ktsafe.sequence_audit.profiles import Structure, edge_ends


@dataclasses.dataclass(frozen=True, eq=False)
class VisibleChanges:
    """The vertices that visibly changed at a release.

    Attributes
    ----------
    vertices:
        int64, shape (c,): vertex numbers, ascending.
    label:
        int64, shape (c,): equal iff D_i are.
    k_delta, k_delta_real:
        int64, shape (c,): candidates with the same change, and those of them with an owner.
    k_still:
        int64, shape (s,): for each vertex that did not change although some candidate of its did,
        the candidates that did not change either.
    """

    vertices: NDArray[np.int64]
    label: NDArray[np.int64]
    k_delta: NDArray[np.int64]
    k_delta_real: NDArray[np.int64]
    k_still: NDArray[np.int64]


def visible_changes(
    structure: Structure, candidates: CandidateSets, is_real: NDArray[np.bool_]
) -> VisibleChanges:
    """Count for each visibly changed vertex the candidates that changed alike.

    Parameters
    ----------
    candidates:
        With this release added, over the same vertex numbers.
    is_real:
        bool, by vertex number.
    """
    changed, label = _labels(structure)
    weights = np.column_stack((np.ones_like(changed), is_real[changed].astype(np.int64)))
    k_delta, k_delta_real = alike(candidates, changed, label, weights).T
    still = _still(structure, candidates, changed)
    return VisibleChanges(changed, label, k_delta, k_delta_real, still)


def _labels(structure: Structure) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the changed vertices and a number for each one's D_i.

    Equal numbers iff equal D_i.
    """
    now, before = structure.tuple_now, structure.tuple_before
    stays = (now >= 0) & (before >= 0)
    rows = []
    for sign, keys, tuples in ((0, structure.gained, now), (1, structure.lost, before)):
        ends = edge_ends(keys[stays[keys >> 32] | stays[keys & 0xFFFFFFFF]])
        both = np.concatenate((ends, ends[:, ::-1]))
        both = both[stays[both[:, 0]]]
        rows.append((both[:, 0] << 32) | (2 * tuples[both[:, 1]] + sign))
    ordered = np.sort(np.concatenate(rows))
    vertex, value = ordered >> 32, ordered & 0xFFFFFFFF
    begin = np.flatnonzero(np.diff(vertex, prepend=-1))
    changed = vertex[begin]
    cuts = [*(8 * begin).tolist(), 8 * len(value)]
    raw = value.tobytes()
    numbers: dict[bytes, int] = {}
    label = [
        numbers.setdefault(raw[cuts[i] : cuts[i + 1]], len(numbers)) for i in range(len(changed))
    ]
    return changed, np.array(label, dtype=np.int64)


def _still(
    structure: Structure, candidates: CandidateSets, changed: NDArray[np.int64]
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
