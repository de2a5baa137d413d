"""Tables of every attack on every data set, and of the audit apart.

    python -m lab.trials.attacks DATA --results results.json [--only cora,demo]
        [--write PAGE]

Each data set is released once by itself (k = 10, alpha = 0.2, seed 0): with the defaults, by two
other strategies, and with inserted vertices. Each feed goes through the service as a sequence, with
the defaults; attacked are the last release, and all of them together. The positive control is the
true graph with its ids removed. What is done is kept in the file of results, so the command
can be called again for the rest; the tables are made of all that is in it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.assess.attacks import (
    ATTACKS,
    Case,
    History,
    Result,
    ids_removed,
    run,
    run_sequence,
)
from ktsafe.assess.attacks.membership import OF_PEOPLE as MEMBERSHIP
from ktsafe.assess.generalization.quick_release import held_out, membership
from ktsafe.assess.releases.attacks import history_of, judged
from ktsafe.stream.files.releases_read import release_folders
from ktsafe.stream.release.audits import Truth
from ktsafe_lab.strategies import anonymize
from lab.benchmarks.bench_anonymize import from_folder
from lab.trials import reaudit
from tests import running

PARAMS: Final = PrivacyParams()
CONTROL: Final = "ids removed"
MODES: Final = {
    "default": "exact",
    "attribute": "attribute",
    "tolerant": "tolerant",
}
GRAPHS: Final = ("cora", "fb-reed98", "ego-facebook", "ciao")
FEEDS: Final = {"demo": "month", "collegemsg": "2w", "ldbc-snb-sf0.1": "month"}
NEEDS_INSERTED: Final = {"denoised", "membership_of_ties", "membership_of_vertices"}
"""Attacks on what is inserted: without anything inserted there is nothing to attack."""
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

Found = dict[str, dict[str, dict[str, Any]]]
"""By mode and attack, as in `Result.to_mapping`."""


def main() -> int:
    """Run what is asked for, and make the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--only", default="", help="names of data sets, separated by commas")
    parser.add_argument("--write", type=Path, help="the page whose tables are made anew")
    given = parser.parse_args()
    results = json.loads(given.results.read_text()) if given.results.exists() else {}
    wanted = given.only.split(",") if given.only else [*GRAPHS, *FEEDS]
    graphs = dict(from_folder(given.data)) if set(wanted) & set(GRAPHS) else {}
    for name in wanted:
        began = time.process_time()
        if name in GRAPHS:
            results[name] = on_graph(graphs[name])
        else:
            results[name] = on_feed(name, given.data)
        print(f"{name}: {time.process_time() - began:.0f} core s", file=sys.stderr, flush=True)
        given.results.write_text(json.dumps(results))
    text = tables(results)
    if given.write is None:
        print(text)
    else:
        page = given.write.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    return 0


def on_graph(graph: AttributedGraph) -> Found:
    """Return what is found in one release by itself, mode by mode."""
    found = {}
    for mode, strategy in MODES.items():
        made = anonymize(Request(graph, PARAMS, np.random.default_rng(0)), strategy)
        case = Case(graph, made.graph, made.origin.astype(np.int64))
        found[mode] = told(attacked(case, ATTACKS))
    found["default"] |= told(attacked(held_out(graph, PARAMS), [MEMBERSHIP]))
    control = Case(graph, *ids_removed(graph, np.random.default_rng(0)))
    found[CONTROL] = told(
        attacked(control, [name for name in ATTACKS if name not in NEEDS_INSERTED])
    )
    return found


def attacked(case: Case, attacks: Iterable[str]) -> list[Result]:
    """Attack one release."""
    rng = np.random.default_rng(0)
    return run(case, PARAMS, rng, attacks=attacks)


