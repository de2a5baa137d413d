"""The status page: one HTML document without scripts, made from a report.

It loads nothing from anywhere and refreshes itself. Everything that is text goes through the
escaping of `ktsafe.stream.watching.status_html`; the policy header forbids whatever would come in
nevertheless.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Callable, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from ktsafe.audit.freshness import AGE_MAX, RECENT
from ktsafe.stream.figure_text import text_of
from ktsafe.stream.files.freshness_figures import over_time
from ktsafe.stream.files.release_figures import ReleaseFigures, Secrets
from ktsafe.stream.slots import rfc3339
from ktsafe.stream.watching.remedies import REMEDIES
from ktsafe.stream.watching.report import FeedReport, ProblemReport, Report
from ktsafe.stream.watching.status_html import (
    cell,
    document,
    moment,
    node,
    prose,
    size,
    span,
    sparkline,
    table,
    tile,
)

REFRESH_S: Final = 15
RELEASES_SHOWN: Final = 10
"""Trends and `/status.json` go further back."""
STYLE: Final = (importlib.resources.files("ktsafe.stream.watching") / "status_page.css").read_text(
    "utf-8"
)
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy: nothing but this one style sheet, inside the page."""

PRIVATE: Final = (
    "Private: this page tells of the true graph and of what is inserted in releases. It is for "
    "the operators of the network only."
)
UNKNOWN: Final = "unknown"
NONE: Final = "none"


def status_page(report: Report) -> str:
    """Return the page of a report."""
    body = [_header(report)]
    if report.secrets_shown:
        body.append(node("p", PRIVATE, class_="private"))
    body += [_problems(report.problems), _feed(report.feed)]
    if report.secrets_shown:
        body += [_trends(report), _true_graph(report)]
    body.append(_releases(report))
    metrics = node("a", "/metrics", href="/metrics")
    as_json = node("a", "/status.json", href="/status.json")
    body.append(node("footer", "Metrics: ", metrics, " · the same as JSON: ", as_json))
    return document(f"ktsafe: {report.state}", body, STYLE, refresh=str(REFRESH_S))


def runbook_page() -> str:
    """Return the remedies of everything that can be wrong."""
    rows = [
        node(
            "tr",
            cell("what", node("code", name)),
            cell("look at", *prose(remedy.look)),
            cell("do", *prose(remedy.do)),
            id=name,
        )
        for name, remedy in REMEDIES.items()
    ]
    intro = "Nothing is lost by stopping: the service goes on from its last checkpoint. Exit codes "
    intro += "and procedures are in the runbook that comes with the service (ops/runbook.md)."
    body = [
        node("h1", "What to do"),
        node("p", intro),
        table(("what", "look at", "do"), rows, class_="words"),
        node("p", node("a", "back to the status", href="/")),
    ]
    return document("ktsafe: what to do", body, STYLE)


def _header(report: Report) -> ET.Element:
    running = f"{moment(report.at_s)} · running for {span(report.at_s - report.started_s)}"
    return node(
        "header",
        node("h1", "ktsafe"),
        node("span", report.state, class_=f"state {report.state}"),
        node("span", f"{running} · version {report.version}", class_="quiet"),
    )


def _problems(problems: Sequence[ProblemReport]) -> ET.Element:
    section = node("section", node("h2", "Problems"))
    if not problems:
        section.append(node("p", "Nothing that the service knows of.", class_="fine"))
    for problem in problems:
        section.append(
            node(
                "div",
                node("h3", problem.says),
                node("p", "Look at: ", *prose(problem.look), "."),
                node("p", "Do: ", *prose(problem.do), "."),
                node("p", node("a", problem.name, href=f"/runbook#{problem.name}")),
                class_="problem",
            )
        )
    return section


def _feed(feed: FeedReport) -> ET.Element:
    rates = [
        (later.records - earlier.records) / (later.at_s - earlier.at_s)
        for earlier, later in zip(feed.trend, feed.trend[1:], strict=False)
        if later.at_s > earlier.at_s
    ]
    lags = [sample.lag for sample in feed.trend]
    dead = sum(feed.dead_letters.values())
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in feed.dead_letters.items())
    dropped = f"{feed.attributes_dropped:,} attributes outside the schema dropped"
    tiles = [
        tile(
            "Consumer lag",
            text_of(feed.lag, ",", UNKNOWN),
            "the last hour",
            sparkline(lags, f"Consumer lag in records: {_range(lags)}"),
        ),
        tile(
            "Records a second",
            text_of(feed.per_second, ",.1f", UNKNOWN),
            "the last hour",
            sparkline(rates, f"Records a second: {_range(rates)}"),
        ),
        tile(
            "Records since the start", f"{feed.records:,}", f"{feed.ignored:,} ignored; {dropped}"
        ),
        tile("Dead letters since the start", f"{dead:,}", reasons),
    ]
    return node("section", node("h2", "The feed"), node("dl", *tiles))


def _releases(report: Report) -> ET.Element:
    params = ", ".join(f"{name} = {value}" for name, value in report.params.items())
    withheld = sum(report.withheld.values())
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.withheld.items())
    building = f"being built: {report.building} done" if report.building else ""
    tiles = [
        tile("Published since the start", f"{report.published:,}", building),
        tile("Withheld since the start", f"{withheld:,}", reasons),
        tile("Skipped slots", f"{report.slots_skipped:,}", "since the start"),
    ]
    section = node(
        "section",
        node("h2", "Releases"),
        node("p", report.guarantee),
        node("p", f"Promised, and verified before each publication: {params}.", class_="quiet"),
        node("dl", *tiles),
    )
    if not report.releases:
        section.append(node("p", "None yet."))
        return section
    names = ["slot", "vertices", "ties", "state"]
    if report.secrets_shown:
        names += ["fewest candidates", "fewest real ones", "cost", "of the ties", "F1 of edges"]
    rows = [_release_row(names, figures) for figures in report.releases[:RELEASES_SHOWN]]
    section.append(table(names, rows))
    return section


