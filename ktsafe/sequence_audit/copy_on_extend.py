"""Followers of releases, copied before a release is only tried."""

from __future__ import annotations

import copy
from typing import ClassVar, Self


class CopyOnExtend:
    """Keeps its knowledge of each release so copies cost nothing.

    Arrays and tuples are replaced, never changed in place. Tables that give numbers are only ever
    added to and shared by copies: a number, once given, means the same for ever.

    Attributes
    ----------
    NOT_SAVED:
        Names of attributes that are no part of what was learned, or follow from the others.
    """

    NOT_SAVED: ClassVar[frozenset[str]] = frozenset()

    def settle(self) -> None:
        """Drop what no later release can need, before this is saved."""

    def resume(self) -> None:
        """Make what follows from the others, after this was read back."""

    def copy(self) -> Self:
        """Return one that goes on by itself, with its parts."""
        other = copy.copy(self)
        for name, part in vars(self).items():
            if isinstance(part, CopyOnExtend):
                setattr(other, name, part.copy())
        return other
