"""`Sequence`: releases from graphs in memory, safe together.

It only writes tables for `ktsafe.stream.service.next_release`, and must publish what `ktsafe next`
does (tests/ktsafe/protection/test_snapshots.py): options belong there.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ktsafe.errors import raise_together
from ktsafe.graph import Groups, Schema
from ktsafe.graph.inputs.in_memory import given
from ktsafe.graph.schema_check import Border
from ktsafe.graph.schemas import schema_toml, value_faults
from ktsafe.protection.protect import columns_of, declared, extra_faults, spelt
from ktsafe.reader import read
from ktsafe.reader.published import StudiedRelease, html_table

Table = list[tuple[Any, ...]]


@dataclasses.dataclass(frozen=True, eq=False)
class SequenceRelease:
    """What became of a graph that was given to a sequence.

    Attributes
    ----------
    date:
        Of the graph.
    release:
        What was published, as `ktsafe.read` returns it; None if nothing was.
    folder:
        Where it lies.
    is_new:
        Whether it was published now; not if the same graph of this date was given before.
    withheld:
        For each reason how many releases were withheld; the last release stands.
    audit:
        The folder of private audits; never publish it.
    """

    date: str
    release: StudiedRelease | None
    folder: Path | None
    is_new: bool
    withheld: Mapping[str, int]
    audit: Path

    def __repr__(self) -> str:
        return f"<SequenceRelease: {self._said()}>"

    def _repr_html_(self) -> str:
        rows = {"date": self.date, "release": self._said(), "private": str(self.audit)}
        return html_table(rows.items())

    def _said(self) -> str:
        if self.release is None:
            reasons = ", ".join(sorted(self.withheld)) or "nothing differs"
            return f"{self.date}, no release: {reasons}"
        n, m = len(self.release.ids), len(self.release.edges)
        word = "published" if self.is_new else "unchanged"
        return f"{self.date}, {word}: {n} vertices, {m} edges, kt-safe with all before"


class Sequence:
    """A sequence of releases in a folder, as the commands take it.

    Parameters
    ----------
    folder:
        Of the sequence; made by the first release.
    quasi_identifiers, sensitive, sensitive_values, harmless_values, buckets, groups, nominal:
        See `ktsafe.protect`; one sensitive attribute. They are fixed for the sequence.
    k:
        Least number of candidates. All else is as `ktsafe next` has it; `ktsafe.toml` in the folder
        says how, and may be changed before the second release.
    ignore:
        Attributes of vertices and edges that releases do not show.
    seed:
        Repeatable releases, for tests; None: drawn from the system.

    Raises
    ------
    InvalidGraph
        If the attributes are not as described.

    Examples
    --------
    >>> import ktsafe
    >>> sequence = ktsafe.Sequence(
    ...     "sequence", quasi_identifiers=["gender"], sensitive="health", sensitive_values=["ill"]
    ... )
    >>> sequence
    <Sequence in sequence, k=10>
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        quasi_identifiers: Collection[str],
        sensitive: str,
        sensitive_values: Collection[object],
        harmless_values: Collection[object] = (),
        k: int = 10,
        buckets: Mapping[str, tuple[Border, ...]] | None = None,
        groups: Mapping[str, Groups] | None = None,
        nominal: Collection[str] = (),
        ignore: Collection[str] = (),
        seed: int | None = None,
    ) -> None:
        self.folder, self.k = Path(folder), k
        self._ignore, self._seed = ignore, seed
        self._schema = Schema(
            quasi_identifiers,  # type: ignore[arg-type]
            sensitive,
            spelt(sensitive_values, is_code=sensitive in nominal),
            **declared(buckets, groups, harmless_values, nominal, sensitive),
        )

    def __repr__(self) -> str:
        return f"<Sequence in {self.folder}, k={self.k}>"

    def release(
        self, graph: Any, vertices: Any = None, *, at: datetime.date | str | None = None
    ) -> SequenceRelease:
        """Publish the network as it is now, and return what was published.

        Parameters
        ----------
        graph, vertices:
            The whole network, of any kind that `ktsafe.protect` takes. Ids must be those of the
            releases before: they say who is who.
        at:
            Date of the network, later than that of the release before. None: today (UTC).

        Raises
        ------
        InvalidGraph
            If the graph is not as described, for all that is wrong with it.
        ktsafe.errors.KtsafeError
            If date, k or schema do not fit the sequence.
        """
        from ktsafe.stream.service import next_release  # noqa: PLC0415 -- loads the store

        people, ties = self._tables(graph, vertices)
        declared = {
            "sensitive": self._schema.sensitive,
            "sensitive_values": sorted(self._schema.sensitive_values),
            "harmless_values": sorted(self._schema.harmless_values),
            "nominal": sorted(self._schema.nominal),
        }
        text = schema_toml(self._schema, declared).encode()
        asked = next_release.Beginning(self._schema, text, self.k, self._seed)
        date = "" if at is None else str(at)
        report = next_release.next_release_of(
            self.folder, lambda room: write_tables(room, people, ties), date, asked
        )
        folder = None if report.release is None else Path(report.release)
        found = None if folder is None else read(folder)
        assert found is None or isinstance(found, StudiedRelease)
        return SequenceRelease(
            report.date,
            found,
            folder,
            report.is_new,
            report.withheld,
            Path(report.audit),
        )

    def _tables(self, graph: Any, vertices: Any) -> tuple[Table, Table]:
        """Return the rows of both tables, their heads first."""
        names = self._schema.attributes
        seen = given(graph, vertices, nominal=self._schema.nominal)
        network, columns = seen.network, columns_of(seen, names)
        faults = [*seen.faults, *extra_faults(seen, names, self._ignore)]
        raise_together([*faults, *value_faults(self._schema, columns)])
        people = zip(network.ids, *(columns[name] for name in names), strict=True)
        ties = ((network.ids[u], network.ids[v]) for u, v in network.edges.tolist())
        return [("id", *names), *people], [("source", "target"), *ties]


def write_tables(folder: Path, people: Table, ties: Table) -> None:
    """Write a network's two tables as the files of a dump."""
    for name, rows in (("vertices.csv", people), ("edges.csv", ties)):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