def told(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """Return results by attack, JSON-ready."""
    return {result.attack: result.to_mapping() for result in results}


def on_feed(name: str, data: Path) -> Found:
    """Return what is found in a sequence, its last release and all together, and the audit."""
    with tempfile.TemporaryDirectory(prefix="ktsafe-attacks-") as temporary:
        folder = Path(temporary)
        feed, audits = _demo(folder) if name == "demo" else _service(folder, data / name, name)
        history = _history(folder, feed, audits)
        singles = [one for one in ATTACKS if one not in {"seeds", "alignment"}]
        found = {
            "default": told(attacked(history.cases[-1], ATTACKS))
            | told(membership(history.cases[-1].original, PARAMS))
            | told(run_sequence(history, PARAMS, np.random.default_rng(0)))
        }
        plain = without_ids(history)
        simple = [one for one in singles if one not in NEEDS_INSERTED]
        found[CONTROL] = told(attacked(plain.cases[-1], simple)) | told(
            run_sequence(plain, PARAMS, np.random.default_rng(0))
        )
        releases = list(reaudit.sequences([folder]).values())
        assert len(releases) == 1
        tally = reaudit.judge(releases[0], releases[0][0].promise)
        found["audit"] = {"audit": {"told": tally.told(releases[0])}}
    return found


def _demo(folder: Path) -> tuple[Path, Path]:
    """Run the demo; return what it imported with its feed, and the folder of its private audits."""
    command = [
        sys.executable,
        "-m",
        "ktsafe.stream.cli",
        "demo",
        "--dir",
        str(folder),
        "--port",
        "0",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "demo", folder / "state" / "audit"


def _service(folder: Path, data: Path, name: str) -> tuple[Path, Path]:
    """Run a feed through the service; return the feed and the folder of the private audits."""
    with gzip.open(data / "events.jsonl.gz") as file:
        events = [json.loads(line) for line in file]
    attributes = tomllib.loads((data / "schema.toml").read_text())["attributes"]
    site = running.sequence_site(folder / "site", events, attributes, FEEDS[name], "")
    site.drain_apart(timeout_s=7200)
    return folder / "feed" / "feed-0.jsonl", site.folder / "state" / "audit"


def _history(folder: Path, feed: Path, audits: Path) -> History:
    """Return the releases below a folder with their truth."""
    truth = Truth(feed, None)
    manifests = sorted(folder.glob("**/manifest.json"), key=lambda path: path.parent.name)
    folders = release_folders([manifest.parent for manifest in manifests])
    return history_of([judged(path, audits, truth) for path in folders])


def without_ids(history: History) -> History:
    """Return the positive control: the true graphs, each person under a number that persists."""
    rng = np.random.default_rng(0)
    cases, ids = [], []
    for case, persons in zip(history.cases, history.persons, strict=True):
        graph, behind = ids_removed(case.original, rng)
        cases.append(Case(case.original, graph, behind))
        ids.append(persons[behind])
    return History(cases, ids, history.persons)


ROWS: Final = (
    "one_hop",
    "denoised",
    "partial_knowledge",
    "two_hops",
    "friends_values",
    "friends_values_over_time",
    "sensitive_by_friends",
    "sensitive_by_friends_over_time",
    "friends_degrees",
    "friends_degrees_over_time",
    "structure",
    "sensitive_inference.named",
    "intersection",
    "changes.consecutive.true",
    "changes.consecutive.shown",
    "changes.net.shown",
    "arrival",
    "departure",
    "membership_of_people",
    "membership_of_ties",
    "membership_of_vertices.auc",
    "membership_of_vertices.inside",
    "membership_of_vertices.k_detect",
    "age",
    "denoised_by_age",
    "seeds.1%",
    "seeds.5%",
    "alignment.propagated",
)
"""Attacks, or single variants; of several variants the sharpest is told."""


def tables(results: Mapping[str, Found]) -> str:
    """Return all tables as text."""
    parts = []
    for name, found in results.items():
        modes = [mode for mode in (*MODES, CONTROL) if mode in found]
        lines = [
            f"**{name}**",
            "",
            f"| attack | {' | '.join(modes)} | control | promise |",
            f"|---|{'---|' * (len(modes) + 2)}",
        ]
        for row in ROWS:
            chosen = {mode: sharpest(found[mode], row) for mode in modes}
            first = next((it for it in chosen.values() if it), None)
            if first is None:
                continue
            control = "-" if chosen["default"] is None else short(chosen["default"]["control"])
            promise = "none" if first["promise"] is None else short(first["promise"])
            cells = [cell(chosen[mode]) for mode in modes]
            lines.append(f"| `{row}` | {' | '.join(cells)} | {control} | {promise} |")
        parts += [*lines, ""]
    audits = [
        f"| {name} | {found['audit']['audit']['told']} |"
        for name, found in results.items()
        if "audit" in found
    ]
    if audits:
        parts += [
            "| sequence | what the auditor apart found, in all windows of releases |",
            "|---|---|",
            *audits,
            "",
        ]
    return "\n".join(parts)


def sharpest(found: Mapping[str, dict[str, Any]], row: str) -> dict[str, Any] | None:
    """Return the variant of an attack with the greatest figure, None where there is none."""
    mine = [
        result
        for attack, result in found.items()
        if (attack == row or attack.startswith(f"{row}."))
        and result["measure"] == ("auc" if row in AREAS else "share")
    ]
    return max(mine, key=lambda result: result["value"], default=None)


AREAS: Final = (
    "membership_of_people",
    "membership_of_ties",
    "membership_of_vertices.auc",
    "membership_of_vertices.inside",
    "age",
)


def cell(result: Mapping[str, Any] | None) -> str:
    """Return a figure with its interval; ! marks one that is surely above its promise."""
    if result is None:
        return "-"
    if not result["targets"]:
        return "nobody"
    low, high = result["interval"]
    of = f", {result['targets']} people" if result["targets"] < 100 else ""
    mark = " **!**" if result["is_broken"] else ""
    return f"{short(result['value'])} ({short(low)}-{short(high)}{of}){mark}"


def short(figure: float) -> str:
    """Return a share with three digits."""
    return f"{figure:.3f}".removeprefix("0") if figure < 1 else f"{figure:.2f}"


if __name__ == "__main__":
    sys.exit(main())
