"""`ktsafe audit` as its users run it: folders, verdicts, exit codes, what it prints and refuses."""

import csv
import json

import pytest

from ktsafe import AttributedGraph, Schema
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files import releases_write
from tests.ktsafe.audit.sequence.sticky import PARAMS, SIZE, member, sticky

SCHEMA = Schema(("group",), "health", frozenset({"yes"}), expect_absent={"yes"})


def write(folder, steps, *, guarantee=None):
    """Write a history as the service would: releases, private mappings, true graphs."""
    for i, step in enumerate(steps):
        plain, release_id = step.release, f"{i:06d}"
        ids = sorted(plain.tuples)
        place = {v: x for x, v in enumerate(ids)}
        graph = AttributedGraph.from_columns(
            SCHEMA,
            {
                "group": [plain.tuples[v][0] for v in ids],
                "health": ["yes" if plain.sensitive[v] else "no" for v in ids],
            },
            [[place[v] for v in sorted(edge)] for edge in sorted(map(sorted, plain.edges))],
        )
        header = releases_write.ReleaseHeader(
            release_id, plain.sequence_id, 1_767_225_600_000_000 + i * 86_400_000_000, PARAMS
        )
        releases_write.write_release(folder / "releases" / release_id, graph, ids, header)
        path = folder / "releases" / release_id / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["guarantee"] |= guarantee or {"w": "all", "cover": True}
        path.write_text(json.dumps(manifest))
        private = folder / "private" / release_id
        private.mkdir(parents=True)
        rows = [(v, plain.owners[v] or "") for v in ids]
        write_csv(private / "mapping.csv", ("released_id", "original_id"), rows)
        truth, true = folder / "truth" / release_id, step.truth()
        truth.mkdir(parents=True)
        rows = zip(true.people, true.values[0], true.sensitive_texts, strict=True)
        write_csv(truth / "vertices.csv", ("id", "group", "health"), rows)
        ties = [(true.people[a], true.people[b]) for a, b in true.edges.tolist()]
        write_csv(truth / "edges.csv", ("source", "target"), ties)
    return [
        "audit",
        str(folder / "releases"),
        f"--map={folder / 'private'}",
        f"--truth={folder / 'truth'}",
    ]


