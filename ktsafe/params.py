"""The privacy parameters of the paper, validated once and held exactly.

The letters are the paper's (Ren, Ghazinour, Lian, "kt-Safety", Definitions 3 to 5). Beware of `t`:
classical t-closeness bounds the distribution of the *sensitive* attribute; this paper applies `t`
to the *non-sensitive* attributes of neighbourhoods, and bounds the sensitive one by `alpha`.

Defaults are the paper's (tests/ktsafe/test_params.py), those of commands and services stand with
them. Bounds hold products inside int64; values stay integers and fractions, and their texts stand
in manifests.

Messages may be reworded. A field more would be in manifests, and in the digest by which running
sequences know their inputs (`stream.release.sequence_inputs`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, Self, get_args

from ktsafe.errors import InvalidParams

# Bounds keep every product of the exact comparison (2 * t * n1 * n2 and friends) far inside int64.
K_MAX = 1_000_000
EPSILON_MAX = 1_000_000
DENOMINATOR_MAX = 10_000
HOPS_MAX = 64
TEXT_CHARS_MAX = 40

# A share times a number of candidates: what is compared with k and alpha.
assert max(K_MAX, EPSILON_MAX, 2**31) * DENOMINATOR_MAX < 2**63

Reading = Literal["walk", "induced"]


def exact(value: Fraction | float | str, name: str) -> Fraction:
    """Return `value` as the rational a person meant.

    0.1 is 1/10, not its binary neighbour.

    Raises
    ------
    InvalidParams
        If the value is no finite number, or needs a denominator beyond `DENOMINATOR_MAX`.
    """
    try:
        if isinstance(value, str) and (len(value) > TEXT_CHARS_MAX or "e" in value.lower()):
            # A manifest may say "1e999999999": a valid fraction, which would fill the memory.
            raise ValueError("too long, or with an exponent")
        fraction = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
        msg = f"{name} must be a decimal or a fraction such as 0.1 or 1/10."
        raise InvalidParams(msg) from error
    if fraction.denominator > DENOMINATOR_MAX:
        msg = f"{name} needs a denominator above {DENOMINATOR_MAX}."
        raise InvalidParams(msg, hint="Give it with at most four decimals.")
    return fraction


class Mapped:
    """A dataclass of plain values and rationals, written as JSON and read."""

    __slots__ = ()

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as JSON-ready values; rationals as text, unrounded."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {n: str(x) if isinstance(x, Fraction) else x for n, x in fields.items()}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Build one from what `to_mapping` wrote, or from a configuration table."""
        known = sorted(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]
        if unknown := sorted(set(mapping) - set(known)):
            msg = f"Unknown parameter {unknown[0]!r}."
            raise InvalidParams(msg, hint=f"Known: {', '.join(known)}.")
        return cls(**mapping)


@dataclasses.dataclass(frozen=True, slots=True)
class PrivacyParams(Mapped):
    """Parameters of kt-safety (Definition 5).

    Attributes
    ----------
    k:
        Least size of every vertex's protection set.
    t:
        Greatest distance (half L1) between the attribute distributions of two similar
        neighbourhoods, for each non-sensitive attribute and each hop count.
    alpha:
        Greatest share of sensitive vertices in a protection set.
    epsilon:
        Greatest graph edit distance between two similar neighbourhoods, in unit-cost edits.
    n_hops:
        Hops n of the attacker's background knowledge; 0 means quasi-identifiers only.
    reading:
        What a neighbourhood of n hops is. "walk": the edges with at least one end within n - 1
        hops, so n = 1 is a star. "induced": all edges among its vertices, which is what a
        stronger attacker knows.

    Examples
    --------
    >>> params = PrivacyParams(k=5, alpha=0.25)
    >>> params.alpha, params.t, params.sees_stars
    (Fraction(1, 4), Fraction(1, 10), True)
    >>> PrivacyParams(k=3, alpha=0.2).group_size_min
    5
    """

    k: int = 10
    t: Fraction = Fraction(1, 10)
    alpha: Fraction = Fraction(1, 5)
    epsilon: int = 5
    n_hops: int = 1
    reading: Reading = "walk"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", exact(self.t, "t"))
        object.__setattr__(self, "alpha", exact(self.alpha, "alpha"))
        for name, low, high in (
            ("k", 1, K_MAX),
            ("epsilon", 0, EPSILON_MAX),
            ("n_hops", 0, HOPS_MAX),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                msg = f"{name} must be a whole number."
                raise InvalidParams(msg)
            if not low <= value <= high:
                msg = f"{name} must be from {low} to {high}."
                raise InvalidParams(msg)
        if not 0 <= self.t <= 1:
            msg = "t must be from 0 to 1."
            raise InvalidParams(msg)
        if not 0 < self.alpha <= 1:
            msg = "alpha must be above 0 and at most 1."
            raise InvalidParams(msg)
        if self.reading not in get_args(Reading):
            msg = "reading must be walk or induced."
            raise InvalidParams(msg)

    @property
    def sees_stars(self) -> bool:
        """Whether neighbourhoods are stars (n = 1, walk).

        The edit distance of stars is one of degrees.
        """
        return self.n_hops == 1 and self.reading == "walk"

    @property
    def group_size_min(self) -> int:
        """Least size m of a group that can hold one sensitive vertex.

        max(k, ceil(1/alpha)).
        """
        return max(self.k, math.ceil(1 / self.alpha))


# What installed packages add to ours.
#
# Objects that they name in the metadata of their wheels.
#
# A package offers an object in a group of entry points, in its pyproject.toml:
#
# [project.entry-points."ktsafe.attacks"]
# mine = "my_package.attacks:mine"
#
# Nothing of that package is imported before the object is asked for.


def offered(group: str) -> list[str]:
    """Return the names of what installed packages offer in a group, sorted."""
    return sorted({point.name for point in entry_points(group=group)})


def found(group: str, name: str) -> EntryPoint | None:
    """Return what an installed package offers under a name; `load` imports it.

    Raises
    ------
    InvalidParams
        If two packages offer the name: which one is meant would depend on the installation.
    """
    points = {point.value: point for point in entry_points(group=group, name=name)}
    if len(points) > 1:
        msg = f"Several installed packages offer {name!r} in {group!r}."
        raise InvalidParams(msg, hint=f"Uninstall all but one of {', '.join(sorted(points))}.")
    return next(iter(points.values()), None)
