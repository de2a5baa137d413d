"""Advice as a sentence, and as lines that its owner pastes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ktsafe.assess.generalization.lattice import Lattice
from ktsafe.attributes.schema_text import schema_toml

if TYPE_CHECKING:
    from ktsafe.assess.generalization.advice import Advice, Tried


def in_words(advice: Advice) -> str:
    """Return the advice in a sentence."""
    base, best, lattice = advice.base, advice.best, advice.lattice
    if not best.people:
        return f"Nobody can be shown at k = {best.setting.k}: ask for a smaller one."
    if best.setting == base.setting:
        return "Keep all quasi-identifiers as they are: grouping values gains little."
    dropped = [n for n in lattice.graph.schema.quasi_identifiers if n not in best.kept]
    fewer = fewer_values(lattice, best)
    parts = [f"drop {' and '.join(f'`{name}`' for name in dropped)}"] if dropped else []
    if fewer:
        told = (f"`{name}` in {n} values" for name, n in fewer.items())
        parts.insert(0, f"tell {', '.join(told)}")
    said = " and ".join(parts) or "correct the spelling of values"
    return f"{said[0].upper()}{said[1:]}: {_changes(base, best)}."


def fewer_values(lattice: Lattice, tried: Tried) -> dict[str, int]:
    """Return the attributes that a setting tells with fewer values, and how many it tells."""
    names = lattice.graph.schema.quasi_identifiers
    return {
        name: len(levels[level].texts)
        for name, levels, level in zip(names, lattice.levels, tried.setting.levels, strict=True)
        if 0 < level < len(levels)
    }


def corrected(lattice: Lattice) -> dict[str, int]:
    """Return for each attribute how many spellings were taken for another one, if any were."""
    names = lattice.graph.schema.quasi_identifiers
    return {
        name: len(texts) - len(levels[0].texts)
        for name, levels, texts in zip(
            names, lattice.levels, lattice.graph.categories, strict=False
        )
        if len(levels[0].texts) < len(texts)
    }


def attributes_table(lattice: Lattice, tried: Tried, declared: Mapping[str, Any]) -> str:
    """Return an `[attributes]` table in TOML that tells people as a setting does.

    Parameters
    ----------
    declared:
        What else the table says: sensitive attributes and so on.
    """
    schema = lattice.schema(tried.setting.levels)
    left_out = {*lattice.graph.schema.quasi_identifiers} - {*schema.quasi_identifiers}
    kept = {
        key: [name for name in value if name not in left_out] if key == "nominal" else value
        for key, value in declared.items()
    }
    return schema_toml(schema, kept)


def _changes(base: Tried, best: Tried) -> str:
    if not base.is_made or best.usefulness is None:
        return f"F1 of ties about {base.f1:.2f} -> {best.f1:.2f}"
    words = []
    for word, kind, figure in (
        ("precision", "edges", "precision"),
        ("recall", "edges", "recall"),
        ("people shown", "vertices", "recall"),
    ):
        before, after = (_share(one, kind, figure) for one in (base, best))
        words.append(f"{word} {before} -> {after}")
    return ", ".join(words)


def _share(one: Tried, kind: str, figure: str) -> str:
    found = None if one.usefulness is None else one.usefulness[kind][figure]
    return "none" if found is None else f"{found:.2f}"
