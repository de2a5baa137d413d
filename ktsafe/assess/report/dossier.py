"""The dossier for officers: what the owner states, what was measured.

A clause is a row of `CLAUSES`; a question to owners a field of `Context`, documented there, and
never required. tests/ktsafe/assess/report/test_dossier.py asks that each clause has a figure or its
owner's word.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from ktsafe.assess.report.charts import RiskCurve
from ktsafe.assess.report.content import SharpestResult
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.config_errors import config_error_text
from ktsafe.stream.files.report_texts import number, percent, text_of

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Statements of the owner; missing ones stand in the dossier as such.

    Attributes
    ----------
    purpose:
        What the release is for.
    recipients, environment, practices:
        By recipient the means that it has to identify people, or only who they are; where they
        keep and use it; how they secure it and are bound.
    motives:
        Why anybody would look for a person in it, and with which means.
    transparency, stakeholders, impact_assessment:
        What people are told; the people asked; the assessment that was made.
    principals:
        Whose data they are, and children or others among them that need more care.
    population:
        Whether the network is a whole population or a sample of one.
    identifying, insensitive:
        Attributes that identify somebody directly, which are never released, and those that matter
        to nobody.
    alternatives:
        Which other means were considered: less data, an enclave, tables.
    roles:
        By role, such as "controller" or "officer": its holder.
    policies:
        Rules and training for makers of releases.
    disclosures:
        Where disclosures are written down: recipient, release, date, terms.
    monitoring:
        Who monitors new data, methods and misuse, and how.
    incident_contact, incident_plan:
        Whom to call, and what is done when somebody was found.
    approved_by, approved_on, review_on:
        Who approved the release, when, and by when it is looked at again.
    """

    purpose: Text | None = None
    recipients: Text | dict[Text, Text] | None = None
    environment: Text | None = None
    practices: Text | None = None
    motives: Text | None = None
    transparency: Text | None = None
    stakeholders: Text | None = None
    impact_assessment: Text | None = None
    principals: Text | None = None
    population: Literal["population", "sample"] | None = None
    identifying: list[Text] | None = None
    insensitive: list[Text] | None = None
    alternatives: Text | None = None
    roles: dict[Text, Text] | None = None
    policies: Text | None = None
    disclosures: Text | None = None
    monitoring: Text | None = None
    incident_contact: Text | None = None
    incident_plan: Text | None = None
    approved_by: Text | None = None
    approved_on: datetime.date | None = None
    review_on: datetime.date | None = None


