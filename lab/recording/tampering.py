"""Copies of releases that were tampered with."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from lab.recording.world import EDGE_HEADER, SCHEMA, write_table

VERTICES, EDGES, MANIFEST = "vertices.csv", "edges.csv", "manifest.json"
EXACTLY: Final = {"t": "0", "epsilon": 0}
"""Copies promise equality, whatever tolerance their originals promise."""


@dataclasses.dataclass
class Copy:
    """A release that is to be changed; the vertices' rows are id, group, age, state."""

    folder: Path
    manifest: dict[str, Any]
    vertices: list[list[str]]
    edges: list[list[str]]

    def write_tables(self) -> None:
        """Write the tables, and let the manifest tell the same as they do."""
        self.vertices.sort()
        self.edges = sorted(sorted(edge) for edge in self.edges)
        write_table(self.folder / VERTICES, ("id", *SCHEMA.attributes), self.vertices)
        write_table(self.folder / EDGES, EDGE_HEADER, self.edges)
        counts = {"vertices": len(self.vertices), "edges": len(self.edges)}
        self.manifest |= {"sha256": digests(self.folder), "dark": self._dark(), **counts}

    def _dark(self) -> list[tuple[int, int]]:
        """Return the pairs of classes, by number, that could have an edge and have none."""
        classes = self.manifest["classes"]
        class_of = {row[0]: classes.index(row[1:3]) for row in self.vertices}
        size = Counter(class_of.values())
        shown = {tuple(sorted(class_of.get(end, -1) for end in edge)) for edge in self.edges}
        pairs = itertools.combinations_with_replacement(range(len(classes)), 2)
        return [(a, b) for a, b in pairs if (a, b) not in shown and (a != b or size[a] > 1)]


def move_edge(copy: Copy) -> None:
    """Let an edge end at another vertex of the same quasi-identifiers and state."""
    row_of = {row[0]: row[1:] for row in copy.vertices}
    at, one, instead = next(
        (at, one, name)
        for at, (one, other) in enumerate(copy.edges)
        for name, row in row_of.items()
        if row == row_of[other] and name != one and sorted([one, name]) not in copy.edges
    )
    copy.edges[at] = [one, instead]


def make_a_class_ill(copy: Copy) -> None:
    """Show a sensitive value of everybody with the first vertex's quasi-identifiers."""
    for row in copy.vertices:
        row[3] = "ill" if row[1:3] == copy.vertices[0][1:3] else row[3]


def drop_vertex(copy: Copy) -> None:
    """Drop a vertex and its edges."""
    name = copy.vertices.pop(0)[0]
    copy.edges = [edge for edge in copy.edges if name not in edge]


def swap_ids(copy: Copy) -> None:
    """Let two vertices of different classes take each other's id."""
    first = copy.vertices[0]
    other = next(row for row in copy.vertices if row[1:3] != first[1:3])
    names = {first[0]: other[0], other[0]: first[0]}
    first[0], other[0] = other[0], first[0]
    copy.edges = [[names.get(end, end) for end in edge] for edge in copy.edges]


def split_cohort(copy: Copy) -> None:
    """Take an edge from every other vertex of the first one's class that has any."""
    mates = [row[0] for row in copy.vertices if row[1:3] == copy.vertices[0][1:3]]
    for name in mates[::2]:
        lost = next((edge for edge in copy.edges if name in edge), None)
        copy.edges = [edge for edge in copy.edges if edge is not lost]


Tampering = Callable[[Copy], object]

OF_TABLES: Final[Mapping[str, Tampering]] = {
    "edge moved": move_edge,
    "edge removed": lambda copy: copy.edges.pop(),
    "one made ill": lambda copy: copy.vertices[0].__setitem__(3, "ill"),
    "class made ill": make_a_class_ill,
    "group changed": lambda copy: copy.vertices[0].__setitem__(1, "xy"[copy.vertices[0][1] == "x"]),
    "vertex dropped": drop_vertex,
    "ids swapped": swap_ids,
    "cohort split": split_cohort,
}
"""Manifests of these tell the same as the tables, so nothing but the tables is judged."""
OF_IMPOSSIBLE_TABLES: Final[Mapping[str, Tampering]] = {
    "id doubled": lambda copy: copy.vertices.append(copy.vertices[0]),
    "edge doubled": lambda copy: copy.edges.append(copy.edges[0]),
    "self loop": lambda copy: copy.edges.append([copy.vertices[0][0]] * 2),
    "edge to unknown vertex": lambda copy: copy.edges.append([copy.vertices[0][0], "f" * 16]),
}
"""Likewise, but no release has such tables."""
OF_FILES: Final[Mapping[str, Tampering]] = {
    "digest altered": lambda copy: copy.manifest["sha256"].update({EDGES: "0" * 64}),
    "count altered": lambda copy: copy.manifest.update(edges=len(copy.edges) + 1),
    "dark pair altered": lambda copy: copy.manifest.update(dark=[*copy.manifest["dark"], (0, 0)]),
    "table altered": lambda copy: write_table(copy.folder / EDGES, EDGE_HEADER, copy.edges[1:]),
    "table lost": lambda copy: (copy.folder / EDGES).unlink(),
}
"""What makes manifest and tables differ."""
OF_PROMISES: Final[Mapping[str, Tampering]] = {
    "k doubled": lambda copy: copy.manifest["params"].update(k=2 * copy.manifest["params"]["k"]),
    "cover lost": lambda copy: copy.manifest["guarantee"].update(cover=False),
    "other schema": lambda copy: copy.manifest["schema"].update(sensitive_values=["tired"]),
    "other sequence": lambda copy: copy.manifest.update(sequence_id="another"),
}
"""What a release promises, unlike those before it."""


def tampered(release: Path, folder: Path, kind: str = "") -> Path:
    """Return a copy of a release, in a new folder, after tampering of that kind if there is one."""
    shutil.copytree(release, folder)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    params = manifest["params"]
    params.update({name: value for name, value in EXACTLY.items() if name in params})
    copy = Copy(folder, manifest, _rows(folder / VERTICES), _rows(folder / EDGES))
    before = {**OF_TABLES, **OF_IMPOSSIBLE_TABLES}
    if kind in before:
        before[kind](copy)
    copy.write_tables()
    if kind and kind not in before:
        {**OF_FILES, **OF_PROMISES}[kind](copy)
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def digests(release: Path) -> dict[str, str]:
    """Return the SHA-256 of both tables of a release."""
    tables = (VERTICES, EDGES)
    return {name: hashlib.sha256((release / name).read_bytes()).hexdigest() for name in tables}


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]
