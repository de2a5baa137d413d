"""Numpy alone reads releases; all else names what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ktsafe.reader.published import imported

WITHOUT_NUMBA = """
import importlib.metadata as metadata
found = metadata.version
def version(name):
    if name == "numba":
        raise metadata.PackageNotFoundError(name)
    return found(name)
metadata.version = version
import ktsafe.stream.cli
"""


def test_the_command_names_what_it_needs() -> None:
    """It ends with the code of wrong usage, which is no verdict, and without a traceback."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("ktsafe: numba is not installed.")
    assert "pip install ktsafe" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_that_is_missing_is_named() -> None:
    """With the line that installs it."""
    with pytest.raises(ModuleNotFoundError, match="pip install no_such_package"):
        imported("no_such_package.data")
    assert imported("json").loads("1") == 1
