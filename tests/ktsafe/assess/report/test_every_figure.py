"""Each figure that a reader is shown is the one of the private audit that its name says.

The audits here have another number in each place, so a figure of another place is another number.
What is worked out is worked out again, from the audit as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import pytest
from msgspec import convert, json, to_builtins

from ktsafe.assess.releases.worth import describe_life, over_releases
from ktsafe.assess.report.content import content
from ktsafe.assess.report.dossier import Context, dossier
from ktsafe.assess.report.page import page
from ktsafe.stream.files.audit_model import Audit
from ktsafe.stream.files.release_figures import ATTACKS_TOLD, FRESHNESS_AGES, secrets_of
from tests.ktsafe.assess.report.examples import told
from tests.ktsafe.assess.report.numbered import numbered

SEEDS: Final = range(4)


def report_of(audit: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a release and one before it, as JSON has it."""
    found = content([told(1, before), told(2, audit)], "now")
    report: dict[str, Any] = json.decode(json.encode(found))
    return report


def at(tree: Any, path: str) -> Any:
    """Return what stands at a path of names and places."""
    for name in path.split("."):
        tree = tree[int(name) if isinstance(tree, list) else name]
    return tree


def part(some: int, whole: int) -> float:
    """Return a share of six places, 0 or 1 only of nothing or all."""
    found = round(some / whole, 6)
    return min(max(found, 1e-6), 1 - 1e-6) if 0 < some < whole else found


SAME: Final[Mapping[str, str]] = {
    "size": "size",
    "mean_ties": "utility.released.mean_degree",
    "utility.usefulness": "usefulness",
    "utility.f1_afresh": "afresh.edges.f1",
    "utility.degree_bands": "utility.degree_bands",
    "utility.attribute_mix": "utility.attribute_mix",
    "conclusions.judged": "utility.conclusions.conclusions",
    "conclusions.wrong_share": "utility.conclusions.wrong_share",
    "conclusions.mixing": "utility.conclusions.mixing",
    "freshness": "freshness",
    "safety.margin_until": "sequence.margin_until",
    "safety.attacks_of": "attacks.of",
    "least_protected.people": "privacy.all.vertices",
    "least_protected.risk_mean": "privacy.all.k_real.risk_mean",
    **{
        f"cost.parts.{name}": f"cost.{name}"
        for name in ("unowned_vertices", "deleted_vertices", "inserted_edges", "deleted_edges")
    },
    "cost.total": "cost.total",
    "cost.k_copies": "cost.k_copies",
    "cost.nothing": "usefulness.edges.true",
    "cost.edge_cost_share": "usefulness.edges.cost_share",
    "waiting.0.count": "cost.deleted_vertices",
    "waiting.0.releases_max": "sequence.withheld_age_max",
    "waiting.0.releases_median": "audit.figures.containment.withheld_releases_median",
    "waiting.1.count": "cost.deleted_edges",
    "waiting.1.releases_max": "sequence.held_edge_age_max",
    "waiting.2.count": "cost.edges_of_withheld",
    "waiting.3.count": "sequence.held_values",
    "waiting.4.count": "suppressed.sensitive_values",
    "waiting.5.count": "sequence.residual_edges",
    "waiting.5.releases_max": "sequence.residual_age_max",
    "drift.1.vertices": "size.released.vertices",
    "drift.1.edges": "size.released.edges",
    "drift.1.precision": "usefulness.edges.precision",
    "drift.1.recall": "usefulness.edges.recall",
    "drift.1.f1": "usefulness.edges.f1",
    "drift.1.f1_latest": "freshness.latest.f1",
    "drift.1.new_ties_shown": "freshness.ties.recent.shown",
    "drift.1.ended_ties_shown": "freshness.ended.recent.shown",
    "drift.1.newcomers_shown": "freshness.newcomers.recent.shown",
    "drift.1.edge_cost_share": "usefulness.edges.cost_share",
    "drift.1.fewest_candidates": "audit.figures.published.candidates.min",
    "safety.structure.0.named": "attacks.results.16.value",
    **{
        f"safety.structure.0.{name}": f"attacks.results.16.figures.{name}"
        for name in ("true_2", "true_k", "shown_2", "shown_k")
    },
    **{
        f"safety.risk_curve.points.0.{name}": f"attacks.results.17.{of}{name}"
        for of, names in (("", ("targets", "value", "interval")), ("figures.", ("ties", "seeds")))
        for name in names
    },
    "safety.risk_curve.control": "attacks.results.17.control",
}
"""By place in the report the place in the audit."""


