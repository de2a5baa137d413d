"""The `ktsafe` command: parses, calls, and turns expected errors into a paragraph and a code."""

from __future__ import annotations

import errno
import os
import sys

from stream.process import kernels

CACHE_NOTICE = kernels.settle_cache()

import typer  # noqa: E402 -- the cache must be settled first

from stream.errors import EXPECTED, Exit, exit_code  # noqa: E402
from stream.process import logs, process  # noqa: E402
from stream.program import app  # noqa: E402


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
