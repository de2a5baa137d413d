"""Verdict of the strict verifier: counts per vertex, reasons in words.

Explanations may be reworded; they name counts, never values. `digest` is in published seals: its
lines may not change (tests/ktsafe/seals/test_seals.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice, starmap
from operator import add
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe
from ktsafe.params import PrivacyParams

LINES_AT_ONCE: Final = 100_000
"""Lines of a digest that are in memory at a time."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """One vertex that is not kt-safe, and why."""

    vertex: int
    ps_size: int
    ps_sensitive: int
    reasons: tuple[str, ...]
    explanation: str


class _Endings(dict[tuple[int, ...], str]):
    """A digest line's end, by its counts; few counts differ."""

    def __missing__(self, counts: tuple[int, ...]) -> str:
        ending = self[counts] = ",{},{},0\n".format(*counts)
        return ending


@dataclasses.dataclass(frozen=True, eq=False)
class Verdict:
    """What the verifier found.

    Attributes
    ----------
    params:
        The parameters that were checked.
    n_vertices, n_edges:
        Size of the graph that was checked.
    ps_size, ps_sensitive:
        int64, shape (n,): size of each vertex's maximal protection set, and how many of its
        members are sensitive. The vertex itself is a member.
    ps_flags:
        int64, shape (f, n): members with each further flag that was asked for.
    """

    params: PrivacyParams
    n_vertices: int
    n_edges: int
    ps_size: NDArray[np.int64]
    ps_sensitive: NDArray[np.int64]
    ps_flags: NDArray[np.int64] | None = dataclasses.field(default=None, kw_only=True)

    @cached_property
    def has_too_few(self) -> NDArray[np.bool_]:
        """Whether |PS(v)| < k, bool, shape (n,)."""
        return self.ps_size < self.params.k

    @cached_property
    def is_too_sensitive(self) -> NDArray[np.bool_]:
        """Whether the sensitive share of PS(v) exceeds alpha, bool, shape (n,)."""
        alpha = self.params.alpha
        return self.ps_sensitive * alpha.denominator > self.ps_size * alpha.numerator

    @cached_property
    def is_unsafe(self) -> NDArray[np.bool_]:
        """Whether each vertex is not kt-safe, bool, shape (n,)."""
        return self.has_too_few | self.is_too_sensitive

    @property
    def n_unsafe(self) -> int:
        """Number of vertices that are not kt-safe."""
        return int(np.count_nonzero(self.is_unsafe))

    @property
    def is_safe(self) -> bool:
        """Whether the release is kt-safe. The empty graph is."""
        return self.n_unsafe == 0

    @property
    def min_k(self) -> int | None:
        """Least |PS(v)| of any vertex; None for the empty graph."""
        return int(self.ps_size.min()) if self.n_vertices else None

    @property
    def max_alpha(self) -> Fraction | None:
        """Greatest sensitive share of any protection set; None for the empty graph."""
        if self.n_vertices == 0:
            return None
        # Correctly rounded division is monotone, so the exact maximum is among the float maxima.
        part, whole = self.ps_sensitive, self.ps_size
        rounded = part / whole
        best = rounded == rounded.max()
        pairs = np.unique(np.column_stack((part[best], whole[best])), axis=0)
        return max(Fraction(int(part), int(whole)) for part, whole in pairs)

    def digest(self, ids: Sequence[str]) -> str:
        """Return the sha256 of what was found of every vertex, hexadecimal.

        It is that of the lines `id,candidates,sensitive,0`, in the order of the vertices, each
        with a newline, so other programs can compute it.

        Parameters
        ----------
        ids:
            The published id of every vertex.
        """
        digest = hashlib.sha256()
        counts = zip(self.ps_size.tolist(), self.ps_sensitive.tolist(), strict=True)
        endings = map(_Endings().__getitem__, counts)
        lines = starmap(add, zip(ids, endings, strict=True))
        while block := "".join(islice(lines, LINES_AT_ONCE)):
            digest.update(block.encode())
        return digest.hexdigest()

    def failures(self, limit: int | None = None) -> Iterator[Failure]:
        """Yield the unsafe vertices in ascending order, at most `limit` of them."""
        unsafe = np.flatnonzero(self.is_unsafe)
        for vertex in unsafe if limit is None else unsafe[:limit]:
            yield self._failure(int(vertex))

    def _failure(self, vertex: int) -> Failure:
        size, part = int(self.ps_size[vertex]), int(self.ps_sensitive[vertex])
        reasons: list[str] = []
        parts: list[str] = []
        if self.has_too_few[vertex]:
            reasons.append("too_few_candidates")
            parts.append(f"it has {size} candidates, itself included, where k = {self.params.k}")
        if self.is_too_sensitive[vertex]:
            reasons.append("too_sensitive")
            parts.append(
                f"{part} of its {size} candidates are sensitive, a share of "
                f"{Fraction(part, size)} where alpha = {self.params.alpha}"
            )
        text = f"Vertex {vertex} is not kt-safe: {'; '.join(parts)}."
        return Failure(vertex, size, part, tuple(reasons), text)

    def raise_if_unsafe(self) -> None:
        """Raise unless the release is kt-safe. The message holds counts only.

        Raises
        ------
        NotKTSafe
            If any vertex is not kt-safe.
        """
        if self.is_safe:
            return
        few = int(np.count_nonzero(self.has_too_few))
        sensitive = int(np.count_nonzero(self.is_too_sensitive))
        msg = (
            f"{self.n_unsafe} of {self.n_vertices} vertices are not kt-safe: {few} have too few "
            f"candidates, {sensitive} have too many sensitive ones."
        )
        raise NotKTSafe(msg, hint="Do not publish this graph.")
