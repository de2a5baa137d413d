"""Private permutations of a release in files, and its seal.

`certificate.csv`, `released_id,image_id`: of an aligned release, what maps it onto itself
(`ktsafe_lab.verify_hops.certificate`). With it a program verifies a release of any radius in linear
time. It shows which vertices map to each other, so it is never published.

`values.csv`, `released_id,value_at`: of a release with exchanged values, at which vertex the
sensitive value of each one's owner stands, or of who left it. It names nobody.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.connectors.base import MANIFEST
from ktsafe.connectors.bundles import sync_folder
from ktsafe.connectors.secrets import Signer
from ktsafe.seals.seals import log_root, signed_bytes
from ktsafe.stream.files.releases_read import Release, ReleaseUnreadable
from ktsafe.stream.files.releases_write import csv_lines, manifest_text, write_synced

if TYPE_CHECKING:
    from ktsafe.verify.kt_safe_verdict import Verdict


CERTIFICATE: Final = "certificate.csv"
VALUES: Final = "values.csv"
_HEADERS: Final = {
    CERTIFICATE: ["released_id", "image_id"],
    VALUES: ["released_id", "value_at"],
}


def write_permutations(
    folder: Path,
    ids: Sequence[str],
    shift: NDArray[np.int32] | None,
    value_at: NDArray[np.int64] | None,
) -> dict[str, str]:
    """Write present parts to a private audit; return each sha256."""
    hashes = {}
    for file, images in ((CERTIFICATE, shift), (VALUES, value_at)):
        if images is not None:
            named = zip(ids, images.tolist(), strict=True)
            pairs = sorted((name, ids[image]) for name, image in named)
            hashes[file] = write_synced(folder / file, csv_lines(_HEADERS[file], iter(pairs)))
    if hashes:
        sync_folder(folder)
    return hashes


def in_order(
    ids: Sequence[str], shift: NDArray[np.integer[Any]], released: Sequence[str]
) -> NDArray[np.int64]:
    """Return a permutation over `ids` in the order of `released`."""
    position = {name: v for v, name in enumerate(released)}
    found = np.empty(len(released), dtype=np.int64)
    for name, image in zip(ids, shift.tolist(), strict=True):
        found[position[name]] = position[ids[image]]
    return found


def verified(
    release: Release, certificate: NDArray[np.int64] | None = None, *, workers: int = 1
) -> Verdict:
    """Return the strict verdict on a release, by bytes and promise."""
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
    """Return the image of every vertex of a release, as `read_permutation` does."""
    return read_permutation(path, released, CERTIFICATE)


def read_permutation(path: Path, released: Sequence[str], kind: str) -> NDArray[np.int64]:
    """Return a file's content for every vertex, by ids' positions.

    `kind` is the name that the file has in a private audit.

    Raises
    ------
    ReleaseUnreadable
        If the file cannot be read or does not name exactly the ids of the release.
    """
    hint, expected = f"Name the {kind} in the private audit of this very release.", _HEADERS[kind]
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise ReleaseUnreadable(f"{path} is no readable {kind}.", hint=hint) from error
    position = {name: v for v, name in enumerate(released)}
    images = {row[0]: row[1] for row in rows if len(row) == len(expected)}
    if header != expected or len(rows) != len(released) or images.keys() != position.keys():
        raise ReleaseUnreadable(f"{path} does not belong to this release.", hint=hint)
    if not position.keys() >= set(images.values()):
        raise ReleaseUnreadable(f"{path} names a vertex that the release does not hold.", hint=hint)
    return np.array([position[images[name]] for name in released], dtype=np.int64)


# Seals the manifest of a release; `ktsafe.seals.seals` reads the seal.


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
    # Orbits are those of a private certificate: a digest of their sizes would confirm guesses.
    is_public = verdict.evidence == "definition"
    stated = {"evidence": verdict.evidence, "sha256": verdict.digest(ids) if is_public else None}
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
