"""Texts of the report: parameters, three questions of an assessment, limits.

Texts may be reworded. `ASSESSED` names attacks as the suite does; an attack that is new stands
under the question that it answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

NOT_COVERED: Final = (
    "Whether a tie that is shown is true, and whether a vertex is a person.",
    "An attacker that knows most true ties, or many and a few identities: see the risk curve.",
    "An attacker that knows your true ties exactly and drops what looks inserted.",
    "An attacker that knows sensitive values of your friends, or how many ties each of them has.",
    "Net changes over several releases, such as between the first and the last.",
    "Releases of another sequence, or other publications of the same network, with any k.",
    "An attacker that creates many accounts; and whom an account of the attacker is tied to.",
    "Groups of people instead of single ones, and whether somebody is in the network at all.",
    "Differential privacy: kt-safety is another guarantee, and does not imply it.",
)

VALUES_MEAN: Final = {
    "exchanged": "A vertex shows the sensitive value of a member of its cohort, drawn at random",
    "in place": "A vertex shows its own sensitive value: whoever knows those of friends finds some",
}
"""What it means where sensitive values stand."""

ASSESSED: Final = {
    "Singling out": (
        "Can somebody be told from everybody else?",
        (
            "one_hop",
            "two_hops",
            "denoised",
            "partial_knowledge",
            "friends_values",
            "friends_degrees",
            "structure",
            "own_account",
            "risk_curve",
        ),
    ),
    "Linkability": (
        "Can records of one person be linked, over releases or with other data?",
        (
            "risk_curve",
            "changes",
            "net_changes",
            "intersection",
            "friends_values_over_time",
            "friends_degrees_over_time",
            "age",
            "arrival",
            "departure",
            "membership_of_vertices",
        ),
    ),
    "Inference": (
        "Can something be learnt about somebody, without finding the person?",
        (
            "sensitive_inference",
            "sensitive_by_friends",
            "sensitive_by_friends_over_time",
            "membership_of_people",
            "membership_of_ties",
        ),
    ),
}
"""The questions of the Article 29 Working Party (Opinion 05/2014), and the attacks on each."""

KINDS: Final = {
    "by_true_degree": ("ties", "how many true ties they have"),
    "by_class_size": ("of a class", "how many people have their quasi-identifiers"),
}
"""Groups of people: where the private audit tells of them, and by what they are told apart."""

DRIFT: Final = (
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


def parameters(
    params: Mapping[str, int | str],
    window: str | int | None,
    values: str,
    ties: str | Sequence[str] = "any",
) -> list[dict[str, str]]:
    """Return each parameter with its value and what it means, JSON-ready."""
    k = params["k"]
    alpha, t = (Fraction(params[name]) for name in ("alpha", "t"))
    rows = [
        (
            "k",
            k,
            f"Everybody has at least {k} candidates, alike by quasi-identifiers, friends' too",
        ),
        (
            "alpha",
            params["alpha"],
            f"At most {_percent(alpha)} of anybody's candidates are shown as sensitive",
        ),
        (
            "t",
            params["t"],
            (
                "Candidates' neighbours may differ in each attribute by at most this share "
                f"({_percent(t)})"
                if t
                else "Candidates' neighbours have equal shares of each value"
            ),
        ),
        (
            "epsilon",
            params["epsilon"],
            (
                f"Candidates' neighbourhoods may differ by at most {params['epsilon']} edits"
                if params["epsilon"]
                else "Candidates have equally many neighbours"
            ),
        ),
        ("hops", 1, "How far around a person the attacker is taken to know: direct neighbours"),
    ]
    if window is not None:
        rows.append(("window", window, _window(window)))
    rows.append(("values", values, VALUES_MEAN.get(values, "Not known to this version")))
    if ties == "mutual":
        rows.append(("ties", ties, "Two people are tied where each names the other"))
    elif ties != "any":
        kinds = ", ".join(ties)
        rows.append(("ties", kinds, "Two people are tied by what the owner holds of these kinds"))
    return [{"name": name, "value": str(value), "means": words} for name, value, words in rows]


def _percent(value: Fraction) -> str:
    return f"{float(value):.3g}".rstrip(".") if value > 1 else f"{float(100 * value):.3g}%"


def _window(window: str | int) -> str:
    if window == "all":
        return "The guarantee holds for an attacker that links all releases of the sequence"
    return "The guarantee holds for this release by itself, not for several linked ones"
