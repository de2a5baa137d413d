"""Paths in a configuration that no path can be, as the fuzzer found them."""

import pytest

from ktsafe.stream.config import settings
from ktsafe.stream.errors import ConfigError

CONFIG = """
[source]
kind = "files"
paths = ["feed.jsonl"]
[sink]
kind = "files"
folder = {folder}
[dead_letters]
kind = "files"
path = "dead.jsonl"
[state]
folder = "state"
[release]
min_f1 = 0.0
every = "1d"
"""
ATTRIBUTES = """
[attributes]
quasi_identifiers = ["gender"]
sensitive = "health"
sensitive_values = ["ill"]
"""


@pytest.mark.parametrize("folder", [r'"a\u0000b"', '"~nobody-of-this-name/x"'])
def test_a_folder_that_cannot_be_is_refused(tmp_path, folder):
    """A null character, or a home of nobody, is an error of the configuration."""
    path = tmp_path / "ktsafe.toml"
    path.write_text(CONFIG.format(folder=folder) + ATTRIBUTES)
    with pytest.raises(ConfigError, match="cannot be a path"):
        settings.load(path)


def test_a_schema_file_that_cannot_be_is_refused(tmp_path):
    """The same for the schema's file, which is read at once."""
    path = tmp_path / "ktsafe.toml"
    path.write_text('schema_file = "a\\u0000b"\n' + CONFIG.format(folder='"releases"'))
    with pytest.raises(ConfigError, match="cannot be a path"):
        settings.load(path)
