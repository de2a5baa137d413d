"""The commands of `ktsafe`, by name: each is imported when it is called, and not before.

Kernels, Kafka and the store load slowly. The list of commands, and completion, need none of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup


class Listed(NamedTuple):
    """A command, or a group of them: where it is, and what the list of commands says of it."""

    module: str
    name: str
    summary: str


HERE: Final = "stream.commands"

SECTIONS: Final[dict[str, dict[str, Listed]]] = {
    "One graph": {
        "anonymize": Listed(
            "anonymize",
            "anonymize_files",
            "Anonymize one graph; the result is verified before the command succeeds.",
        ),
        "compare": Listed(
            "compare",
            "compare",
            "Anonymize a data set under every combination of the given parameters and measure "
            "each.",
        ),
        "advise": Listed(
            "advise",
            "advise",
            "Advise which quasi-identifiers to keep: all settings are estimated, the best are "
            "released.",
        ),
    },
    "The service": {
        "demo": Listed(
            "demo",
            "demo",
            "Import a made-up network, publish a verified release each month, say what they are "
            "worth.",
        ),
        "run": Listed(
            "run", "run", "Consume the feed and publish verified releases until told to stop."
        ),
        "config": Listed("config", "app", "Check a configuration, or print an example."),
        "topics": Listed("topics", "app", "Create or check Kafka topics."),
        "feed": Listed("feed", "app", "Make up a feed, or send one to Kafka."),
    },
    "A running service": {
        "status": Listed(
            "status",
            "status",
            "Say how far the feed has been read, which releases are out, and what is wrong.",
        ),
        "release": Listed("release", "app", "Have a running service make a release."),
        "erase": Listed(
            "erase",
            "erase",
            "Erase a person from graph, ties, past mappings, dead letters in a file, and the disk.",
        ),
        "rebase": Listed(
            "rebase",
            "rebase",
            "Begin a new sequence, with the parameters that the configuration has now.",
        ),
        "state": Listed("state", "app", "Import, back up, restore and check the private state."),
        "letters": Listed("letters", "app", "Read dead letters."),
    },
    "Releases": {
        "releases": Listed("releases", "app", "Read published releases."),
        "verify": Listed(
            "verify",
            "verify_folders",
            "Say whether releases are kt-safe, by the strict definition; exit 0 iff all are.",
        ),
        "audit": Listed(
            "audit",
            "audit",
            "Say whether releases are safe together, whoever links them; exit 0 iff they are.",
        ),
        "attack": Listed(
            "attack",
            "attack",
            "Attack releases as known attackers would, and say how many people each of them finds.",
        ),
        "report": Listed(
            "report",
            "report",
            "Write one HTML page on the last release, beside all before it: safety, and utility.",
        ),
    },
    "This program": {
        "warm": Listed(
            "after_install",
            "warm",
            "Compile all kernels now, so that no release waits for them; a second time compiles "
            "nothing.",
        ),
        "completion": Listed(
            "after_install",
            "completion",
            "Print the script with which a shell completes `ktsafe`; it changes no file.",
        ),
    },
}

EXAMPLES: Final = """\
Examples:
  ktsafe demo                           a network, a year, twelve verified releases in ./var
  ktsafe anonymize --vertices people.csv --edges ties.csv --schema schema.toml \\
      --out release --audit private     one graph, one release
  ktsafe config example > ktsafe.toml   a configuration with every key, to start a service from
  ktsafe COMMAND --help                 what a command does, and its options"""

ENTRIES: Final = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class _Commands(Mapping[str, Any]):
    """The commands of the table; each is made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        entry = ENTRIES[name]
        found = getattr(import_module(f"{HERE}.{entry.module}"), entry.name)
        outer = typer.Typer(rich_markup_mode=None, add_completion=False)
        if isinstance(found, typer.Typer):
            _summarize(found)
            outer.add_typer(found, name=name)
        else:
            outer.command(name)(found)
        return typer.main.get_group(outer).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)


class Program(TyperGroup):
    """The program: lists its commands by section without importing them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to them

    def list_commands(self, _context: Any) -> list[str]:
        """Return the names of all commands."""
        return list(ENTRIES)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        """Write the commands, section by section, and the first sentence of each."""
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])

    def format_epilog(self, _context: Any, formatter: Any) -> None:
        """Write examples as they stand."""
        formatter.write(f"\n{EXAMPLES}\n")

    def shell_complete(self, context: Any, incomplete: str) -> list[Any]:
        """Return the commands and options that begin with what was typed."""
        from typer._click.shell_completion import CompletionItem  # noqa: PLC0415 -- for shells only

        found = [
            CompletionItem(name, help=entry.summary)
            for name, entry in ENTRIES.items()
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
) -> None:
    """Publish a social network's graph, release by release, without giving its people away."""


def summary_of(function: Any) -> str:
    """Return the first sentence of what a command's help says."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _summarize(commands: typer.Typer) -> None:
    """Let lists of commands show whole first sentences; by default they are cut off."""
    for command in commands.registered_commands:
        command.short_help = summary_of(command.callback)
