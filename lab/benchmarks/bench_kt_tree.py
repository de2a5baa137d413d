"""The kt-tree of people who wait: grown, and followed.

    python -m lab.benchmarks.bench_kt_tree [--people 100000] [--columns 10] [--share 0.0001]
        [--small]

People with Poisson rows in one class for each ten thousand. Core seconds of growing the tree over
everybody, and of one release in which that share of the people has another row: their classes are
cut anew, the pivots of the others are kept. A hash of all leaves at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time

import numpy as np
from scipy.sparse import csr_array

from ktsafe import PrivacyParams
from ktsafe.sequence.memory.waiting_tree import WaitingTree

PER_CLASS = 10_000
TIES = 10


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="The kt-tree grown, and followed.")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=10, help="classes of neighbours")
    parser.add_argument("--share", type=float, default=0.0001, help="of people changed")
    parser.add_argument("--small", action="store_true", help="2,000 people")
    a = parser.parse_args()
    n = 2_000 if a.small else a.people
    rng = np.random.default_rng(0)
    rows = rng.poisson(TIES / a.columns, (n, a.columns)).astype(np.int32)
    classes = list(enumerate(np.array_split(np.arange(n), max(n // PER_CLASS, 1))))
    tree = WaitingTree({})
    for what in ("grown", "followed"):
        began = time.process_time()
        tree = tree.following(classes, csr_array(rows), PrivacyParams())
        spent = time.process_time() - began
        print(
            f"{n} people, {what} in {spent:.3f} core s: {tree.n_kept} pivots kept, "
            f"{tree.n_computed} computed",
            flush=True,
        )
        changed = rng.choice(n, max(int(n * a.share), 1), replace=False)
        rows[changed] = rng.poisson(TIES / a.columns, (len(changed), a.columns))
    digest = hashlib.sha256()
    for branch in tree.branches.values():
        digest.update(branch.leaf.tobytes())
    print(digest.hexdigest()[:12])
    return 0


if __name__ == "__main__":
    sys.exit(main())
