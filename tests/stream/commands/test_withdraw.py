"""A release is withdrawn: who is told, and who refuses it, step by step."""

import json
import re
import shlex
import stat
from pathlib import Path

import jsonschema
import pytest

import ktsafe
from ktsafe.connectors.base import WITHDRAWN
from ktsafe.connectors.files import FileReleaseReader
from ktsafe.reader import Withdrawn
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.private_audits import noted
from tests import sealed
from tests.configurations import CONFIG

ROOT = Path(__file__).parents[3]
RUNBOOK = (ROOT / "ops/runbook.md").read_text()
WHY = "It has a column that was not to be published."


@pytest.fixture
def site(tmp_path):
    """Give the folder of a service that has published three releases."""
    (tmp_path / "ktsafe.toml").write_text(CONFIG.replace('["gender"]', '["gender", "age"]'))
    for folder in sealed.sealed_releases(tmp_path / "releases", 3):
        (tmp_path / "state" / "audit" / folder.name).mkdir(parents=True)
    return tmp_path


def said(capsys, *arguments):
    code = run_command([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def names(site):
    return sorted(path.name for path in (site / "releases").iterdir())


def test_the_runbook_is_rehearsed(site, capsys):
    """Its commands, as they stand there: all readers refuse the release, audits read it."""
    name, config = names(site)[1], site / "ktsafe.toml"
    (section,) = re.findall(r"### A release must not be.*?```\n(.*?)```", RUNBOOK, re.DOTALL)
    places = {"ID": name, "CONFIG": str(config), "RELEASES/ID": str(site / "releases" / name)}
    lines = [shlex.split(line, comments=True)[1:] for line in section.splitlines()]
    outs = [said(capsys, *(places.get(word, word) for word in line)) for line in lines]
    assert [code for code, *_ in outs] == [Exit.OK] * 2
    assert outs[0][1] == f"withdrawn {name}\n"
    assert "kt-safe (" in outs[1][1]

    folder = site / "releases" / name
    with pytest.raises(Withdrawn, match=WHY):
        ktsafe.read(folder)
    with pytest.warns(UserWarning, match=WHY):
        assert len(ktsafe.read(site / "releases")) == 2
    code, out, _ = said(capsys, "verify", site / "releases")
    assert (code, f"withdrawn: {WHY}" in out) == (Exit.UNSAFE, True)
    into = site / "mine"
    code, out, err = said(capsys, "releases", "read", config, "--into", into, "--all")
    assert (code, name in out, f"{name} was withdrawn: {WHY}" in err) == (Exit.OK, False, True)
    assert sorted(path.name for path in into.iterdir()) == sorted({*names(site)} - {name})
    audits = site / "audits"
    command = ("releases", "read", config, "--into", audits, "--all", "--withdrawn")
    assert said(capsys, *command)[0] == Exit.OK
    with pytest.raises(Withdrawn, match=WHY):
        ktsafe.read(audits / name)
    marker = json.loads((folder / WITHDRAWN).read_text())
    schema = json.loads((ROOT / "docs/schemas/withdrawal.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(marker)
    assert marker["why"] == WHY
    copy = site / "state" / "audit" / name / WITHDRAWN
    assert noted(copy.parent) == (folder / WITHDRAWN).read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_what_is_withdrawn_while_releases_are_followed_is_removed_again(site, capsys, monkeypatch):
    """Its reader has had it, is told, and has it no more."""
    name, into = names(site)[1], site / "mine"
    read = FileReleaseReader.read

    def reading(self, folder, *, follow):
        assert follow
        yield from read(self, folder)
        assert (into / name).is_dir()
        said(capsys, "releases", "withdraw", name, site / "ktsafe.toml", "--why", WHY, "--yes")
        yield next(b for b in read(self, folder) if b.is_withdrawn())

    monkeypatch.setattr(FileReleaseReader, "read", reading)
    code, _, err = said(
        capsys, "releases", "read", site / "ktsafe.toml", "--into", into, "--follow"
    )
    assert (code, f"{name} was withdrawn: {WHY}" in err) == (Exit.OK, True)
    assert sorted(path.name for path in into.iterdir()) == sorted({*names(site)} - {name})


def test_the_latest_release_is_refused_once_withdrawn(site, capsys):
    """`releases read` gives none in its place, unless it is asked for what was withdrawn."""
    config, last = site / "ktsafe.toml", names(site)[-1]
    assert said(capsys, "releases", "withdraw", last, config, "--why", WHY, "--yes")[0] == Exit.OK
    read = ("releases", "read", config, "--into", site / "mine")
    code, out, err = said(capsys, *read)
    assert (code, out) == (Exit.UNSAFE, "")
    assert f"{last} was withdrawn: {WHY}" in err
    assert not list((site / "mine").iterdir())
    code, out, err = said(capsys, *read, "--withdrawn")
    assert (code, last in out) == (Exit.OK, True)


def test_a_release_whose_audit_was_let_go_is_known_by_its_sink(site, capsys):
    """It is withdrawn as any other; the folder comes back for that."""
    name, config = names(site)[0], site / "ktsafe.toml"
    audit = site / "state" / "audit" / name
    audit.rmdir()
    assert said(capsys, "releases", "withdraw", name, config, "--why", WHY, "--yes")[0] == Exit.OK
    assert [path.name for path in audit.iterdir()] == [WITHDRAWN]
    assert stat.S_IMODE(audit.stat().st_mode) == 0o700


@pytest.mark.parametrize("gone", [{0, 1}, {0, 2}, {1, 2}, {0, 1, 2}])
def test_each_of_several_withdrawn_releases_is_refused(site, capsys, gone):
    """And no other: by verifying and by reading all, and whoever reads them is told of each."""
    config, into, all_of_them = site / "ktsafe.toml", site / "mine", names(site)
    lost = [all_of_them[i] for i in sorted(gone)]
    for name in lost:
        command = ("releases", "withdraw", name, config, "--why", f"Of {name}.", "--yes")
        assert said(capsys, *command)[0] == Exit.OK
    code, out, _ = said(capsys, "verify", site / "releases")
    assert code == Exit.UNSAFE
    assert re.findall(r"withdrawn: Of (\S+)\.", out) == lost
    code, _, err = said(capsys, "releases", "read", config, "--into", into, "--all")
    assert code == Exit.OK
    assert re.findall(r"(\S+) was withdrawn: Of \1\.", err) == lost
    assert sorted(path.name for path in into.iterdir()) == sorted({*all_of_them} - {*lost})


@pytest.mark.parametrize(
    "arguments",
    [
        ("withdraw", "../../state", "CONFIG", "--why", "x", "--yes"),
        ("withdraw", "ID", "CONFIG", "--why", " ", "--yes"),
        ("withdraw", "000009-19700109T000000Z", "CONFIG", "--why", "x", "--yes"),
    ],
)
def test_what_cannot_be_is_refused(site, capsys, arguments):
    """Unknown releases, no reason: nothing is written."""
    places = {"ID": names(site)[0], "CONFIG": site / "ktsafe.toml"}
    assert said(capsys, "releases", *(places.get(a, a) for a in arguments))[0] == Exit.USAGE
    assert not list(site.rglob(WITHDRAWN))
