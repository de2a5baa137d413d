"""The report of what `ktsafe.protect` returned."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ktsafe import Anonymized, AttributedGraph, PrivacyParams
from ktsafe.assess.releases.measuring import measured
from ktsafe.assess.report.content import ReleaseWithFigures, content
from ktsafe.assess.report.page import page
from ktsafe.audit.model import Audit
from ktsafe.stream.files.new_files import now
from ktsafe.stream.files.releases_write import ReleaseHeader
from ktsafe.stream.files.single_release import written_and_verified


def page_of(
    told: AttributedGraph, made: Anonymized, params: PrivacyParams, audit: Mapping[str, Any]
) -> str:
    """Return the page: see `Protected.to_html`."""
    with tempfile.TemporaryDirectory() as room:
        header = ReleaseHeader("release", "single", None, params, values=made.values)
        release, _, _ = written_and_verified(Path(room) / "release", made, header, shown=True)
    figures = measured(audit, told, made.graph, made.origin, params)
    return page(content([ReleaseWithFigures(release.manifest, Audit.of(figures))], now()))
