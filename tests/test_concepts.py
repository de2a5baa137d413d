"""You find the file of each of the paper's concepts by its name, at the first try."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CONCEPTS = {
    "graph": "ktsafe/graph/graph.py",
    "neighbourhood": "lab/ktsafe_lab/verify_hops/_neighbourhood_core.py",
    "attribute_distance": "ktsafe/verify/_attribute_distance_core.py",
    "edit_distance": "lab/ktsafe_lab/verify_hops/edit_distance.py",
    "protection_set": "lab/ktsafe_lab/verify_hops/protection_sets.py",
    "kt_safe": "ktsafe/verify/kt_safe_verdict.py",
    "cost": "ktsafe/audit/cost.py",
    "anonymization": "ktsafe/anonymization/anonymization.py",
    "partitioning": "lab/ktsafe_lab/paper/partitioning.py",
    "partition_set": "lab/ktsafe_lab/paper/partition_set.py",
    "cost_model": "lab/ktsafe_lab/paper/cost_model.py",
    "merging": "lab/ktsafe_lab/paper/merging.py",
    "candidate_set": "lab/ktsafe_lab/paper/candidate_set.py",
    "pivot": "lab/ktsafe_lab/paper/pivots.py",
    "kt_tree": "ktsafe/anonymization/kt_tree.py",
    "window": "ktsafe/audit/sequence/windows.py",
}
"""By the word that you look for: where the concept is."""


def opened(word: str) -> list[str]:
    """Return what you open: files of that name, else those that have it in their name."""
    files = defaultdict(list)
    paths = [*(ROOT / "ktsafe").rglob("*.py"), *(ROOT / "lab/ktsafe_lab").rglob("*.py")]
    for path in sorted(paths):
        name = path.stem.removeprefix("_").removesuffix("_core")
        files[name].append(path)
    found = [name for name in (word, f"{word}s") if name in files]
    found = found[:1] or [name for name in files if word in name]
    # Kernels stand beside the module that they belong to, where there is one.
    doors = [min(files[name], key=lambda path: path.name.startswith("_")) for name in found]
    return [str(path.relative_to(ROOT)) for path in doors]


@pytest.mark.parametrize("word", CONCEPTS)
def test_a_concept_is_found_by_its_name(word: str) -> None:
    """There is one such file."""
    assert opened(word) == [CONCEPTS[word]]
