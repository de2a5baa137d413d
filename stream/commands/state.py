"""`ktsafe state`: import, back up and restore the private folder.

Words may be changed. The work is done in `ktsafe.stream.maintenance`.
"""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ktsafe.state.store_base import StateError, StateUnusable
from ktsafe.stream.config.places import STORE, check_there
from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import (
    Columns,
    Config,
    Edges,
    Json,
    Vertices,
    Wait,
    phases,
    say,
)
from ktsafe.stream.slots import rfc3339

if TYPE_CHECKING:
    from ktsafe.stream.config.settings import Settings
    from ktsafe.stream.maintenance.backup import Parts

app = typer.Typer(help="Import, back up and restore the private state.", no_args_is_help=True)


@app.command("import")
def import_files(
    config: Config,
    vertices: Vertices,
    edges: Edges,
    at: Annotated[
        str, typer.Option(help="When the files' graph holds: RFC 3339, or epoch milliseconds.")
    ],
    offsets: Annotated[
        str,
        typer.Option(
            help='Where the feed goes on: a file of "topic:partition:offset" lines, or "latest".'
        ),
    ],
    columns: Columns = "",
    as_json: Json = False,
) -> int:
    """Begin with a graph that exists already.

    Once, before the service runs for the first time. The offsets are those of the first events that
    the files do not know. "latest" is the end of the feed as of now: right if nothing was written
    to it since the files were. Events that are older than `--at` do not change what the files name.
    The schema is that of the configuration.
    """
    from ktsafe.graph.inputs.names import chosen_columns
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.maintenance import state_import
    from ktsafe.stream.service import assembly

    settings = configuration.load(config)
    at_us = state_import.moment_us(at, time.time_ns() // 1000)
    known = None if offsets == "latest" else state_import.offsets_in(Path(offsets))
    private = assembly.make_private_folder(settings)
    feed = state_import.feed_at(assembly.source(settings, drain=True), known)
    with phases("importing") as progress:
        imported = state_import.import_graph(
            private,
            settings.schema,
            vertices,
            edges,
            at_us=at_us,
            feed=feed,
            progress=progress,
            columns=chosen_columns(columns),
        )
    report = {
        **dataclasses.asdict(imported),
        "at": rfc3339(at_us),
        "offsets": {f"{topic}:{p}": offset for (topic, p), offset in sorted(feed.offsets.items())},
    }
    lines = [f"imported  {imported.vertices:,} vertices, {imported.edges:,} ties"]
    if passed := imported.edges_repeated + imported.loops:
        lines.append(f"          {passed:,} lines ignored: repeated ties, or to oneself")
    lines += [f"feed      {at} goes on at {offset:,}" for at, offset in report["offsets"].items()]
    lines.append(f"next      ktsafe run {config}")
    say(report, "\n".join(lines), as_json=as_json)
    return Exit.OK


@app.command("backup")
def backup_state(
    config: Config,
    to: Annotated[Path, typer.Argument(help="New folder for the backup; keep it private.")],
    wait: Wait = 600.0,
    as_json: Json = False,
) -> int:
    """Copy graph, ledger, staged bytes and audits, even while the service runs.

    A running service is asked for it once no release is between its cut and its final bytes. What
    does not read back as it was written is not backed up. A backup is worth as much to an attacker
    as the network's own database.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.maintenance import backup
    from ktsafe.stream.service.housekeeping import check_parts

    settings = configuration.load(config)
    private = places.private_folder(settings)
    _check_new(to, settings)
    with parts_now(settings, wait) as parts:
        check_parts(parts, settings.schema)
        size = backup.copy(parts, to, now_us=time.time_ns() // 1000)
    report = {"backup": str(to), "bytes": size, "last_release": parts.last_release}
    text = f"{to}: backup of {private}, {size:,} bytes; keep it private"
    say(report, text, as_json=as_json)
    return Exit.OK


@app.command("restore")
def restore_state(
    config: Config,
    backup: Annotated[Path, typer.Argument(help="Folder that `ktsafe state backup` made.")],
    as_json: Json = False,
) -> int:
    """Put a backup in place of a state folder.

    The folder must be gone or empty. Events since the backup are read again from the feed. Releases
    that were published since are made again by `ktsafe run`, and compared with those at the sink,
    before it publishes others. People who were erased by command since are back; they are named, to
    be erased again.
    """
    from ktsafe.state.inspection import examine, people_behind
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.maintenance import backup as backups
    from ktsafe.stream.maintenance.erasure import noted_since

    settings = configuration.load(config)
    private = places.private_folder(settings)
    listing = backups.restore(backup, private, lambda store: examine(store, settings.schema))
    erased = noted_since(private, listing.made_us)
    back = people_behind(private / STORE, erased) if erased else []
    made = rfc3339(listing.made_us)
    report = {
        "restored": str(private),
        "last_release": listing.last_release,
        "made": made,
        "brought_back": None if erased is None else back,
    }
    lines = [f"{private}: restored from {backup}, of {made}"]
    if back:
        lines.append(f"back      {', '.join(back)}: erased since then, and here again")
        lines.append(f"again     {_erase_again(back, config)}")
        lines.append("          once `ktsafe run` has made again what was published since then")
    elif erased is None:
        lines.append("back      people erased since then; their ids were not noted here")
        lines.append(f"again     ktsafe erase ID {config}")
    say(report, "\n".join(lines), as_json=as_json)
    return Exit.OK


def _erase_again(people: Sequence[str], config: Path) -> str:
    """Return the command that erases people."""
    if len(people) > 1:
        return f"ktsafe erase - {shlex.quote(str(config))}, with these ids, one a line"
    dashes = "-- " if people[0].startswith("-") else ""
    return f"ktsafe erase {dashes}{shlex.quote(people[0])} {shlex.quote(str(config))}"


@contextmanager
def parts_now(settings: Settings, wait_s: float) -> Iterator[Parts]:
    """Give a frozen copy of a service's state, running or not."""
    from ktsafe.state.folder import hold
    from ktsafe.stream.config import places
    from ktsafe.stream.maintenance.backup import gone_meanwhile, parts_of
    from ktsafe.stream.service.control import FrozenState, ask

    private = places.private_folder(settings)
    check_there(private, "read the state")
    store = private / STORE
    found = ask(private, "freeze", FrozenState, patience_s=wait_s)
    if found is None:
        with hold(store):
            yield parts_of(store, private, frozen=False)
        return
    frozen = Path(found.folder)
    try:
        yield parts_of(frozen, private, frozen=True)
    except StateError:
        if frozen.is_dir():
            raise
        raise gone_meanwhile(frozen) from None
    finally:
        shutil.rmtree(frozen, ignore_errors=True)


def _check_new(to: Path, settings: Settings) -> None:
    """Refuse a backup into a used folder, the state or the releases."""
    from ktsafe.stream.config import places

    hint = ""
    if to.exists():
        hint = "it exists already. Name a new folder."
    elif to.resolve().is_relative_to(places.private_folder(settings)):
        hint = "it lies in what is to be backed up. Name a folder elsewhere."
    elif to.resolve().is_relative_to(places.by_name(settings)["releases"]):
        hint = "it lies among the releases, which are handed out. Name a folder that only you read."
    if hint:
        raise StateUnusable("back up state", str(to), hint)
