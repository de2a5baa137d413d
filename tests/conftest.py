"""Tests run the kernels of this very source: see `stream.process.kernels`."""

from __future__ import annotations

from stream.process.kernels import settle_cache

settle_cache()
