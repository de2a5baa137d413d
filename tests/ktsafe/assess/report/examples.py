"""Reports to look at: a graph whose ids and values are words that occur nowhere else."""

from __future__ import annotations

import copy
import functools
from html.parser import HTMLParser
from typing import Any

import numpy as np
from msgspec import convert, to_builtins

from ktsafe import AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.assess.report.content import ReleaseWithFigures, content
from ktsafe.assess.utility import REPORTED, measured
from ktsafe.audit import audit_release
from ktsafe.audit.sequence.figures import (
    ChangeFigures,
    ObjectCounts,
    Published,
    SequenceFigures,
    Shares,
    ValueFigures,
)
from ktsafe.audit.sequence.windows import Checked, SequenceAudit
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.releases_read import Manifest, ManifestSchema, StatedGuarantee

VALUES = {
    "club": ["zebrafish", "yellowtail", "walleye"],
    "town": ["quokkaville", "xanthe"],
    "health": ["vermilion", "sienna"],
}
SCHEMA = Schema(("club", "town"), "health", frozenset({"vermilion"}))
PARAMS = PrivacyParams(k=5, alpha="1/2")
VOID = frozenset({"meta"})


def graph(people: int = 240, seed: int = 0) -> AttributedGraph:
    """Return a made-up network with communities, some people of a rare kind."""
    rng = np.random.default_rng(seed)
    columns = {name: list(rng.choice(values, people)) for name, values in VALUES.items()}
    columns["club"][:2] = ["ultramarine"] * 2
    ends = rng.integers(0, people, (people * 4, 2))
    ends[:, 1] = (ends[:, 0] + ends[:, 1] // 12) % people
    pairs = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return AttributedGraph.from_columns(SCHEMA, columns, pairs)


@functools.cache
def _made(index: int) -> dict[str, Any]:
    true = graph(seed=index)
    made = anonymize(true, PARAMS, rng=np.random.default_rng(index))
    audit = Audit.of(audit_release(true, made.graph, PARAMS, original_of=made.origin))
    attacks = REPORTED if index == 1 else ("one_hop",)
    found = measured(audit, true, made.graph, made.origin, PARAMS, attacks=attacks)
    told: dict[str, Any] = to_builtins(found)
    return told


def figures(index: int = 1) -> dict[str, Any]:
    """Return the private audit of a release of that network; on the first ran all attacks."""
    return copy.deepcopy(_made(index))


def in_sequence() -> dict[str, Any]:
    """Return what an auditor finds of a sequence in which nobody is wrong."""
    nobody = ObjectCounts(0)
    figures = SequenceFigures(
        changes=ChangeFigures(
            k_delta_all=nobody,
            alpha_alike=Shares(),
            k_delta=nobody,
        ),
        values=ValueFigures(nobody, nobody),
        published=Published(nobody, nobody, Shares()),
        newcomers=nobody,
    )
    checked = Checked("all", cover=True)
    found = SequenceAudit(
        release_id="r", safe=True, violations=[], checked=checked, figures=figures
    )
    return dict(to_builtins(found))


def put(audit: dict[str, Any], path: str, value: Any) -> None:
    """Change one figure, of parts that tell some as far as they are told."""
    *names, last = path.split(".")
    part = audit
    for name in names:
        part = part.setdefault(name, in_sequence() if name == "audit" else {})
    part[last] = {**part[last], **value} if isinstance(value, dict) else value


def told(index: int = 1, audit: dict[str, Any] | None = None) -> ReleaseWithFigures:
    """Return what is known of a release of that network, or of another audit of it."""
    found = _made(index) if audit is None else audit
    text = "This release is kt-safe by itself."
    time = f"2026-{index:02}-01T00:00:00Z"
    promised = StatedGuarantee("all", text, cover=True)
    schema = ManifestSchema(["club", "town"], "health", ["vermilion"])
    size = found["size"]["released"].values()
    which = (1, f"{index:06}-X", "s" * 16, time)
    return ReleaseWithFigures(
        Manifest(*which, PARAMS.to_mapping(), promised, schema, *size, {}),
        convert(found, Audit),
    )


def private(releases: int = 1) -> dict[str, Any]:
    """Return the private report of some releases."""
    return content([told(i + 1) for i in range(releases)], "2026-01-01 00:00 UTC")


class Page(HTMLParser):
    """Reads a page as strictly as it can: every element is closed where it must be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    @property
    def words(self) -> str:
        """The text that is seen, and what is said in place of charts."""
        said = [value or "" for name, value in self.attributes if name == "aria-label"]
        return " ".join([*self.text, *said])
