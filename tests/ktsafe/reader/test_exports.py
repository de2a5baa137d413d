"""A release for its readers: README.txt, and descriptions for catalogues."""

import csv
import json
import re
from pathlib import Path

import mlcroissant
import networkx as nx
import pytest
from rocrate.rocrate import ROCrate

from ktsafe import AttributedGraph, PrivacyParams, Schema, read
from ktsafe.reader import Releases, StudiedRelease, exports
from ktsafe.reader.exports import LEANINGS, README, WIDTH, readme
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.releases_write import ReleaseHeader, random_ids, write_release

ROOT = Path(__file__).parents[3]
ABOUT = {"title": "A town", "publisher": "The town", "contact": "data@town.example"}


def released(folder: Path, about: dict[str, str] = ABOUT) -> StudiedRelease:
    """Write a release of twelve people, two of them without an edge, and read it."""
    columns = {"gender": ["f", "m"] * 6, "health": ["ill", "well", "well"] * 4}
    schema = Schema(("gender",), "health", frozenset({"ill"}))
    graph = AttributedGraph.from_columns(schema, columns, [(i, i + 1) for i in range(9)])
    header = ReleaseHeader("one", "single", 1_800_000_000_000_000, PrivacyParams(), about=about)
    write_release(folder, graph, random_ids(12, seed=1), header)
    release = read(folder)
    assert isinstance(release, StudiedRelease)
    return release


def test_readme_follows_from_the_manifest_alone(tmp_path):
    """It tells nothing else, names every file, what leans, and what the owner says."""
    release = released(tmp_path / "one")
    text = (tmp_path / "one" / README).read_text(encoding="utf-8")
    before = {**release.manifest, "sha256": dict(release.manifest["sha256"])}
    del before["sha256"][README]
    assert text == readme(before)
    for told in (*ABOUT.values(), *before["sha256"], *(what for what, _ in LEANINGS)):
        assert told in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= WIDTH


def test_what_the_readme_advises_exists(tmp_path):
    """Every call and option that it names is there to be used."""
    released(tmp_path / "one")
    text = " ".join((tmp_path / "one" / README).read_text(encoding="utf-8").split())
    assert set(re.findall(r"[Rr]eleases?\.(\w+)\(", text)) == {"estimate"}
    for name in re.findall(r"\b(\w+)\(\.\.\.\)", text):
        assert callable(getattr(StudiedRelease if name == "estimate" else Releases, name))
    options = {name for name in re.findall(r"--[a-z]+", text) if name != "--"}
    help_text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert options == {"--latest"}
    assert all(f"`{name}`" in help_text for name in options)


def test_commands_of_the_readme_load_the_release(tmp_path, monkeypatch):
    """Its Python lines run where the release is, and give every vertex."""
    release = released(tmp_path / "one")
    monkeypatch.chdir(tmp_path)
    lines = (tmp_path / "one" / README).read_text(encoding="utf-8").splitlines()
    first = lines.index("How to load it") + 2
    blocks, name = {}, ""
    for line in lines[
        first : lines.index("Take vertices.csv, too: people without an edge are not in edges.csv.")
    ]:
        name = line[:26].strip() or name
        blocks[name] = f"{blocks.get(name, '')}{line[26:]}\n"
    seen = {}
    exec(blocks["Python, with error bars"], seen)  # noqa: S102 -- our own text
    exec(blocks["networkx"], seen)  # noqa: S102 -- our own text
    exec("import networkx\n" + blocks["Gephi"], seen)  # noqa: S102 -- our own text
    assert {*seen["graph"]} == {*nx.read_graphml("graph.graphml")} == {*release.ids.tolist()}
    monkeypatch.chdir(tmp_path / "one")
    exec("import pandas as pd\n" + blocks["pandas"], seen)  # noqa: S102 -- our own text
    assert seen["vertices"]["id"].tolist() == release.ids.tolist()
    assert len(seen["edges"]) == len(release.edges)


@pytest.mark.parametrize("about", [{}, ABOUT])
def test_descriptions_name_every_file_and_column(tmp_path, about):
    """Croissant and RO-Crate name what the manifest does; what the owner says is in both."""
    manifest = released(tmp_path / "one", about).manifest
    described = json.loads(exports.croissant(manifest))
    assert {f["@id"]: f["sha256"] for f in described["distribution"]} == manifest["sha256"]
    columns = {s["name"]: [f["name"] for f in s["field"]] for s in described["recordSet"]}
    assert columns == {"vertices": ["id", "gender", "health"], "edges": ["source", "target"]}
    crate = {each["@id"]: each for each in json.loads(exports.ro_crate(manifest))["@graph"]}
    assert {f["@id"] for f in crate["./"]["hasPart"]} == {"manifest.json", *manifest["sha256"]}
    assert described["datePublished"] == crate["./"]["datePublished"] == "2027-01-15"
    assert (crate.get("#publisher", {}).get("name") == "The town") is bool(about)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("about", [{}, ABOUT])
def test_official_loaders_read_every_row(tmp_path, about):
    """Croissant's checker finds no error, its loader the rows of the tables; a crate has all."""
    release = released(tmp_path / "one", about)
    (tmp_path / "one/croissant.json").write_text(exports.croissant(release.manifest))
    (tmp_path / "one/ro-crate-metadata.json").write_text(exports.ro_crate(release.manifest))
    dataset = mlcroissant.Dataset(tmp_path / "one/croissant.json")
    for table in ("vertices", "edges"):
        rows = csv.DictReader((tmp_path / f"one/{table}.csv").read_text().splitlines())
        assert [
            {name.partition("/")[2]: value.decode() for name, value in record.items()}
            for record in dataset.records(table)
        ] == list(rows)
    crate = ROCrate(tmp_path / "one")
    assert len(crate.data_entities) == 1 + len(release.manifest["sha256"])
    assert crate.root_dataset["name"] == about.get("title", "Anonymized social network one")


def test_the_command_writes_them_beside_a_release(tmp_path):
    """`releases read --also` may name several; the release itself stays as it was published."""
    released(tmp_path / "releases/one")
    into = tmp_path / "into"
    command = ["releases", "read", "--folder", str(tmp_path / "releases"), "--into", str(into)]
    also = ("croissant", "ro-crate")
    assert run_command([*command, *(f"--also={name}" for name in also)]) == Exit.OK
    names = {path.name for path in (into / "one").iterdir()}
    assert names - {path.name for path in (tmp_path / "releases/one").iterdir()} == {
        "croissant.json",
        "ro-crate-metadata.json",
    }
    assert read(into / "one").release_id == "one"
