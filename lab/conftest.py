"""Tests of the laboratory run as all others do."""

from tests import conftest  # noqa: F401 -- its import settles how
