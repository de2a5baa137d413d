"""Tests run the kernels of this very source: see `ktsafe.kernels.kernel_cache`.

No example is timed: the first one may compile a kernel, beside other busy processes.
"""

from __future__ import annotations

from hypothesis import settings

from ktsafe.kernels.kernel_cache import choose_kernel_folder

choose_kernel_folder()
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
