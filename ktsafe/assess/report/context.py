"""`context.toml`: the owner's statements for a dossier."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.config_errors import config_error_text

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
