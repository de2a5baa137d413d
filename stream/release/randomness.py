"""The randomness of releases that follow from the ledger."""

from __future__ import annotations

import hashlib

import numpy as np


def release_generator(secret: str, index: int, slot_us: int) -> np.random.Generator:
    """Return the generator of one release of one sequence.

    A release that is built again after a crash draws the same; without the secret (hexadecimal)
    nobody can tell what.
    """
    drawn = hashlib.blake2b(f"{index}/{slot_us}".encode(), key=bytes.fromhex(secret)).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big"))
