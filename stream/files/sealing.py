"""Seals the manifest of a release; `ktsafe.seals.seals` reads the seal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ktsafe.connectors.base import MANIFEST
from ktsafe.connectors.bundles import sync_folder
from ktsafe.connectors.signing import Signer
from ktsafe.seals.seals import log_root, signed_bytes
from ktsafe.stream.files.releases_write import manifest_text, write_synced

if TYPE_CHECKING:
    from ktsafe.verify.kt_safe_verdict import Verdict


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
