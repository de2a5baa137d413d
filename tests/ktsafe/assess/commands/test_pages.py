"""Commands of the guide's pages work as they stand, on a small network."""

from __future__ import annotations

import random
import re
import secrets
import shlex
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit

DOCS = Path(__file__).parents[4] / "docs"
SCHEMA = """\
[attributes]
quasi_identifiers = ["gender", "age_band"]
sensitive = "health"
sensitive_values = ["cancer", "depression", "hiv"]
expect_absent = ["cancer", "depression", "hiv"]
"""


def test_every_command_for_owners_and_readers_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line is typed, one after the other, beside the files that it names.

    Secrets are drawn from a seed: now and then a small release is refused for its cost.
    """
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(1)
    monkeypatch.setattr(secrets, "token_bytes", lambda n=32: drawn.randbytes(n))
    monkeypatch.setattr(secrets, "randbits", drawn.getrandbits)
    assert run_command(["demo", "--people", "300", "--days", "1", "--port", "0"]) == Exit.OK
    Path("var/demo/vertices.csv").rename("people.csv")
    Path("var/demo/edges.csv").rename("ties.csv")
    Path("schema.toml").write_text(SCHEMA)
    Path("releases").symlink_to("var/releases")  # What an owner hands out.
    pages = [(DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("owners", "readers")]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", "\n".join(pages), re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    assert len(lines) >= 4
    for line in lines:
        program, *words = shlex.split(line, comments=True)
        assert program == "ktsafe"
        assert run_command(words) == Exit.OK, line