def read_context(path: Path) -> Context:
    """Return what a file states.

    Raises
    ------
    ConfigError
        If it cannot be read, or states something that there is no place for.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        found = msgspec.convert(document, Context)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML file.") from error
    except msgspec.ValidationError as error:
        msg = f"{path}: {config_error_text(error, Context).replace(' or null', '')}"
        raise ConfigError(msg, hint="docs/report.md lists the keys.") from error
    if found.approved_on and found.review_on and found.review_on <= found.approved_on:
        raise ConfigError(f"{path}: review_on must be later than approved_on.")
    return found


def said(context: Context, name: str) -> str | None:
    """Return what the owner states under a key, as text.

    None if nothing.
    """
    value: Any = getattr(context, name)
    if value is None:
        return None
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{role}: {name}" for role, name in value.items()) or None
    return str(value)


# The dossier of a release.
#
# Clause by clause a figure, what the owner states, or that it must.
#
# Numbers of clauses are meant to be those of ISO/IEC 27559:2022 (9.2 to 9.4 taken as one each), and
# of techniques in ISO/IEC 20889:2018. They were not compared with a copy, and the page says so.
# 6.3.2, 6.3.3 and 7.3.4 have their names in the list of contents, others are in words of our own.
#
# Whether data identify somebody is judged for each recipient, by the means that it may reasonably
# use (Court of Justice of the European Union, C-413/23 P): so each has a row.

MUST_STATE: Final = "owner must state"
"""What stands where neither a figure nor the owner answers."""
NOT_MEASURED: Final = "not measured: `ktsafe audit --page` with --truth measures it"

CLAUSES: Final = (
    ("27559 6.2.1", "Threats: who has the data, where", ("recipients", "environment"), ""),
    ("27559 6.2.2", "Security and privacy practices", ("practices",), ""),
    ("27559 6.2.3", "Motives and capacity to re-identify", ("motives",), "capacity"),
    ("27559 6.3.1", "What the release is for", ("purpose",), ""),
    (
        "27559 6.3.2",
        "Transparency of actions and stakeholder engagement",
        ("transparency", "stakeholders"),
        "",
    ),
    ("27559 6.3.3", "Privacy-related harms", ("impact_assessment",), "verdict"),
    ("27559 7.2.1", "The data", (), "data"),
    ("27559 7.2.2", "Whose data they are", ("principals",), "people"),
    ("27559 7.2.3", "Type of the data", (), "type"),
    ("27559 7.2.4", "Types of attributes", ("identifying", "insensitive"), "attributes"),
    ("27559 7.2.5", "Properties of the data set", (), "properties"),
    ("27559 7.3.1", "Attacks that are modelled", (), "attacks"),
    ("27559 7.3.2", "Greatest and average risk", (), "risk"),
    ("27559 7.3.3", "Population or sample", ("population",), "sampling"),
    ("27559 7.3.4", "Data privacy models", (), "privacy_models"),
    ("27559 8.2.1", "How identifiability is assessed", (), "assessed"),
    ("27559 8.2.2", "Identifiability as a number", (), "threshold"),
    ("27559 8.2.3", "Adversarial testing", (), "testing"),
    ("27559 8.3.1", "Mitigation that was weighed", ("alternatives",), ""),
    ("27559 8.3.2", "Changes of the environment", ("practices",), ""),
    ("27559 8.3.3", "Changes of the data", (), "transformed"),
    ("27559 8.3.4", "Assessed again after mitigation", (), "again"),
    (
        "27559 9.2",
        "Roles, rules, approval, disclosures",
        ("roles", "policies", "approved_by", "approved_on", "disclosures"),
        "",
    ),
    ("27559 9.3", "Monitoring and review", ("monitoring", "review_on"), ""),
    ("27559 9.4", "Incidents", ("incident_contact", "incident_plan"), ""),
    ("20889", "Formal privacy model", (), "model"),
    ("20889", "Techniques", (), "techniques"),
    ("20889", "Attack on singling out, linking, inference", (), "wp216"),
    ("WP216", "Singling out", (), "Singling out"),
    ("WP216", "Linkability", (), "Linkability"),
    ("WP216", "Inference", (), "Inference"),
    ("ICO", "Motivated intruder", ("motives",), "intruder"),
)
"""Standard and clause, what it asks, keys of the context that answer, and the figure that does."""
RECIPIENT: Final = "C-413/23 P"
"""Stands before the row of each recipient: what the owner states of it, and what attackers find."""


def dossier(context: Context, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dossier of a report, JSON-ready and private.

    Parameters
    ----------
    content:
        As from `ktsafe.assess.report.content.content`.

    Returns
    -------
    dict
        `sha256`: of the manifest of the release, None where it is not known. `clauses`: `clause`,
        `asks`, `answers` and whether the owner must state something (`is_open`). `open`: how many
        do. `approved_by`, `approved_on`, `review_on`.
    """
    figures = _figures(content)
    rows = []
    for clause, asks, keys, figure in CLAUSES:
        answers = [figures[figure]] if figure else []
        stated = {key: said(context, key) for key in keys}
        answers += [f"{_named(key)}: {text or MUST_STATE}" for key, text in stated.items()]
        is_open = None in stated.values()
        rows.append({"clause": clause, "asks": asks, "answers": answers, "is_open": is_open})
    for name, means in _recipients(context).items():
        answers = [f"means: {means or MUST_STATE}", figures["capacity"]]
        asks = f"Means to identify people: {name}"
        rows.append({"clause": RECIPIENT, "asks": asks, "answers": answers, "is_open": not means})
    return {
        "sha256": content["sha256"],
        "clauses": rows,
        "open": sum(row["is_open"] for row in rows),
        **{key: said(context, key) for key in ("approved_by", "approved_on", "review_on")},
    }


def _recipients(context: Context) -> Mapping[str, str | None]:
    """Return by recipient the statements about its means.

    A text names them all, and states none.
    """
    named = context.recipients
    return named if isinstance(named, dict) and named else {str(named or "each recipient"): None}


def _named(key: str) -> str:
    return key.replace("_", " ")


