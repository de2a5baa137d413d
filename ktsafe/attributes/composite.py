"""Variations of the paper's model that concern its input.

The others are arguments elsewhere: n = 0 is `PrivacyParams(n_hops=0)`, L1 and beta-likeness are
`distance` of `vertex_generation.similarity_rule`, a missing value is the category "-".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ktsafe.errors import InvalidGraph
from ktsafe.graph import MISSING, AttributedGraph, Schema

SEPARATOR = "|"
"""Between the parts of a composite value; inside a part it is doubled, so values differ."""


def composite_sensitive(
    quasi_identifiers: Sequence[str],
    sensitive: Mapping[str, frozenset[str]],
    columns: Mapping[str, Sequence[object]],
    name: str = "sensitive",
) -> tuple[Schema, dict[str, list[object]]]:
    """Treat several sensitive attributes as one composite attribute.

    Parameters
    ----------
    quasi_identifiers:
        Names of the non-sensitive attributes.
    sensitive:
        For each sensitive attribute, in order, its sensitive values.
    columns:
        Raw values of all attributes; those of the sensitive ones must be of one length. An
        attribute without a column was given by nobody.
    name:
        Of the composite attribute.

    Returns
    -------
    Schema, dict
        The schema and the columns of a graph with the composite attribute in the place of the
        parts. A composite value is sensitive iff any of its parts is.

    Raises
    ------
    InvalidGraph
        If there is no sensitive attribute, or columns differ in length.

    *Source*: Section 2.1, "Graph Model".
    """
    if not sensitive:
        raise InvalidGraph("There is no sensitive attribute to compose.")
    lengths = {len(columns[part]) for part in sensitive if part in columns}
    if len(lengths) > 1:
        raise InvalidGraph("The columns of the sensitive attributes differ in length.")
    length = max(lengths, default=max((len(column) for column in columns.values()), default=0))
    texts = [
        [_text(x) for x in columns[part]] if part in columns else [MISSING] * length
        for part in sensitive
    ]
    rows = list(zip(*texts, strict=True))
    values = [SEPARATOR.join(x.replace(SEPARATOR, 2 * SEPARATOR) for x in row) for row in rows]
    guarded = frozenset(
        value
        for value, row in zip(values, rows, strict=True)
        if any(x in bad for x, bad in zip(row, sensitive.values(), strict=True))
    )
    kept: dict[str, list[object]] = {
        attribute: list(columns[attribute])
        for attribute in quasi_identifiers
        if attribute in columns
    }
    # Which values are almost sensitive ones is a matter of the parts (`check_part`).
    harmless = frozenset(values) - guarded
    schema = Schema(tuple(quasi_identifiers), name, guarded, harmless_values=harmless)
    return schema, {**kept, name: list(values)}


def check_part(
    name: str,
    sensitive: frozenset[str],
    columns: Mapping[str, Sequence[object]],
    *,
    absent: frozenset[str] = frozenset(),
    harmless: frozenset[str] = frozenset(),
) -> None:
    """Refuse a sensitive attribute without holders of it or of its values.

    Parameters
    ----------
    absent, harmless:
        `expect_absent` and `harmless_values` of a schema.

    Raises
    ------
    AbsentFromGraph, WrittenOtherwise
        See `AttributedGraph.check_present` and `check_spelling`.
    """
    alone = Schema((), name, sensitive, expect_absent=absent, harmless_values=harmless)
    AttributedGraph.from_columns(alone, columns, [])


def _text(value: object) -> str:
    """Return the category of a raw value.

    Missing ones are a category of their own.
    """
    return MISSING if value is None or value in {"", MISSING} else str(value)
