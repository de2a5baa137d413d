"""What verifier, auditor and attackers find in small releases, some of them tampered with.

Words are left out, as they may change: but for errors, whose texts have names of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lab.recording.commands import Answer, Figures, ktsafe, made, under
from lab.recording.releases import single_release
from lab.recording.tampering import (
    OF_FILES,
    OF_IMPOSSIBLE_TABLES,
    OF_PROMISES,
    OF_TABLES,
    digests,
    tampered,
)
from lab.recording.world import World

ATTACKS: Final = ("--attacks", "all", "--seed", 0)
CHANGES: Final = {"ties": 20, "joins": 20, "leaves": 6, "moves": 8, "states": 4}
RELEASES: Final = 4
TAMPERED: Final = 2
"""Which release of the sequence is tampered with, from 0: there is one after it."""
VERDICT: Final = "as_stated vertices edges evidence undecided_pairs unsafe_vertices candidates_min"
FAILURE: Final = "id candidates sensitive_candidates reasons"
VIOLATION: Final = "release_id count examples"
TOGETHER: Final = "published changes values linked persistence containment"


def of_single_release(room: Path) -> Figures:
    """Return what attackers find in a release, and verdicts on it and its tampered copies."""
    World(1, 300, 900).write(room / "truth")
    release = single_release(room / "truth", room / "made", "--k", 5)
    known = ("--map", room / "made" / "private", "--truth", room / "truth")
    told = made("audit", release, *known, *ATTACKS)
    found = digests(release) | under("attacks", _attacks(told["releases"][0]))
    for kind in ("", *OF_TABLES, *OF_IMPOSSIBLE_TABLES, *OF_FILES, "k doubled"):
        answer = ktsafe("verify", tampered(release, room / f"copy {kind}", kind))
        found |= under(f"verify/{kind or 'untouched'}", _verdict(answer, room))
    return found


def of_sequence(room: Path) -> Figures:
    """Return what is found in a sequence, and in copies of which one release was tampered with."""
    releases, private = _sequence(room)
    known = ("--map", private, "--truth", room / "truth")
    told = made("audit", *releases, *known, *ATTACKS)
    found = under("attacks/together", _attacks(told["sequences"][0]))
    for path, each in zip(releases, told["releases"], strict=True):
        found |= under(path.name, digests(path)) | under(f"attacks/{path.name}", _attacks(each))
    found |= under("audit/private", _audit(ktsafe("audit", *releases, *known), room))
    copies = [tampered(path, room / "copies" / path.name) for path in releases]
    before, after = copies[:TAMPERED], copies[TAMPERED + 1 :]
    histories = {"untouched": copies, "reversed": copies[::-1], "repeated": [*copies, copies[-1]]}
    for kind in (*OF_TABLES, *OF_IMPOSSIBLE_TABLES, *OF_PROMISES):
        one = tampered(releases[TAMPERED], room / f"copy {kind}", kind)
        histories[kind] = [*before, one, *after]
    for kind, history in histories.items():
        found |= under(f"audit/{kind}", _audit(ktsafe("audit", *history), room))
    # Manifests name those before them: the originals, as copies do not fit each other.
    found["verify/whole"] = _chain(releases[0].parent)
    shutil.rmtree(releases[TAMPERED])
    found["verify/one missing"] = _chain(releases[0].parent)
    return found


def _sequence(room: Path) -> tuple[list[Path], Path]:
    """Make a sequence; return its releases, and the folder of its private audits."""
    world, releases, told = World(3, 300, 900), [], {}
    for number in range(1, RELEASES + 1):
        source = room / "truth" / "next"
        world.write(source)
        tables = ("--vertices", source / "vertices.csv", "--edges", source / "edges.csv")
        begun = ("--schema", source / "schema.toml", "--k", 5, "--seed", 1) if number == 1 else ()
        at = ("--at", f"2026-0{number}-01", "--sequence", room / "sequence")
        told = made("next", *tables, *at, *begun)
        releases.append(Path(told["release"]))
        source.rename(room / "truth" / releases[-1].name)
        world.change(**CHANGES)
    return releases, Path(told["audit"])


def _verdict(answer: Answer, room: Path) -> Figures:
    if answer.found is None:
        return _refused(answer, room)
    told = answer.found[0]
    failures = [_some(failure, FAILURE) for failure in told["failures"]]
    found = {**_some(told, VERDICT), "failures": failures, "share": told["sensitive_share_max"]}
    return {"verdict": [answer.code, told["safe"]], "found": found}


def _audit(answer: Answer, room: Path) -> Figures:
    if answer.found is None:
        return _refused(answer, room)
    told = answer.found
    violations = {each["kind"]: _some(each["first"], VIOLATION) for each in told["violations"]}
    figures = [_some(each, TOGETHER) for each in told["sequences"]]
    verdict = [answer.code, told["safe"]]
    return {"verdict": verdict, "violations": violations, "figures": figures}


def _refused(answer: Answer, room: Path) -> Figures:
    return {"verdict": [answer.code, answer.error], "text": answer.text.replace(str(room), "")}


def _chain(folder: Path) -> list[Any]:
    answer = ktsafe("verify", folder)
    each = [[one["safe"], one["as_stated"], len(one["problems"])] for one in answer.found]
    return [answer.code, each]


def _attacks(told: Mapping[str, Any]) -> Figures:
    results: Sequence[Mapping[str, Any]] = told["results"]
    return {result["attack"]: result for result in results}


def _some(told: Mapping[str, Any], names: str) -> Figures:
    return {name: told[name] for name in names.split() if name in told}
