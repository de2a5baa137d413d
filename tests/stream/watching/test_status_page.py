"""The status page as a document: what it says, and that nothing said can break out of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.stream.files.release_figures import CandidateFigures, ReleaseFigures, Secrets
from ktsafe.stream.watching.report import (
    FeedReport,
    PartsReport,
    ProblemReport,
    Report,
    Sample,
    TrueGraphReport,
)
from ktsafe.stream.watching.status_html import prose, size, span, sparkline
from ktsafe.stream.watching.status_page import POLICY, PRIVATE, runbook_page, status_page

HOSTILE = "</td></style><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"

SECRETS = Secrets(
    {"inserted_vertices": 1, "inserted_edges": 20, "deleted_vertices": 0, "deleted_edges": 3},
    {"copies": 240},
    {"sequence": CandidateFigures(10, 0, 0.0), "sequence_real": CandidateFigures(7, 2, 0.1)},
    {"claimed": 0.2},
    {"edge_f1": 0.625, "edge_cost_share": 0.4375},
)


def release(name: str, secrets: Secrets | None = SECRETS) -> ReleaseFigures:
    return ReleaseFigures(
        release_id=name,
        nominal_us=0,
        vertices=1234,
        edges=56789,
        is_published=True,
        secrets=secrets,
    )


def report(text: str = "unsafe", *, secrets_shown: bool = True) -> Report:
    """Return a report with a text at every place that holds one."""
    return Report(
        version=text,
        state="ready",
        at_s=1e9,
        started_s=1e9 - 100_000,
        guarantee=text,
        params={"k": 10, f"name {text}": text},
        feed=FeedReport(
            records=123_456,
            applied=1,
            ignored=2,
            dead_letters={text: 3},
            attributes_dropped=4,
            lag=99,
            per_second=7.5,
            trend=[Sample(1e9 + i, 10 * i, None if i == 3 else i) for i in range(8)],
        ),
        building=text,
        releases=[release(text, SECRETS if secrets_shown else None), release("r1", None)],
        published=5,
        withheld={text: 6},
        slots_skipped=7,
        problems=[ProblemReport("KtsafeLoopStuck", text, text, text)],
        secrets_shown=secrets_shown,
        true_graph=TrueGraphReport(
            vertices=4_321,
            edges=98_765,
            store_bytes=2**21,
            erasures_pending=0,
            held_back={
                "withheld_vertices": 11,
                "withheld_age_max": 2,
                "held_edges": 13,
                "pivots_kept": 8,
                "pivots_computed": 2,
                "pairs_by_boxes": 70,
                "pairs_by_pivots": 20,
                "pairs_compared": 10,
            },
            work=PartsReport(55, 2, 0.914),
        )
        if secrets_shown
        else None,
    )


class Parsed(HTMLParser):
    """Tags with their attributes, and the text outside the style sheet."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data


def shape(page: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(tag, tuple(attributes)) for tag, attributes in Parsed(page).tags]


@pytest.mark.parametrize("text", [HOSTILE, "\x00\x1f<", "\N{RIGHT-TO-LEFT OVERRIDE}<b>", "`<b>`"])
def test_text_stays_text(text: str) -> None:
    """Whatever a text holds, the page has the elements it has with a harmless one."""
    marked = "`x`" if "`" in text else "x"
    assert shape(status_page(report(text))) == shape(status_page(report(marked)))
    assert "<script" not in status_page(report(text))


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="`*"), min_size=1, max_size=40))
def test_any_text_stays_text(text: str) -> None:
    """The same for anything that comes to mind, and the text itself is shown."""
    page = status_page(report(text))
    assert shape(page) == shape(status_page(report("x")))
    assert re.search(r"[<>]", re.sub(r"<[^<>]*>", "", page.partition("</style>")[2])) is None


def test_nothing_is_loaded_or_run() -> None:
    """No script, no address but paths of this server, and a policy that would forbid more."""
    for page in (status_page(report()), runbook_page()):
        parsed = Parsed(page)
        assert {tag for tag, _ in parsed.tags} & {
            "script",
            "img",
            "link",
            "iframe",
            "form",
        } == set()
        addresses = [a[name] for _, a in parsed.tags for name in ("href", "src") if name in a]
        assert addresses
        assert all(address and re.fullmatch(r"/[a-z.#A-Z]*", address) for address in addresses)
        assert not [a for _, a in parsed.tags for name in a if name.startswith("on")]
        assert not [a for _, a in parsed.tags if "style" in a]
        assert "url(" not in page
        assert "@import" not in page
    assert "unsafe-inline" not in POLICY
    assert POLICY.startswith("default-src 'none'; style-src 'sha256-")


def test_the_page_tells_what_the_report_does() -> None:
    """State, problem and remedy, lag, releases with their figures, trends and the true graph."""
    text = Parsed(status_page(report())).text
    for expected in (
        "ready",
        "Look at: unsafe.",
        "Do: unsafe.",
        "99",
        "7.5",
        "123,456",
        "1,234",
        "56,789",
        "verified, published",
        "10.0%",
        "F1 of edges",
        "0.62",
        "0.44",
        "1 d 3 h",
        "4,321",
        "98,765",
        "2.0 MiB",
        "11",
        "13",
    ):
        assert expected in text, expected
    assert PRIVATE in text


def test_secrets_are_not_on_a_page_without_them() -> None:
    """Neither true sizes nor cost nor candidates, and no claim that the page was private."""
    page = status_page(report(secrets_shown=False))
    for secret in ("4,321", "98,765", "cost", "Cost", "F1", "0.62", "candidates", PRIVATE):
        assert secret not in page, secret
    assert "1,234" in page


def test_a_quiet_start_has_a_page() -> None:
    """Before anything happened there is something to read, and nothing is wrong."""
    empty = msgspec.structs.replace(
        report(),
        state="starting",
        problems=[],
        releases=[],
        feed=FeedReport(
            records=0,
            applied=0,
            ignored=0,
            dead_letters={},
            attributes_dropped=0,
            lag=None,
            per_second=None,
            trend=[],
        ),
    )
    text = Parsed(status_page(empty)).text
    assert "Nothing that the service knows of." in text
    assert "None yet." in text


def test_a_sparkline_keeps_its_points_in_the_picture() -> None:
    """Points lie inside the view, higher values higher up; a gap parts the line."""
    chart = sparkline([1.0, 5.0, None, 3.0], "says", level=4.0)
    first, second = [element.get("points") for element in chart.iter("polyline")]
    assert first is not None
    assert second is not None
    (_, low), (_, high) = ([float(x) for x in pair.split(",")] for pair in first.split())
    assert 0 <= high < low <= 48
    assert chart.find("title") is not None
    level = next(chart.iter("line"))
    assert high < float(level.get("y1", "nan")) < low


def test_small_words() -> None:
    """Spans and sizes are told in units for people; marks become elements, the rest stays."""
    assert [span(s) for s in (0, 59.6, 3_600, 90_061)] == [
        "0 s",
        "1 min 0 s",
        "1 h 0 min",
        "1 d 1 h",
    ]
    assert [size(n) for n in (5, 2_048, 3 * 2**40)] == ["5 B", "2.0 KiB", "3.0 TiB"]
    parts = prose("see `x` or *y*: 2 * 3")
    assert [part if isinstance(part, str) else part.tag for part in parts] == [
        "see ",
        "code",
        " or ",
        "em",
        ": 2 * 3",
    ]
