"""What a report says, out of private audits; the public edition says little of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from ktsafe import PrivacyParams
from ktsafe.assess.report.content import (
    ReleaseWithFigures,
    content,
    safety,
    structure,
)
from ktsafe.assess.report.page import COUNT_MIN, page, public_content
from ktsafe.assess.report.words import parameters
from ktsafe.audit.changes_by_age import RECENT
from ktsafe.stream.files.audit_model import Audit, Utility
from ktsafe.stream.files.release_figures import FRESHNESS_AGES
from tests.ktsafe.assess.report.examples import Page, figures, private, put, told


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the example's audit with another figure in one place."""
    audit = figures()
    put(audit, path, value)
    return audit


def test_every_figure_that_is_written_is_read() -> None:
    """Nothing is lost between a file and its readers, and nothing is added."""
    assert to_builtins(convert(figures(), Audit)) == figures()
    for part in ("cost", "usefulness", "privacy"):
        with pytest.raises(ValidationError, match=part):
            convert({name: each for name, each in figures().items() if name != part}, Audit)


def followed(index: int = 1, came: int = 7) -> ReleaseWithFigures:
    """Return the example as a release of a sequence, with ties that began one release ago."""
    nobody = {age: {"count": 0, "shown": None} for age in FRESHNESS_AGES}
    ratio = {"count": 40, "shown": 0.375, "ratio": 0.75}
    none = {"count": 0, "shown": None, "ratio": None}
    ratio, none = {**ratio, "published": ratio}, {**none, "published": none}
    found = {
        "ties": {age: ratio if age in {"1", RECENT} else none for age in FRESHNESS_AGES},
        **dict.fromkeys(("ended", "ended_by_leaving", "newcomers", "leavers"), nobody),
        "changed": {"came": came, "gone": 1_500, "came_true": 3, "came_true_share": 0.425},
        "latest": {**figures(index)["usefulness"]["edges"], "f1": 0.875},
    }
    return told(index, {**figures(index), "freshness": found})


def test_a_sequence_is_worth_its_mean_and_follows_by_age() -> None:
    """Mean and worst stand beside the last release's figures; ages without changes are left out."""
    history = [told(1), followed(2)]
    found = content(history, "now")
    f1 = [each.audit.usefulness.edges.f1 for each in history]
    assert found["over_time"]["edge_f1"]["worst"] == min(f1)
    assert found["over_time"]["edge_f1"]["mean"] == pytest.approx(sum(f1) / 2, abs=1e-6)
    assert found["over_time"]["edge_f1_latest"] == {"mean": 0.875, "worst": 0.875}
    words = Page(page(found)).words
    assert f"F1 {sum(f1) / 2:.2f} on average, {min(f1):.2f} at worst" in words
    assert "7 edges came and 1,500 went. Of those that came 42.5% are true." in words
    assert "up to 12" in words
    assert "Of those that came" not in Page(page(content([told(1), followed(2, 0)], "now"))).words
    assert "How the release follows" not in Page(page(private(2))).words


def test_changes_are_guaranteed_only_where_that_is_said() -> None:
    """Without cover, changes with few candidates break nothing."""
    audit = convert(
        changed("audit.figures.changes.k_delta_all", {"vertices": 4, "min": 1, "below_k": 4}), Audit
    )
    assert safety(audit)["verdict"] != "broken"
    assert safety(audit, covers_changes=True)["verdict"] == "broken"


def test_claims_are_told_beside_alpha() -> None:
    """Where nothing is promised of them; other figures stand beside their bound alone."""
    mine = private()["safety"]["attacks"][0]
    mine = replace(mine, promise=None, alpha=None, without_target=None)
    assert str(replace(mine, alpha=0.2)).endswith("bound none; alpha 0.200)")
    assert str(mine).endswith("bound none)")
    assert "without the target 0.300, bound" in str(replace(mine, without_target=0.3))


