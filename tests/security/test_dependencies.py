"""Dependencies have exact versions; the audit of them fails on a finding and on nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import pytest

from ktsafe.assess.utility import as_networkit
from ktsafe.errors import InvalidParams
from ktsafe.stream.files.release_tables import ParquetMissing, table_bytes
from tests.graphs import attributed
from tests.naive import Small

ROOT = Path(__file__).parents[2]


def pinned(name: str) -> dict[str, list[str]]:
    """Return the lines of hashes behind each exact version in a file of constraints."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split("--hash=") for line in text.splitlines() if not line.startswith("#")]
    return {pin.strip(): [digest.strip() for digest in hashes] for pin, *hashes in lines}


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("constraints.txt", 40),
        ("constraints-run.txt", 20),
        ("constraints-lowest.txt", 20),
        ("constraints-uv.txt", 1),
    ],
)
def test_every_constraint_is_one_exact_version_with_its_hashes(name: str, least: int) -> None:
    """No range, no path, no address, no package twice, and no bytes but those that were seen."""
    pins = pinned(name)
    assert len(pins) >= least
    # An exact version may begin with an epoch (PEP 440): "1!2.0".
    exact = re.compile(r"([\w.-]+)==(\d+!)?[\w.]+( ; [\w\s.\"'=<>()]+)?")
    assert [pin for pin in pins if not exact.fullmatch(pin)] == []
    names = [re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() for pin in pins]
    assert len(set(names)) == len(names)
    hashes = [digest for found in pins.values() for digest in found]
    assert all(pins.values())
    assert [digest for digest in hashes if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest)] == []


def test_a_service_runs_on_what_its_tests_ran_on() -> None:
    """What a service needs has the version and the hashes that development has."""
    everything, some = pinned("constraints.txt"), pinned("constraints-run.txt")
    assert {pin: everything.get(pin) for pin in some} == some
    assert not any(pin.startswith(("pytest", "mypy", "atheris")) for pin in some)