def _release_row(names: Sequence[str], figures: ReleaseFigures) -> ET.Element:
    state = "verified, published" if figures.is_published else "verified, not confirmed yet"
    slot = rfc3339(figures.nominal_us)
    cells = [slot, f"{figures.vertices:,}", f"{figures.edges:,}", state]
    secrets = figures.secrets
    if secrets is not None and secrets.wanting:
        cells[-1] += f"; found wanting: {', '.join(secrets.wanting)}"
    if "cost" in names:
        worth = {} if secrets is None else secrets.worth
        figures_shown = (
            (_least(secrets, "sequence", "claimed"), ","),
            (_least(secrets, "sequence_real", "real"), ","),
            (None if secrets is None else secrets.total_cost, ","),
            (worth.get("edge_cost_share"), ".2f"),
            (worth.get("edge_f1"), ".2f"),
        )
        cells += [text_of(value, form, UNKNOWN) for value, form in figures_shown]
    return node("tr", *(cell(name, text) for name, text in zip(names, cells, strict=True)))


_TRENDS: Final[tuple[tuple[str, Callable[[Secrets], float | None], str, str, str], ...]] = (
    ("Cost", lambda s: s.cost_over("copies"), ".1%", "", "of k disjoint copies"),
    ("F1 of edges", lambda s: s.worth.get("edge_f1"), ".2f", "", "1: all true ties and no others"),
    (
        "F1 of the latest graph",
        lambda s: s.worth.get("edge_f1_latest"),
        ".2f",
        "",
        "pairs of kinds without edges as they were shown last",
    ),
    (
        "New ties shown",
        lambda s: None if s.freshness is None else s.freshness.by_age["ties_shown"][RECENT],
        ".0%",
        "",
        f"of those that began in the last {AGE_MAX} releases",
    ),
    (
        "Edge cost over true ties",
        lambda s: s.worth.get("edge_cost_share"),
        ".2f",
        "1",
        ", the cost of publishing nothing",
    ),
    ("Fewest candidates", lambda s: _least(s, "sequence", "claimed"), ",.0f", "k", ""),
    (
        "Fewest real candidates",
        lambda s: _least(s, "sequence_real", "real"),
        ",.0f",
        "k",
        "; below it the number is made up by vertices without a person",
    ),
    (
        "Best attack over its promise",
        lambda s: s.best_attack,
        ".2f",
        "1",
        "; above it an attack finds more than is promised",
    ),
)
"""Name, figure, form, where a dashed line is if there is one, and what the figure is."""


def _trends(report: Report) -> ET.Element:
    oldest_first = report.releases[::-1]
    levels = {"k": float(report.params["k"]), "1": 1.0}
    tiles = []
    for name, measure, form, dashed, note in _TRENDS:
        values = [None if r.secrets is None else measure(r.secrets) for r in oldest_first]
        last = next((value for value in reversed(values) if value is not None), None)
        chart = sparkline(values, f"{name}: {_range(values)}", level=levels.get(dashed))
        mean = over_time(values)["mean"]
        parts = [
            f"mean {text_of(mean, form, UNKNOWN)}",
            f"dashed: {dashed}{note}" if dashed else note,
        ]
        words = "; ".join(part for part in parts if part)
        tiles.append(tile(name, text_of(last, form, UNKNOWN), words, chart))
    title = f"Trends of the last {len(oldest_first)} releases"
    return node("section", node("h2", title), node("dl", *tiles))


def _true_graph(report: Report) -> ET.Element:
    graph = report.true_graph
    assert graph is not None
    held = graph.held_back
    tiles = [
        tile("People", f"{graph.vertices:,}"),
        tile("Ties", f"{graph.edges:,}"),
        tile("Store on disk", size(graph.store_bytes)),
        tile("Deletions not yet erased from disk", f"{graph.erasures_pending:,}"),
    ]
    if (work := graph.work) is not None:
        by = f"by {work.workers:,} workers, {work.share:.0%} of the core seconds"
        tiles.append(tile("Parts of the last release", f"{work.parts:,}", by))
    if held:
        tiles.append(tile("People held back", f"{held['withheld_vertices']:,}", _ages(held)))
        tiles.append(tile("Ties held back", f"{held['held_edges']:,}"))
        tiles.append(tile("Pivots kept by the kt-tree", f"{held['pivots_kept']:,}", _tree(held)))
    return node("section", node("h2", "The true graph"), node("dl", *tiles))


def _tree(held: dict[str, int]) -> str:
    boxes, pivots = held["pairs_by_boxes"], held["pairs_by_pivots"]
    pairs = max(boxes + pivots + held["pairs_compared"], 1)
    by = f"{boxes / pairs:.0%} decided by boxes, {pivots / pairs:.0%} by pivots"
    return f"{held['pivots_computed']:,} computed; of pairs of people {by}"


def _ages(held: dict[str, int]) -> str:
    return f"the longest for {held['withheld_age_max']:,} releases"


def _least(secrets: Secrets | None, *names: str) -> int | None:
    """Return the fewest candidates by the first of these counts that the audit tells."""
    for name in names:
        if secrets is not None and (found := secrets.candidates.get(name)):
            return found.least
    return None


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):,.4g} to {max(known):,.4g}" if known else NONE
