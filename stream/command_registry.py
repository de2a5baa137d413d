"""Commands of `ktsafe` by name, each imported when called.

Kernels, Kafka and the store load slowly. The list of commands, and completion, need none of them.

Sections and examples may be changed. A new command is a row of `SECTIONS` and a module of
`commands`, then `make reference`; tests/stream/commands/test_imports.py compares both, and refuses
heavy imports at the head.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module, resources
from importlib.metadata import version
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

HERE: Final = "ktsafe.stream.commands"
ASSESS: Final = "ktsafe.assess.commands"
"""What is there says itself where it needs more than is installed."""


class Place(NamedTuple):
    """Place of a command or group: module and name."""

    module: str
    name: str
    package: str = HERE


SECTIONS: Final[dict[str, dict[str, Place]]] = {
    "One graph": {
        "inspect": Place("inspect", "inspect_files"),
        "anonymize": Place("anonymize", "anonymize_files"),
        "advise": Place("advise", "advise", ASSESS),
    },
    "One graph again and again": {
        "next": Place("run", "next_release"),
    },
    "The service": {
        "demo": Place("demo", "demo", ASSESS),
        "run": Place("run", "run"),
        "config": Place("config", "config"),
    },
    "A running service": {
        "status": Place("running", "status"),
        "release": Place("running", "release"),
        "erase": Place("running", "erase"),
        "rebase": Place("running", "rebase"),
        "state": Place("state", "app"),
    },
    "Releases": {
        "releases": Place("releases", "app"),
        "verify": Place("verify", "verify_folders"),
        "audit": Place("audit", "audit", ASSESS),
    },
}

EXAMPLES: Final = """\
Examples:
  ktsafe demo                           a network, a year, thirteen verified releases in ./var
  ktsafe anonymize --vertices people.csv --edges ties.csv --schema schema.toml \\
      --out release --audit private     one graph, one release
  ktsafe config > ktsafe.toml           a configuration with every key, to start a service from
  ktsafe COMMAND --help                 what a command does, and its options"""

PLACES: Final = {name: place for section in SECTIONS.values() for name, place in section.items()}


class _Commands(Mapping[str, Any]):
    """Commands of the table, each made when asked for."""

    def __getitem__(self, name: str) -> Any:
        place = PLACES[name]
        found = getattr(import_module(f"{place.package}.{place.module}"), place.name)
        outer = typer.Typer(rich_markup_mode=None, add_completion=False)
        if isinstance(found, typer.Typer):
            _summarize(found)
            outer.add_typer(found, name=name)
        else:
            outer.command(name)(found)
        return typer.main.get_group(outer).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


class Program(TyperGroup):
    """The program: lists its commands by section without importing them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to them

    def list_commands(self, _context: Any) -> list[str]:
        """Return the names of all commands."""
        return list(PLACES)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        """Write the commands, section by section, and the first sentence of each."""
        for title, places in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary_at(place)) for name, place in places.items()])

    def format_epilog(self, _context: Any, formatter: Any) -> None:
        """Write examples as they stand."""
        formatter.write(f"\n{EXAMPLES}\n")

    def shell_complete(self, context: Any, incomplete: str) -> list[Any]:
        """Return the commands and options that begin with what was typed."""
        from typer._click.shell_completion import CompletionItem  # noqa: PLC0415 -- for shells only

        found = [
            CompletionItem(name, help=summary_at(place))
            for name, place in PLACES.items()
            if name.startswith(incomplete)
        ]
        return found or super().shell_complete(context, incomplete)


app = typer.Typer(
    name="ktsafe",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode=None,  # It would take [attributes], the name of a table, for markup.
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ktsafe {version('ktsafe')}")
        raise typer.Exit


@app.callback()
def ktsafe(
    _asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
    _debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="First of all options: after a crash, write its traceback to a file in this "
            "folder that only you may read. It may hold ids and values.",
        ),
    ] = False,
) -> None:
    """Publish a social network's graph without giving its people away."""


def summary_at(place: Place) -> str:
    """Return a command's first sentence of help, from its source."""
    source = resources.files(place.package) / f"{place.module}.py"
    for node in ast.parse(source.read_bytes()).body:
        match node:
            case ast.FunctionDef(name=place.name):
                return first_sentence(ast.get_docstring(node))
            case ast.Assign(targets=[ast.Name(id=place.name)], value=ast.Call(keywords=given)):
                told = {each.arg: ast.literal_eval(each.value) for each in given}
                return first_sentence(told["help"])
    raise LookupError(place)


def first_sentence(text: str | None) -> str:
    """Return the first paragraph of a help text on one line."""
    return " ".join((text or "").partition("\n\n")[0].split())


def _summarize(commands: typer.Typer) -> None:
    """Let lists of commands show whole first sentences.

    By default they are cut off.
    """
    for command in commands.registered_commands:
        command.short_help = first_sentence(inspect.getdoc(command.callback))