def write_csv(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def check_usefulness(found, step):
    """Compare the figures of a release with sets of pairs of people."""
    plain, true = step.release, step.truth()
    ties = {frozenset((true.people[a], true.people[b])) for a, b in true.edges.tolist()}
    shown = {frozenset(plain.owners[v] or f"nobody {v}" for v in edge) for edge in plain.edges}
    edges = found["edges"]
    assert (edges["true"], edges["released"]) == (len(ties), len(shown))
    assert (edges["shared"], edges["cost"]) == (len(ties & shown), len(ties ^ shown))


def test_a_safe_history_is_told_so(tmp_path, capsys):
    """Exit code 0, the promise of the manifests, and how it was decided."""
    arguments = write(tmp_path, sticky())
    assert run_command(arguments) == Exit.OK
    text = capsys.readouterr().out
    assert "5 releases in 1 sequence: safe (w = all, cover on)" in text
    assert "a certificate by cohorts" in text
    assert "age 0.500, survival 0.500" in text
    assert "VIOLATION" not in text
    assert "not checked" not in text
    assert "last release: edges: precision" in text
    assert "dearer than nothing" in text
    assert run_command([*arguments, "--json"]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert report["safe"]
    (sequence,) = report["sequences"]
    assert sequence["published"]["candidates"]["below_k"] == 0
    assert sequence["published"]["sensitive_share"]["above_alpha"] == 0
    assert sequence["changes"]["visible"] > 0
    for row, step in zip(sequence["by_release"], sticky(), strict=True):
        check_usefulness(row["usefulness"], step)
    assert sequence["changes"]["k_delta_min"] >= SIZE
    assert [row["safe"] for row in sequence["by_release"]] == [True] * 5


def test_a_broken_history_fails_and_names_published_ids_only(tmp_path, capsys):
    """Exit code 1; neither people nor who is inserted are named in the terminal."""
    steps = sticky()
    gone = min(map(sorted, steps[2].release.edges))
    steps[2].release.edges.discard(frozenset(gone))
    steps[2].true_edges.discard(frozenset(gone))
    arguments = write(tmp_path, steps)
    assert run_command([*arguments, "--limit=2"]) == Exit.UNSAFE
    text = capsys.readouterr().out
    assert "NOT safe" in text
    assert "VIOLATION too_few_candidates in 000002 and 2 more releases" in text
    assert "has fewer than k candidates over some set of releases" in text
    assert "(--limit shows them)" in text
    assert "person" not in text.replace("who follows a person", "")
    assert run_command([*arguments, "--json"]) == Exit.UNSAFE
    kinds = {kind["kind"] for kind in json.loads(capsys.readouterr().out)["violations"]}
    assert {"not_kt_safe", "too_few_candidates", "change_uncovered"} <= kinds


def test_the_promise_can_be_overridden(tmp_path, capsys):
    """What is safe one by one is judged so if that is promised, or asked for."""
    steps = sticky()
    for i, step in enumerate(steps):
        # The members of two cohorts of one tuple change places from release to release.
        name = {member(0, 1): member(3, 1), member(3, 1): member(0, 1)} if i % 2 else {}
        step.release.edges = {frozenset(name.get(v, v) for v in e) for e in step.release.edges}
        step.true_edges = set()
    arguments = write(tmp_path, steps, guarantee={"w": 1, "cover": False})
    assert run_command(arguments) == Exit.OK
    assert "each release by itself" in capsys.readouterr().out
    assert run_command([*arguments, "--window=all"]) == Exit.UNSAFE
    assert "too_few_candidates" in capsys.readouterr().out
    assert run_command([*arguments, "--cover"]) == Exit.UNSAFE
    assert "change_uncovered" in capsys.readouterr().out
    assert run_command([*arguments, "--window=none"]) == Exit.USAGE


def test_declared_lag_is_no_violation(tmp_path, capsys):
    """A missing tie fails the audit unless the private audit declares it."""
    steps = sticky(2)
    for step in steps:
        step.true_edges.add(frozenset({member(0, 0), member(0, 1)}))
    arguments = write(tmp_path, steps)
    assert run_command(arguments) == Exit.UNSAFE
    assert "VIOLATION tie_missing in 000000 and 1 more release\n" in capsys.readouterr().out
    for i in range(2):
        declared = {"declared": {"held_ties": 1, "lag_max": 2}}
        (tmp_path / "private" / f"{i:06d}" / "audit.json").write_text(json.dumps(declared))
    assert run_command(arguments) == Exit.OK
    assert "1 ties for at most 2" in capsys.readouterr().out


def test_people_are_followed_over_a_rebase(tmp_path, capsys):
    """Two safe sequences need not be safe together; each by itself is judged by naming it."""
    first, second = sticky(2, seed=1), sticky(2, seed=2)
    for step in second:
        release = step.release
        name = {v: f"new{v}" for v in release.tuples}
        for table in (release.tuples, release.sensitive, release.owners):
            table.update({name[v]: table.pop(v) for v in name})
        # The people are dealt out to the cohorts anew.
        owned = [v for v in sorted(release.owners) if release.owners[v] is not None]
        same = {g: [v for v in owned if release.tuples[v] == (g,)] for g in "012"}
        for members in same.values():
            people = [release.owners[v] for v in members]
            for v, person in zip(members, people[::2] + people[1::2], strict=True):
                release.owners[v] = person
        release.edges = {frozenset(name[v] for v in edge) for edge in release.edges}
        release.sequence_id = "t"
        step.true_edges = set()
    for step in first:
        step.true_edges = set()
    arguments = write(tmp_path, first + second)
    report = report_of([arguments[0], *arguments[1:3]], capsys)
    assert not report["safe"]
    assert {kind["kind"] for kind in report["violations"]} >= {"linked_too_few_candidates"}
    assert not {kind["kind"] for kind in report["violations"]} & {"too_few_candidates"}
    later = [str(tmp_path / "releases" / name) for name in ("000002", "000003")]
    assert report_of(["audit", *later, arguments[2]], capsys)["safe"]
    receipt = report_of([*arguments[:3], "--person=person c0m2"], capsys)["releases"]
    assert [row["linked_candidates"] for row in receipt] == [row["candidates"] for row in receipt]


def test_a_receipt_counts_who_is_left_over_all_releases(tmp_path, capsys):
    """Who is told apart in one release or in another is no candidate after both."""
    steps = sticky()
    for number, step in enumerate(steps[2:4]):
        edges = sorted(map(sorted, step.release.edges))
        step.release.edges.discard(frozenset(next(e for e in edges if member(0, number) in e)))
    arguments = write(tmp_path, steps)
    found = report_of([*arguments[:3], "--person=person c0m2"], capsys)
    rows = [[row[name] for row in found["releases"]] for name in ("people", "linked_people")]
    assert rows == [[4, 4, 3, 3, 4], [4, 4, 3, 2, 2]]
    assert (found["fewest_people"], found["risk"]) == (2, 0.5)


def report_of(arguments, capsys):
    run_command([*arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_what_is_missing_is_said(tmp_path, capsys):
    """Without private files the published part is judged, and the rest is named."""
    arguments = write(tmp_path, sticky(2))
    assert run_command(arguments[:2]) == Exit.OK
    text = capsys.readouterr().out
    assert "no --map" in text
    assert "no --truth" in text
    assert run_command([*arguments[:2], arguments[3]]) == Exit.USAGE
    assert "--truth needs --map" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("private/000001/mapping.csv", None, "cannot be read"),
        ("private/000001/mapping.csv", "id,person\n", "does not begin with"),
        ("private/000001/mapping.csv", "released_id,original_id\na,b\na,c\n", "twice"),
        ("private/000001/mapping.csv", "released_id,original_id\na\n", "another length"),
        ("private/000001/audit.json", "[]", "no readable audit"),
        ("truth/000001/vertices.csv", "id\n", "no column"),
        ("truth/000001/edges.csv", None, "cannot be read"),
        ("releases/000001/vertices.csv", "id,group,health\n", "sha256"),
    ],
)
def test_damaged_files_are_named(tmp_path, capsys, path, text, message):
    """Exit code 2 and the file; nothing of its content."""
    arguments = write(tmp_path, sticky(2))
    if text is None:
        (tmp_path / path).unlink()
    else:
        (tmp_path / path).write_text(text)
    assert run_command(arguments) == Exit.USAGE
    error = capsys.readouterr().err
    assert message in error
    assert "person" not in error


def test_a_mapping_of_other_ids_and_times_out_of_order_are_told(tmp_path, capsys):
    """A row too many, and releases given in the wrong order."""
    arguments = write(tmp_path, sticky(2))
    with (tmp_path / "private" / "000001" / "mapping.csv").open("a") as file:
        file.write("another,\n")
    turned = [str(tmp_path / "releases" / name) for name in ("000001", "000000")]
    report = report_of(["audit", *turned, arguments[2]], capsys)
    kinds = {kind["kind"] for kind in report["violations"]}
    assert kinds == {"mapping_incomplete", "time_order"}


def test_a_feed_can_be_the_truth(tmp_path, capsys):
    """The feed folded up to each nominal time is the same truth as the graphs."""
    steps = sticky()
    arguments = write(tmp_path, steps)
    lines, known = [], set()
    for i, step in enumerate(steps):
        day = f"2026-01-{1 + i:02d}T00:00:00Z"
        true = step.truth()
        if not i:
            lines += [
                {"type": "vertex.upsert", "id": p, "attributes": {"group": g, "health": s}}
                for p, g, s in zip(true.people, true.values[0], true.sensitive_texts, strict=True)
            ]
        ties = {tuple(true.people[x] for x in edge) for edge in true.edges.tolist()}
        lines += [{"type": "edge.add", "source": a, "target": b} for a, b in ties - known]
        lines += [{"type": "edge.remove", "source": a, "target": b} for a, b in known - ties]
        known = ties
        lines = [{"time": day, **line} for line in lines]
    feed = tmp_path / "feed.jsonl"
    feed.write_text("no event\n" + "\n".join(map(json.dumps, lines)) + "\n")
    with_graphs = report_of(arguments, capsys)
    assert report_of([*arguments[:3], f"--truth={feed}"], capsys) == with_graphs
    assert with_graphs["safe"]
    turned = [arguments[0], *sorted(map(str, (tmp_path / "releases").iterdir()), reverse=True)]
    report = report_of([*turned, arguments[2], f"--truth={feed}"], capsys)
    assert [kind["kind"] for kind in report["violations"]] == ["time_order"]


@pytest.mark.parametrize("kind", ["graphs", "feed"])
def test_who_was_erased_is_not_missed(tmp_path, capsys, kind):
    """Mappings that were blanked for somebody who left later are no violation; others are."""
    steps = sticky(3)
    leaver = "person " + member(0, 0)
    steps[2].release.owners[member(0, 0)] = None
    steps[2].true_edges = {e for e in steps[2].true_edges if member(0, 0) not in e}
    arguments = write(tmp_path, steps)
    if kind == "feed":
        lines = []
        for i, step in enumerate(steps):
            day, true = f"2026-01-{1 + i:02d}T00:00:00Z", step.truth()
            values = zip(true.people, true.values[0], true.sensitive_texts, strict=True)
            for p, group, health in values:
                attributes = {"group": group, "health": health}
                lines.append({"type": "vertex.upsert", "id": p, "attributes": attributes})
            for a, b in true.edges.tolist():
                ends = {"source": true.people[a], "target": true.people[b]}
                lines.append({"type": "edge.add", **ends})
            lines = [{"time": day, **line} for line in lines]
        lines.append({"time": day, "type": "vertex.delete", "id": leaver})
        (tmp_path / "feed.jsonl").write_text("\n".join(map(json.dumps, lines)))
        arguments = [*arguments[:3], f"--truth={tmp_path / 'feed.jsonl'}"]
    known = report_of(arguments, capsys)["violations"]
    for i in range(2):
        path = tmp_path / "private" / f"{i:06d}" / "mapping.csv"
        text = path.read_text()
        assert leaver in text
        path.write_text(text.replace(leaver, ""))
    report = report_of(arguments, capsys)
    assert report["violations"] == known
    path.write_text(path.read_text().replace("person " + member(0, 1), ""))
    kinds = [violation["kind"] for violation in report_of(arguments, capsys)["violations"]]
    assert "person_missing" in kinds
