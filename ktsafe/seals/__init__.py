"""Seals: what manifests say of each other, so releases prove themselves.

All of it is a format: published seals must stay checkable, here, in stream/files/verify.html and by
others (tests/ktsafe/seals/test_seals.py, tests/ops/test_verify_page.py). Words of problems may be
changed.

The `seal` of a manifest has

    before      the sha256 of the manifest published before it, null for the first: the *chain*
    log         how many manifests were published before it, and the root of their Merkle tree
    verdict     the digest of what the verifier found
    key         the owner's public key, and
    signature   Ed25519 over all bytes of the manifest but these digits; both empty without a key

Manifests of older versions have no seal.

Source: RFC 6962, section 2.1 (the tree; an entry is the sha256 of a manifest); RFC 8032 (Ed25519).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from ktsafe.errors import InvalidParams

Signature = Literal["valid", "vouched for", "not checked", "unsigned", "wrong"]
"""What is known of a manifest's signature; "vouched for": a later one that is valid names it,
or has it in its log."""

WITHDRAWN: Final = "withdrawn.json"
"""Lies beside the manifest of a release that its owner has withdrawn; no signature is needed to
warn of a release."""

HEX_32: Final = re.compile(r"[0-9a-f]{64}")
HEX_64: Final = re.compile(r"[0-9a-f]{128}")


@dataclasses.dataclass(frozen=True, slots=True)
class Seal:
    """The `seal` of a manifest. Hashes, key and signature are hexadecimal."""

    before: str | None
    size: int
    root: str
    key: str
    signature: str


@dataclasses.dataclass(frozen=True, slots=True)
class SealCheck:
    """What was found of one manifest among others.

    Attributes
    ----------
    size:
        How many manifests were published before it; None: it has no seal.
    problems:
        Why the releases are not those that were published, in words.
    """

    release_id: str
    signature: Signature
    size: int | None
    problems: tuple[str, ...]


def merkle_root(entries: Sequence[bytes]) -> bytes:
    """Return the Merkle tree hash of RFC 6962, section 2.1.

    Examples
    --------
    >>> merkle_root([]).hex()[:16]
    'e3b0c44298fc1c14'
    >>> merkle_root([b""]).hex()[:16]
    '6e340b9cffb37a98'
    """
    return prefix_roots(entries)[-1]


def prefix_roots(entries: Sequence[bytes]) -> list[bytes]:
    """Return the Merkle tree hashes of the first 0, 1, ... entries.

    The last one is of all.
    """
    roots = [hashlib.sha256(b"").digest()]
    peaks: list[bytes] = []
    for count, entry in enumerate(entries, start=1):
        node, height = hashlib.sha256(b"\0" + entry).digest(), count
        # Full trees of one height become one of the next.
        while height % 2 == 0:
            node, height = hashlib.sha256(b"\1" + peaks.pop() + node).digest(), height // 2
        peaks.append(node)
        for peak in reversed(peaks[:-1]):
            node = hashlib.sha256(b"\1" + peak + node).digest()
        roots.append(node)
    return roots


def log_root(digests: Sequence[str]) -> str:
    """Return the hexadecimal root over manifests' sha256 in order."""
    return merkle_root([bytes.fromhex(digest) for digest in digests]).hex()


def signed_bytes(manifest: bytes, signature: str) -> bytes:
    """Return the signed bytes of a manifest: without the signature's digits."""
    return manifest.replace(b'"signature": "' + signature.encode() + b'"', b'"signature": ""')


def read_seal(manifest: bytes) -> Seal | None:
    """Return the seal of a manifest, None without one.

    Raises
    ------
    ValueError
        If the bytes are no manifest, or the seal is invalid.
    """
    document = json.loads(manifest)
    found = document.get("seal") if isinstance(document, dict) else None
    if found is None:
        return None
    try:
        log = found["log"]
        seal = Seal(found["before"], log["size"], log["root"], found["key"], found["signature"])
        texts = (seal.before or log["root"], seal.root, seal.key or log["root"])
        is_sound = (
            type(seal.size) is int and seal.size >= 0 and (seal.before is None) == (not seal.size)
        )
        is_sound &= all(HEX_32.fullmatch(text) is not None for text in texts)
        is_sound &= bool(seal.key) == bool(HEX_64.fullmatch(seal.signature))
        is_sound &= bool(seal.key) == bool(seal.signature)
    except (KeyError, TypeError) as error:
        raise ValueError("the seal lacks something") from error
    if not is_sound:
        raise ValueError("the seal is invalid")
    return seal


def reason_of(marker: bytes) -> str:
    """Return why a release was withdrawn, as its marker says.

    A damaged marker withdraws, too.
    """
    try:
        why = json.loads(marker)["why"]
    except (ValueError, KeyError, TypeError, RecursionError):
        why = None
    return why if isinstance(why, str) else "the reason cannot be read."


