"""Audits in which every figure is another number: a figure taken from elsewhere is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from msgspec import inspect

from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.release_figures import ATTACKS_TOLD, FRESHNESS_AGES
from tests.ktsafe.assess.report.examples import PARAMS

GIVEN: Final[Mapping[str, Any]] = {
    "params": PARAMS.to_mapping(),
    "violations": [],
    "withdrawn": None,
    "window": "all",
    "measure": "share",
    "ranks": [1, 2],
    "margin_until": "2027-03-01T00:00:00Z",
    "nominal_time": "2026-05-01T00:00:00Z",
}
"""Fields that are no figures."""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("ties", "ended", "ended_by_leaving", "newcomers", "leavers"), FRESHNESS_AGES),
    "figures": ("true_2", "true_k", "shown_2", "shown_k", "ties", "seeds", "alpha"),
}
"""What mappings have, by the name of the field."""
ATTACKS: Final = tuple(
    {"structure": "structure.h2", "risk_curve": "risk_curve.60% ties, 1% seeds"}.get(name, name)
    for name in ATTACKS_TOLD
)


def numbered(seed: int = 0) -> dict[str, Any]:
    """Return an audit as JSON has it, of drawn numbers that occur once; nothing is left out."""
    rng = np.random.default_rng(seed)
    whole = iter(rng.permutation(10**6).tolist())
    audit: dict[str, Any] = _drawn(inspect.type_info(Audit), "", whole, rng)
    return audit


def _drawn(kind: Any, name: str, whole: Any, rng: np.random.Generator) -> Any:
    if name in GIVEN:
        return GIVEN[name]
    match kind:
        case inspect.StructType() | inspect.DataclassType():
            return {
                each.encode_name: _drawn(each.type, each.encode_name, whole, rng)
                for each in kind.fields
            }
        case inspect.UnionType():
            some = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            return _drawn(some[-1], name, whole, rng)
        case inspect.ListType() if name == "results":
            rows = [_drawn(kind.item_type, "", whole, rng) for _ in ATTACKS]
            return [{**row, "attack": attack} for row, attack in zip(rows, ATTACKS, strict=True)]
        case inspect.ListType():
            return [_drawn(kind.item_type, "", whole, rng) for _ in range(2)]
        case inspect.TupleType():
            return sorted(_drawn(each, "", whole, rng) for each in kind.item_types)
        case inspect.DictType():
            keys = KEYS.get(name, ("one", "other"))
            return {key: _drawn(kind.value_type, key, whole, rng) for key in keys}
        case inspect.IntType():
            return next(whole)
        case inspect.FloatType():
            return next(whole) / 10**6
        case inspect.BoolType():
            return False
        case inspect.StrType():
            return f"text {next(whole)}"
        case _:
            raise TypeError(kind)