def test_the_lowest_versions_are_those_that_are_declared() -> None:
    """What the checks run is the least that a package manager may install."""
    pins = dict(pin.split("==") for pin in pinned("constraints-lowest.txt"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["service"], *extras["parquet"]]
    assert len(declared) > 12
    for requirement in declared:
        found = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
        assert found is not None, requirement
        name, least = found.groups()
        assert f"{pins[name]}.".startswith(f"{least}."), requirement
    assert "constraints-lowest.txt" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_nothing_is_fetched_without_its_hash() -> None:
    """Neither `make run`, nor CI, nor the image installs by name alone (pip-tools apart)."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", ".ci/run")]
    installs = [line for text in texts for line in text.splitlines() if "pip install" in line]
    assert len(installs) >= 5
    vouched = ("--require-hashes", "--no-deps", "pip-tools==")
    assert [line for line in installs if not any(word in line for word in vouched)] == []


def report(*flaws: str, skipped: bool = False, known: bool = False) -> dict[str, Any]:
    """Return a report as pip-audit writes it."""
    vulns = [{"id": flaw, "fix_versions": ["2.0"], "aliases": []} for flaw in flaws]
    sound = {"name": "sound", "version": "1.0", "vulns": []}
    other = {"name": "other", "version": "1.0", "vulns": vulns}
    unknown = {"name": "private", "skip_reason": "not found"}
    found = [sound, other] if known else [sound, other, unknown]
    return {"dependencies": [unknown] if skipped else found, "fixes": []}


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        (None, 75, "NOT audited: the advisory service cannot be reached"),
        (report(), 75, "2 of 3 dependencies audited, 0 vulnerabilities"),
        (report(known=True), 0, "2 of 2 dependencies audited, 0 vulnerabilities"),
        (report("PYSEC-1"), 1, "other 1.0: PYSEC-1, fixed in 2.0"),
        (report(skipped=True), 75, "NOT audited: the service answers, but knows none"),
    ],
)
def test_the_audit_passes_only_what_was_looked_up(
    tmp_path: Path, found: dict[str, Any] | None, code: int, words: str
) -> None:
    """A finding fails; what could not be looked up is no pass, and has a code of its own."""
    if found is not None:
        (tmp_path / "report.json").write_text(json.dumps(found))
    # A python3 whose new environments hold a pip and a pip-audit that do as the test says.
    audit = (
        f'#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\ncp {tmp_path}/report.json "$2"\n'
    )
    (tmp_path / "audit").write_text(audit)
    (tmp_path / "python3").write_text(
        f'#!/bin/sh\nif [ "$1" != -m ]; then exec {sys.executable} "$@"; fi\n'
        f'mkdir -p "$3/bin"\ncp {tmp_path}/audit "$3/bin/pip-audit"\n'
        'printf "#!/bin/sh\\n" > "$3/bin/pip"\nchmod +x "$3/bin/pip" "$3/bin/pip-audit"\n'
    )
    (tmp_path / "python3").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / ".ci/audit"], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr


WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from ktsafe.stream import cli
sys.exit(cli.run_command(sys.argv[2:]))
"""
SERVICE = "kafka,crc32c,lz4,prometheus_client,rocksdict"


def run_without(packages: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a process that finds none of these packages."""
    example = (ROOT / "stream/example.toml").read_text(encoding="utf-8")
    (folder / "ktsafe.toml").write_text(example)
    command = [sys.executable, "-c", WITHOUT, packages, *arguments]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=path, capture_output=True, text=True, check=False
    )


def test_packages_of_the_tests_are_optional(tmp_path: Path) -> None:
    """Without them the program runs."""
    done = run_without("pyarrow,jsonschema,yaml", tmp_path, "config", "ktsafe.toml")
    assert done.returncode == 0, done.stderr


def test_parquet_names_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where pyarrow is missing, asking for Parquet says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParquetMissing, match=r"pip install 'ktsafe\[parquet\]'"):
        table_bytes(["id"], [["a"]])


def test_nothing_that_is_installed_is_under_the_gpl() -> None:
    """Of what a service installs only crc32c is copyleft, under the LGPL; classifiers say so."""
    copyleft = set()
    for pin in pinned("constraints-run.txt"):
        name = pin.partition("==")[0]
        try:
            about = metadata(name)
        except PackageNotFoundError:  # Of Windows, say.
            continue
        # The text of a licence may name others, of libraries that are linked.
        told = [about.get("License-Expression", ""), *about.get_all("Classifier", [])]
        if any(re.search(r"\bL?GPL|General Public", text) for text in told):
            copyleft.add(name)
    assert copyleft <= {"crc32c"}


def test_figures_of_structure_name_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where networkit is missing, counting a graph says what to install."""
    monkeypatch.setitem(sys.modules, "networkit", None)
    with pytest.raises(InvalidParams) as told:
        as_networkit(attributed(Small([(1,)], [False], [])))
    assert 'pip install "ktsafe[assess]"' in str(told.value.hint)


@pytest.mark.parametrize(
    "line", ["demo", "anonymize --edges ktsafe.toml --out r --audit a --report page.html"]
)
def test_what_measures_worth_names_its_extra_first(tmp_path: Path, line: str) -> None:
    """Where networkit is missing, commands say so before they make anything."""
    done = run_without("networkit", tmp_path, *line.split())
    assert done.returncode == 2
    assert 'pip install "ktsafe[assess]"' in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"ktsafe.toml"}


@pytest.mark.parametrize("line", ["run ktsafe.toml", "demo", "config ktsafe.toml --topics"])
def test_the_service_names_its_extra(tmp_path: Path, line: str) -> None:
    """Where the library is alone, the service says what to install and begins nothing."""
    done = run_without(SERVICE, tmp_path, *line.split())
    assert done.returncode == 2
    assert "pip install 'ktsafe[service]'" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"ktsafe.toml"}


def test_the_library_needs_no_service(tmp_path: Path) -> None:
    """A release is made and verified by packages that come with `pip install ktsafe` alone."""
    script = ROOT / "tests/library_alone.py"
    code = f"import sys\nsys.modules |= dict.fromkeys({SERVICE!r}.split(','))\n"
    done = subprocess.run(
        [sys.executable, "-c", code + script.read_text(encoding="utf-8")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
