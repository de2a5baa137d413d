"""Copies of releases that were tampered with."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import itertools
import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

from lab.recording.world import write_table

VERTICES, EDGES, MANIFEST = "vertices.csv", "edges.csv", "manifest.json"
EXACTLY: Final = {"t": "0", "epsilon": 0}
"""Copies promise equality, whatever tolerance their originals promise."""


@dataclasses.dataclass
class Copy:
    """A release that was read to be changed; the vertices' rows are id, group, age, state."""

    folder: Path
    manifest: dict[str, Any]
    vertices: list[list[str]]
    edges: list[list[str]]

    @classmethod
    def of(cls, release: Path, folder: Path) -> Self:
        """Copy a release into a new folder."""
        shutil.copytree(release, folder)
        manifest = json.loads((folder / MANIFEST).read_bytes())
        params = manifest["params"]
        params |= {name: value for name, value in EXACTLY.items() if name in params}
        return cls(folder, manifest, _rows(folder / VERTICES), _rows(folder / EDGES))

    def write(self) -> None:
        """Write the manifest."""
        (self.folder / MANIFEST).write_text(json.dumps(self.manifest), encoding="utf-8")

    def seal(self) -> None:
        """Write the tables, and a manifest that tells the same as they do."""
        self.vertices.sort()
        self.edges = sorted(sorted(edge) for edge in self.edges)
        header = ["id", *self.manifest["schema"]["quasi_identifiers"], "state"]
        write_table(self.folder / VERTICES, header, self.vertices)
        write_table(self.folder / EDGES, ["source", "target"], self.edges)
        digests = {
            name: hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
            for name in (VERTICES, EDGES)
        }
        counts = {"vertices": len(self.vertices), "edges": len(self.edges)}
        self.manifest |= {"sha256": digests, "dark": self._dark(), **counts}
        self.write()

    def _dark(self) -> list[list[int]]:
        """Return the pairs of classes, by number, that could have an edge and have none."""
        classes = [tuple(names) for names in self.manifest["classes"]]
        class_of = {row[0]: classes.index((row[1], row[2])) for row in self.vertices}
        sizes = [sum(found == i for found in class_of.values()) for i in range(len(classes))]
        shown = {
            tuple(sorted(class_of[end] for end in edge))
            for edge in self.edges
            if class_of.keys() >= set(edge)
        }
        pairs = itertools.combinations_with_replacement(range(len(classes)), 2)
        return [[a, b] for a, b in pairs if (a, b) not in shown and (a != b or sizes[a] > 1)]

    def neighbours(self) -> dict[str, set[str]]:
        """Return the neighbours of every vertex that has any."""
        found = defaultdict(set)
        for one, other in self.edges:
            found[one].add(other)
            found[other].add(one)
        return found


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


Tampering = Callable[[Copy], None]


def move_edge(copy: Copy) -> None:
    """Let an edge end at another vertex of the same quasi-identifiers and state."""
    rows, neighbours = {row[0]: row for row in copy.vertices}, copy.neighbours()
    for i, (one, other) in enumerate(copy.edges):
        for row in copy.vertices:
            if row[1:] == rows[other][1:] and row[0] not in {one, other, *neighbours[one]}:
                copy.edges[i] = [one, row[0]]
                return
    raise LookupError("no edge can be moved")