def _figures(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what the report's figures answer, by the names in `CLAUSES`."""
    safety, size = content["safety"], content["size"].released
    params = {row["name"]: row["value"] for row in content["parameters"]}
    schema, people = content["attributes"], safety["people"]
    ran = sorted({each.attack for each in safety["attacks"]})
    cost = content["cost"].parts
    fewest = None if people is None else people.min
    mean = content["least_protected"].risk_mean
    risk_max = None if not fewest else 1 / fewest
    answers = {row.risk: "; ".join(row.answers) or NOT_MEASURED for row in content["assessment"]}
    curve = _curve(safety["risk_curve"])
    return {
        "capacity": curve,
        "verdict": f"{safety['title']}.",
        "data": f"A social network: {size.vertices:,} vertices, {size.edges:,} ties; "
        f"release {content['release_id']}, as of {content['nominal_time'] or 'no stated time'}.",
        "people": f"{number(content['least_protected'].people)} people are shown.",
        "type": "A graph with categorical attributes, one record a person, and ties between them; "
        + ("one release." if content["releases"] == 1 else "releases that can be linked."),
        "attributes": f"Quasi-identifiers: {', '.join(schema['quasi_identifiers'])}; sensitive: "
        f"{schema['sensitive']}. Attributes that are not listed are dropped.",
        "properties": f"Ties a person {text_of(content['mean_ties'], '.1f', 'not known')}; people "
        f"by kind: see Who is least protected; {content['releases']:,} releases.",
        "attacks": f"An attacker with attributes and ties up to {params['hops']} away; others were "
        f"measured: {', '.join(ran) or 'none'}.",
        "risk": f"Greatest, 1 over the fewest candidates that are people: "
        f"{text_of(risk_max, '.3f', 'not known')}. Average over people: "
        f"{text_of(mean, '.3f', 'not known')}. Both are for the attacker of the guarantee.",
        "sampling": "Withheld people aside, the release is of all people in the network.",
        "assessed": f"By the definition of kt-safety (k = {params['k']}, alpha = "
        f"{params['alpha']}), verified from the published bytes, and by attacks.",
        "threshold": f"At most {text_of(1 / int(params['k']), '.3f')} (1/k) by the guarantee; "
        + "; ".join(
            f"{row.guarantee}: worst {number(row.worst, 3)}, bound {number(row.bound, 3)}"
            for row in safety["guarantees"]
        )
        + ".",
        "testing": curve
        + (
            f" Missing: {', '.join(safety['attacks_unfinished'])}."
            if safety["attacks_unfinished"]
            else " All attacks with a bound were run."
        ),
        "transformed": f"{cost['inserted_edges']:,} edges inserted, {cost['deleted_edges']:,} ties "
        f"hidden, {cost['unowned_vertices']:,} vertices without a person, "
        f"{cost['deleted_vertices']:,} people not shown.",
        "again": _again(content),
        "privacy_models": f"kt-safety: k = {params['k']}, alpha = {params['alpha']}, t = "
        f"{params['t']}, epsilon = {params['epsilon']}, {params['hops']} hops.",
        "model": "K-anonymity type, over neighbourhoods in a graph: kt-safety, "
        f"k = {params['k']}; no differential privacy of the graph.",
        "techniques": "Noise (edges inserted and hidden), suppression (people withheld, values "
        "masked), generalization (buckets), pseudonymization (ids drawn at random).",
        "wp216": "See WP216 below: each with the attacks that test it.",
        "intruder": f"{curve} An intruder with your neighbours' attributes: "
        f"{_attack(safety['attacks'], 'one_hop')}.",
        **answers,
    }


def _attack(attacks: list[SharpestResult], name: str) -> str:
    found = next((each for each in attacks if each.attack == name), None)
    if found is None:
        return "not measured"
    low, high = found.interval
    return f"finds {found.value:.3f} ({low:.3f}-{high:.3f}), baseline {found.control:.3f}"


def _curve(curve: RiskCurve | None) -> str:
    if curve is None:
        return f"Risk curve {NOT_MEASURED}."
    parts = [
        f"{percent(each.ties)} of the ties and {percent(each.seeds)} of the people known: "
        f"{each.value:.3f} found (from {each.interval[0]:.3f} to {each.interval[1]:.3f})"
        for each in curve.points
        if (each.ties, each.seeds) in {(1.0, 0.0), (0.6, 0.01), (0.2, 0.05)}
    ]
    return f"Risk curve: {'; '.join(parts)}; a guess: {curve.control:.3f}."


def _again(content: Mapping[str, Any]) -> str:
    below = number(content["least_protected"].below_k)
    return (
        "Every release is verified before it goes out, and attacked where `[attack]` asks for it; "
        f"{content['releases']:,} so far, {len(content['found_wanting']):,} of the earlier ones "
        f"found wanting; now {below} people have fewer than k candidates that are people."
    )
