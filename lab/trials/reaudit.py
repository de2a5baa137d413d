"""An auditor apart: it judges releases by the definition, and shares no code with ktsafe.

    python -m lab.trials.reaudit RELEASES... [--k 10] [--windows all|longest]

It reads `manifest.json`, `vertices.csv` and `edges.csv` with the standard library and compares all
pairs of ids with numpy. For one hop in the walk reading only.

Two ids are alike at a release if both are absent, or both are there with equal quasi-identifiers,
at most epsilon / 2 apart in degree, and, attribute by attribute, with shares of values among
themselves and their neighbours that differ by at most t (half the L1 distance, in whole numbers).
For each window of consecutive releases, the candidates of an id that is in one of them are the ids
that are alike at all of them. Judged are:

- k: nobody has fewer than k candidates;
- alpha: at no release of the window are more than a share alpha of the candidates sensitive;
- cover: of the candidates over the window, at least k visibly gained and lost, at each release,
  neighbours of the same quasi-identifiers as the id did.

Parameters are those given, else those of the first manifest; all manifests must agree with them.
Exit code 0: no violation in any window; 1: some; 2: the releases cannot be judged.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import itertools
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Read:
    """A release as its files say: quasi-identifiers, sensitivity and neighbours by id."""

    name: str
    promise: dict[str, Any]
    kinds: dict[str, tuple[str, ...]]
    is_sensitive: dict[str, bool]
    friends: dict[str, set[str]]


@dataclasses.dataclass
class Tally:
    """What was found over all windows; `least` and `greatest` are the worst seen."""

    judged: int = 0
    below_k: int = 0
    least: int | None = None
    above_alpha: int = 0
    greatest: Fraction = Fraction(0)
    changes: int = 0
    alike_below_k: int = 0
    least_alike: int | None = None

    @property
    def violations(self) -> int:
        """How many ids, releases or changes fail in some window, counted window by window."""
        return self.below_k + self.above_alpha + self.alike_below_k

    def told(self, releases: Sequence[Read]) -> str:
        """Return what was found, in one line."""
        ids = len(set().union(*(release.kinds for release in releases)))
        return (
            f"{len(releases)} releases, {ids:,} ids, k {releases[0].promise['k']}; "
            f"{self.judged:,} judged in windows: {self.below_k} below k (least {self.least}), "
            f"{self.above_alpha} above alpha (greatest {float(self.greatest):.3f}); "
            f"{self.changes:,} changes: {self.alike_below_k} below k (least {self.least_alike})"
        )


def read(folder: Path) -> Read:
    """Read one release."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    schema = manifest["schema"]
    kinds, is_sensitive = {}, {}
    with (folder / "vertices.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            kinds[row["id"]] = tuple(row[name] for name in schema["quasi_identifiers"])
            is_sensitive[row["id"]] = row[schema["sensitive"]] in schema["sensitive_values"]
    friends: dict[str, set[str]] = {name: set() for name in kinds}
    with (folder / "edges.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            friends[row["source"]].add(row["target"])
            friends[row["target"]].add(row["source"])
    return Read(folder.name, manifest["params"], kinds, is_sensitive, friends)


def alike(release: Read, ids: Sequence[str], t: Fraction, epsilon: int) -> Matrix:
    """Return which ids are alike at a release, shape (ids, ids)."""
    there = np.array([name in release.kinds for name in ids])
    out = np.outer(~there, ~there)
    by_kind: dict[tuple[str, ...], list[int]] = {}
    for i, name in enumerate(ids):
        if there[i]:
            by_kind.setdefault(release.kinds[name], []).append(i)
    width = len(next(iter(by_kind), ()))
    for members in by_kind.values():
        size = np.array([1 + len(release.friends[ids[i]]) for i in members], dtype=np.int64)
        same = 2 * np.abs(size[:, None] - size[None, :]) <= epsilon
        for j in range(width):
            counts = [
                Counter(release.kinds[x][j] for x in (ids[i], *release.friends[ids[i]]))
                for i in members
            ]
            gap = np.zeros(same.shape, dtype=np.int64)
            for value in set().union(*counts):
                one = np.array([c[value] for c in counts], dtype=np.int64)
                gap += np.abs(np.outer(one, size) - np.outer(size, one))
            same &= gap * t.denominator <= 2 * t.numerator * np.outer(size, size)
        out[np.ix_(members, members)] = same
    return out


def change(before: Read, after: Read, name: str) -> tuple[Any, ...]:
    """Return the kinds of the neighbours that an id visibly gained and lost."""
    old, new = before.friends[name], after.friends[name]
    gained = Counter(after.kinds[x] for x in new - old)
    lost = Counter(before.kinds[x] for x in old - new)
    return (tuple(sorted(gained.items())), tuple(sorted(lost.items())))


def changes(releases: Sequence[Read], ids: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return, per pair of releases in succession, a number for what each id shows as its change.

    0: no change; -1: it is not in both. Equal numbers are equal changes.
    """
    out = []
    for before, after in itertools.pairwise(releases):
        number: dict[tuple[Any, ...], int] = {((), ()): 0}
        column = np.full(len(ids), -1, dtype=np.int64)
        for i, name in enumerate(ids):
            if name in before.kinds and name in after.kinds:
                column[i] = number.setdefault(change(before, after, name), len(number))
        out.append(column)
    return out


def windows(n: int, which: str) -> Iterator[tuple[int, int]]:
    """Yield first and last release of each window; of one start the shorter ones first."""
    for first in range(n if which == "all" else 1):
        for last in range(first, n):
            if which == "all" or last == n - 1:
                yield first, last


def judge(releases: Sequence[Read], promise: dict[str, Any], which: str = "all") -> Tally:
    """Judge a sequence in all of its windows, or only in the longest."""
    k, epsilon = int(promise["k"]), int(promise["epsilon"])
    t, alpha = Fraction(promise["t"]), Fraction(promise["alpha"])
    ids = sorted(set().union(*(release.kinds for release in releases)))
    pairs = [alike(release, ids, t, epsilon) for release in releases]
    there = np.array([[name in r.kinds for name in ids] for r in releases])
    flags = np.array([[r.is_sensitive.get(name, False) for name in ids] for r in releases])
    moved = changes(releases, ids)
    tally = Tally()
    together, begun = pairs[0], -1
    for first, last in windows(len(releases), which):
        if which == "all" and first == begun:
            together = together & pairs[last]
        else:
            together = np.logical_and.reduce(pairs[first : last + 1])
            begun = first
        _judge_window(tally, together, there[first : last + 1], flags[first : last + 1], k, alpha)
        _judge_changes(tally, together, moved[first:last], k)
    return tally


def _judge_window(
    tally: Tally, together: Matrix, there: Matrix, flags: Matrix, k: int, alpha: Fraction
) -> None:
    asked = there.any(axis=0)
    if not asked.any():
        return
    sizes = together.sum(axis=1)[asked]
    tally.judged += int(asked.sum())
    tally.below_k += int((sizes < k).sum())
    least = int(sizes.min())
    tally.least = least if tally.least is None else min(least, tally.least)
    found = together[asked].astype(np.float32) @ flags.T.astype(np.float32)
    counts = np.where(there.T[asked], found, 0).astype(np.int64)
    over = counts * alpha.denominator > alpha.numerator * sizes[:, None]
    tally.above_alpha += int(over.sum())
    worst = np.unravel_index((counts / sizes[:, None]).argmax(), counts.shape)
    tally.greatest = max(tally.greatest, Fraction(int(counts[worst]), int(sizes[worst[0]])))


def _judge_changes(
    tally: Tally, together: Matrix, moved: Sequence[NDArray[np.int64]], k: int
) -> None:
    for column in moved:
        changed = np.flatnonzero(column > 0)
        if not len(changed):
            continue
        same = (together[changed] & (column[changed][:, None] == column[None, :])).sum(axis=1)
        tally.changes += len(changed)
        tally.alike_below_k += int((same < k).sum())
        least = int(same.min())
        tally.least_alike = least if tally.least_alike is None else min(least, tally.least_alike)


def sequences(folders: Sequence[Path]) -> dict[str, list[Read]]:
    """Read releases by the sequence that they belong to, in order of publication."""
    out: dict[str, list[Read]] = {}
    found = [m.parent for each in folders for m in each.glob("**/manifest.json")]
    for folder in sorted(set(found), key=lambda path: path.name):
        name = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["sequence_id"]
        out.setdefault(name, []).append(read(folder))
    return out


def main() -> int:
    """Judge the sequences in some folders and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", type=Path, nargs="+")
    parser.add_argument("--k", type=int, help="promised by whoever asks, not by the manifest")
    parser.add_argument("--windows", choices=["all", "longest"], default="all")
    given = parser.parse_args()
    found = sequences(given.releases)
    if not found:
        print("no release found", file=sys.stderr)
        return 2
    failed = False
    for name, releases in found.items():
        promise = releases[0].promise
        if promise["n_hops"] != 1 or promise["reading"] != "walk":
            print("only one hop in the walk reading can be judged", file=sys.stderr)
            return 2
        if given.k is not None and promise["k"] != given.k:
            print(f"k is {promise['k']}, not {given.k}", file=sys.stderr)
            return 2
        if any(release.promise != promise for release in releases):
            print("the manifests promise different things", file=sys.stderr)
            return 2
        tally = judge(releases, promise, given.windows)
        failed |= tally.violations > 0
        print(f"{name[:8]}: {tally.told(releases)}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
