"""Commands load what they need: lists and checks wait neither for the compiler nor for Kafka."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ktsafe.stream import command_registry
from ktsafe.stream.command_registry import ASSESS, HERE, PLACES

ROOT = Path(__file__).parents[3]
HEAVY = {
    "kafka",
    "llvmlite",
    "networkx",
    "numba",
    "numpy",
    "prometheus_client",
    "pyarrow",
    "rocksdict",
    "scipy",
}
RUN = f"""
import sys
from ktsafe.stream import cli
sys.stdout = sys.stderr
code = cli.run_command(sys.argv[1:])
sys.stdout = sys.__stdout__
print(code, *sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))
"""


def loaded(*arguments: str) -> tuple[int, set[str]]:
    """Return the exit code of a command line, and what it loaded of the heavy packages."""
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    code, *names = done.stdout.split()
    return int(code), set(names)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["verify", "--help"], ["nothing"]]
)
def test_help_loads_nothing(arguments: list[str]) -> None:
    """Neither the list of commands nor a word that is no command loads a heavy package."""
    code, names = loaded(*arguments)
    assert code == (2 if arguments == ["nothing"] else 0)
    assert names == set()


def test_a_configuration_is_checked_without_compiler_and_kafka(tmp_path: Path) -> None:
    """It needs the schema of a graph, and nothing that makes, keeps or sends one."""
    (tmp_path / "ktsafe.toml").write_text((ROOT / "stream" / "example.toml").read_text())
    code, names = loaded("config", str(tmp_path / "ktsafe.toml"))
    assert code == 0
    assert names <= {"numpy"}


def test_releases_are_read_without_compiler_and_kafka(tmp_path: Path) -> None:
    """A folder without releases is refused before anything heavy is there."""
    code, names = loaded("releases", "read", str(tmp_path))
    assert code == 2
    assert names <= {"numpy"}


def test_the_service_loads_no_library_of_statistics() -> None:
    """It takes a second to load, and nothing that the service runs needs it."""
    code = "import sys, ktsafe.stream.service.assembly; print('scipy.stats' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]


def test_the_list_says_what_the_commands_say() -> None:
    """The summaries of the list are the first sentences of the commands."""
    for name, place in PLACES.items():
        found = getattr(import_module(f"{place.package}.{place.module}"), place.name)
        said = (
            found.info.help
            if hasattr(found, "info")
            else command_registry.first_sentence(found.__doc__)
        )
        assert command_registry.summary_at(place) == said, name


def test_every_command_module_is_in_the_list() -> None:
    """Nothing that is a command is left out; `hooks` holds what the core calls."""
    modules = {
        (package, path.stem)
        for package, folder in ((HERE, "stream/commands"), (ASSESS, "ktsafe/assess/commands"))
        for path in (ROOT / folder).glob("*.py")
        if path.stem not in ("__init__", "hooks")
    }
    assert modules == {(place.package, place.module) for place in PLACES.values()}