def test_an_old_audit_without_measurements_has_a_report() -> None:
    """What nobody measured is told as unknown, not as nought."""
    audit = {k: v for k, v in figures().items() if k not in {"utility", "attacks"}}
    found = content([told(audit=audit)], "now")
    assert found["utility"]["score"] is None
    assert found["utility"]["degree_bands"] is None
    assert found["safety"]["attacks"] == []
    assert found["safety"]["risk_curve"] is None
    assert found["safety"]["structure"] == []
    assert found["safety"]["verdict"] == "short"
    assert found["drift"] == []


def test_parameters_are_told_in_words() -> None:
    """Every parameter of the promise is there, with its value in the sentence."""
    params = PrivacyParams(k=7, alpha="2/5", t="3/10", epsilon=4).to_mapping()
    said = parameters(params, "all", "exchanged")
    rows = {row["name"]: row for row in said}
    assert rows.keys() >= {"k", "alpha", "t", "epsilon", "hops", "window", "values"}
    assert "of a member of its cohort" in rows["values"]["means"]
    words = {"k": "7 candidates", "alpha": "40%", "t": "30%", "epsilon": "at most 4 edits"}
    assert [name for name, text in words.items() if text not in rows[name]["means"]] == []
    assert {name: rows[name]["value"] for name in words} == {
        name: str(params[name]) for name in words
    }
    assert "ties" not in rows
    for ties, words in (("mutual", "each names the other"), (["family", "friend"], "these kinds")):
        row = parameters(params, "all", "exchanged", ties)[-1]
        assert row["name"] == "ties"
        assert words in row["means"]
    assert row["value"] == "family, friend"


def test_the_public_edition_says_three_tenths_and_nothing_else_that_is_private() -> None:
    """Beside sizes, parameters and texts, which are public, there are three whole numbers."""
    found = public_content(big(), rng=np.random.default_rng(0))
    public = {"format", "edition", "release_id", "sequence_id", "nominal_time", "size"}
    public |= {"guarantee", "parameters", "how_to_read", "not_covered"}
    assert found.keys() - public == {"noise"}
    assert all(isinstance(share, int) and 0 <= share <= 10 for share in found["noise"].values())
    ties = big().audit.usefulness.edges
    assert found["size"]["edges"] == ties.released
    assert abs(found["noise"]["shown_ties_true"] - 10 * ties.shared / ties.released) < 1


def test_small_releases_have_no_public_shares() -> None:
    """A tenth of few people would be a person."""
    assert told().audit.usefulness.vertices.released < COUNT_MIN
    assert public_content(told())["noise"]["vertices_people"] is None


def test_public_shares_hide_a_tie() -> None:
    """One tie more or less changes what is said no more often than chance does."""
    at_the_edge = 5_500 * 9_999 // 10_000
    said = []
    for shared in (at_the_edge, at_the_edge + 1):
        rng = np.random.default_rng(0)
        found = [public_content(big(shared), rng=rng)["noise"] for _ in range(400)]
        said.append(np.mean([each["shown_ties_true"] for each in found]))
    assert abs(said[0] - said[1]) < 0.1


def big(shared: int = 7_000):
    """Return the example with the numbers of a larger one."""
    audit = changed("usefulness.edges", {"true": 12_000, "released": 10_000, "shared": shared})
    people = {"true": 2_000, "released": 2_000, "shared": 1_990}
    put(audit, "usefulness.vertices", people)
    return told(audit=audit)


def test_structure_is_told_of_both_graphs_and_marked_where_it_is_off() -> None:
    """More than 20% of the truth is off; what is known of one graph alone is left out."""
    known = {"transitivity": 0.5, "isolated": 0.0, "assortativity": {"age": -0.5, "sex": 0.1}}
    shown = {"transitivity": 0.6, "isolated": 0.1, "assortativity": {"age": -0.39}}
    utility = convert(figures()["utility"], Utility)
    rows = structure(
        replace(
            utility,
            original=replace(utility.original, **known),
            released=replace(utility.released, **shown),
        )
    )
    told = {row.what: (row.true, row.released, row.off) for row in rows}
    assert (
        told.items()
        >= {
            "Share of people without a tie": (0.0, 0.1, True),
            "Closed triangles (transitivity)": (0.5, 0.6, False),
            "Likeness of the tied by age": (-0.5, -0.39, True),
        }.items()
    )
    assert "Likeness of the tied by sex" not in told
