"""`ktsafe verify` with chains, keys and withdrawn releases; the keys that a service signs with."""

import json
import shutil
import sys
import types

import pytest

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.secrets import FileSigner
from ktsafe.stream.cli import run_command
from ktsafe.stream.config import settings as configuration
from ktsafe.stream.config.connector_kinds import SigningTable
from ktsafe.stream.errors import ConfigError, Exit
from tests import sealed
from tests.stream.config.test_config import MINIMAL


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    sealed.sealed_releases(folder / "releases", 4, sealed.signer(folder))
    return folder


@pytest.fixture
def releases(made, tmp_path):
    shutil.copytree(made / "releases", tmp_path / "releases")
    return sorted((tmp_path / "releases").iterdir())


def verify(capsys, *arguments):
    code = run_command(["verify", *map(str, arguments)])
    return code, capsys.readouterr().out


def test_what_the_owner_signed_is_told_so(made, releases, capsys):
    """With the key, without it, and in JSON."""
    key = sealed.key_files(made)[1]
    code, said = verify(capsys, releases[0].parent, "--key", key)
    assert code == Exit.OK
    assert said.count("signature: valid") == 4
    code, said = verify(capsys, releases[0].parent)
    assert code == Exit.OK
    assert "signature: not checked, 3 releases before it" in said
    code, said = verify(capsys, releases[3], "--key", key, "--json")
    (report,) = json.loads(said)
    assert (report["signature"], report["published_before"], report["problems"]) == ("valid", 3, [])
    assert report["as_stated"] is True


def test_a_gap_another_key_and_another_verdict_are_told(made, releases, tmp_path, capsys):
    """Each ends with 1 and a line that says what is wrong."""
    key = sealed.key_files(made)[1]
    code, said = verify(capsys, releases[1], "--key", sealed.key_files(tmp_path, 2)[1])
    assert (code, "NOT as published: it is signed by another key" in said) == (Exit.UNSAFE, True)
    path = releases[3] / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["seal"]["verdict"]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest))
    code, said = verify(capsys, releases[3])
    assert (code, "the manifest states another verdict" in said) == (Exit.UNSAFE, True)
    code, said = verify(capsys, releases[3], "--key", key)
    assert (code, "signature does not fit" in said) == (Exit.UNSAFE, True)
    shutil.rmtree(releases[1])
    code, said = verify(capsys, releases[0].parent)
    assert (code, "1 releases between 000001" in said) == (Exit.UNSAFE, True)


def test_a_withdrawn_release_is_not_judged(releases, capsys):
    """The others are; audits judge it all the same."""
    (releases[1] / "withdrawn.json").write_text(json.dumps({"why": "A wrong column."}))
    code, said = verify(capsys, releases[0].parent)
    assert code == Exit.UNSAFE
    assert "withdrawn: A wrong column." in said
    assert said.count("kt-safe (") == 3
    code, said = verify(capsys, releases[0].parent, "--withdrawn")
    assert (code, said.count("kt-safe (")) == (Exit.OK, 4)


def test_the_page_is_written_once(tmp_path, capsys):
    """By itself or beside a verdict; an existing file stays as it is."""
    assert verify(capsys, "--page", tmp_path / "page.html")[0] == Exit.OK
    assert "Content-Security-Policy" in (tmp_path / "page.html").read_text()
    assert verify(capsys, "--page", tmp_path / "page.html")[0] == Exit.USAGE
    assert verify(capsys)[0] == Exit.USAGE


def test_a_key_that_others_can_read_or_that_is_none_is_refused(tmp_path):
    """It signs nothing, and its bytes are not in the message."""
    private, public = sealed.key_files(tmp_path)
    FileSigner(private).sign(b"x")
    public.chmod(0o600)
    with pytest.raises(Misconfigured, match="no Ed25519 private key"):
        FileSigner(public)
    private.chmod(0o644)
    with pytest.raises(Misconfigured, match="chmod 600"):
        FileSigner(private)
    with pytest.raises(Misconfigured, match="cannot be read"):
        FileSigner(tmp_path / "none")


class KeyService(SigningTable, frozen=True, tag="service"):
    """A kind of an installed package: a key that never leaves its service."""

    name: str

    def place(self, site):
        return self.name

    def signer(self, site):
        return sealed.signer(site.base)


def test_keys_come_from_files_or_from_kinds_of_other_packages(tmp_path, monkeypatch):
    """`[signing]` is read as the connectors' tables are; without it nothing signs."""
    module = types.ModuleType("key_service")
    module.KeyService = KeyService
    monkeypatch.setitem(sys.modules, "key_service", module)
    there = tmp_path / "site" / "key_service-1.0.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text("Metadata-Version: 2.1\nName: key-service\nVersion: 1.0\n")
    points = "[ktsafe.signers]\nservice = key_service:KeyService\n"
    (there / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert configuration.check(MINIMAL, tmp_path, "x").config.signing is None
    private, _ = sealed.key_files(tmp_path)
    for table in ({"kind": "file", "key_file": private.name}, {"kind": "service", "name": "a"}):
        found = configuration.check(MINIMAL | {"signing": table}, tmp_path, "x")
        signer = found.config.signing.signer(found.site)
        assert signer.sign(b"x") == FileSigner(private).sign(b"x")
    with pytest.raises(ConfigError, match="key"):
        configuration.check(MINIMAL | {"signing": {"kind": "file", "key": "x"}}, tmp_path, "x")
