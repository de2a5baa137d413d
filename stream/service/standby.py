"""A second service on the same configuration, which waits and takes over.

    standby ──waits for the store's lock──▶ opens the store at its last checkpoint ──▶ runs

Two never publish: the lock of the store ends with its process, whatever ended that, and what was
staged has its bytes and its place in the ledger. At the sink the one that opened it last fences off
the other (the folder's lock; on Kafka the transactional id).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from ktsafe.state.errors import StateLocked
from ktsafe.state.folder import is_held
from ktsafe.state.store import GraphStore
from ktsafe.stream.config.settings import Settings
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

LOOK_INTERVAL_S: Final = 1.0
MOUNTS: Final = Path("/proc/self/mountinfo")
SHARED: Final = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4"),
        *("ocfs2", "orangefs", "smb3", "smbfs"),
        *(f"fuse.{kind}" for kind in ("ceph-fuse", "glusterfs", "rclone", "s3fs", "sshfs")),
    }
)
"""File systems of several machines: a lock there may outlive its machine, or be lost before it."""


def check_can_stand_by(settings: Settings, private: Path, *, mounts: Path = MOUNTS) -> None:
    """Refuse to stand by where nothing keeps two services apart, or the feed would be lost.

    Raises
    ------
    ConfigError
    """
    if settings.config.source.is_read_once(settings.site):
        msg = "A standby cannot take over standard input or a pipe."
        raise ConfigError(msg, hint="What the first service read of it is gone. Name files.")
    kind = file_system(private, mounts)
    if kind is None or kind in SHARED:
        found = "of an unknown file system" if kind is None else f"on {kind}"
        msg = f"{private} is {found}: its locks do not keep two services apart for sure."
        hint = "Stand by on a local disk (or one that is attached to one machine at a time)."
        raise ConfigError(msg, hint=hint)


def take_over(
    store_folder: Path,
    open_store: Callable[[], GraphStore],
    *,
    stopping: Callable[[], bool],
    sleep: Callable[[float], object],
) -> GraphStore | None:
    """Wait until nobody holds the store, and return it open; None if told to stop before.

    Nothing is opened while it is held, so the service that runs is not disturbed.
    """
    told = False
    while not stopping():
        if not is_held(store_folder):
            try:
                store = open_store()
            except StateLocked:
                pass  # Another one was faster.
            else:
                if told:
                    log.info("took over")
                else:
                    log.info("nobody held the state")
                return store
        if not told:
            log.info("standing by: another service holds the state")
            told = True
        sleep(LOOK_INTERVAL_S)
    return None


def file_system(folder: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the kind of file system that a folder is on, or will be made on; None if unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    best, kind = -1, None
    for line in lines:
        # Where it is mounted is the fifth field; its kind is the first one after " - ".
        place, kinds = line.split()[4], line.partition(" - ")[2].split()
        point = Path(place.replace("\\040", " "))
        # Of two at one place the later one is seen.
        if folder.resolve().is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), kinds[0]
    return kind
