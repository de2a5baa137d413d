"""Variables that change how libraries work: what does not go with the program is told by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
VARIABLES = ["NUMBA_DISABLE_JIT", "PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir"]
CODE = """
import ktsafe.stream.cli, numba, prometheus_client.values, os
print(numba.config.DISABLE_JIT, prometheus_client.values.ValueClass.__name__, len(os.listdir()))
"""


def run(command, folder, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("value", ["1", "elsewhere"])
def test_the_command_ignores_them_and_says_so(tmp_path, value):
    """Neither is there a crash, nor a figure in a file."""
    variables = dict.fromkeys(VARIABLES, value)
    done = run([BIN / "ktsafe", "config"], tmp_path, **variables)
    assert done.returncode == 0
    assert [name for name in VARIABLES if f"ktsafe: {name} is ignored" in done.stderr] == VARIABLES
    done = run([sys.executable, "-c", CODE], tmp_path, **variables)
    assert done.stdout.split() == ["0", "MutexValue", "0"], done.stderr


def test_nothing_is_said_where_none_is_set(tmp_path):
    """Nor of a compiler that is asked for."""
    done = run([BIN / "ktsafe", "config"], tmp_path, NUMBA_DISABLE_JIT="0")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_library_names_what_it_cannot_do_without(tmp_path):
    """A process that has the compiler turned off gets an error with the name of the variable."""
    code = "import ktsafe\ntry: ktsafe.protect\nexcept ktsafe.InvalidParams as error: print(error)"
    done = run([sys.executable, "-c", code], tmp_path, NUMBA_DISABLE_JIT="1")
    assert done.stdout.startswith("NUMBA_DISABLE_JIT is set"), done.stderr
