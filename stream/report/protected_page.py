"""The report of what `ktsafe.protect` returned."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ktsafe.protection import Protected
from ktsafe.stream.evaluation.measuring import measured
from ktsafe.stream.files.releases_write import ReleaseHeader
from ktsafe.stream.files.single_release import written_and_verified
from ktsafe.stream.report.content import ReleaseWithFigures, content
from ktsafe.stream.report.page import page
from ktsafe.stream.report.writing import now


def page_of(protected: Protected) -> str:
    """Return the page: see `Protected.to_html`."""
    told, made = protected.provenance.told, protected.provenance.made
    with tempfile.TemporaryDirectory() as room:
        header = ReleaseHeader("release", "single", None, protected.params, values=made.values)
        release, _, _ = written_and_verified(Path(room) / "release", made, header, shown=True)
    figures = measured(protected.audit(), told, made.graph, made.origin, protected.params)
    return page(content([ReleaseWithFigures(release.manifest, figures)], now()))
