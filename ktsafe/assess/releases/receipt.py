"""The privacy receipt of one person.

It says what was ever shown of the person, and among how many candidates.

It answers a request for access. It is private, the more so as it joins a true id to published ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ktsafe.stream.files.private_audits import read_owners, read_value_places
from ktsafe.stream.files.releases_read import Release, read_release, release_folders
from ktsafe.stream.formatting import text_of
from ktsafe.verify.verifier import verify_flags


class _ReleaseOfPerson(NamedTuple):
    """A release in which a person is: everything by published id."""

    release: Release
    own: str
    kinds: Mapping[str, tuple[str, ...]]
    ties: Mapping[str, set[str]]


def receipt(releases: Sequence[Path], mapping: Path, person: str) -> dict[str, Any]:
    """Return what releases show of a person, JSON-ready and private.

    Parameters
    ----------
    releases:
        Folders of releases in order of publication, or folders of them.
    mapping:
        The private audit folder.
    person:
        The true id. What was erased has no entry any more, and cannot be told.

    Returns
    -------
    dict
        `releases`: those that show the person, each with `published_id`, `values` and `ties` as
        shown; `value_at`, the published id that shows the sensitive one of them; `candidates`, the
        protection set by the strict verifier, and `people` among them; `linked_candidates` and
        `linked_people`, those left to an attacker that links all releases so far; `changed_alike`:
        of those left, how many gained and lost neighbours of the same quasi-identifiers since the
        release before, None where nothing of the person changed. `fewest_people` and `risk`, 1 over
        it: the greatest of any release.

    Raises
    ------
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    rows: list[dict[str, Any]] = []
    before: _ReleaseOfPerson | None = None
    left: set[str] = set()
    for folder in release_folders(releases):
        release = read_release(folder)
        owners = read_owners(mapping, release.manifest.release_id)
        own = next((name for name, owner in owners.items() if owner == person), None)
        if own is None:
            before = None
            continue
        now, value_at = _shown(release, own), _place_of_value(release, own, mapping)
        at = dict.fromkeys(release.columns, own) | {release.manifest.schema.sensitive: value_at}
        candidates = _candidates(release, own)
        follows = _follows(before, now)
        left = left & candidates if follows else candidates
        alike = _changed_alike(before, now, left) if follows and before is not None else None
        rows.append(
            {
                "release_id": release.manifest.release_id,
                "sequence_id": release.manifest.sequence_id,
                "nominal_time": release.manifest.nominal_time,
                "published_id": own,
                "values": {
                    name: column[release.ids.index(at[name])]
                    for name, column in release.columns.items()
                },
                "value_at": value_at,
                "ties": len(now.ties[own]),
                "candidates": len(candidates),
                "people": _people(candidates, owners),
                "linked_candidates": len(left),
                "linked_people": _people(left, owners),
                "changed_alike": alike,
            }
        )
        before = now
    fewest = min((row["linked_people"] for row in rows), default=None)
    return {
        "person": person,
        "releases": rows,
        "fewest_people": fewest,
        "risk": None if fewest is None else round(1 / fewest, 6),
    }


def describe_receipt(found: Mapping[str, Any]) -> str:
    """Return a receipt as text."""
    if not found["releases"]:
        return "no release shows this person, or what showed it was erased"
    lines = []
    for row in found["releases"]:
        values = ", ".join(f"{name} {value}" for name, value in row["values"].items())
        lines += [
            f"{row['release_id']}: shown as {row['published_id']}: {values}; {row['ties']:,} ties",
            (
                f"  candidates {row['candidates']:,}, people among them {row['people']:,}; over "
                f"all releases so far {row['linked_candidates']:,}, people "
                f"{row['linked_people']:,}; changed alike "
                f"{text_of(row['changed_alike'], ',', 'nothing changed')}"
            ),
        ]
    lines.append(
        "chance of a guess by an attacker that links all releases: "
        f"{found['risk']:.3f} at most, 1 over {found['fewest_people']:,} people; a tie shown may "
        "be invented, a true one hidden"
    )
    return "\n".join(lines)


def _shown(release: Release, own: str) -> _ReleaseOfPerson:
    classes, meanings = release.classes()
    ids = list(release.ids)
    kinds = {name: meanings[classes[v]] for v, name in enumerate(ids)}
    ties: dict[str, set[str]] = {name: set() for name in ids}
    for u, v in release.edges.tolist():
        ties[ids[u]].add(ids[v])
        ties[ids[v]].add(ids[u])
    return _ReleaseOfPerson(release, own, kinds, ties)


def _place_of_value(release: Release, own: str, mapping: Path) -> str:
    """Return the vertex that shows the sensitive value of another one's owner."""
    value_at = read_value_places(mapping, release)
    return own if value_at is None else release.ids[int(value_at[release.ids.index(own)])]


def _candidates(release: Release, own: str) -> set[str]:
    """Return the protection set of a vertex; sets are mutual."""
    flags = np.array([[name == own] for name in release.ids])
    _, counts = verify_flags(release.quasi_identifiers(), flags, release.edges, release.params)
    return {release.ids[v] for v in np.flatnonzero(counts[0]).tolist()}


def _follows(before: _ReleaseOfPerson | None, now: _ReleaseOfPerson) -> bool:
    """Whether the person kept the id since the release before.

    Both releases are of one sequence.
    """
    if before is None or before.own != now.own:
        return False
    return before.release.manifest.sequence_id == now.release.manifest.sequence_id


def _people(names: set[str], owners: Mapping[str, str | None]) -> int:
    return sum(owners.get(name) is not None for name in names)


def _changed_alike(before: _ReleaseOfPerson, now: _ReleaseOfPerson, left: set[str]) -> int | None:
    """Return how many of those left changed as the person did.

    None where it did not.
    """

    def change(name: str) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
        old, new = before.ties.get(name, set()), now.ties.get(name, set())
        gained = Counter(now.kinds[other] for other in new - old)
        return gained, Counter(before.kinds[other] for other in old - new)

    mine = change(now.own)
    return sum(change(name) == mine for name in left) if any(mine) else None
