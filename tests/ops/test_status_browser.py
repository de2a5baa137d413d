"""The status page in a real browser: on a phone, in the dark, and with what should not happen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ktsafe import PrivacyParams
from ktsafe.stream.files.release_figures import CandidateFigures, ReleaseFigures, Secrets
from ktsafe.stream.observer import Observers
from ktsafe.stream.watching.board import StatusBoard
from ktsafe.stream.watching.diagnosis import Circumstances
from ktsafe.stream.watching.endpoints import Endpoints
from ktsafe.stream.watching.metrics import PrometheusMetrics
from ktsafe.stream.watching.remedies import REMEDIES
from ktsafe.stream.watching.status import StatusServer
from ktsafe.stream.watching.summary import Summary
from tests.ops.browser import Browser, browser

HOSTILE = "<script>document.title='broken'</script><img src=http://127.0.0.1:1/x>" + "w" * 300
SIZES = {"phone": (320, 640), "desktop": (1280, 800)}

# The contrast of two computed colours, as WCAG 2.2 defines it.
CONTRAST = """(() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  return [...document.querySelectorAll('body, body *')]
    .filter(node => [...node.childNodes].some(c => c.nodeType === 3 && c.data.trim()))
    .map(node => {
      const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.outerHTML.slice(0, 80)];
    });
})()"""


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(window: Browser) -> Iterator[str]:
    """Give the address of a service that has much to say, some of it hostile."""
    summary = Summary()
    board = StatusBoard(Circumstances(PrivacyParams(), HOSTILE), summary.counts)
    tell = Observers(summary, board)
    tell.ready(is_ready=True)
    tell.dead_letter(HOSTILE, 1_234_567)
    tell.lag({("feed", 0): 1_234_567_890})
    tell.state({"vertices": 12_345_678, "edges": 987_654_321}, 2**40)
    for index in range(30):
        tell.release_audited(figures(index))
        tell.release_published(f"{index:06}-20260101T000000Z", 0, 1, 1)
    tell.release_withheld(HOSTILE)
    for _ in range(9):
        tell.retry("dead_letter")
    answers = Endpoints(PrometheusMetrics(), board, secrets=True)
    with StatusServer(answers, port=0) as server:
        yield server.url


def figures(index: int) -> ReleaseFigures:
    secrets = Secrets(
        {"inserted_edges": 1_000_000 + index},
        {"copies": 9_000_000},
        {
            "sequence": CandidateFigures(10, 0, 0.0),
            "sequence_real": CandidateFigures(9 - index % 3, 5, 0.01),
        },
        {},
        {"edge_f1": 0.6 + index / 1000, "edge_f1_latest": 0.65},
    )
    return ReleaseFigures(
        release_id=f"{index:06}-20260101T000000Z",
        nominal_us=index * 86_400_000_000,
        vertices=12_345_678,
        edges=987_654_321,
        is_published=False,
        secrets=secrets,
    )


@pytest.mark.parametrize("path", ["/", "/runbook"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_screen(window: Browser, url: str, path: str, size: str) -> None:
    """On a phone as on a desk one scrolls down, never sideways, however long the words."""
    window.look(*SIZES[size])
    window.open(url + path)
    assert window.ask("innerWidth") == SIZES[size][0]
    width = window.ask("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    assert width <= SIZES[size][0]
    sizes = window.ask(
        "[...document.querySelectorAll('p, dt, dd, td')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/runbook"])
def test_every_word_stands_out(window: Browser, url: str, path: str, colours: str) -> None:
    """All text has at least the contrast that WCAG asks for (4.5), by day and by night."""
    window.look(1280, 800, colours)  # type: ignore[arg-type]
    window.open(url + path)
    found = window.ask(CONTRAST)
    assert len(found) > 20
    assert [item for item in found if item[0] < 4.5] == []
    ground = window.ask("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is (colours == "light")


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(window: Browser, url: str) -> None:
    """One request per page, to the service; the style is applied; hostile text is text."""
    window.look(1280, 800)
    window.requested(), window.complaints()
    window.open(url + "/")
    asked = window.requested()
    assert asked
    assert {address for address in asked if address != url + "/favicon.ico"} == {url + "/"}
    assert window.complaints() == []
    assert window.ask("document.title") == "ktsafe: ready"
    assert window.ask("document.scripts.length + document.images.length") == 0
    assert HOSTILE[:40] in window.ask("document.body.innerText")
    assert (
        window.ask("getComputedStyle(document.querySelector('.problem')).borderLeftStyle")
        == "solid"
    )


def test_sparklines_are_drawn_and_named(window: Browser, url: str) -> None:
    """Each has a size, a line and a name for who does not see it."""
    window.look(390, 844)
    window.open(url + "/")
    charts = window.ask(
        "[...document.querySelectorAll('svg')].map(s => [s.getBoundingClientRect().width,"
        " s.getAttribute('aria-label'), s.querySelectorAll('polyline').length])"
    )
    assert len(charts) == 10
    assert all(width > 200 and name for width, name, _ in charts)
    assert sum(lines for _, _, lines in charts) >= 5


@pytest.mark.parametrize("name", ["KtsafeReleaseWithheld", "KtsafeDeadLetterSinkUnwritable"])
def test_a_problem_leads_to_its_remedy(window: Browser, url: str, name: str) -> None:
    """The link of a problem opens the remedy, marked and in sight."""
    window.look(390, 844)
    window.open(url + "/")
    window.open(window.ask(f"document.querySelector('a[href$={name}]').href"))
    place = window.ask("document.querySelector(':target').getBoundingClientRect().top")
    assert 0 <= place < 844
    said = window.ask("document.querySelector(':target').innerText")
    assert REMEDIES[name].look.split(",")[0].replace("`", "") in said
