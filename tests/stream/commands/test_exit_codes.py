"""Exit codes, all cells: each command that judges or reads, and each state of what it is given."""

import json
import re
from fractions import Fraction

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import naive
from tests.ktsafe.assess.commands.test_audit import write
from tests.ktsafe.audit.sequence.sticky import PARAMS, member, sticky
from tests.naive import Small, Tolerance
from tests.stream.commands.test_withdraw import CONFIG

OK, UNSAFE, USAGE = Exit.OK, Exit.UNSAFE, Exit.USAGE
UNAVAILABLE, MISMATCH = Exit.UNAVAILABLE, Exit.MISMATCH
COMMANDS = {
    "verify": ["verify", "releases"],
    "verify --withdrawn": ["verify", "releases", "--withdrawn"],
    "verify --together": ["verify", "releases", "--together"],
    "audit": ["audit", "releases", "--map=private", "--truth=truth"],
    "read": ["releases", "read", "--folder=releases", "--into=mine"],
    "read --all": ["releases", "read", "--folder=releases", "--into=mine", "--all"],
}
CODES = {
    "sound": (OK, OK, OK, OK, OK, OK),
    "unsafe alone": (UNSAFE, UNSAFE, UNSAFE, UNSAFE, OK, OK),
    "unsafe together": (OK, OK, UNSAFE, UNSAFE, OK, OK),
    "withdrawn": (UNSAFE, OK, UNSAFE, OK, UNSAFE, OK),
    "damaged": (USAGE, USAGE, USAGE, USAGE, MISMATCH, MISMATCH),
    "absent": (USAGE, USAGE, USAGE, USAGE, OK, OK),
}
"""By state of the last of three releases, for each command in its order."""


def three_releases(folder, state):
    """Write a sequence of releases in a state."""
    steps = sticky(3)
    if state == "unsafe alone":
        gone = min(map(sorted, steps[2].release.edges))
        steps[2].release.edges.discard(frozenset(gone))
    if state == "unsafe together":
        # Two members of one tuple change places: each release by itself looks as before.
        name = {member(0, 1): member(3, 1), member(3, 1): member(0, 1)}
        step = steps[2].release
        step.edges = {frozenset(name.get(v, v) for v in edge) for edge in step.edges}
    if state in {"unsafe alone", "unsafe together"}:
        for step in steps:
            step.true_edges = set()
    if state == "absent":
        (folder / "releases").mkdir()
        return
    write(folder, steps)
    last = max((folder / "releases").iterdir())
    if state == "withdrawn":
        (last / "withdrawn.json").write_text('{"why": "A wrong column."}')
    if state == "damaged":
        edges = last / "edges.csv"
        edges.write_bytes(edges.read_bytes()[:-2])


@pytest.mark.parametrize("state", CODES)
def test_each_command_tells_each_state_by_its_code(state, tmp_path, monkeypatch, capsys):
    """A script may trust them: nothing but what is sound and asked for ends with 0."""
    monkeypatch.chdir(tmp_path)
    three_releases(tmp_path, state)
    found = {name: run_command(words) for name, words in COMMANDS.items()}
    assert found == dict(zip(COMMANDS, CODES[state], strict=True)), capsys.readouterr()


@pytest.mark.parametrize("limit", [0, 1, 3, 99])
def test_verify_tells_what_a_literal_count_finds(limit, tmp_path, capsys):
    """Of each release sizes, worst figures, and the unsafe: some by id, and how many more."""
    steps = sticky(3)
    for step, n_gone in zip(steps, (0, 1, 5), strict=True):
        for gone in sorted(map(sorted, step.release.edges))[:n_gone]:
            step.release.edges.discard(frozenset(gone))
        step.true_edges = set()
    write(tmp_path, steps)
    words = ["verify", str(tmp_path / "releases"), f"--limit={limit}"]
    run_command([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    run_command(words)
    text = re.split(r"(?m)^(?=0)", capsys.readouterr().out)[1:]
    for step, found, lines in zip(steps, told, text, strict=True):
        ids = sorted(step.release.tuples)
        small = Small(
            [tuple(map(int, step.release.tuples[v])) for v in ids],
            [step.release.sensitive[v] for v in ids],
            [tuple(map(ids.index, sorted(edge))) for edge in step.release.edges],
        )
        sets = [
            naive.protection_set(small, Tolerance(5, Fraction(0), Fraction(1, 5), 0), v)
            for v in range(len(ids))
        ]
        shares = [Fraction(sum(small.is_sensitive[u] for u in ps), len(ps)) for ps in sets]
        unsafe = [
            v
            for v, ps, share in zip(ids, sets, shares, strict=True)
            if len(ps) < PARAMS.k or share > PARAMS.alpha
        ]
        expected = {
            "vertices": len(ids),
            "edges": len(step.release.edges),
            "safe": not unsafe,
            "unsafe_vertices": len(unsafe),
            "candidates_min": min(map(len, sets)),
            "sensitive_share_max": str(max(shares)),
        }
        assert {name: found[name] for name in expected} == expected
        assert [failure["id"] for failure in found["failures"]] == unsafe[:limit]
        assert re.findall(r"vertex (\S+):", lines) == unsafe[:limit]
        more = [str(len(unsafe) - limit)] if len(unsafe) > limit else []
        assert re.findall(r"and (\d+) more unsafe", lines) == more
        assert f"fewest candidates {expected['candidates_min']}, " in lines


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["status", "ktsafe.toml"], UNAVAILABLE),
        (["release", "ktsafe.toml"], UNAVAILABLE),
        (["releases", "read", "--kafka=127.0.0.1:1", "--topic=t", "--into=mine"], UNAVAILABLE),
        (["config", "ktsafe.toml"], OK),
        (["config", "nowhere.toml"], USAGE),
    ],
)
def test_what_cannot_be_reached_is_told_by_its_code(words, code, tmp_path, monkeypatch):
    """Whether a command raises or returns it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ktsafe.toml").write_text(CONFIG)
    (tmp_path / "feed.jsonl").touch()
    assert run_command(words) == code
