"""Write the reference from the code: `python -m tests.ops.reference docs`.

Keys of the configuration and their bounds come from its structs, their meaning from the comments
of `stream/example.toml`; commands come from the command line, metrics from their table.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec
import typer.main

from ktsafe.stream.cli import app
from ktsafe.stream.command_registry import SECTIONS
from ktsafe.stream.config.connector_kinds import configuration_type
from ktsafe.stream.config.connector_tables import BUILT_IN
from ktsafe.stream.config.settings import Config
from ktsafe.stream.monitoring.metrics import SECRETS
from ktsafe.stream.monitoring.metrics_table import METRICS

SCHEMA: Final = "schemas/configuration.schema.json"
MADE: Final = "*Generated from the code by `make reference`; a test compares it.*"
_INTRO: Final = f"""One TOML file configures a service. `ktsafe config` prints it with all \
defaults, `ktsafe config FILE` checks yours without connecting to anything. Relative paths start \
from the file's folder; unknown keys are refused. Editors can check it by its \
[JSON Schema]({SCHEMA}). [For operators](operators.md) says what the service does, \
[events and tables](events.md) what it reads."""
_OF_METRICS: Final = """Prometheus reads them at `/metrics`. PRIVATE ones tell sizes and pace of \
the true network, SECRET ones what releases cost and hide \
([who may see them](operators.md#watch-it)). `ktsafe_build_info` and the metrics of the process \
come beside them."""
_HEADER: Final = re.compile(r"(?:# )?\[+([\w.]+)\]+")
_KEY: Final = re.compile(r"(?:# )?(\w+) = ")
_LIMITS: Final = {"minimum": ">= ", "exclusiveMinimum": "> ", "maximum": "<= "}


def meanings() -> dict[tuple[str, str], str]:
    """Return by table and key what the comments of the example say."""
    text = resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    found: dict[tuple[str, str], str] = {}
    table, last = "", ("", "")
    for line in text.splitlines():
        if header := _HEADER.match(line):
            table = header[1]
        elif key := _KEY.match(line):
            last = (table, key[1])
            comment = re.sub(r"^yours; ", "", line[1:].partition("  # ")[2].strip())
            if comment:
                found[last] = comment[0].upper() + comment[1:] if comment[0] != '"' else comment
        elif line.startswith(" ") and (more := line.strip().removeprefix("# ")):
            found[last] = f"{found[last]} {more}"
    return found


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the configuration, with the meaning of each key."""
    made = msgspec.json.schema(configuration_type(Config, BUILT_IN, {}))
    for about in made["$defs"].values():
        about.pop("description", None)  # Docstrings are for programmers.
    said = meanings()
    for table, names in tables(made).items():
        for name in names:
            for key, about in made["$defs"][name]["properties"].items():
                if text := said.get((table, key)):
                    about["description"] = text
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": Path(SCHEMA).name,
        "description": "The configuration of `ktsafe run`: one TOML file.",
    }
    return head | made


def tables(made: dict[str, Any]) -> dict[str, list[str]]:
    """Return by table of the file the names of its definitions: one for each kind."""
    found = {}
    for table, about in made["$defs"]["Config"]["properties"].items():
        names = [ref["$ref"].rpartition("/")[2] for ref in _choices(about) if "$ref" in ref]
        if names:
            found[table] = names
    return {**found, "source.tables": ["MirroredTable"]}


def _choices(about: dict[str, Any]) -> list[dict[str, Any]]:
    return about.get("anyOf", [about])


def configuration() -> str:
    """Return the page of all keys."""
    made = schema()
    lines = [
        "# Configuration",
        "",
        MADE,
        "",
        _INTRO,
    ]
    for table, names in tables(made).items():
        lines += [
            "",
            f"## [{table}]",
            "",
            "| key | value | default | meaning |",
            "|---|---|---|---|",
        ]
        rows: dict[str, str] = {}
        for name in names:
            about = made["$defs"][name]
            for key, value in about["properties"].items():
                if key != "kind":
                    rows[key] = _row(key, value, is_yours=key in about.get("required", ()))
        kinds = [_of(made["$defs"][name]) for name in names]
        if all(kinds):
            listed = ", ".join(f"`{kind}`" for kind in kinds)
            lines.append(f"| `kind` | {listed} | yours | which connector |")
        lines += rows.values()
    return "\n".join(lines) + "\n"


def _of(about: dict[str, Any]) -> str:
    kind = about["properties"].get("kind", {})
    return str(kind.get("enum", [""])[0])


def _row(key: str, about: dict[str, Any], *, is_yours: bool) -> str:
    default = "yours" if is_yours else json.dumps(about.get("default"))
    default = default if default in {"yours", "null"} else f"`{default}`"
    meaning = about.get("description", "")
    return f"| `{key}` | {_kind(about)} | {default.replace('null', '')} | {meaning} |"


def _kind(about: dict[str, Any]) -> str:
    parts = []
    for one in _choices(about):
        if one.get("type") == "null":
            continue
        if "enum" in one:
            parts += [f"`{json.dumps(value)}`" for value in one["enum"]]
        elif "$ref" in one:
            parts.append("table")
        else:
            limits = [f"{sign}{one[name]}" for name, sign in _LIMITS.items() if name in one]
            parts.append(" ".join([str(one.get("type", "any")), ", ".join(limits)]).strip())
    return " or ".join(parts)


def commands() -> str:
    """Return the page of all commands: what each does, and its options."""
    program = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        MADE,
        "",
        "`--help` of a command explains its options, and `--json` prints for programs.",
    ]
    for section, names in SECTIONS.items():
        lines += ["", f"## {section}", "", "| command | what it does | options |", "|---|---|---|"]
        for name in names:
            lines += list(_rows(program.commands[name], name))  # type: ignore[attr-defined]
    return "\n".join(lines) + "\n"


def _rows(command: Any, name: str) -> Any:
    if hasattr(command, "commands"):
        for word, inner in command.commands.items():
            yield from _rows(inner, f"{name} {word}")
        return
    arguments = [
        p.metavar or p.name.upper() for p in command.params if p.param_type_name == "argument"
    ]
    options = [
        f"`{p.opts[0]}`"
        for p in command.params
        if p.param_type_name == "option" and p.opts[0] not in {"--json", "--help"}
    ]
    usage = " ".join(["ktsafe", name, *arguments]).replace("|", "\\|")
    summary = " ".join(command.help.partition("\n\n")[0].split())
    yield f"| `{usage}` | {summary} | {' '.join(options)} |"


def metrics() -> str:
    """Return the page of all metrics."""
    lines = [
        "# Metrics",
        "",
        MADE,
        "",
        _OF_METRICS,
        "",
        "| name | kind | labels | what it says |",
        "|---|---|---|---|",
        *(metric.row for metric in (*METRICS, *SECRETS)),
    ]
    return "\n".join(lines) + "\n"


def files() -> dict[str, str]:
    """Return all files of the reference by their place in the folder of documents."""
    return {
        "configuration.md": configuration(),
        "commands.md": commands(),
        "metrics.md": metrics(),
        SCHEMA: json.dumps(schema(), indent=2) + "\n",
    }


def main() -> int:
    """Write the files."""
    folder = Path(sys.argv[1])
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
