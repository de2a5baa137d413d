"""The private report as one HTML document: nothing to load, nothing that runs, made to print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from xml.etree import ElementTree as ET

from ktsafe.stream.figure_text import number, percent, text_of
from ktsafe.stream.report import charts
from ktsafe.stream.report.details import (
    assessment,
    conclusions,
    cost,
    drift,
    freshness,
    least_protected,
    limits,
    parameters,
    waiting,
)
from ktsafe.stream.report.elements import (
    NOT_MEASURED,
    band,
    figure,
    quiet,
    report_page,
    rows_of,
)
from ktsafe.stream.watching.status_html import node, prose

PRIVATE: Final = (
    "Private: this report tells what is true and what is inserted. It is for the owner of the "
    "network, never for readers of its releases."
)


def page(content: Mapping[str, Any]) -> str:
    """Return the page of a report, from what `ktsafe.stream.report.content` gives."""
    body = [
        _header(content),
        node("p", PRIVATE, class_="private"),
        node("div", _safety(content), _utility(content), class_="sides"),
        _attacks(content["safety"]["attacks"], content["safety"]["attacks_unfinished"]),
        _structure(content["utility"]),
        *([conclusions(content["conclusions"])] if content["conclusions"] else []),
        least_protected(content["least_protected"], content),
        waiting(content["waiting"]),
        *([freshness(content["freshness"])] if content["freshness"] else []),
        *([drift(content["drift"])] if content["drift"] else []),
        cost(content["cost"]),
        parameters(content),
        assessment(content),
        limits(content["not_covered"]),
    ]
    return report_page(f"ktsafe: report of {content['release_id']}", body)


def _header(content: Mapping[str, Any]) -> ET.Element:
    several = f"{content['releases']:,} releases of sequence {content['sequence_id']}, the last:"
    about = "a single release:" if content["releases"] == 1 else several
    time = f" as of {content['nominal_time']}" if content["nominal_time"] else ""
    size = content["size"]["released"]
    shown = f"{size['vertices']:,} vertices, {size['edges']:,} ties"
    return node(
        "header",
        node("h1", "How safe and how useful?"),
        node("span", f"{about} {content['release_id']}{time}; {shown}", class_="quiet"),
        node("span", f"written {content['written']}", class_="quiet"),
    )


def _safety(content: Mapping[str, Any]) -> ET.Element:
    safety = content["safety"]
    holds = safety["holds"]
    word = "100%: every promise is kept" if holds else "NOT safe: a promise is broken"
    rows = [
        [
            row["promise"],
            number(row["worst"], 3),
            number(row["bound"], 3),
            node("span", percent(row["kept"]), class_="yes" if row["kept"] == 1 else "no"),
        ]
        for row in safety["promises"]
    ]
    broken = [each["attack"] for each in safety["attacks"] if each["is_broken"]]
    told = (
        "No attack exceeded its bound (95% confidence interval)."
        if safety["attacks"]
        else "No attack was run on this release: see `ktsafe attack`."
    )
    if broken:
        told = f"Attacks that surely find more than is promised: {', '.join(broken)}."
    judges = list(dict.fromkeys(row["by"] for row in safety["promises"]))
    return node(
        "section",
        node("h2", "Safety"),
        node("p", word, class_=f"verdict {'kept' if holds else 'broken'}"),
        quiet("Safety has no degrees: a promise is kept for everybody, or it is broken."),
        rows_of(["promise", "worst", "bound", "kept for"], rows),
        quiet(f"Verified by: {'; '.join(judges)}. Neither shares code with what made the release."),
        node("p", *prose(told), class_="no" if broken else "quiet"),
        _real(content["least_protected"]),
        id="safety",
    )


def _real(found: Mapping[str, Any]) -> ET.Element:
    """Say what the promise is worth against an attacker that recognizes inserted vertices."""
    if found["below_k"] is None:
        return quiet("How many candidates are people is not known.")
    return quiet(
        "Candidates may be inserted vertices, or places of departed people. Of "
        f"{found['people']:,} people shown {found['below_k']:,} have fewer than k candidates that "
        f"are people, the fewest {number(found['fewest_real'])}."
    )


def _utility(content: Mapping[str, Any]) -> ET.Element:
    utility = content["utility"]
    score = utility["score"]
    word = "No score: a part is not known" if score is None else f"{100 * score:.0f} of 100"
    rows = []
    for name, key in (("people", "vertices"), ("ties", "edges")):
        found = utility["usefulness"][key]
        counts = [number(found[each]) for each in ("true", "released", "shared")]
        rows.append([name, *counts, percent(found["precision"]), percent(found["recall"])])
    parts = [_part(part) for part in utility["parts"]]
    if (afresh := utility["f1_afresh"]) is not None:
        said = f"Begun anew, ties would have F1 {afresh:.2f}; now {number(found['f1'])}."
        parts.append(quiet(said))
    if content["releases"] > 1:
        f1, cost = (content["over_time"][name] for name in ("edge_f1", "edge_cost_share"))
        parts.append(
            quiet(
                f"These are figures of the last release. Over all {content['releases']:,} releases "
                f"ties have F1 {number(f1['mean'])} on average, {number(f1['worst'])} at worst, at "
                f"a cost of {percent(cost['mean'])} of the true ties, {percent(cost['worst'])} at "
                "worst."
            )
        )
    return node(
        "section",
        node("h2", "Utility"),
        node("p", word, class_="verdict"),
        quiet("The mean of the parts about ties, times people and attributes; 100 is the truth."),
        rows_of(["", "true", "shown", "both", "precision", "recall"], rows),
        *parts,
        id="utility",
    )


def _part(part: Mapping[str, Any]) -> ET.Element:
    known = part["score"] is not None
    bar = (
        charts.meter(part["score"], f"{part['name']}: {part['score']:.2f}")
        if known
        else node("span", NOT_MEASURED, class_="quiet")
    )
    reads = part["reads"]
    if part["true"] is not None and part["released"] is not None:
        reads += f" (true {number(part['true'])}, released {number(part['released'])})"
    return node(
        "div",
        node("span", part["name"]),
        bar,
        node("span", f"{100 * part['score']:.0f}" if known else "-", class_="share"),
        node("span", reads, class_="reads"),
        class_="part",
    )


def _attacks(attacks: list[dict[str, Any]], unfinished: list[str]) -> ET.Element:
    title = node("h2", "Attacks")
    if not attacks:
        words = "None was run. With --truth a report runs the cheap ones, `ktsafe attack` all."
        return node("section", title, quiet(words), id="attacks")
    parts = [title]
    for measure, words in (
        ("share", "Share of people, or claims, that the attacker gets right"),
        ("auc", "How well the attacker tells true from inserted; one half tells nothing"),
    ):
        chosen = [each for each in attacks if each["measure"] == measure]
        if not chosen:
            continue
        top = charts.scale_top(
            [x for each in chosen for x in (each["interval"][1], each["promise"], each["control"])]
        )
        top = 1.0 if measure == "auc" else top
        names = [measure, "figure (95%)", "control", "promise", f"0 to {top:g}"]
        rows = [_attack(each, top) for each in chosen]
        parts += [node("h3", words), rows_of(names, rows)]
    keys = "Bar: the figure with its interval. Grey mark: the control, an attacker without this "
    keys += "knowledge. Dashed mark: the promise. The sharpest variant of each attack is shown."
    if unfinished:
        keys += f" Not finished within the budget: {', '.join(unfinished)}."
    return node("section", *parts, quiet(keys), id="attacks")


def _attack(each: Mapping[str, Any], top: float) -> list[ET.Element | str]:
    low, high = each["interval"]
    says = f"{each['variant']}: {each['value']:.3f}, from {low:.3f} to {high:.3f}"
    promise = text_of(each["promise"], ".3f", "none")
    told = node("span", promise, class_="no") if each["is_broken"] else promise
    bar = charts.interval(each["value"], low, high, each["control"], each["promise"], says, top=top)
    figures = f"{each['value']:.3f} ({low:.3f}-{high:.3f})"
    return [f"{each['variant']}, {each['targets']:,}", figures, f"{each['control']:.3f}", told, bar]


def _structure(utility: Mapping[str, Any]) -> ET.Element:
    title = node("h2", "True beside released")
    bands, mix = utility["degree_bands"], utility["attribute_mix"]
    if bands is None or mix is None:
        words = "Not measured. Give the true graph (--truth), or make reports as releases are made."
        return node("section", title, quiet(words), id="structure")
    keys = (("true", "true"), ("shown", "released"))
    rows = [(band(row), row["original"], row["released"]) for row in bands]
    drawn = [figure(charts.columns(rows, "Shares by number of ties"), "Ties a person", *keys)]
    for name, found in mix.items():
        values = found["values"]
        named = [
            (str(i + 1) if i < 8 else "others", row["original"], row["released"])
            for i, row in enumerate(values)
        ]
        moved = percent(found["distance"])
        chart = charts.columns(named, f"Shares of the values of {name}")
        drawn.append(figure(chart, f"{name}: {moved} of the values moved", *keys))
    words = "Values are numbered by how frequent they are in the truth, and never named: a rare "
    words += "value is a person."
    return node(
        "section", title, node("div", *drawn, class_="charts"), quiet(words), id="structure"
    )
