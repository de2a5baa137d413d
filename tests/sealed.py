"""Small sealed releases, kt-safe ones, for tests of seals, readers and pages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.connectors.secrets import FileSigner, Signer
from ktsafe.stream.files.certificates import seal_manifest, verified
from ktsafe.stream.files.releases_read import read_release
from ktsafe.stream.files.releases_write import (
    ReleaseHeader,
    manifest_text,
    random_ids,
    release_id,
    write_release,
)

SCHEMA = Schema(("gender", "age"), "health", frozenset({"ill"}), expect_absent={"ill"})
PARAMS = PrivacyParams(k=2, alpha="1/2", epsilon=2, t="1/10")
DAY_US = 86_400_000_000


def key_files(folder: Path, seed: int = 1) -> tuple[Path, Path]:
    """Write an Ed25519 key pair, always the same; return the private and the public file."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    private, public = folder / f"key-{seed}.pem", folder / f"key-{seed}.pub.pem"
    folder.mkdir(parents=True, exist_ok=True)
    private.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(pem, spki))
    return private, public


def safe_graph(people: int, seed: int) -> AttributedGraph:
    """Return two copies of a random graph, one of them without a sensitive value."""
    rng = np.random.default_rng(seed)
    half = people // 2
    qi = rng.integers(0, 2, size=(half, 2))
    ends = rng.integers(0, half, size=(2 * half, 2))
    edges = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    ill = np.concatenate((rng.integers(0, 2, size=half), np.zeros(half, dtype=np.int64)))
    both = np.concatenate((qi, qi)).tolist()
    columns = {
        "gender": ["fm"[a] for a, _ in both],
        "age": [("<18", '18, "or" more')[b] for _, b in both],
        "health": [("well", "ill")[one] for one in ill.tolist()],
    }
    return AttributedGraph.from_columns(SCHEMA, columns, np.concatenate((edges, edges + half)))


def sealed_releases(
    folder: Path, n: int, signer: Signer | None = None, *, people: int = 12, past: int = 0
) -> list[Path]:
    """Write `n` releases of one sequence, each sealed; return their folders.

    The first `past` of them have no seal, as those of older versions.
    """
    digests: list[str] = []
    folders = []
    for index in range(1, n + 1):
        name = release_id(index, index * DAY_US)
        graph = safe_graph(people, index)
        header = ReleaseHeader(name, "sequence", index * DAY_US, PARAMS)
        ids = random_ids(graph.n_vertices, seed=index)
        files = write_release(folder / name, graph, ids, header)
        digest = files["manifest.json"]
        if index > past:
            digest = sealed(folder / name, digests, signer)
        digests.append(digest)
        folders.append(folder / name)
    return folders


def sealed(folder: Path, digests: list[str], signer: Signer | None) -> str:
    """Seal a release anew, as if these had been published before it."""
    release = read_release(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("seal", None)
    (folder / "manifest.json").write_text(manifest_text(manifest))
    return seal_manifest(folder, digests, verified(release), release.ids, signer)


def signer(folder: Path, seed: int = 1) -> Signer:
    """Return what signs with a key, always the same."""
    return FileSigner(key_files(folder, seed)[0])