def public_key(pem: bytes) -> bytes:
    """Return the 32 bytes of an Ed25519 public key in PEM.

    Raises
    ------
    InvalidParams
        If it is none, or `cryptography` is not installed.
    """
    serialization, ed25519 = _library()
    try:
        key = serialization.load_pem_public_key(pem)
    except ValueError:
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        hint = "Make it of the private key: openssl pkey -in signing-key.pem -pubout"
        raise InvalidParams("The key is no Ed25519 public key in PEM.", hint=hint)
    raw: bytes = key.public_bytes_raw()
    return raw


def is_signed_by(manifest: bytes, seal: Seal) -> bool:
    """Whether the signature in a seal is that of its key."""
    _, ed25519 = _library()
    key = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(seal.key))
    try:
        key.verify(bytes.fromhex(seal.signature), signed_bytes(manifest, seal.signature))
    except Exception as error:
        if type(error).__name__ != "InvalidSignature":
            raise
        return False
    return True


def check_seals(manifests: Sequence[bytes], keys: Sequence[bytes] = ()) -> list[SealCheck]:
    """Check manifests in the order of their alleged publication.

    Parameters
    ----------
    keys:
        Public keys, 32 bytes each; one of them must have signed. Without any, signatures are not
        checked, and the chain is.

    Raises
    ------
    ValueError
        If one is no manifest.
    """
    seals = [read_seal(manifest) for manifest in manifests]
    digests = [hashlib.sha256(manifest).hexdigest() for manifest in manifests]
    names = [str(json.loads(manifest).get("release_id")) for manifest in manifests]
    problems, logged = _chain_problems(names, digests, seals)
    checks: list[SealCheck] = []
    vouched = by_log = False
    for i in reversed(range(len(manifests))):
        signature, why = _signature(manifests[i], seals[i], keys)
        if vouched and signature != "valid":
            signature, why = "vouched for", None
        found = (*problems[i], *([why] if why else []))
        seal = seals[i]
        checks.append(SealCheck(names[i], signature, seal.size if seal else None, found))
        # What is signed says for sure which one was before it, and its log all of them.
        is_sure = signature in {"valid", "vouched for"}
        by_log |= is_sure and logged[i]
        is_named = i > 0 and seal is not None and seal.before == digests[i - 1]
        vouched = by_log or (is_sure and is_named)
    return checks[::-1]


def _chain_problems(
    names: Sequence[str], digests: Sequence[str], seals: Sequence[Seal | None]
) -> tuple[list[list[str]], list[bool]]:
    """Return each manifest's misfit with earlier ones, and its log's."""
    found: list[list[str]] = [[] for _ in names]
    roots = [root.hex() for root in prefix_roots([bytes.fromhex(digest) for digest in digests])]
    logged = [
        seal is not None and seal.size == i and seal.root == roots[i]
        for i, seal in enumerate(seals)
    ]
    sealed = [i for i, seal in enumerate(seals) if seal is not None]
    if not sealed:
        return found, logged
    # How many were published before the first that is here.
    offset = getattr(seals[sealed[0]], "size", 0) - sealed[0]
    for i, seal in enumerate(seals[sealed[0] :], start=sealed[0]):
        before = names[i - 1] if i else "none"
        if seal is None:
            found[i].append(f"it has no seal, and {before} before it has one")
        elif i and seal.before != digests[i - 1]:
            if seal.before in digests:
                follows = names[digests.index(seal.before)]
                text = f"it follows {follows}, not {before}: one is put in or out of order"
            elif (gap := seal.size - i - offset) > 0:
                text = f"{gap} releases between {before} and it are missing"
            else:
                text = f"it does not follow {before}, which is changed or put in"
            found[i].append(text)
            offset = seal.size - i
        elif seal.size != i + offset or (offset == 0 and not logged[i]):
            found[i].append("its log is not that of the releases before it")
    return found, logged


def _signature(
    manifest: bytes, seal: Seal | None, keys: Sequence[bytes]
) -> tuple[Signature, str | None]:
    """Return the state of a signature by itself, and its faults."""
    if seal is None or not seal.key:
        return "unsigned", "it is not signed" if keys else None
    if not keys:
        return "not checked", None
    if bytes.fromhex(seal.key) not in keys:
        return "wrong", "it is signed by another key"
    if not is_signed_by(manifest, seal):
        return "wrong", "its signature does not fit its bytes"
    return "valid", None


def _library() -> tuple[Any, Any]:
    """Return the modules that check signatures.

    Readers of graphs need them for nothing else.
    """
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError:
        hint = "pip install cryptography"
        raise InvalidParams("To check signatures, cryptography is needed.", hint=hint) from None
    return serialization, ed25519
