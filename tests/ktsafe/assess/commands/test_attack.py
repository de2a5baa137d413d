"""`ktsafe audit --attacks` as its users run it: figures beside promises, what it refuses."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.assess.attacks import Case, ids_removed, run
from ktsafe.assess.generalization.quick_release import membership
from ktsafe.assess.releases.attacks import NAMES
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files import releases_write

SCHEMA = Schema(("group",), "health", frozenset({"yes"}))
PARAMS = PrivacyParams(k=5)


def graphs(count):
    """Return graphs of the same 80 people, whose ties change."""
    rng = np.random.default_rng(0)
    columns = {"group": rng.choice(["a", "b"], 80), "health": rng.choice(["yes", "no"], 80)}
    pairs = np.sort(rng.integers(0, 80, (400, 2)), axis=1)
    out = []
    for _ in range(count):
        ties = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        out.append(AttributedGraph.from_columns(SCHEMA, columns, ties))
        pairs[rng.integers(0, 400, 20)] = np.sort(rng.integers(0, 80, (20, 2)), axis=1)
    return out


def write_csv(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write(folder, count):
    """Write releases that are the truth with its ids removed, which every attack breaks."""
    order = ids_removed(graphs(1)[0], np.random.default_rng(1))[1]
    for i, true in enumerate(graphs(count)):
        release_id = f"{i:06d}"
        ids = [f"{v:016x}" for v in range(80)]
        header = releases_write.ReleaseHeader(
            release_id, "sequence", 1_767_225_600_000_000 + i * 86_400_000_000, PARAMS
        )
        shown = true.subgraph(order)
        releases_write.write_release(folder / "releases" / release_id, shown, ids, header)
        owners = [(u, f"person-{v}") for u, v in zip(ids, order.tolist(), strict=True)]
        private, truth = folder / "private" / release_id, folder / "truth" / release_id
        write_csv(private / "mapping.csv", ("released_id", "original_id"), owners)
        people = [(f"person-{v}", *true.values(v).values()) for v in range(80)]
        write_csv(truth / "vertices.csv", ("id", "group", "health"), people)
        ties = [(f"person-{u}", f"person-{v}") for u, v in true.edges.tolist()]
        write_csv(truth / "edges.csv", ("source", "target"), ties)
    return [
        "audit",
        str(folder / "releases"),
        f"--map={folder / 'private'}",
        f"--truth={folder / 'truth'}",
    ]


def test_a_release_is_attacked_as_the_library_does(tmp_path, capsys):
    """The figures are those of `ktsafe.assess.attacks.run` on the same graphs."""
    command = [*write(tmp_path, 1), "--json"]
    assert run_command([*command, "--attacks=all"]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    (release,) = report["releases"]
    assert release["release_id"] == "000000"
    assert report["sequences"] == []
    true = graphs(1)[0]
    case = Case(true, *ids_removed(true, np.random.default_rng(1)))
    # Whether people are in the network at all is asked of a release without some of them.
    expected = [*run(case, PARAMS, np.random.default_rng(0)), *membership(true, PARAMS, seed=0)]
    assert any(each.attack.startswith("membership_of_people") for each in expected)
    of_files = [result for result in release["results"] if result["attack"].startswith("bytes.")]
    assert of_files
    assert release["results"] == [*(result.to_mapping() for result in expected), *of_files]
    found = {result["attack"]: result for result in release["results"]}
    assert found["one_hop.joint"]["is_broken"]


def test_a_sequence_is_attacked_as_a_whole(tmp_path, capsys):
    """Two releases are also attacked together; a table says what is above its promise."""
    command = write(tmp_path, 2)
    assert run_command([*command, "--attacks=one_hop,intersection,changes,age"]) == Exit.OK
    text = capsys.readouterr().out
    assert "release 000001" in text
    assert "sequence sequence, 2 releases" in text
    (line,) = [line for line in text.splitlines() if "intersection.joint" in line]
    assert line.split()[-1] == "!"
    assert "person-" not in text
    assert "changes.net.shown" in text


def test_people_who_are_not_there_are_not_targets(tmp_path, capsys):
    """Places without an owner, and owners the truth does not list, count as inserted."""
    command = write(tmp_path, 1)
    path = tmp_path / "private" / "000000" / "mapping.csv"
    lines = path.read_text().splitlines()
    lines[1] = lines[1].split(",")[0] + ","
    lines[2] = lines[2].split(",")[0] + ",nobody"
    path.write_text("\n".join(lines))
    assert run_command([*command, "--attacks=one_hop", "--json"]) == Exit.OK
    (release,) = json.loads(capsys.readouterr().out)["releases"]
    assert {result["targets"] for result in release["results"]} == {78}


def test_a_truth_of_other_people_is_refused(tmp_path, capsys):
    """A feed that goes on from an imported graph tells of few; no figure is made of these."""
    feed = tmp_path / "feed.jsonl"
    stranger = {"type": "vertex.upsert", "id": "a stranger", "time": "2026-01-01T00:00:00Z"}
    feed.write_text(json.dumps(stranger))
    command = [*write(tmp_path, 1), f"--truth={feed}", "--attacks=all"]
    assert run_command(command) == Exit.USAGE
    assert "imported" in capsys.readouterr().err
    feed.write_text("id,group\np1,x\n")
    assert run_command(command) == Exit.USAGE
    assert "holds no event" in capsys.readouterr().err


def test_no_figure_is_told_of_nobody(tmp_path, capsys):
    """Where all owners have left there is nobody to be found."""
    command = write(tmp_path, 1)
    path = tmp_path / "private" / "000000" / "mapping.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(line.split(",")[0] + "," for line in lines[1:])]))
    assert run_command([*command, "--attacks=one_hop"]) == Exit.OK
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "one_hop" in line]
    assert all(row[1:] == ["0", "nobody"] for row in rows)


@pytest.mark.parametrize("wrong", ["--attacks=one-hop", "--map=nowhere", "--truth=nowhere"])
def test_what_does_not_fit_is_refused(tmp_path, capsys, wrong):
    """An attack that is not known, and private folders that hold nothing."""
    assert run_command([*write(tmp_path, 1), wrong]) == Exit.USAGE
    if wrong.startswith("--attacks"):
        assert ", ".join(NAMES) in " ".join(capsys.readouterr().err.split())
