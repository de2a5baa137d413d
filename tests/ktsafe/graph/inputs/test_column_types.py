"""Types and roles that are proposed follow fixed rules."""

from __future__ import annotations

import pytest

from ktsafe.graph.inputs.proposed_schema import guarded, role_of, type_of

TYPES = [
    ("partner", ["true", "false"], "boolean"),
    ("smoker", ["Yes", "no"], "boolean"),
    ("ill", ["0", "1"], "boolean"),
    ("gender", ["f", "m"], "nominal"),
    ("gender", ["1", "2"], "nominal"),
    ("country", ["276", "40", "756"], "nominal"),
    ("kind", ["0", "1", "2", "3"], "nominal"),
    ("shop", ["007", "010", "200"], "nominal"),
    ("town", ["Ulm", "Kiel", "Bern"], "nominal"),
    ("age", ["1", "2", "3", "4"], "number"),
    ("age", ["17", "30", "55"], "number"),
    ("height", ["1.5", "1.75", "2"], "number"),
    ("change", ["-1", "0", "1"], "number"),
    ("views", ["0", "13", "40000"], "number"),
    ("born", ["1990-01-31", "2001-02-03", "2001-02"], "date"),
    ("age_band", ["13-17", "18-24", "65+"], "ordinal"),
    ("income", ["<1000", "1000..<2000", ">=2000"], "ordinal"),
    ("risk", ["low", "Medium", "high"], "ordinal"),
    ("size", ["S", "M", "L"], "ordinal"),
    ("nothing", [], "nominal"),
]


@pytest.mark.parametrize(("name", "values", "expected"), TYPES)
def test_types(name: str, values: list[str], expected: str) -> None:
    """By the values, and by the name only where whole numbers may be codes."""
    assert type_of(name, values, 100, None) == expected


def test_what_the_format_says_counts() -> None:
    """Numbers that are declared as texts are codes; declared booleans are booleans."""
    assert type_of("n", ["17", "300"], 100, "text") == "nominal"
    assert type_of("vip", ["true"], 100, "boolean") == "boolean"


def test_numbers_with_a_few_mistakes_are_numbers() -> None:
    """Nearly all are numbers: the others are told, and no reason to take all for words."""
    values = [str(7 * i) for i in range(40)]
    assert type_of("points", [*values, "x"], 100, None) == "number"
    assert type_of("points", [*values[:9], "x"], 100, None) == "nominal"


ROLES = [
    ("login", "nominal", {f"u{i}": 1 for i in range(50)}, "leave out"),
    ("new_id", "number", {str(i): 1 for i in range(50)}, "leave out"),
    ("town", "nominal", {**{f"t{i}": 1 for i in range(29)}, "Ulm": 21}, "leave out"),
    ("height", "number", {f"{i}.5": 1 for i in range(50)}, "quasi-identifier"),
    ("x", "number", {f"{i}.5": 1 for i in range(50)}, "leave out"),
    ("club", "nominal", {"a": 50}, "leave out"),
    ("club", "nominal", {}, "leave out"),
    ("club", "nominal", {"a": 20, "b": 30}, "quasi-identifier"),
    ("Label", "nominal", {"a": 20, "b": 30}, "quasi-identifier"),
    ("hasDiabetes", "boolean", {"true": 20, "false": 30}, "sensitive"),
    ("yearly_income", "number", {"1": 20, "70000": 30}, "sensitive"),
    ("health", "nominal", {"ill": 50}, "leave out"),
]


@pytest.mark.parametrize(("name", "type_", "counts", "expected"), ROLES)
def test_roles(name: str, type_: str, counts: dict[str, int], expected: str) -> None:
    """What tells people apart or nothing is left out; the name tells the rest."""
    assert role_of(name, type_, counts, 50)[0] == expected  # type: ignore[arg-type]


def test_values_that_are_guarded() -> None:
    """Words for nothing are harmless; where there is no other word all are guarded."""
    assert guarded(["chronic", "acute", "none"]) == ["acute", "chronic"]
    assert guarded(["true", "false"]) == ["true"]
    assert guarded(["0", "no"]) == ["0", "no"]
