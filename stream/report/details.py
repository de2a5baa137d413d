"""What follows the first screen of a private report: groups, what waits, drift, cost, words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

from ktsafe.audit.freshness import AGE_MAX, RECENT
from ktsafe.stream.figure_text import number, percent, text_of
from ktsafe.stream.report import charts
from ktsafe.stream.report.elements import band, figure, quiet, rows_of, section
from ktsafe.stream.report.words import KINDS
from ktsafe.stream.watching.status_html import Child, node

WORST_MAX: Final = 10
"""Wrong conclusions that are told one by one."""

COST_WORDS: Final = {
    "inserted_vertices": "vertices without a person",
    "deleted_vertices": "people not shown",
    "inserted_edges": "edges inserted",
    "deleted_edges": "ties hidden",
}


_DRIFT: Final = (
    (
        "Ties",
        "F1, precision and recall of ties by release",
        (
            ("true", "f1", "F1"),
            ("shown", "precision", "precision"),
            ("third", "recall", "recall"),
        ),
    ),
    (
        "What changed lately",
        "Shares of recent changes that readers see, by release",
        (
            ("true", "new_ties_shown", "new ties shown"),
            ("shown", "ended_ties_shown", "ended ties still shown"),
            ("third", "newcomers_shown", "newcomers shown"),
        ),
    ),
    (
        "Cost of ties; dashed: publishing nothing",
        "Edge cost over true ties by release; dashed: 1, publishing nothing",
        (("true", "edge_cost_share", ""),),
    ),
    (
        "People",
        "Shares of people with fewer than k real candidates, and not shown, by release",
        (
            ("true", "below_k_real", "fewer than k real candidates"),
            ("shown", "people_not_shown", "not shown"),
        ),
    ),
    (
        "Size",
        "Released vertices and ties by release",
        (("true", "vertices", "vertices"), ("shown", "edges", "ties")),
    ),
)
"""Charts over the releases: title, what is drawn, and for each line style, figure and word."""


def least_protected(found: Mapping[str, Any], content: Mapping[str, Any]) -> ET.Element:
    """Return which kinds of people have the fewest real candidates."""
    k = next(row["value"] for row in content["parameters"] if row["name"] == "k")
    parts: list[ET.Element] = [
        quiet(
            "By the definition everybody has k candidates. Here only people are counted, as an "
            "attacker that recognizes inserted vertices would count. Figures are per group, "
            "never per person."
        )
    ]
    for kind, (head, words) in KINDS.items():
        rows = found[kind]
        if not rows:
            continue
        names = [head, "people", "fewest real", f"below {k} real", "above alpha, real"]
        parts += [
            node("h3", f"By {words}"),
            rows_of(
                names,
                [
                    [
                        band(row),
                        number(row["people"]),
                        number(row["fewest_real"]),
                        percent(row["share_below_k"]),
                        percent(row["above_alpha"]),
                    ]
                    for row in rows
                ],
            ),
        ]
    return section("Who is least protected", *parts, name="least-protected")


def conclusions(found: Mapping[str, Any]) -> ET.Element:
    """Return what readers would conclude wrongly, the worst first, and mixing as a picture."""
    share = percent(found["wrong_share"])
    words = f"Of {found['judged']:,} simple conclusions {share} are wrong by more than 20%: people "
    words += "and ties a person by value, assortativity, ties between two values."
    parts: list[ET.Element] = [quiet(words)]
    if found["not_to_conclude"]:
        items = (node("li", line) for line in found["not_to_conclude"])
        parts += [node("h3", "What not to conclude"), node("ul", *items)]
        rows = [
            [row["says"], number(row["true"], 3), number(row["released"], 3)]
            for row in found["worst"][:WORST_MAX]
        ]
        parts += [
            node("h3", "Worst first"),
            rows_of(["conclusion", "true", "released"], rows),
        ]
    drawn = []
    for name, rows in found["mixing"].items():
        cells = [((row["ranks"][0], row["ranks"][1]), row["true"], row["released"]) for row in rows]
        title = f"Edges over ties between values of {name}"
        chart = charts.mixing_chart(cells, title)
        drawn.append(figure(chart, title, ("shown", "within 20%"), ("off", "wrong")))
    words = "Filled up to its line, a square has as many edges as ties; an empty one is not shown. "
    words += "Values are numbered by how frequent they are in the truth; pairs with less than 30 "
    words += "ties are left out."
    parts += [node("div", *drawn, class_="charts"), quiet(words)]
    return section("What readers conclude", *parts, name="conclusions")


def waiting(rows: Sequence[Mapping[str, Any]]) -> ET.Element:
    """Return what is not shown yet, and for how long."""
    names = ["what", "how many"]
    cells: list[list[Child]] = [[row["what"], number(row["count"])] for row in rows]
    if any(row["releases_max"] is not None for row in rows):  # In a single release nothing ages.
        names += ["releases, at most", "median"]
        for own, row in zip(cells, rows, strict=True):
            own += [number(row["releases_max"]), number(row.get("releases_median"))]
    words = "Rare people and changes wait until enough others are alike; in a single release they "
    words += "are left out."
    return section(
        "What waits, and for how long", quiet(words), rows_of(names, cells), name="waiting"
    )


def freshness(found: Mapping[str, Any]) -> ET.Element:
    """Return how far the last release follows what changed before it, by age."""
    names = [
        "releases ago",
        "new ties",
        "shown",
        "over older ties",
        "ended ties still shown",
        "newcomers shown",
        "departed people still shown",
    ]
    rows = []
    for age, new in found["ties"].items():
        if not any(found[name][age]["count"] for name in ("ties", "ended", "newcomers", "leavers")):
            continue
        shares = [found[name][age]["shown"] for name in ("ended", "newcomers", "leavers")]
        rows.append(
            [
                f"up to {AGE_MAX}" if age == RECENT else age,
                number(new["count"]),
                percent(new["shown"]),
                text_of(new["ratio"]),
                *map(percent, shares),
            ]
        )
    changed = found["changed"]
    words = f"With this release {changed['came']:,} edges came and {changed['gone']:,} went. "
    if changed["came"]:
        words += f"Of those that came {percent(changed['came_true_share'])} are true. "
    words += "Over older ties: 1 where new ties are as likely to be shown as all that began before."
    table = rows_of(names, rows) if rows else quiet("Nothing changed lately.")
    return section("How the release follows the network", quiet(words), table, name="freshness")


def drift(rows: Sequence[Mapping[str, Any]]) -> ET.Element:
    """Return how the figures went over the releases of the sequence."""
    labels = [(row["nominal_time"] or row["release_id"])[:10] for row in rows]
    drawn = [
        figure(
            charts.lines(
                [(style, [row[key] for row in rows]) for style, key, _ in lines],
                labels,
                about,
                level=1.0 if title.startswith("Cost") else None,
                percent=title != "Size",
            ),
            title,
            *((style, word) for style, _, word in lines if word),
        )
        for title, about, lines in _DRIFT
        if any(row[key] is not None for row in rows for _, key, _ in lines)
    ]
    return section("Drift over time", node("div", *drawn, class_="charts"), name="drift")


def cost(found: Mapping[str, Any]) -> ET.Element:
    """Return the cost in its parts, beside its yardsticks."""
    parts = ", ".join(f"{found['parts'][name]:,} {words}" for name, words in COST_WORDS.items())
    rows = [
        ["this release", number(found["total"]), parts],
        ["publishing no tie", number(found["nothing"]), "the ties that there are"],
        ["k disjoint copies", number(found["k_copies"]), "the trivial safe release"],
    ]
    words = f"Ties hidden or inserted: {percent(found['edge_cost_share'])} of the true ties."
    table = rows_of(["", "cost", "what that is"], rows, class_="words")
    return section("What it costs", quiet(words), table, name="cost")


def parameters(content: Mapping[str, Any]) -> ET.Element:
    """Return the parameters in plain words, and the guarantee as it is published."""
    rows = [[row["name"], row["value"], row["means"]] for row in content["parameters"]]
    table = rows_of(["parameter", "value", "what it means"], rows, class_="words")
    text = quiet(content["guarantee"]["text"])
    return section("What is promised, in plain words", text, table, name="parameters")


def assessment(content: Mapping[str, Any]) -> ET.Element:
    """Return the three questions of a data-protection impact assessment."""
    by_name = {each["attack"]: each for each in content["safety"]["attacks"]}
    rows = []
    for row in content["assessment"]:
        told = []
        for name in row["attacks"]:
            each = by_name[name]
            promise = text_of(each["promise"], ".3f", "none")
            told.append(
                f"{name} {each['value']:.3f} (control {each['control']:.3f}, promise {promise})"
            )
        rows.append([row["risk"], row["question"], "; ".join(told) or "not measured"])
    words = "The three questions of the Article 29 Working Party (Opinion 05/2014), answered by "
    words += "measured attacks. Whether a release is anonymous data in law is for you to judge."
    table = rows_of(["risk", "question", "attacks: figure"], rows, class_="words")
    return section("For an impact assessment", quiet(words), table, name="assessment")


def limits(lines: Sequence[str]) -> ET.Element:
    """Return what is not covered."""
    return section(
        "What is not covered", node("ul", *(node("li", line) for line in lines)), name="limits"
    )