def remove_edge(copy: Copy) -> None:
    """Remove an edge."""
    del copy.edges[len(copy.edges) // 2]


def add_edge(copy: Copy) -> None:
    """Add an edge between the first vertex and one that it has no edge to."""
    first, *others = [row[0] for row in copy.vertices]
    near = copy.neighbours()[first]
    copy.edges.append([first, next(name for name in others if name not in near)])


def make_one_ill(copy: Copy) -> None:
    """Show a sensitive value of a vertex that had none."""
    next(row for row in copy.vertices if row[3] != "ill")[3] = "ill"


def make_a_class_ill(copy: Copy) -> None:
    """Show a sensitive value of everybody with the first vertex's quasi-identifiers."""
    first = copy.vertices[0]
    for row in copy.vertices:
        row[3] = "ill" if row[1:3] == first[1:3] else row[3]


def move_person(copy: Copy) -> None:
    """Show other quasi-identifiers of a vertex."""
    row = copy.vertices[0]
    row[1] = "x" if row[1] == "y" else "y"


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
    first = copy.vertices[0]
    mates = [row[0] for row in copy.vertices if row[1:3] == first[1:3]][::2]
    for name in mates:
        at = next((i for i, edge in enumerate(copy.edges) if name in edge), None)
        if at is not None:
            del copy.edges[at]


def list_id_twice(copy: Copy) -> None:
    """List a vertex twice."""
    copy.vertices.append(copy.vertices[0])


def list_edge_twice(copy: Copy) -> None:
    """List an edge twice."""
    copy.edges.append(copy.edges[0])


def add_loop(copy: Copy) -> None:
    """Add an edge from a vertex to itself."""
    copy.edges.append([copy.vertices[0][0]] * 2)


def add_unknown_end(copy: Copy) -> None:
    """Add an edge to a vertex that is not listed."""
    copy.edges.append([copy.vertices[0][0], "ffffffffffffffff"])


def raise_k(copy: Copy) -> None:
    """Promise twice as many candidates."""
    copy.manifest["params"]["k"] *= 2


def alter_digest(copy: Copy) -> None:
    """Change a digit of a table's digest."""
    digests = copy.manifest["sha256"]
    digests[EDGES] = digests[EDGES].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))


def alter_count(copy: Copy) -> None:
    """Tell of one edge more."""
    copy.manifest["edges"] += 1


def tell_dark(copy: Copy) -> None:
    """Call the first class dark where it is not, or the other way round."""
    copy.manifest["dark"] = [] if [0, 0] in copy.manifest["dark"] else [[0, 0]]


def alter_table(copy: Copy) -> None:
    """Change a table under its old digest."""
    path = copy.folder / VERTICES
    path.write_text(path.read_text(encoding="utf-8").replace("ill", "well", 1), encoding="utf-8")


def lose_table(copy: Copy) -> None:
    """Lose a table."""
    (copy.folder / EDGES).unlink()


def lose_sensitive_value(copy: Copy) -> None:
    """Call another value sensitive."""
    copy.manifest["schema"]["sensitive_values"] = ["tired"]


def lose_cover(copy: Copy) -> None:
    """Promise no cover of changes."""
    copy.manifest["guarantee"]["cover"] = False


def leave_sequence(copy: Copy) -> None:
    """Claim to be of another sequence."""
    copy.manifest["sequence_id"] = "another"


OF_TABLES: Final[tuple[Tampering, ...]] = (
    move_edge,
    remove_edge,
    add_edge,
    make_one_ill,
    make_a_class_ill,
    move_person,
    drop_vertex,
    split_cohort,
    swap_ids,
)
"""What a manifest is written for afterwards, so that only the tables are judged."""
OF_IMPOSSIBLE_TABLES: Final[tuple[Tampering, ...]] = (
    list_id_twice,
    list_edge_twice,
    add_loop,
    add_unknown_end,
)
"""Likewise, but no release has such tables."""
OF_FILES: Final[tuple[Tampering, ...]] = (
    raise_k,
    alter_digest,
    alter_count,
    tell_dark,
    alter_table,
    lose_table,
)
"""What makes manifest and tables differ."""
OF_SEQUENCE: Final[tuple[Tampering, ...]] = (
    raise_k,
    lose_sensitive_value,
    lose_cover,
    leave_sequence,
)
"""What makes a release differ from those before it."""


def tampered(release: Path, folder: Path, tampering: Tampering | None = None) -> Path:
    """Return a copy of a release, in a new folder, that was tampered with."""
    copy = Copy.of(release, folder)
    of_tables = tampering in {*OF_TABLES, *OF_IMPOSSIBLE_TABLES}
    if tampering is not None and of_tables:
        tampering(copy)
    copy.seal()
    if tampering is not None and not of_tables:
        tampering(copy)
        copy.write()
    return folder
