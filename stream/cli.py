"""The `ktsafe` command: parses, calls, and turns expected errors into a paragraph and a code."""

from __future__ import annotations

import errno
import inspect
import os
import sys
from importlib.metadata import version
from typing import Annotated

from stream.process import kernels

CACHE_NOTICE = kernels.settle_cache()

import typer  # noqa: E402 -- the cache must be settled first

from stream.commands import (  # noqa: E402
    anonymize,
    attack,
    audit,
    compare,
    completion,
    config,
    demo,
    erase,
    feed,
    letters,
    rebase,
    release,
    releases,
    run,
    state,
    status,
    topics,
    verify,
)
from stream.errors import EXPECTED, Exit, exit_code  # noqa: E402
from stream.process import logs, process  # noqa: E402

app = typer.Typer(
    name="ktsafe",
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


app.command("run")(run.run)
app.command("demo")(demo.demo)
app.command("anonymize")(anonymize.anonymize_files)
app.command("verify")(verify.verify_folders)
app.command("audit")(audit.audit)
app.command("attack")(attack.attack)
app.command("compare")(compare.compare)
app.command("erase")(erase.erase)
app.command("rebase")(rebase.rebase)
app.command("status")(status.status)
app.add_typer(release.app, name="release")
app.command("completion")(completion.completion)
app.add_typer(feed.app, name="feed")
app.add_typer(releases.app, name="releases")
app.add_typer(topics.app, name="topics")
app.add_typer(letters.app, name="letters")
app.add_typer(state.app, name="state")
app.add_typer(config.app, name="config")


def _summarize(commands: typer.Typer) -> None:
    """Let lists of commands show whole first sentences; by default they are cut off."""
    for command in commands.registered_commands:
        text = inspect.getdoc(command.callback) or ""
        command.short_help = " ".join(text.partition("\n\n")[0].split())
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _summarize(group.typer_instance)


_summarize(app)


def main() -> None:
    """Run the command line and exit with its code.

    An error that nobody expected ends in one log line with its type and places: its text may hold
    an id or a value.
    """
    process.begin()
    logs.configure(level="warning")
    logs.install_crash_hooks()
    if CACHE_NOTICE:
        typer.echo(f"ktsafe: {CACHE_NOTICE}", err=True)
    try:
        code = run_command(sys.argv[1:])
    except Exception:  # noqa: BLE001 -- whatever it is, it ends here
        logs.install_crash_hooks()  # Typer has put its own in place, which would print the text.
        sys.excepthook(*sys.exc_info())
        code = Exit.INTERNAL
    process.end(code)


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code (see `stream.errors.Exit`)."""
    try:
        result = app(args=arguments, prog_name="ktsafe", standalone_mode=False)
    except EXPECTED as error:
        typer.echo(f"ktsafe: {error}", err=True)
        return exit_code(error)
    except typer.Exit as error:
        return int(error.exit_code)
    except typer.TyperException as error:
        message = error.format_message()
        # Help, asked for by naming nothing, is no complaint.
        is_help = message.startswith("Usage:")
        typer.echo(message if is_help else f"ktsafe: {message}", err=not is_help)
        return Exit.USAGE
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("ktsafe: interrupted", err=True)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`ktsafe ... | head`): nothing is wrong with us.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except OSError as error:
        if error.filename is None and error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        subject = error.filename or "the output"
        typer.echo(f"ktsafe: {subject} cannot be used ({error.strerror}).", err=True)
        return Exit.USAGE
    if result == Exit.INTERRUPTED:  # What Typer makes of Ctrl-C.
        typer.echo("ktsafe: interrupted", err=True)
    return int(result) if isinstance(result, int) else Exit.OK


if __name__ == "__main__":
    main()
