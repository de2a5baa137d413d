"""The `ktsafe` command: parse, call, tell expected errors, return a code.

Texts may be reworded; codes are set in `ktsafe.stream.errors`. The order at the head is needed: the
folder of kernels and the variables are settled before numba and numpy are loaded.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Final

from ktsafe.kernels import kernel_cache

try:
    CACHE_NOTICE = kernel_cache.choose_kernel_folder()
except PackageNotFoundError as missing:
    print(  # noqa: T201 -- typer may be missing, too
        f"ktsafe: {missing.name} is not installed. `ktsafe.read` works without; the commands need "
        "all that pip installs without --no-deps: pip install ktsafe",
        file=sys.stderr,
    )
    raise SystemExit(2) from None
IGNORED: Final = {
    "NUMBA_DISABLE_JIT": "kernels are compiled",
    "PROMETHEUS_MULTIPROC_DIR": "a service is one process, and keeps its figures to itself",
    "prometheus_multiproc_dir": "a service is one process, and keeps its figures to itself",
}
"""Variables that change how libraries work, in ways that do not go with this program."""
# Taken away before the libraries are loaded, which read them then.
_FOUND = {name: os.environ.pop(name, "") for name in IGNORED}
# Read when numpy is loaded. Its matrices are small here: more threads would wait for each other,
# busily, and figures would depend on how many there are.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import typer  # noqa: E402 -- the folder of kernels must be chosen first

from ktsafe.errors import KtsafeError  # noqa: E402
from ktsafe.stream.command_registry import app  # noqa: E402
from ktsafe.stream.errors import Exit, exit_code  # noqa: E402
from ktsafe.stream.process import logs, process  # noqa: E402

OF_THE_SERVICE: Final = frozenset({"kafka", "prometheus_client", "rocksdict"})
"""Packages that the library works without; the extra `service` installs them."""


def main(program: typer.Typer = app) -> None:
    """Run the command line and exit with its code.

    Another program may end as `ktsafe` does.

    An error that nobody expected ends in one log line with its type and places: its text may hold
    an id or a value. `ktsafe --debug` writes it to a private file besides.
    """
    process.begin()
    logs.configure(level="warning")
    logs.install_crash_hooks()
    if CACHE_NOTICE:
        typer.echo(f"ktsafe: {CACHE_NOTICE}", err=True)
    for name, value in _FOUND.items():
        if value not in {"", "0"}:
            typer.echo(f"ktsafe: {name} is ignored: {IGNORED[name]}", err=True)
    try:
        code = run_command(sys.argv[1:], program)
    except Exception:  # noqa: BLE001 -- whatever it is, it ends here
        # Typer has put its own in place, which would print the text.
        logs.install_crash_hooks(Path.cwd() if "--debug" in sys.argv[1:2] else None)
        sys.excepthook(*sys.exc_info())
        code = Exit.INTERNAL
    process.end(code)


def run_command(arguments: list[str], program: typer.Typer = app) -> int:
    """Run one command line and return its exit code (see `ktsafe.stream.errors.Exit`)."""
    try:
        name = program.info.name
        result = program(args=arguments, prog_name=name, standalone_mode=False)
    except typer.Exit as error:
        return int(error.exit_code)
    except (KtsafeError, typer.TyperException, ModuleNotFoundError, OSError) as error:
        text = _paragraph(error)
        if not text:
            raise
        # Help, asked for by naming nothing, is no complaint.
        if text.startswith("Usage:"):
            typer.echo(text)
            return Exit.USAGE
        code = exit_code(error) if isinstance(error, KtsafeError) else Exit.USAGE
        typer.echo(f"ktsafe: {text}", err=True)
        if "--json" in arguments:
            typer.echo(json.dumps({"error": text, "exit_code": int(code)}, indent=2))
        return code
    except typer.Abort:  # Asked, nobody said yes.
        typer.echo("ktsafe: nothing was done", err=True)
        return Exit.INTERRUPTED
    except KeyboardInterrupt:
        typer.echo("ktsafe: interrupted", err=True)
        return Exit.INTERRUPTED
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        # The reader of our output went away (`ktsafe ... | head`), and did not see the verdict.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.NOT_READ
    if result == Exit.INTERRUPTED:  # What Typer makes of Ctrl-C.
        typer.echo("ktsafe: interrupted", err=True)
    return int(result) if isinstance(result, int) else Exit.OK


def _paragraph(error: Exception) -> str:
    """Return what to tell of an expected error; empty for any other."""
    match error:
        case KtsafeError():
            return str(error)
        case typer.TyperException():
            return error.format_message()
        case ModuleNotFoundError():
            missing = (error.name or "").partition(".")[0]
            if missing in OF_THE_SERVICE:
                how = "pip install 'ktsafe[service]'"
                return f"This needs {missing}, which is not installed.\n  {how}"
        case OSError():
            if error.filename is not None or error.errno in {errno.ENOSPC, errno.EDQUOT}:
                return f"{error.filename or 'the output'} cannot be used ({error.strerror})."
    return ""


if __name__ == "__main__":
    main()
