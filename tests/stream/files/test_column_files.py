"""Insensitive columns in files: written beside a release, read, judged, and refused elsewhere."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from ktsafe import KtsafeError, NotKTSafe
from ktsafe.stream.cli import run_command
from ktsafe.stream.config.settings import check
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.certificates import verified
from ktsafe.stream.files.releases_read import ReleaseUnreadable, read_release
from tests.stream.config.test_config import MINIMAL
from tests.test_schemas import schema

SCHEMA = """[attributes]
quasi_identifiers = ["club"]
sensitive = "health"
sensitive_values = ["chronic"]
insensitive = ["shoe", "pet"]
edge_columns = ["weight", "kind"]
"""
K = 4


@pytest.fixture
def release(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the release that a test may change."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "release"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release 48 people in two clubs, with two columns of people and two of ties."""
    tmp_path = tmp_path_factory.mktemp("columns")
    rows = [
        f"p{i},{'red' if i % 2 else 'blue'},{'chronic' if i % 11 == 0 else 'well'},"
        f"{40 + i % 3},{'cat' if i % 5 else 'unicorn' if i == 5 else 'dog'},x"
        for i in range(48)
    ]
    pairs = [(i, (3 * i + step) % 48) for i in range(48) for step in (1, 5)]
    ties = [f"p{u},p{v},{1 + u % 2},{'work' if u % 3 else ''}" for u, v in pairs if u != v]
    (tmp_path / "v.csv").write_text("\n".join(["id,club,health,shoe,pet,more", *rows]) + "\n")
    (tmp_path / "e.csv").write_text("\n".join(["source,target,weight,kind", *ties]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    assert run_command(["anonymize", *options(tmp_path)]) == 0
    return tmp_path


def options(folder: Path) -> list[str]:
    named = {"vertices": "v.csv", "edges": "e.csv", "schema": "schema.toml"}
    files = [f"--{option}={folder / name}" for option, name in named.items()]
    places = [f"--out={folder / 'release'}", f"--audit={folder / 'private'}"]
    return [*files, *places, f"--k={K}", "--seed=1"]


def rewritten(release: Path, name: str, change: dict[str, str]) -> None:
    """Change words of a file, and put its digest into the manifest."""
    text = (release / name).read_text()
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new, 1)
    (release / name).write_text(text)
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["sha256"][name] = hashlib.sha256(text.encode()).hexdigest()
    (release / "manifest.json").write_text(json.dumps(manifest))


def test_columns_lie_beside_the_tables(release: Path) -> None:
    """Rows are named as those of the tables, values are shared by k rows, others are not there."""
    found = read_release(release)
    manifest = json.loads((release / "manifest.json").read_text())
    schema("release-manifest").validate(manifest)
    with (release / "columns.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "shoe", "pet"]
    assert [row[0] for row in rows[1:]] == found.ids
    assert set(found.insensitive["shoe"]) == {"40", "41", "42"}
    assert set(found.insensitive["pet"]) == {"cat", "dog"}
    assert {"1", "2"} <= set(found.edge_columns["weight"]) <= {"1", "2", "3"}
    assert set(found.edge_columns["kind"]) <= {"work", "-"}
    assert list(found.columns) == ["club", "health"]
    assert verified(found).is_safe
    audit = json.loads((release.parent / "private" / "audit.json").read_text())
    assert [each["is_broken"] for each in audit["known_columns"]] == [False, False]


def test_a_rare_value_does_not_pass(release: Path) -> None:
    """The verifier refuses bytes that show a value of one person, and does not repeat it."""
    rewritten(release, "columns.csv", {",cat\n": ",unicorn\n"})
    with pytest.raises(NotKTSafe, match="pet") as refused:
        verified(read_release(release))
    assert "unicorn" not in str(refused.value)
    assert run_command(["verify", str(release)]) == Exit.UNSAFE


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("columns.csv", {"id,shoe": "id,size"}),
        ("columns.csv", {",cat\n": ",cat,cat\n"}),
        ("edge_columns.csv", {"source,target,weight": "source,target,times"}),
        ("edge_columns.csv", {"\n0": "\n1"}),
    ],
)
def test_files_that_do_not_fit_are_refused(
    release: Path, name: str, change: dict[str, str]
) -> None:
    """Other columns, longer rows and rows of other edges than those of the table."""
    rewritten(release, name, change)
    with pytest.raises(ReleaseUnreadable, match=name):
        read_release(release)


def test_a_manifest_that_does_not_list_the_columns_is_refused(release: Path) -> None:
    """Columns that no manifest names would be published unseen."""
    manifest = json.loads((release / "manifest.json").read_text())
    del manifest["schema"]["insensitive"]
    (release / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ReleaseUnreadable, match=r"columns\.csv"):
        read_release(release)


@pytest.mark.parametrize(
    ("old", "new"), [('"shoe"', '"club"'), ('"shoe"', '"pet"'), ('"weight"', '"target"')]
)
def test_a_column_has_one_role(release: Path, old: str, new: str, capsys) -> None:
    """Names of other columns, or a name twice, are refused."""
    folder = release.parent
    (folder / "schema.toml").write_text(SCHEMA.replace(old, new))
    places = [f"--out={folder / 'r2'}", f"--audit={folder / 'p2'}"]
    assert run_command(["anonymize", *options(folder), *places]) != 0
    assert "two roles" in capsys.readouterr().err


def test_a_sequence_refuses_them(release: Path, tmp_path: Path, capsys) -> None:
    """Service and `ktsafe next` say why, and leave nothing behind."""
    document = MINIMAL | {"schema_file": "schema.toml"}
    del document["attributes"]
    with pytest.raises(KtsafeError, match="single releases") as refused:
        check(document, tmp_path, "c")
    assert "persist" in refused.value.hint
    place = tmp_path / "sequence"
    files = options(release.parent)[:3]
    assert run_command(["next", *files, f"--sequence={place}"]) != 0
    assert "single releases" in capsys.readouterr().err
    assert not place.exists()
