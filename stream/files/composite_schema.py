"""Several sensitive attributes in files, as one composite attribute.

    [attributes]
    quasi_identifiers = ["gender"]
    sensitive = ["health", "income"]
    sensitive_values = { health = ["chronic"], income = ["none"] }

Source: Section 2.1 of the paper, "Graph Model"; see `ktsafe.graph.schemas`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from ktsafe import AttributedGraph, Schema
from ktsafe.errors import InvalidGraph
from ktsafe.graph import NONE
from ktsafe.graph.schema_check import Border
from ktsafe.graph.schemas import check_part, composite_sensitive

JOINT: Final = "+"
"""Between the names of the parts, in the name of the composite attribute."""


@dataclasses.dataclass(frozen=True)
class CompositeSchema(Schema):
    """A schema with a sensitive attribute that stands for several columns.

    Attributes
    ----------
    parts:
        For each sensitive column, in order, its sensitive values. Which composite values are
        sensitive is known when the columns are: those of which any part is.
    """

    parts: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        return (*self.quasi_identifiers, *self.parts)


def composite_schema(
    quasi_identifiers: list[str],
    sensitive: list[str],
    sensitive_values: Mapping[str, list[str]],
    buckets: Mapping[str, tuple[Border, ...]],
) -> CompositeSchema:
    """Return the schema of a table with several sensitive attributes.

    The table is `[attributes]`.

    Raises
    ------
    InvalidGraph
        If names clash, or values are declared for other attributes than are listed.
    """
    if not sensitive or set(sensitive_values) != set(sensitive):
        msg = "With several sensitive attributes, sensitive_values must be a table that names each."
        raise InvalidGraph(msg, hint='Such as sensitive_values = { health = ["chronic"] }.')
    names = [*quasi_identifiers, *sensitive]
    if len(set(names)) != len(names):
        raise InvalidGraph("A schema names an attribute twice.")
    parts = {name: frozenset(sensitive_values[name]) for name in sensitive}
    return CompositeSchema(
        tuple(quasi_identifiers), JOINT.join(sensitive), frozenset(), buckets, parts=parts
    )


def composed(
    schema: CompositeSchema, columns: Mapping[str, list[str]]
) -> tuple[Schema, dict[str, list[object]]]:
    """Return schema and columns, with the composite for its parts.

    Raises
    ------
    AbsentFromGraph
        If nobody has a sensitive attribute, or one of its sensitive values.
    """
    parts = dict(schema.parts)
    for part, sensitive in parts.items():
        absent, harmless = schema.expect_absent, schema.harmless_values
        check_part(part, sensitive, columns, absent=absent, harmless=harmless)
    made, values = composite_sensitive(schema.quasi_identifiers, parts, columns, schema.sensitive)
    names = ("buckets", "expect_absent", "groups", "nominal")
    told = {name: getattr(schema, name) for name in names}
    return dataclasses.replace(made, **told), values


def declaring_what_is_shown(graph: AttributedGraph) -> AttributedGraph:
    """Return a released graph that declares only sensitive values it shows.

    Which combinations exist among people whose values are not published is nobody's business.
    """
    texts = graph.categories[-1]
    shown = {texts[code] for code in set(graph.codes[:, -1].tolist())}
    schema = dataclasses.replace(
        graph.schema, sensitive_values=graph.schema.sensitive_values & shown
    )
    return AttributedGraph.from_codes(schema, graph.categories, graph.codes, graph.edges)


def declared_beside(schema: Schema) -> dict[str, Any]:
    """Return what an `[attributes]` table says of sensitive attributes and absent values."""
    found: dict[str, Any]
    absent = schema.expect_absent
    if schema.columns == schema.quasi_identifiers:
        found, absent = {}, absent - {NONE}
    elif isinstance(schema, CompositeSchema):
        by_part = {name: sorted(values) for name, values in schema.parts.items()}
        found = {"sensitive": list(schema.parts), "sensitive_values": by_part}
    else:
        values = sorted(schema.sensitive_values)
        found = {"sensitive": schema.sensitive, "sensitive_values": values}
    harmless = {"harmless_values": sorted(schema.harmless_values)} if schema.harmless_values else {}
    nominal = {"nominal": sorted(schema.nominal)} if schema.nominal else {}
    ties = {} if schema.ties == "any" else {"ties": schema.ties_told}
    return {**found, "expect_absent": sorted(absent), **harmless, **nominal, **ties}
