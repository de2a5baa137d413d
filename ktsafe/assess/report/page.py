"""Pages of a report from folders and templates: private, public, of `protect`.

All text is escaped, and a page loads nothing from anywhere. What audits do not tell stays missing
or is measured by the truth, never guessed; an audit or a truth of another release is refused
(tests/ktsafe/assess/commands/test_report.py).

How pages look may be changed, in the templates. `NOISE`, `COUNT_MIN` and `STEPS` keep the public
edition from telling of single ties: tests/ktsafe/assess/report/test_content.py compares what it
says.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec.structs import replace

from ktsafe import Anonymized, AttributedGraph, PrivacyParams
from ktsafe.assess.releases.attacks import AttackReport
from ktsafe.assess.report import charts
from ktsafe.assess.report.content import Drift, ReleaseWithFigures, SharpestResult, content
from ktsafe.assess.report.words import DRIFT, KINDS, NOT_COVERED
from ktsafe.assess.utility import measured
from ktsafe.audit import ReleaseAudit
from ktsafe.audit.changes_by_age import AGE_MAX, RECENT, ToldFreshness
from ktsafe.audit.release_audit import Size
from ktsafe.errors import InvalidGraph
from ktsafe.reader.exports import LEANINGS
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.audit_model import AttackResult, Attacks, Audit
from ktsafe.stream.files.graphs import read_schema
from ktsafe.stream.files.private_audits import place_of, read_audit, read_declared, read_owners
from ktsafe.stream.files.releases_read import (
    Manifest,
    manifest_sha256,
    read_manifest,
    read_release,
    release_folders,
    why_withdrawn,
)
from ktsafe.stream.files.releases_write import AUDIT, ReleaseHeader
from ktsafe.stream.files.report_texts import now, number, percent, text_of
from ktsafe.stream.files.single_release import written_and_verified
from ktsafe.stream.files.verdict import BROKEN
from ktsafe.stream.release.audits import Truth, traced_of
from ktsafe.stream.release.sequence_report import Sources

_FOLDER: Final = importlib.resources.files("ktsafe.assess.report")
_MARKED: Final = re.compile(r"`([^`]+)`")


def rendered(template: str, /, **context: Any) -> str:
    """Return a page by the name of its template."""
    return environment().get_template(template).render(context)


@functools.cache
def environment() -> Environment:
    """Return what templates are rendered in: filters of figures, and charts."""
    found = Environment(
        loader=FunctionLoader(lambda name: (_FOLDER / "templates" / name).read_text("utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "number": number,
        "percent": percent,
        "prose": _prose,
        "text_of": text_of,
        "drawn": _drawn,
    }
    found.globals |= {
        "charts": charts,
        "style": Markup((_FOLDER / "report.css").read_text("utf-8")),  # noqa: S704 -- ours
    }
    return found


def _prose(text: str) -> Markup:
    """Return a text with `code` marked as in Markdown."""
    return Markup(_MARKED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 -- escaped


def _drawn(chart: ET.Element) -> Markup:
    """Return a chart as HTML.

    The tree escapes its text when it is written.
    """
    return Markup(ET.tostring(chart, encoding="unicode", method="html"))  # noqa: S704 -- escaped


# The private report as one HTML document.
#
# Nothing to load, nothing that runs, made to print.

PRIVATE: Final = (
    "Private: this report tells what is true and what is inserted. It is for the owner of the "
    "network, never for readers of its releases."
)
Keys = list[tuple[str, str]]


def page(content: Mapping[str, Any]) -> str:
    """Return the page of a report, from what `ktsafe.assess.report.content` gives."""
    bands, curve = content["utility"]["degree_bands"], content["safety"]["risk_curve"]
    heads = [] if curve is None else [f"{seeds:.0%} seeds" for seeds in curve.seeds]
    return rendered(
        "report.html",
        content=content,
        private=PRIVATE,
        k=next(row["value"] for row in content["parameters"] if row["name"] == "k"),
        kinds=KINDS,
        broken_kinds=sorted(BROKEN),
        scale_top=_scale_top,
        degree_rows=[
            (charts.band(it.first, it.last), it.original, it.released) for it in bands or ()
        ],
        curve_heads=heads,
        curve_keys=list(zip(charts.SERIES, heads, strict=False)),
        risk_chart=None if curve is None else charts.risk_curve(curve),
        fresh_rows=_freshness(content["freshness"]) if content["freshness"] else [],
        drift=_drift(content["drift"]),
    )


def _scale_top(attacks: Sequence[SharpestResult]) -> float:
    return charts.scale_top([x for it in attacks for x in (it.interval[1], it.promise, it.control)])


def _freshness(found: ToldFreshness) -> list[list[str]]:
    """Return how far the last release follows changes, by age."""
    rows = []
    for age, new in found.ties.items():
        others = [found.ended[age], found.newcomers[age], found.leavers[age]]
        if any(each.count for each in (new, *others)):
            name = f"up to {AGE_MAX}" if age == RECENT else age
            first = [name, number(new.count), percent(new.shown), text_of(new.ratio)]
            rows.append([*first, *(percent(each.shown) for each in others)])
    return rows


def _drift(rows: Sequence[Drift]) -> list[tuple[ET.Element, str, Keys]]:
    """Return how the figures went over the releases.

    Charts with their titles and keys.
    """
    labels = [(row.nominal_time or row.release_id)[:10] for row in rows]
    return [
        (
            charts.lines(
                [(style, [getattr(row, key) for row in rows]) for style, key, _ in lines],
                labels,
                about,
                level=1.0 if title.startswith("Cost") else None,
                percent=title != "Size",
            ),
            title,
            [(style, word) for style, _, word in lines if word],
        )
        for title, about, lines in DRIFT
        if any(getattr(row, key) is not None for row in rows for _, key, _ in lines)
    ]


# The public edition: for readers of a release, what is promised and what noise to expect.
#
# It says three shares, to a tenth, and nothing else that is private. Before they are rounded, noise
# is added to the counts behind them, so the truth of one tie hardly changes what is said. Why
# that may be said at all: see "The public edition of a report" in ops/threat-model.md.

COUNT_MIN: Final = 1_000
"""Of fewer ties or vertices no share is told: a tenth would be few people."""
NOISE: Final = 10.0
"""Scale of the Laplace noise of each count: one tie more or less is a tenth of it."""
STEPS: Final = 10
HOW_TO_READ: Final = (
    "Do not look anybody up. A tie that is shown may be invented, and a true one hidden.",
    "Count over many people. Figures of many are nearer to the truth than figures of a few.",
    (
        "For the number of true ties, multiply those shown by the share of them that is true, and "
        "divide by the share of true ties that are shown. Both differ between groups of people, so "
        "do not do that for the ties between two classes."
    ),
    *(f"{what}: {instead}" for what, instead in LEANINGS),
)


def public_content(
    told: ReleaseWithFigures, *, rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """Return what the public edition says of a release, JSON-ready.

    Parameters
    ----------
    rng:
        Draws the noise; None: unpredictable, as it must be where this is published.
    """
    draws = np.random.default_rng(secrets.randbits(128)) if rng is None else rng
    ties, people = told.audit.usefulness.edges, told.audit.usefulness.vertices
    both = ties.shared + draws.laplace(scale=NOISE)
    true = ties.true + draws.laplace(scale=NOISE)
    persons = people.shared + draws.laplace(scale=NOISE)
    return {
        **told.heading("public"),
        "size": {"vertices": people.released, "edges": ties.released},
        "noise": {
            "shown_ties_true": _tenths(both, ties.released),
            "true_ties_shown": _tenths(both, true),
            "vertices_people": _tenths(persons, people.released),
        },
        "how_to_read": [*HOW_TO_READ, *_not_shown(told.manifest)],
        "not_covered": list(NOT_COVERED),
    }


def _not_shown(manifest: Manifest) -> list[str]:
    """Return how many pairs of classes the manifest lists as dark."""
    if manifest.dark is None or manifest.classes is None:
        return []
    n = len(manifest.classes)
    return [f"Not shown here are {len(manifest.dark):,} of {n * (n + 1) // 2:,} pairs of classes."]


def public_page(content: Mapping[str, Any]) -> str:
    """Return the page of the public edition."""
    noise = content["noise"]
    rows = [
        ("ties shown that are true", _told(noise["shown_ties_true"])),
        ("true ties that are shown", _told(noise["true_ties_shown"])),
        ("vertices that are people", _told(noise["vertices_people"])),
    ]
    return rendered("public.html", content=content, rows=rows)


def _tenths(part: float, whole: float) -> int | None:
    """Return a share in tenths; None where the whole is small."""
    if whole < COUNT_MIN:
        return None
    return round(STEPS * min(max(part / whole, 0.0), 1.0))


def _told(tenths: int | None) -> str:
    if tenths is None:
        return "not told"
    if tenths in {0, STEPS}:
        return "hardly any" if tenths == 0 else "nearly all"
    return f"{tenths} in {STEPS}"


# The report of what `ktsafe.protect` returned.


def page_of(
    told: AttributedGraph, made: Anonymized, params: PrivacyParams, audit: ReleaseAudit
) -> str:
    """Return the page: see `Protected.to_html`."""
    with tempfile.TemporaryDirectory() as room:
        header = ReleaseHeader("release", "single", None, params, values=made.values)
        release, _, _ = written_and_verified(Path(room) / "release", made, header, shown=True)
    figures = measured(Audit.of(audit), told, made.graph, made.origin, params)
    return page(content([ReleaseWithFigures(release.manifest, figures)], now()))


# What a report is made of: manifests, private audits, perhaps the true graph.


def told_of(
    sources: Sources,
    attacks: AttackReport | None = None,
    *,
    seed: int = 0,
    progress: Callable[[str, float], None] = lambda _phase, _done: None,
) -> list[ReleaseWithFigures]:
    """Return the last sequence's releases, in order.

    Parameters
    ----------
    sources:
        The releases and the private audits; with the truth, what the audit of the last release
        does not tell is measured.
    attacks:
        What `ktsafe.assess.releases.attacks.attack_releases` found of these releases; taken
        instead of what audits tell.
    seed:
        The same files and seed give the same figures.

    Raises
    ------
    ConfigError
        If there are no releases, or no private audits.
    ReleaseUnreadable, InvalidGraph
        If files are missing, damaged, or do not fit each other.
    """
    if sources.mapping is None:
        raise ConfigError("A report is made of private audits.", hint="Name them with --map.")
    folders = release_folders(sources.releases)
    if not folders:
        raise ConfigError("There is no release to report of.")
    manifests = [read_manifest(folder) for folder in folders]
    is_kept = [m.sequence_id == manifests[-1].sequence_id for m in manifests]
    kept = list(compress(manifests, is_kept))
    audits = [
        replace(_figures(sources.mapping, manifest), withdrawn=why_withdrawn(folder))
        for manifest, folder in zip(kept, compress(folders, is_kept), strict=True)
    ]
    if attacks is not None:
        audits[-1] = replace(audits[-1], attacks=Attacks(_attacks(attacks, kept[-1]), []))
    if sources.truth is not None:
        audits[-1] = _measured(sources, folders[-1], audits[-1], seed, progress)
    told = list(map(ReleaseWithFigures, kept, audits))
    return [*told[:-1], dataclasses.replace(told[-1], sha256=manifest_sha256(folders[-1]))]


def _figures(folder: Path, manifest: Manifest) -> Audit:
    """Return the private audit of a release, if it is the one."""
    path = place_of(folder, manifest.release_id, AUDIT) / AUDIT
    found = read_audit(path)
    if found.size.released != Size(manifest.vertices, manifest.edges):
        msg = f"{path} is not the audit of {manifest.release_id}: their sizes differ."
        raise InvalidGraph(msg, hint="Name the folder that was written with the release.")
    return found


def _attacks(report: AttackReport, manifest: Manifest) -> list[AttackResult]:
    """Return the results of attacks on a release and on its sequence."""
    parts = [p.results for p in report.releases if p.release_id == manifest.release_id]
    parts += [p.results for p in report.sequences if p.sequence_id == manifest.sequence_id]
    return [result for part in parts for result in part]


def _measured(
    sources: Sources, folder: Path, audit: Audit, seed: int, progress: Callable[[str, float], None]
) -> Audit:
    assert sources.mapping is not None
    assert sources.truth is not None
    progress("reading the truth", 0.0)
    release = read_release(folder)
    name = release.manifest.release_id
    schema = None if sources.schema is None else read_schema(sources.schema)
    true = Truth(sources.truth, schema).of(release.manifest, read_declared(sources.mapping, name))
    traced = traced_of(release, true, read_owners(sources.mapping, name))
    if Size.of(traced.original) != audit.size.original:
        msg = f"The true graph is not the one behind {name}: their sizes differ."
        raise InvalidGraph(msg, hint="Give the graph of the release's nominal time.")
    return measured(
        audit,
        traced.original,
        traced.released,
        traced.behind,
        release.params,
        seed=seed,
        progress=progress,
    )
