"""`ktsafe inspect`: a network as read, before anything is released.

Words may be changed; options go with `make reference`. How a network is read belongs to
`ktsafe.graph.inputs`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ktsafe.graph.inputs.names import chosen_columns
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.report_texts import check_page, new_file
from ktsafe.stream.process.command_line import Columns, Json


def inspect_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="A network, or a table of people and a file of ties in either order.",
            metavar="FILE...",
        ),
    ],
    columns: Columns = "",
    schema: Annotated[
        Path | None, typer.Option(help="New schema file that proposes roles, to be edited.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Show how a network is read, and its likely faults.

    Nothing is released. What it prints holds ids and values: it is for you alone. The exit code
    is 2 if `ktsafe anonymize` would refuse the files; the last lines say why.
    """
    from ktsafe.graph.inputs.inspected import inspect, lists_people

    if schema is not None:
        check_page(schema)
    chosen = chosen_columns(columns)
    people = [path for path in files if lists_people(path, chosen)]
    if len(files) > 2 or (len(files) == 2 and len(people) != 1):
        msg = f"Of {len(files)} files {len(people)} are tables of people."
        raise ConfigError(msg, hint="Give a file of ties, and beside it one table of people.")
    vertices = people[0] if len(files) == 2 else None
    ties = next((path for path in files if path != vertices), files[0])
    found = inspect(ties, vertices, columns=chosen)
    if schema is not None:
        with new_file(schema) as file:
            file.write(found.schema)
    if as_json:
        told = {**found.to_mapping(), "schema": found.schema}
        typer.echo(json.dumps(told, indent=2))
    else:
        typer.echo(str(found))
        typer.echo(f"\n{schema}: a schema to edit; private" if schema else f"\n{found.schema}")
    return Exit.USAGE if found.refused else Exit.OK
