"""What the service keeps is its owner's only, whatever it is allowed to create."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

from ktsafe.stream.errors import Exit
from tests import running, services


def ktsafe(*arguments: object) -> None:
    """Run a command of the program as a user whose umask lets everybody in."""
    command = [sys.executable, "-m", "ktsafe.stream.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0)
    assert done.returncode == Exit.OK, done.stderr


def modes(folder: Path) -> dict[str, int]:
    """Return the mode of everything below a folder, and its own."""
    found = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in found}


def assert_private(folder: Path) -> None:
    """Folders 0700, files 0600."""
    found = modes(folder)
    assert len(found) > 1
    for name, mode in found.items():
        expected = 0o700 if (folder / name).is_dir() else 0o600
        assert mode == expected, f"{name}: {mode:o}"


def test_a_run_leaves_nothing_that_others_can_read(tmp_path: Path) -> None:
    """State, audits, dead letters and a backup are private; releases are open in a private folder.

    The store's own files are written by a library that asks for 0644.
    """
    feed = [*services.small_feed(people=60), {"type": "nonsense"}]
    site = running.files_site(tmp_path / "site", [feed], services.ATTRIBUTES, "month")
    letters = site.folder / "letters" / "dead.jsonl"
    text = site.config.read_text()
    site.config.write_text(text.replace("dead-letters.jsonl", "letters/dead.jsonl"))
    ktsafe("run", site.config, "--drain")
    assert_private(site.folder / "state")
    assert_private(letters.parent)
    assert len(list((site.folder / "state").rglob("audit.json"))) >= 3
    assert len(list((site.folder / "state").rglob("*.sst"))) >= 1
    ktsafe("state", "backup", site.config, tmp_path / "backup")
    assert_private(tmp_path / "backup")
    releases = modes(site.folder / "releases")
    assert releases.pop(".") == 0o700
    assert releases.pop(".lock") == 0o600
    assert {0o755, 0o644} == set(releases.values())


def test_commands_on_files_leave_nothing_that_others_can_read(tmp_path: Path) -> None:
    """Release and audit of `ktsafe anonymize`."""
    given = tmp_path / "given"
    given.mkdir()
    people = "".join(f"p{n},g{n % 2},{'x' if n % 9 == 0 else 'y'}\n" for n in range(40))
    (given / "vertices.csv").write_text("id,group,illness\n" + people)
    ties = "".join(f"p{n},p{(n * 7 + 1) % 40}\n" for n in range(40))
    (given / "edges.csv").write_text("source,target\n" + ties)
    (given / "schema.toml").write_text(
        "[attributes]\nquasi_identifiers = ['group']\nsensitive = 'illness'\n"
        "sensitive_values = ['x']\n"
    )
    graph = [
        f"--vertices={given / 'vertices.csv'}",
        f"--edges={given / 'edges.csv'}",
        f"--schema={given / 'schema.toml'}",
    ]
    made = tmp_path / "made"
    made.mkdir(mode=0o700)
    ktsafe("anonymize", *graph, f"--out={made / 'r'}", f"--audit={made / 'a'}", "--k=4")
    assert_private(made)
