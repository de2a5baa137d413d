"""Kinds of connectors: `kind` in `[source]`, `[sink]`, `[dead_letters]` and `[signing]`.

Base classes are what plug-ins are written against: a new abstract method breaks them and needs
docs/plug-ins.md, ops/examples and tests/connectors/test_plug_ins.py. `WORDS` of keys that look like
secrets may grow.

A kind is a table: its keys are fields, and it makes the connector. Kinds of other distributions are
found by entry points, named as the kind, in the groups of `GROUPS`:

    [project.entry-points."ktsafe.sinks"]
    sqlite = "our_package:SqliteSink"

`docs/plug-ins.md` shows one from beginning to end.
"""

from __future__ import annotations

import abc
import dataclasses
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Union
from urllib.parse import urlsplit

import msgspec

from ktsafe.connectors.base import DeadLetterSink, ReleaseReader, ReleaseSink, Source
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.letters import Letter, Payload
from ktsafe.connectors.secrets import Signer
from ktsafe.graph import Schema
from ktsafe.params import found
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.ingest.debezium import Tables

# Tables of a configuration, and secrets that none of them may hold.

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=31_536_000)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every table: frozen, unknown keys refused."""


# Addresses for this machine only, and what stays there.


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens on `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_scheduler(address: str) -> None:
    """Refuse to send the true graph openly to Dask's workers.

    Raises
    ------
    ConfigError
        Unless the address begins with tls://, or is of this machine.
    """
    parts = urlsplit(address)
    if parts.scheme == "tls" or (parts.scheme == "tcp" and is_loopback(parts.hostname or "")):
        return
    msg = f"workers.dask = {address!r}: tasks hold the true graph, and go by TLS only."
    raise ConfigError(msg, hint='Name a scheduler that speaks TLS, as in "tls://host:8786".')


# No secret stands in a configuration file.
#
# What looks like one is refused, with the way out.

WORDS: Final = ("password", "passphrase", "secret", "token")
PLACES: Final = ("_file", "_env")
"""Ends of keys that say where a secret is."""


def refuse_secrets(document: Mapping[str, Any], name: str) -> None:
    """Refuse a key for a secret itself, without its value.

    Raises
    ------
    ConfigError
        With the key that says where the secret is instead.
    """
    # Attributes have the names that the feed gives them.
    tables = {key: value for key, value in document.items() if key != "attributes"}
    for key in _keys(tables, ""):
        if any(word in key for word in WORDS) and not key.endswith(PLACES):
            msg = f"{name}: {key}: a secret does not belong in a configuration file."
            raise ConfigError(
                msg, hint=f"Put it in a file of mode 0600 and name that in {key}_file."
            )


def _keys(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the dotted key of every value that is no table."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{name}.")
        else:
            yield prefix + name


GROUPS: Final = {
    "source": "ktsafe.sources",
    "sink": "ktsafe.sinks",
    "dead_letters": "ktsafe.dead_letters",
    "signing": "ktsafe.signers",
}
"""The group of entry points for each table."""


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """Where a service is configured.

    What a table needs beside its own keys.

    Attributes
    ----------
    base:
        The folder that relative paths start from.
    kafka:
        The cluster of the `[kafka]` table, if there is one.
    change_max:
        The share of the people whose value may differ from one dump to the next.
    schema:
        What is published.
    """

    base: Path
    kafka: KafkaSettings | None = None
    change_max: float = 0.2
    schema: Schema | None = None

    def path(self, text: str) -> Path:
        """Return a configured path.

        Raises
        ------
        ConfigError
            If no path can be so: it holds a null character, or "~name" names nobody.
        """
        try:
            return (self.base / Path(text).expanduser()).resolve()
        except (ValueError, RuntimeError) as error:
            msg = f"{text!r} cannot be a path."
            raise ConfigError(msg, hint="Correct it in the configuration.") from error

    @property
    def cluster(self) -> KafkaSettings:
        """The cluster.

        Raises
        ------
        ConfigError
            If there is no `[kafka]` table.
        """
        if self.kafka is None:
            msg = "The configuration has no [kafka] table."
            raise ConfigError(msg, hint="A connector of kind kafka needs one.")
        return self.kafka


class _TableMeta(msgspec.StructMeta, abc.ABCMeta):
    """Tables with methods that a kind must have."""


class ConnectorTable(Section, frozen=True, tag_field="kind", metaclass=_TableMeta):
    """Base of the tables of connectors."""

    @abc.abstractmethod
    def place(self, site: Site) -> str:
        """Return where it reads or writes, for people."""

    @property
    def kafka_topic(self) -> str | None:
        """The topic of the `[kafka]` cluster that it uses, if it does."""
        return None


class SourceTable(ConnectorTable, frozen=True):
    """`[source]`: where events come from.

    With `tables` records are change envelopes of Debezium instead: rows of these tables.
    """

    tables: Tables = ()

    @property
    def gives_whole_moments(self) -> bool:
        """Whether at its end its last event's time is complete."""
        return False

    @abc.abstractmethod
    def source(self, site: Site, *, drain: bool) -> Source:
        """Return the unopened source; `drain`: the service ends where the feed does."""

    def missing(self, site: Site) -> list[str]:
        """Return the names of missing parts, for people."""
        return []


