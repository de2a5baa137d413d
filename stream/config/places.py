"""Contents of a service's private folder, and obstacles to a start.

store/          the true graph and the ledger (`ktsafe.state.rocksdb`)
staging/<id>/   bytes of the last release: the sink has not confirmed it, or may lose it
tasks/          what tasks on a Dask cluster read, while they run (`ktsafe.stream.process.pool`)
audit/<id>/     the private mapping of a release, and its cost
control.sock    the control socket of the running service (`ktsafe.stream.service.control`)

Words of refusals may be changed. Names of folders are those of existing states and backups: another
name needs a conversion in lab/convert.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from ktsafe.state.store_base import StateFull, StateUnusable
from ktsafe.stream.config.settings import Settings

STORE: Final = "store"
STAGING: Final = "staging"
AUDIT: Final = "audit"
TASKS: Final = "tasks"
IMPORTING: Final = "store.importing"
RESTORING: Final = "store.restoring"
ROOM_BYTES_MIN: Final = 4 << 20
"""A state that is opened needs more than that: RocksDB writes logs of its own first."""

_UNFINISHED: Final = {
    IMPORTING: "an import is under way or was interrupted, and what is there does not count. Run "
    "`ktsafe state import` again, or remove this folder.",
    RESTORING: "a restoration is under way or was interrupted. Empty the private folder and run "
    "`ktsafe state restore` again.",
}


def check_there(private: Path, op: str) -> None:
    """Refuse to do with a state what asks for one.

    A report of it would hide a wrong configuration.

    Raises
    ------
    StateUnusable
        If there is none, or not yet.
    """
    check_finished(private)
    if not (private / STORE).is_dir():
        hint = "there is no state yet. Name the configuration of a service that has run."
        raise StateUnusable(op, str(private), hint)


def check_room(private: Path) -> None:
    """Refuse to open a state for which there is no room.

    It would end at its first checkpoint.

    Raises
    ------
    StateFull
    """
    if private.is_dir() and shutil.disk_usage(private).free < ROOM_BYTES_MIN:
        hint = f"its disk has less than {ROOM_BYTES_MIN >> 20} MiB of room. Free some space."
        raise StateFull("open state", str(private), hint)


def check_finished(private: Path) -> None:
    """Refuse to go on beside an unfinished import or restoration.

    Raises
    ------
    StateUnusable
    """
    for name, hint in _UNFINISHED.items():
        if (private / name).exists():
            raise StateUnusable("open state", str(private / name), hint)


# Places of a configured service, and its releases' promise.

PROMISE: Final = "all releases of a sequence are safe together"


def private_folder(settings: Settings) -> Path:
    """Return the private folder of the true graph and derived data."""
    return settings.path(settings.config.state.folder)


def audit_folder(settings: Settings) -> Path:
    """Return the folder of the private audits of releases."""
    return private_folder(settings) / AUDIT


def by_name(settings: Settings) -> dict[str, str]:
    """Return where a service's things are, by name, for people."""
    config = settings.config
    free = "" if config.metrics.port else "; its port is in the log"
    return {
        "releases": config.sink.place(settings.site),
        "dead": config.dead_letters.place(settings.site),
        "private": f"{private_folder(settings)} (true graph, mappings, audits: never publish)",
        "status": f"http://{config.metrics.listen}/, while it runs{free}",
    }
