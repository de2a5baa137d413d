"""What verifier, auditor and attackers find in small releases, some of them tampered with."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lab.recording import tampering
from lab.recording.commands import Answer, Figures, ktsafe, made, tables_of, under
from lab.recording.releases import single_release
from lab.recording.world import World

ATTACKS: Final = ("--attacks", "all", "--seed", 0)
CHANGES: Final = {"ties": 20, "joins": 20, "leaves": 6, "moves": 8, "states": 4}
RELEASES: Final = 4
TAMPERED: Final = 2
"""Which release of the sequence is tampered with, from 0: there is one after it."""
VERDICT: Final = (
    "as_stated",
    "vertices",
    "edges",
    "evidence",
    "undecided_pairs",
    "unsafe_vertices",
    "candidates_min",
    "sensitive_share_max",
)
FAILURE: Final = ("id", "candidates", "sensitive_candidates", "reasons")
VIOLATION: Final = ("release_id", "count", "examples")
TOGETHER: Final = ("published", "changes", "values", "linked", "persistence", "containment")
"""Figures of a sequence; words are left out everywhere."""


def of_single_releases(room: Path) -> Figures:
    """Return what attackers find in two releases, and verdicts on one and its tampered copies."""
    found: Figures = {}
    for name, world, options in (
        ("small", World(1, 300, 900), ("--k", 5)),
        ("dense", World(2, 200, 1500, ages=2), ()),
    ):
        truth, place = room / name / "truth", room / name / "made"
        world.write(truth)
        single_release(truth, place, *options)
        found |= under(f"tables/{name}", tables_of(place / "release"))
        told = made("audit", place / "release", *_private(place / "private", truth), *ATTACKS)
        found |= under(f"attacks/{name}", _figures_of_attacks(told["releases"][0]["results"]))
    release = room / "small" / "made" / "release"
    of_files = (*tampering.OF_IMPOSSIBLE_TABLES, *tampering.OF_FILES)
    for each in (None, *tampering.OF_TABLES, *of_files):
        name = _name(each)
        answer = ktsafe("verify", tampering.tampered(release, room / name, each))
        found |= under(f"verify/{name}", _verdict(answer, room))
    return found


def of_sequence(room: Path) -> Figures:
    """Return what is found in a sequence, and in copies of which one release was tampered with."""
    releases, truth, private = _sequence(room)
    found = {f"tables/{path.name}/{k}": v for path in releases for k, v in tables_of(path).items()}
    known = _private(private, truth)
    told = made("audit", *releases, *known, *ATTACKS)
    for each in told["releases"]:
        found |= under(f"attacks/{each['release_id']}", _figures_of_attacks(each["results"]))
    found |= under("attacks/together", _figures_of_attacks(told["sequences"][0]["results"]))
    found |= under("audit/private", _audit(ktsafe("audit", *releases, *known), room))
    copies = [tampering.tampered(path, room / "copies" / path.name) for path in releases]
    before, after = copies[:TAMPERED], copies[TAMPERED + 1 :]
    for each in (None, *tampering.OF_TABLES, *tampering.OF_SEQUENCE):
        name = _name(each)
        folder = tampering.tampered(releases[TAMPERED], room / name, each)
        found |= under(f"audit/{name}", _audit(ktsafe("audit", *before, folder, *after), room))
    for name, named in (
        ("repeated", (*copies, copies[-1])),
        ("reversed", copies[::-1]),
        ("one_left_out", (*before, *after)),
    ):
        found |= under(f"audit/{name}", _audit(ktsafe("audit", *named), room))
    return found | under("chain", _chain(releases, room))


def _sequence(room: Path) -> tuple[list[Path], Path, Path]:
    """Make a sequence; return its releases, and the folders of the truth and of private audits."""
    world, truth, sequence = World(3, 300, 900), room / "truth", room / "sequence"
    truth.mkdir(parents=True)
    releases, private = [], truth
    for number in range(1, RELEASES + 1):
        if number > 1:
            world.change(**CHANGES)
        source = truth / "next"
        world.write(source)
        tables = ("--vertices", source / "vertices.csv", "--edges", source / "edges.csv")
        begun = ("--schema", source / "schema.toml", "--k", 5, "--seed", 1) if number == 1 else ()
        at = ("--at", f"2026-0{number}-01")
        told = made("next", *tables, "--sequence", sequence, *at, *begun)
        releases.append(Path(told["release"]))
        private = Path(told["audit"])
        source.rename(truth / releases[-1].name)
    return releases, truth, private


def _private(mapping: Path, truth: Path) -> tuple[object, ...]:
    return ("--map", mapping, "--truth", truth)


def _name(each: tampering.Tampering | None) -> str:
    return "untouched" if each is None else each.__name__


def _verdict(answer: Answer, room: Path) -> Figures:
    """Return a verdict on one release, without words."""
    if answer.found is None:
        return _refused(answer, room)
    told = answer.found[0]
    failures = [_some(failure, FAILURE) for failure in told["failures"]]
    return {
        "verdict": [answer.code, told["safe"], len(told["problems"])],
        "found": {**_some(told, VERDICT), "failures": failures},
    }


def _audit(answer: Answer, room: Path) -> Figures:
    """Return a verdict on a sequence, without words."""
    if answer.found is None:
        return _refused(answer, room)
    told = answer.found
    violations = {
        each["kind"]: {"releases": each["releases"], **_some(each["first"], VIOLATION)}
        for each in told["violations"]
    }
    return {
        "verdict": [answer.code, told["safe"]],
        "violations": violations,
        "figures": [_some(each, TOGETHER) for each in told["sequences"]],
    }


def _refused(answer: Answer, room: Path) -> Figures:
    """Return by which error something was refused; its text is apart, as words may be changed."""
    return {
        "verdict": [answer.code, answer.error],
        "text": answer.text.replace(str(room), ""),
    }


def _chain(releases: Sequence[Path], room: Path) -> Figures:
    """Return what manifests tell of each other: of all releases, and where one is missing."""
    found: Figures = {}
    for name, left_out in (("whole", None), ("one_missing", releases[TAMPERED].name)):
        shutil.copytree(releases[0].parent, room / name)
        if left_out is not None:
            shutil.rmtree(room / name / left_out)
        answer = ktsafe("verify", room / name)
        each = [(r["safe"], r["as_stated"], len(r["problems"])) for r in answer.found]
        found[name] = [answer.code, each]
    return found


def _figures_of_attacks(results: Sequence[Mapping[str, Any]]) -> Figures:
    """Return what attacks found, by their names."""
    return {result["attack"]: result for result in results}


def _some(told: Mapping[str, Any], names: Collection[str]) -> Figures:
    return {name: told[name] for name in names if name in told}
