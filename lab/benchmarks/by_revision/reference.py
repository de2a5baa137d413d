"""Work that never changes, against which the core seconds of benchmarks are set."""

from __future__ import annotations

import numpy as np


def main() -> None:
    """Work through a loop of Python, a dict's look-ups, and numpy's sorting."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 1 << 40, 1_000_000)
    places = dict(zip(keys.tolist(), range(len(keys)), strict=True))
    total = sum(places[key] for key in rng.permutation(keys).tolist())
    total += int(np.sort(rng.random(4_000_000))[0])
    assert total > 0


if __name__ == "__main__":
    main()
