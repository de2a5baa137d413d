"""One release and its private audit, written to folders.

What is measured may be changed. The order must stay: write, read back, judge, and only then take
the place of the named folder, so a kill leaves nothing that looks finished
(tests/stream/commands/test_anonymize_options.py).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ktsafe.anonymization.anonymization import Anonymized
from ktsafe.connectors.bundles import sync_folder
from ktsafe.errors import InvalidGraph
from ktsafe.graph.numbering import Ids
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.certificates import verified, write_value_places
from ktsafe.stream.files.graphs import declaring_what_is_shown
from ktsafe.stream.files.releases_read import Release, read_release
from ktsafe.stream.files.releases_write import (
    ReleaseHeader,
    random_ids,
    write_audit,
    write_release,
)
from ktsafe.verify import Verdict


def written_and_verified(
    folder: Path,
    result: Anonymized,
    header: ReleaseHeader,
    *,
    seed: int | None = None,
    shown: bool,
) -> tuple[Release, Verdict, Ids]:
    """Write a release to a folder, read it again, and judge.

    Parameters
    ----------
    folder:
        A new one.
    result:
        The release.
    header:
        What the manifest says besides.
    seed:
        Makes published ids repeatable, for tests only.
    shown:
        Whether only those sensitive values are declared that somebody shows, as for combinations
        of values.

    Returns
    -------
    tuple
        What was read, the verdict on it, and the released id of every vertex of `result.graph`.

    Raises
    ------
    NotKTSafe
        If the strict verifier does not pass what was read.
    """
    ids = random_ids(result.graph.n_vertices, seed=seed)
    graph = declaring_what_is_shown(result.graph) if shown else result.graph
    write_release(folder, graph, ids, header)
    release = read_release(folder)
    verdict = verified(release)
    verdict.raise_if_unsafe()
    return release, verdict, ids


def write_private(
    folder: Path,
    originals: Sequence[str],
    result: Anonymized,
    ids: Sequence[str],
    audit: Audit,
) -> None:
    """Write the private audit into a folder.

    Parameters
    ----------
    originals:
        The id of each true vertex.
    ids:
        The released id of each vertex of `result.graph`.
    """
    write_audit(folder, ids, originals, result.origin, audit)
    write_value_places(folder, ids, result.value_at)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a path for a new folder that then takes its place.

    An error removes what was written. A kill leaves a hidden folder beside, `.NAME.unfinished-*`,
    with what was written one level down, where no command looks for releases.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{folder.name}.unfinished-", dir=folder.parent))
    try:
        yield room / folder.name
        (room / folder.name).rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(room)


def check_folders(out: Path, audit: Path) -> None:
    """Refuse existing folders, and an audit among published files."""
    for folder in (out, audit):
        if folder.exists():
            msg = f"{folder} exists already."
            raise InvalidGraph(msg, hint="Name a new folder: releases are never overwritten.")
    if audit.resolve().is_relative_to(out.resolve()):
        msg = f"{audit} lies in {out}."
        raise InvalidGraph(
            msg, hint="The audit folder holds the mapping: name a folder that is not published."
        )
    if out.resolve().is_relative_to(audit.resolve()):
        msg = f"{out} lies in {audit}."
        raise InvalidGraph(msg, hint="What is published needs a folder of its own.")
