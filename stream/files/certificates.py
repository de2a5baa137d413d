"""The private certificate of an aligned release: `certificate.csv` beside `mapping.csv`.

`released_id,image_id`: a permutation of the released vertices that maps the release onto itself
(`ktsafe.verify.certificate`). With it a program verifies a release of any radius in linear
time. It shows which vertices map to each other, so it is never published.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.connectors.bundles import sync_folder
from ktsafe.stream.files.releases_read import Release, ReleaseUnreadable
from ktsafe.stream.files.releases_write import csv_lines, write_synced

if TYPE_CHECKING:
    from ktsafe.verify.kt_safe_verdict import Verdict

CERTIFICATE: Final = "certificate.csv"
_HEADER: Final = ["released_id", "image_id"]


def write_certificate(folder: Path, ids: Sequence[str], shift: NDArray[np.int32]) -> str:
    """Write the certificate of a private audit, for its owner only; return its sha256."""
    pairs = sorted((name, ids[image]) for name, image in zip(ids, shift.tolist(), strict=True))
    digest = write_synced(folder / CERTIFICATE, csv_lines(_HEADER, iter(pairs)))
    sync_folder(folder)
    return digest


def in_order(
    ids: Sequence[str], shift: NDArray[np.int32], released: Sequence[str]
) -> NDArray[np.int64]:
    """Return a certificate over `ids` as one over the same ids in the order of `released`."""
    position = {name: v for v, name in enumerate(released)}
    found = np.empty(len(released), dtype=np.int64)
    for name, image in zip(ids, shift.tolist(), strict=True):
        found[position[name]] = position[ids[image]]
    return found


def verified(
    release: Release, certificate: NDArray[np.int64] | None = None, *, workers: int = 1
) -> Verdict:
    """Return the strict verifier's verdict on a release, by its bytes and what it promises."""
    from ktsafe.verify import verify  # noqa: PLC0415 -- compiled kernels load slowly

    return verify(
        release.quasi_identifiers(),
        release.is_sensitive(),
        release.edges,
        release.params,
        certificate=certificate,
        workers=workers,
    )


def read_certificate(path: Path, released: Sequence[str]) -> NDArray[np.int64]:
    """Return the image of every vertex of a release, by the positions of its ids.

    Raises
    ------
    ReleaseUnreadable
        If the file cannot be read or does not name exactly the ids of the release.
    """
    hint = "Name the certificate.csv in the private audit of this very release."
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ReleaseUnreadable(f"{path} is no readable certificate.", hint=hint) from error
    position = {name: v for v, name in enumerate(released)}
    images = {row[0]: row[1] for row in rows if len(row) == len(_HEADER)}
    if header != _HEADER or len(rows) != len(released) or images.keys() != position.keys():
        raise ReleaseUnreadable(f"{path} does not belong to this release.", hint=hint)
    if not position.keys() >= set(images.values()):
        raise ReleaseUnreadable(f"{path} names a vertex that the release does not hold.", hint=hint)
    return np.array([position[images[name]] for name in released], dtype=np.int64)