class SinkTable(ConnectorTable, frozen=True):
    """`[sink]`: where releases are published."""

    @abc.abstractmethod
    def release_sink(self, site: Site) -> ReleaseSink:
        """Return the sink, not opened."""

    @abc.abstractmethod
    def release_reader(self, site: Site) -> ReleaseReader:
        """Return a reader of what the sink publishes."""

    def folder_handed_out(self, site: Site) -> Path | None:
        """Return the folder that readers get, where nothing private may lie."""
        return None


class DeadLettersTable(ConnectorTable, frozen=True):
    """`[dead_letters]`: where records go that cannot be applied."""

    payload: Payload = "full"

    @abc.abstractmethod
    def dead_letter_sink(self, site: Site) -> DeadLetterSink:
        """Return the sink, open."""

    def letters(self, site: Site) -> Iterator[Letter]:
        """Yield letters as JSON-ready mappings, in the form of the file sink.

        Raises
        ------
        ConfigError
            If this kind cannot read them.
        """
        msg = "Dead letters of this kind cannot be read here."
        raise ConfigError(msg, hint=f"Read them where they are: {self.place(site)}.")

    def erase(self, site: Site, ids: Sequence[str]) -> int | None:
        """Blank the letters that hold one of these ids.

        Return how many. None: out of reach.
        """
        return None

    def private_file(self, site: Site) -> Path | None:
        """Return the file that it writes, for its owner alone."""
        return None


class SigningTable(ConnectorTable, frozen=True):
    """`[signing]`: the key that releases are signed with.

    Without this table they are not.
    """

    @abc.abstractmethod
    def signer(self, site: Site) -> Signer:
        """Return what signs.

        Raises
        ------
        Misconfigured
            If there is no usable key.
        """


def configuration_type(
    base: type[msgspec.Struct],
    built_in: Mapping[str, Sequence[type[ConnectorTable]]],
    document: Mapping[str, Any],
) -> Any:
    """Return the type that a configuration is decoded to.

    `base` with the kinds that it names.

    Parameters
    ----------
    built_in:
        The kinds that come with the program, by table.
    document:
        The parsed file. Of other kinds only those are loaded that it names.

    Raises
    ------
    ConfigError
        If an installed kind cannot be loaded.
    """
    fields: list[Any] = []
    for name, tables in built_in.items():
        table = document.get(name)
        kind = table.get("kind") if isinstance(table, dict) else None
        known = [each.__struct_config__.tag for each in tables]
        more = () if kind in known else _installed(name, kind)
        if name in _needed(base):
            fields.append((name, Union[(*tables, *more)]))
        else:
            fields.append((name, Union[(*tables, *more, None)], None))
    return msgspec.defstruct(
        base.__name__, fields, bases=(base,), frozen=True, kw_only=True, forbid_unknown_fields=True
    )


def _needed(base: type[msgspec.Struct]) -> set[str]:
    """Return the names of fields without a default."""
    return {field.name for field in msgspec.structs.fields(base) if field.required}


def _installed(table: str, kind: object) -> tuple[type[ConnectorTable], ...]:
    """Return the table of an installed kind.

    None if there is no such kind.
    """
    point = found(GROUPS[table], kind) if isinstance(kind, str) else None
    if point is None:
        return ()
    try:
        made = point.load()
    except Exception as error:
        msg = f'{table}.kind = "{kind}" is installed and cannot be loaded: {type(error).__name__}.'
        raise ConfigError(msg, hint=f"It is {point.value}; see its documentation.") from error
    if not (isinstance(made, type) and issubclass(made, ConnectorTable)):
        msg = f'{table}.kind = "{kind}" is no table of a connector.'
        raise ConfigError(msg, hint=f"{point.value} must derive from ConnectorTable.")
    return (made,)