@pytest.mark.parametrize("seed", SEEDS)
def test_each_figure_of_a_report_is_the_one_of_its_audit(seed: int) -> None:
    """Those that are copied, and those that are worked out; of an earlier release its own."""
    audit, before = numbered(seed), numbered(100 + seed)
    found = report_of(audit, before)
    assert {to: at(found, to) for to in SAME} == {to: at(audit, of) for to, of in SAME.items()}
    for kind in ("by_true_degree", "by_class_size"):
        for row, band in zip(found["least_protected"][kind], audit["privacy"][kind], strict=True):
            assert row == {
                "from": band["from"],
                "to": band["to"],
                "people": band["vertices"],
                "fewest_real": band["k_real"]["min"],
                "share_below_k": band["k_real"]["share"],
                "above_alpha": part(band["alpha_real"]["above_alpha"], band["vertices"]),
            }
    for row, each in zip(found["drift"], (before, audit), strict=True):
        fewest = fewest_people(each)
        assert row["below_k_real"] == part(fewest["below_k"], each["privacy"]["all"]["vertices"])
        whole = each["usefulness"]["vertices"]["true"]
        assert row["people_not_shown"] == part(each["cost"]["deleted_vertices"], whole)
        assert row["f1"] == each["usefulness"]["edges"]["f1"]
    fewest, protected = fewest_people(audit), found["least_protected"]
    assert (protected["fewest_real"], protected["below_k"]) == (fewest["min"], fewest["below_k"])
    assert protected["above_alpha"] == max(
        audit["privacy"]["all"]["alpha_real"]["above_alpha"],
        audit["audit"]["figures"]["published"]["alpha_real_leavers_known"]["above_alpha"],
    )
    shown = {row["attack"]: row for row in found["safety"]["attacks"]}
    assert list(shown) == list(ATTACKS_TOLD)
    for name, result in zip(ATTACKS_TOLD, audit["attacks"]["results"], strict=True):
        own = {key: result[key] for key in shown[name].keys() & result.keys() - {"attack"}}
        assert shown[name] == own | {
            "attack": name,
            "variant": result["attack"],
            "alpha": result["figures"]["alpha"],
        }


