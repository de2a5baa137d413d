"""Build the documentation site: `python ops/site/build.py build/site`.

Pages lie in the repository where their links work, above and beside `docs`. mkdocs wants them in
one folder, so they are copied into one, with the same paths.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("*.md", "docs/**/*", "lab/*.md", "lab/results/**/*", "ops/*.md", "ops/adr/**/*.md")


def main() -> int:
    """Build the site into the folder that is named; a warning fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with TemporaryDirectory() as folder:
        for page in (page for pattern in PAGES for page in ROOT.glob(pattern) if page.is_file()):
            target = Path(folder) / page.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
        environment = {
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "KTSAFE_PAGES": folder,
            "KTSAFE_FOOTER": f"ktsafe {project['version']}, {project['license']}",
        }
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
        command += ["--config-file", str(ROOT / "ops/site/mkdocs.yml")]
        command += ["--site-dir", str(Path(sys.argv[1]).resolve())]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
