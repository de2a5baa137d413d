"""A private certificate of safety.

An automorphism of the release, checked in linear time.

Let a permutation of the released vertices keep every quasi-identifier and take edges to edges. It
then takes the neighbourhood of every vertex, of any radius and in either reading, to that of the
vertex's image. So members of one orbit are at edit distance 0 and have equal distributions: each
is in the other's protection set. And u is in PS(v) iff the image of u is, so every protection set
is a union of orbits. If each orbit has at least k members and a sensitive share of at most alpha,
the release is kt-safe for every n, both readings, every epsilon and every t.

The certificate tells which vertices stand for each other. It is as private as the mapping.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import NotKTSafe

HINT = "Do not publish this graph; without the certificate it may be verified by the definition."


def checked_orbits(
    permutation: ArrayLike, classes: NDArray[np.int64], edges: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return orbits under a permutation proven to be an automorphism.

    Parameters
    ----------
    permutation:
        Integers, shape (n,): the image of every vertex.
    classes:
        int64, shape (n,): class of equal quasi-identifiers.
    edges:
        int32, shape (m, 2): each edge once, in either direction.

    Returns
    -------
    int64, shape (n,)
        Orbits, numbered from 0.

    Raises
    ------
    NotKTSafe
        If it is no permutation, changes a quasi-identifier, or takes an edge to none.
    """
    n = len(classes)
    image = np.asarray(permutation)
    if image.shape != (n,) or not (n == 0 or np.issubdtype(image.dtype, np.integer)):
        raise NotKTSafe("The certificate does not fit the release.", hint=HINT)
    image = image.astype(np.int64)
    if n and (image.min() < 0 or image.max() >= n or np.bincount(image, minlength=n).max() > 1):
        raise NotKTSafe("The certificate is no permutation of the vertices.", hint=HINT)
    if np.any(classes[image] != classes):
        raise NotKTSafe("The certificate exchanges vertices that differ.", hint=HINT)
    # A permutation maps distinct edges to distinct pairs, so equal sets mean an automorphism.
    if not np.array_equal(_keys(edges, n), _keys(image[edges].astype(np.int32), n)):
        raise NotKTSafe("The certificate takes an edge to a pair without one.", hint=HINT)
    if n == 0:
        return image
    # A quarter of a second that only those wait who have a certificate.
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    arrows = coo_array((np.ones(n, dtype=np.int8), (np.arange(n), image)), shape=(n, n))
    orbits: NDArray[np.int64] = connected_components(arrows, directed=False)[1].astype(np.int64)
    return orbits


def _keys(edges: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """Return a sorted number for each edge, whatever its direction."""
    pairs = edges.reshape(-1, 2).astype(np.int64)
    return np.sort(np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1]))