def fewest_people(audit: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of people among candidates that are worse: of one release, or of all."""
    published = audit["audit"]["figures"]["published"]["candidates_real_leavers_known"]
    both = (audit["privacy"]["all"]["k_real"], published)
    return max(both, key=lambda each: (each["below_k"], -each["min"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_guarantee_is_told_by_its_own_figures(seed: int) -> None:
    """Worst, bound, and for how many of those that are asked it is kept."""
    audit = numbered(seed)
    everybody, figures = audit["privacy"]["all"], audit["audit"]["figures"]
    rows = [
        (everybody["k_claimed"], everybody["vertices"]),
        (figures["published"]["candidates"], figures["published"]["candidates"]["vertices"]),
        (figures["changes"]["k_delta_all"], figures["changes"]["k_delta_all"]["vertices"]),
    ]
    expected = [
        (counts["min"], audit["params"]["k"], part(whole - counts["below_k"], whole))
        for counts, whole in rows
    ]
    alpha = everybody["alpha"]
    kept = part(everybody["vertices"] - alpha["above_alpha"], everybody["vertices"])
    expected.append((alpha["max"], 0.5, kept))
    found = report_of(audit, audit)["safety"]["guarantees"]
    assert [(row["worst"], row["bound"], row["kept"]) for row in found] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_each_figure_that_operators_watch_is_the_one_of_its_audit(seed: int) -> None:
    """Costs, candidates, worth, attacks, freshness by age, and the risk curve."""
    audit = numbered(seed)
    found = to_builtins(secrets_of(convert(audit, Audit)))
    everybody, published = audit["privacy"]["all"], audit["audit"]["figures"]["published"]
    counts = {
        "claimed": everybody["k_claimed"],
        "real": everybody["k_real"],
        "known": everybody["k_known"],
        "sequence": published["candidates"],
        "sequence_real": published["candidates_real_leavers_known"],
        "change": audit["audit"]["figures"]["changes"]["k_delta_all"],
    }
    assert found["candidates"] == {
        name: {
            "least": each["min"],
            "below_k": each["below_k"],
            "share": each["share"] if "share" in each else each["below_k"] / each["vertices"],
        }
        for name, each in counts.items()
    }
    assert found["sensitive"] == {
        "claimed": everybody["alpha"]["max"],
        "real": everybody["alpha_real"]["max"],
        "sequence_real": published["alpha_real_leavers_known"]["max"],
    }
    parts = ("unowned_vertices", "inserted_edges", "deleted_vertices", "deleted_edges")
    assert found["cost"] == {name: audit["cost"][name] for name in parts}
    assert found["yardsticks"] == {"copies": audit["cost"]["k_copies"]}
    assert found["worth"] == worth_of(audit)
    for name, result in zip(ATTACKS_TOLD, audit["attacks"]["results"], strict=True):
        low, high = result["interval"]
        own = {key: result[key] for key in ("value", "control", "promise")}
        assert found["attacks"][name] == own | {"low": low, "high": high}
    fresh = audit["freshness"]
    for age in FRESHNESS_AGES:
        ties = fresh["ties"][age]
        others = ("ended", "ended_by_leaving", "newcomers", "leavers")
        assert {name: ages[age] for name, ages in found["freshness"]["by_age"].items()} == {
            "ties_shown": ties["shown"],
            "ties_ratio": ties["ratio"],
            "published_ratio": ties["published"]["ratio"],
            **{f"{name}_shown": fresh[name][age]["shown"] for name in others},
        }
    changed = {name: fresh["changed"][name] for name in ("came", "gone", "came_true")}
    assert found["freshness"]["changed"] == changed
    assert found["risk"] == {"60% ties, 1% seeds": audit["attacks"]["results"][17]["value"]}
    assert found["margin_until"] == audit["sequence"]["margin_until"]


def worth_of(audit: dict[str, Any]) -> dict[str, float]:
    """Return what a release shares with the truth, by the names that are watched."""
    names = ("cost_share", "precision", "recall", "f1")
    worth = {
        f"{of}_{name}": audit["usefulness"][kind][name]
        for of, kind in (("edge", "edges"), ("vertex", "vertices"))
        for name in names
    }
    worth["edge_f1_afresh"] = audit["afresh"]["edges"]["f1"]
    return worth | {"edge_f1_latest": audit["freshness"]["latest"]["f1"]}


@pytest.mark.parametrize("seed", SEEDS)
def test_each_cell_of_a_life_is_a_figure_of_its_release(seed: int) -> None:
    """A line for each release: of ended ties those gone are told, of new ones those shown."""
    audits = [numbered(seed), numbered(100 + seed)]
    life = over_releases([convert(audit, Audit) for audit in audits])
    lines = describe_life(life).splitlines()[2:]
    worths = [worth_of(audit) for audit in audits]
    for line, audit, worth, row in zip(lines, audits, worths, life.releases, strict=False):
        fresh = audit["freshness"]
        shown = {
            name: (round(each["count"] * each["shown"]), each["count"])
            for name in ("ties", "ended", "newcomers", "leavers")
            for each in (fresh[name]["recent"],)
        }
        still, ended = shown["ended"]
        cells = [
            audit["nominal_time"][:10],
            f"{audit['size']['released']['edges']:,}",
            f"{fresh['changed']['came']:,}",
            f"{fresh['changed']['gone']:,}",
            *"{:,} of {:,}".format(*shown["ties"]).split(),
            *f"{ended - still:,} of {ended:,}".split(),
            *"{:,} of {:,}".format(*shown["newcomers"]).split(),
            f"{worth['edge_f1']:.2f}",
            f"{worth['edge_f1_latest']:.2f}",
        ]
        assert line.split() == cells
        assert (row.leavers.shown, row.leavers.count) == shown["leavers"]
        assert row.worth == worth
    for name, values in to_builtins(life)["worth"].items():
        both = [worth[name] for worth in worths]
        worst = max(both) if "cost" in name else min(both)
        assert values == {"mean": round(sum(both) / 2, 6), "worst": worst}


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of each row of a page's tables, as texts."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    cells = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows)
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells]


def percent(share: float) -> str:
    """Return a share in percent; none of these is next to 0 or 1."""
    return f"{100 * share:.1f}%"


@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_of_a_page_has_the_figures_of_its_head(seed: int) -> None:
    """Usefulness, attacks, bands of people, what waits, freshness by age, and the cost."""
    audit = numbered(seed)
    history = [told(1, numbered(100 + seed)), told(2, audit)]
    rows = rows_of(page(content(history, "now")))
    expected = []
    for name, of in (("people", "vertices"), ("ties", "edges")):
        one = audit["usefulness"][of]
        counts = [f"{one[key]:,}" for key in ("true", "released", "shared")]
        expected.append([name, *counts, percent(one["precision"]), percent(one["recall"])])
    for one in audit["attacks"]["results"]:
        low, high = one["interval"]
        alpha = one["figures"]["alpha"]
        expected.append(
            [
                f"{one['attack']}, {one['targets']:,}",
                f"{one['value']:.3f} ({low:.3f}-{high:.3f})",
                f"{one['control']:.3f}; without {one['without_target']:.3f}",
                f"{one['promise']:.3f}; alpha {alpha:.3f}",
            ]
        )
    known = audit["attacks"]["results"][16]
    shares = [known["figures"][name] for name in ("true_2", "true_k", "shown_2", "shown_k")]
    expected.append(["ties of each friend at all", *map(percent, [*shares, known["value"]])])
    for kind in ("by_true_degree", "by_class_size"):
        for one in audit["privacy"][kind]:
            above = one["alpha_real"]["above_alpha"] / one["vertices"]
            real = one["k_real"]
            expected.append(
                [
                    f"{one['from']}-{one['to']}",
                    f"{one['vertices']:,}",
                    f"{real['min']:,}",
                    percent(real["share"]),
                    percent(above),
                ]
            )
    cost, held = audit["cost"], audit["sequence"]
    hidden = [f"{cost['deleted_edges']:,}", f"{held['held_edge_age_max']:,}", "-"]
    expected.append(["Ties hidden", *hidden])
    for age in FRESHNESS_AGES:
        new = audit["freshness"]["ties"][age]
        name = "up to 12" if age == "recent" else age
        first = [name, f"{new['count']:,}", percent(new["shown"]), f"{new['ratio']:.2f}"]
        kinds = ("ended", "newcomers", "leavers")
        others = [percent(audit["freshness"][kind][age]["shown"]) for kind in kinds]
        expected.append([*first, *others])
    made_of = (
        f"{cost['unowned_vertices']:,} vertices without a person, {cost['deleted_vertices']:,} "
        f"people not shown, {cost['inserted_edges']:,} edges inserted, "
        f"{cost['deleted_edges']:,} ties hidden"
    )
    expected.append(["this release", f"{cost['total']:,}", made_of])
    expected.append(["publishing no tie", f"{audit['usefulness']['edges']['true']:,}"])
    expected.append(["k disjoint copies", f"{cost['k_copies']:,}"])
    shown = [row[: len(one)] for one in expected for row in rows if row[:1] == one[:1]]
    assert [one for one in expected if one not in shown] == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dossier_tells_the_figures_of_its_report(seed: int) -> None:
    """Sizes, risks, guarantees, what was changed, and how often a release was found wanting."""
    audit, before = numbered(seed), numbered(100 + seed)
    report = content([told(1, before), told(2, audit)], "now")
    text = " ".join(" ".join(row["answers"]) for row in dossier(Context(), report)["clauses"])
    cost, size, fewest = audit["cost"], audit["size"]["released"], fewest_people(audit)
    everybody = audit["privacy"]["all"]
    sayings = [
        f"{size['vertices']:,} vertices, {size['edges']:,} ties; release 000002-X, as of 2026-02",
        f"{everybody['vertices']:,} people are shown",
        f"Ties a person {audit['utility']['released']['mean_degree']:.1f};",
        f"1 over the fewest candidates that are people: {1 / fewest['min']:.3f}.",
        f"Average over people: {everybody['k_real']['risk_mean']:.3f}.",
        (
            f"{cost['inserted_edges']:,} edges inserted, {cost['deleted_edges']:,} ties hidden, "
            f"{cost['unowned_vertices']:,} vertices without a person, "
            f"{cost['deleted_vertices']:,} people not shown."
        ),
        f"2 so far, 1 of the earlier ones found wanting; now {fewest['below_k']:,} people",
        f"in this release: worst {everybody['k_claimed']['min']:,}, bound 5",
    ]
    one_hop = audit["attacks"]["results"][0]
    low, high = one_hop["interval"]
    found = (
        f"finds {one_hop['value']:.3f} ({low:.3f}-{high:.3f}), baseline {one_hop['control']:.3f}"
    )
    assert [each for each in (*sayings, found) if each not in text] == []
