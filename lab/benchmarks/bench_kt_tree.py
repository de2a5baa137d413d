"""The kt-tree of people who wait, kept against grown anew.

    python -m lab.benchmarks.bench_kt_tree [--people 1000000] [--columns 10] [--share 0.0001]
        [--small]

People with Poisson rows in one class for each ten thousand. Core seconds of: growing the tree over
everybody, saving all pages, reading them back, and one release in which that share of the people
has another row, its changed pages included. Pivots computed, people who moved, bytes written, what
decided pairs of people, and a hash of all pages at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time

import numpy as np
from scipy.sparse import csr_array

from ktsafe import PrivacyParams
from ktsafe.sequence.memory.kept_kt_tree import KeptKtTree

PARAMS = PrivacyParams()
PER_CLASS = 10_000
TIES = 10


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="The kt-tree kept, and grown anew.")
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10, help="classes of neighbours")
    parser.add_argument("--share", type=float, default=0.0001, help="of people changed")
    parser.add_argument("--small", action="store_true", help="2,000 people")
    a = parser.parse_args()
    n = 2_000 if a.small else a.people
    rng = np.random.default_rng(0)
    rows = rng.poisson(TIES / a.columns, (n, a.columns)).astype(np.int32)
    classes = dict(enumerate(rng.integers(0, max(n // PER_CLASS, 1), n).tolist()))

    def rows_of(people: list[int]) -> csr_array:
        return csr_array(rows[people])

    began = time.process_time()
    tree = KeptKtTree()
    tree.update(classes, rows_of, PARAMS)
    grown = time.process_time() - began
    print(f"{n} people, {len(tree.members)} leaves: grown in {grown:.2f} core s", flush=True)

    began = time.process_time()
    pages = [dict(table.pages()) for table in tree.tables]
    size = sum(len(page) for of_table in pages for page in of_table.values())
    print(f"saved: {size / 2**20:.1f} MiB in {time.process_time() - began:.2f} core s", flush=True)
    began = time.process_time()
    kept = KeptKtTree()
    for table, of_table in zip(kept.tables, pages, strict=True):
        table.load([of_table[name] for name in sorted(of_table)])
    kept.index()
    print(f"read back in {time.process_time() - began:.2f} core s", flush=True)

    changed = rng.choice(n, max(int(n * a.share), 1), replace=False).tolist()
    for person in changed:
        rows[person] = rng.poisson(TIES / a.columns, a.columns)
    began = time.process_time()
    kept.update({person: classes[person] for person in changed}, rows_of, PARAMS)
    spent = time.process_time() - began
    before = {name: page for of_table in pages for name, page in of_table.items()}
    now = {name: page for table in kept.tables for name, page in table.pages()}
    size = sum(len(page) for name, page in now.items() if page != before.get(name))
    print(
        f"{len(changed)} rows changed: {kept.moved} people moved, {len(kept.computed)} pivots "
        f"computed, {size / 2**20:.2f} MiB written in {spent:.4f} core s, "
        f"{spent / grown:.5f} of growing"
    )
    pairs = sum(kept.pairs.values())
    shares = {by: f"{count / pairs:.4%}" for by, count in sorted(kept.pairs.items())}
    print(f"{pairs:,} pairs of people of a class: {shares}")
    digest = hashlib.sha256()
    for table in kept.tables:
        for name, page in table.pages():
            digest.update(name.encode() + page)
    print(digest.hexdigest()[:12])
    return 0


if __name__ == "__main__":
    sys.exit(main())
