"""What is green is true: nothing wrong or open ever looks good, on 12 prepared cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from ktsafe.assess.report.content import GOOD, content
from ktsafe.assess.report.page import page
from ktsafe.stream.commands.running import AtRest, lines_of
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.release_figures import secrets_of
from ktsafe.stream.files.verdict import BOUNDED, found_wanting
from tests.ktsafe.assess.report.examples import figures, put, told

Figures = dict[str, Any]


def good() -> Figures:
    """Return an audit with which nothing is wrong: everybody has k candidates that are people."""
    audit: Figures = figures()
    put(audit, "audit.safe", True)
    put(audit, "privacy.all.k_real", {"min": 5, "below_k": 0, "share": 0.0})
    put(audit, "privacy.all.alpha_real", {"max": 0.25, "above_alpha": 0})
    for each in audit["attacks"]["results"]:
        each["is_broken"] = False
    return audit


def written(audit: Figures, before: Figures | None = None) -> tuple[dict[str, Any], str]:
    """Return the content and the page of a report of this release, and of one before it."""
    past = [] if before is None else [told(2, before)]
    found = content([*past, told(audit=audit)], "now")
    return found, page(found)


def broken(audit: Figures, attack: str) -> None:
    """Let an attack exceed its bound."""
    for each in audit["attacks"]["results"]:
        if each["attack"].startswith(attack):
            each.update(is_broken=True, promise=0.1, value=0.5, interval=[0.4, 0.6], targets=9)


def unfinished(audit: Figures, *names: str) -> None:
    """Take results of attacks away."""
    kept = [e for e in audit["attacks"]["results"] if e["attack"].partition(".")[0] not in names]
    audit["attacks"] = {"results": kept, "unfinished": list(names)}


def change_of(path: str, value: Any) -> Callable[[Figures], None]:
    """Return a change of one figure."""
    return lambda audit: put(audit, path, value)


FEW = {"vertices": 200, "min": 3, "below_k": 7}
CASES: dict[str, tuple[str, Callable[[Figures], None]]] = {
    "candidates below k": ("broken", change_of("privacy.all.k_claimed.below_k", 1)),
    "one of three million below k": (
        "broken",
        change_of("privacy.all", {"vertices": 3_000_000, "k_claimed": {"min": 4, "below_k": 1}}),
    ),
    "sensitive share above alpha": ("broken", change_of("privacy.all.alpha.above_alpha", 1)),
    "auditor says no": ("broken", change_of("audit.safe", False)),
    "candidates over all releases": (
        "broken",
        change_of("audit.figures.published.candidates", FEW),
    ),
    "attack above its bound": ("broken", lambda audit: broken(audit, "one_hop")),
    "denoised above its bound": ("broken", lambda audit: broken(audit, "denoised")),
    "one person below k people": ("short", change_of("privacy.all.k_real.below_k", 1)),
    "below k people over all releases": (
        "short",
        change_of("audit.figures.published.candidates_real_leavers_known", FEW),
    ),
    "sensitive people above alpha": ("short", change_of("privacy.all.alpha_real.above_alpha", 2)),
    "sensitive people above alpha over all releases": (
        "short",
        change_of("audit.figures.published.alpha_real_leavers_known.above_alpha", 2),
    ),
    "an attack unfinished": ("short", lambda audit: unfinished(audit, "denoised")),
    "no attack run": ("short", lambda audit: audit.pop("attacks")),
}


def test_a_release_with_nothing_wrong_is_green() -> None:
    """Without this the cases below would prove nothing."""
    found, text = written(good())
    assert found["safety"]["verdict"] == "good"
    assert f'<p class="verdict good">{GOOD}</p>' in text
    assert secrets_of(convert(good(), Audit)).wanting == ()


@pytest.mark.parametrize("case", CASES)
def test_nothing_wrong_or_open_is_green(case: str) -> None:
    """The page says what is wrong and what to do, in the colour of its weight, and not 100%."""
    verdict, change = CASES[case]
    audit = good()
    change(audit)
    found, text = written(audit)
    assert found["safety"]["verdict"] == verdict
    assert f'class="verdict {verdict}"' in text
    assert 'class="verdict good"' not in text
    assert GOOD not in text
    section = re.search(r'<section id="safety">.*?</section>', text, re.DOTALL)
    assert section is not None
    assert "100%" not in section[0]
    assert 'class="yes"' not in text
    assert all(each.do.split("`")[0] in section[0] for each in found["safety"]["findings"])
    assert found["safety"]["findings"]


@pytest.mark.parametrize("case", CASES)
def test_a_past_release_found_wanting_stays_marked(case: str, tmp_path: Path) -> None:
    """In the report of a later release, in `ktsafe status`, and in the figures of the service."""
    verdict, change = CASES[case]
    audit = good()
    change(audit)
    is_open = case in {"an attack unfinished", "no attack run"}
    found, text = written(good(), audit)
    assert len(found["found_wanting"]) == (0 if is_open else 1)
    assert ('id="found-wanting"' in text) is not is_open
    assert bool(secrets_of(convert(audit, Audit)).wanting) is not is_open
    (tmp_path / "000001-X").mkdir()
    (tmp_path / "000001-X" / "audit.json").write_text(json.dumps(audit))
    (tmp_path / "000002-X").mkdir()
    (tmp_path / "000002-X" / "audit.json").write_text("{")
    marked = found_wanting(tmp_path)
    (unread,) = marked.pop("000002-X")
    assert "cannot be read" in unread.says
    assert "backup" in unread.do
    assert list(marked) == ([] if is_open else ["000001-X"])
    lines = list(lines_of(AtRest("x"), marked))
    assert any(line.startswith("wanting   000001-X: ") for line in lines) is not is_open
    assert verdict in {"broken", "short"}


def test_people_are_the_headline_where_they_are_fewer() -> None:
    """The first words count candidates that are people, not places without one."""
    audit = good()
    put(audit, "audit.figures.published.candidates_real_leavers_known", FEW)
    found, _ = written(audit)
    title = found["safety"]["title"]
    assert title == "7 of 200 people have fewer than 5 candidates that are people, the fewest 3"


def test_attacks_with_a_bound_are_asked_for() -> None:
    """A list of attacks that ended does not hide one that was never begun."""
    for name in BOUNDED:
        audit = good()
        unfinished(audit, name)
        audit["attacks"]["unfinished"] = []
        assert written(audit)[0]["safety"]["attacks_unfinished"] == [name]


def test_the_marks_are_of_releases_of_the_report_only() -> None:
    """The last release stands on top of the page, not among those before it."""
    audit = good()
    put(audit, "privacy.all.k_real.below_k", 1)
    history = [told(i, audit) for i in (1, 2, 3)]
    found = content(history, "now")
    assert [each["release_id"] for each in found["found_wanting"]] == ["000001-X", "000002-X"]
