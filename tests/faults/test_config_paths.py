"""Paths in a configuration that no path can be, as the fuzzer found them."""

import pytest

from ktsafe.stream.config import settings
from ktsafe.stream.errors import ConfigError
from tests.configurations import CONFIG


@pytest.mark.parametrize("folder", [r'"a\u0000b"', '"~nobody-of-this-name/x"'])
def test_a_folder_that_cannot_be_is_refused(tmp_path, folder):
    """A null character, or a home of nobody, is an error of the configuration."""
    path = tmp_path / "ktsafe.toml"
    path.write_text(CONFIG.replace('"releases"', folder))
    with pytest.raises(ConfigError, match="cannot be a path"):
        settings.load(path)
