"""Tests run the kernels of this very source: see `ktsafe.compiled_kernels.kernel_cache`."""

from __future__ import annotations

from ktsafe.compiled_kernels.kernel_cache import choose_kernel_folder

choose_kernel_folder()
