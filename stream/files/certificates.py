"""Private places of exchanged values, and the seal of a release.

`values.csv`, `released_id,value_at`: of a release with exchanged values, at which vertex the
sensitive value of each one's owner stands, or of who left it. It names nobody.

The file and the seal are formats: readers check seals by `ktsafe.seals` and verify.html, and audits
need the columns of `values.csv`. Hints may be reworded.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.connectors.base import MANIFEST
from ktsafe.connectors.bundles import sync_folder
from ktsafe.connectors.secrets import Signer
from ktsafe.seals import log_root, signed_bytes
from ktsafe.stream.files.releases_read import Release, ReleaseUnreadable
from ktsafe.stream.files.releases_write import csv_blocks, manifest_text, ordered, write_synced

if TYPE_CHECKING:
    from ktsafe.verify.kt_safe_verdict import Verdict


VALUES: Final = "values.csv"
_HEADER: Final = ["released_id", "value_at"]


def write_value_places(
    folder: Path, ids: Sequence[str], value_at: NDArray[np.int64] | None
) -> dict[str, str]:
    """Write places of exchanged values to a private audit; return sha256."""
    if value_at is None:
        return {}
    names, order = ordered(ids)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    columns = [(names, np.arange(len(order))), (names, rank[value_at[order]])]
    digest = write_synced(folder / VALUES, csv_blocks(_HEADER, columns))
    sync_folder(folder)
    return {VALUES: digest}


def verified(release: Release, *, workers: int = 1) -> Verdict:
    """Return the strict verdict on a release, by bytes and promise."""
    from ktsafe.verify import verify  # noqa: PLC0415 -- compiled kernels load slowly

    return verify(
        release.quasi_identifiers(),
        release.is_sensitive(),
        release.edges,
        release.params,
        workers=workers,
    )


def value_places(path: Path, released: Sequence[str]) -> NDArray[np.int64]:
    """Return a file's content for every vertex, by ids' positions.

    Raises
    ------
    ReleaseUnreadable
        If the file cannot be read or does not name exactly the ids of the release.
    """
    hint = f"Name the {VALUES} in the private audit of this very release."
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ReleaseUnreadable(f"{path} is no readable {VALUES}.", hint=hint) from error
    position = {name: v for v, name in enumerate(released)}
    images = {row[0]: row[1] for row in rows if len(row) == len(_HEADER)}
    if header != _HEADER or len(rows) != len(released) or images.keys() != position.keys():
        raise ReleaseUnreadable(f"{path} does not belong to this release.", hint=hint)
    if not position.keys() >= set(images.values()):
        raise ReleaseUnreadable(f"{path} names a vertex that the release does not hold.", hint=hint)
    return np.array([position[images[name]] for name in released], dtype=np.int64)


# Seals the manifest of a release; `ktsafe.seals` reads the seal.


def seal_manifest(
    folder: Path,
    past: Sequence[str],
    verdict: Verdict,
    ids: Sequence[str],
    signer: Signer | None = None,
) -> str:
    """Add the seal to the manifest of a release in `folder`.

    Return its sha256.

    Parameters
    ----------
    past:
        The sha256 of every manifest that was published before, in order.
    verdict, ids:
        What the verifier found of the vertices, and their published ids.
    """
    manifest = json.loads((folder / MANIFEST).read_bytes())
    stated = {"evidence": "definition", "sha256": verdict.digest(ids)}
    seal = {
        "before": past[-1] if past else None,
        "log": {"size": len(past), "root": log_root(past)},
        "verdict": stated,
        "key": "",
        "signature": "",
    }
    if signer is not None:
        seal["key"] = signer.public_key().hex()
        text = manifest_text({**manifest, "seal": seal}).encode()
        signature = seal["signature"] = signer.sign(text).hex()
        assert signed_bytes(manifest_text({**manifest, "seal": seal}).encode(), signature) == text
    digest = write_synced(folder / MANIFEST, [manifest_text({**manifest, "seal": seal})])
    sync_folder(folder)
    return digest
