"""Tests run the kernels of this very source: see `ktsafe.stream.process.kernel_cache`."""

from __future__ import annotations

from ktsafe.stream.process.kernel_cache import settle_cache

settle_cache()
