"""What follows releases one by one, and can be copied before a release that is only tried."""

from __future__ import annotations

import copy
from typing import Self


class CopyOnExtend:
    """Keeps what it learns of each release, such that a copy costs nothing.

    Arrays and tuples are replaced, never changed in place. Tables that give numbers are only ever
    added to and shared by copies: a number, once given, means the same for ever.
    """

    def copy(self) -> Self:
        """Return one that goes on from here by itself, with all parts that do so too."""
        other = copy.copy(self)
        for name, part in vars(self).items():
            if isinstance(part, CopyOnExtend):
                setattr(other, name, part.copy())
        return other
