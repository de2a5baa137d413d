"""`ktsafe release`: have a running service make a release."""

from __future__ import annotations

import typer

from ktsafe.connectors.errors import Unavailable
from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import Config, Json, Wait, say

app = typer.Typer(help="Have a running service make a release.", no_args_is_help=True)


@app.callback()
def release() -> None:
    """Group the release commands."""


@app.command("now")
def now(
    config: Config,
    wait: Wait = 60.0,
    as_json: Json = False,
) -> int:
    """Make the next release now, of what has been read so far.

    Events of the same slot that are read later are shown in the next release. The release carries
    the slot's nominal time, as ever; `ktsafe status` tells when it is out.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.service.control_wire import ask

    private = places.private_folder(configuration.load(config))
    report = ask(private, "release", patience_s=wait)
    if report is None:
        hint = (
            f"no service is running. `ktsafe run {config} --drain` releases what the feed holds, "
            "and ends."
        )
        raise Unavailable("release now", str(private), hint)
    say(report, f"the release of {report['slot']} is being made", as_json=as_json)
    return Exit.OK
