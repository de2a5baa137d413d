"""Which packages there are: pyproject.toml has all the rest.

The folders `stream`, `state` and `connectors` stand at the top of the repository and are installed
inside of `ktsafe`, the only name that this distribution takes. Setuptools cannot find the packages
of such a layout by itself.
"""

from setuptools import find_packages, setup

INSIDE = ("connectors", "state", "stream")
"""Folders of the repository whose packages are installed as `ktsafe.<folder>`."""

setup(
    packages=[
        *find_packages(include=["ktsafe", "ktsafe.*"]),
        *(f"ktsafe.{name}" for top in INSIDE for name in find_packages(include=[top, f"{top}.*"])),
    ],
    package_dir={f"ktsafe.{top}": top for top in INSIDE},
)
