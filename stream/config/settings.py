"""The service's configuration: one TOML file, read once, frozen, unknown keys refused.

Relative paths are relative to the folder of the configuration file, so a service finds its
state wherever it is started from.

Defaults and bounds may be tuned; a key needs stream/example.toml and `make reference`. What goes
into `SequenceOptions` or `PrivacyParams` is fixed within a sequence: running services refuse
another value until a rebase.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from ktsafe import PrivacyParams, Schema
from ktsafe.anonymization.request import MIN_F1, Aim, Effort, Values
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.errors import InvalidGraph, InvalidParams, KtsafeError
from ktsafe.reader.exports import ABOUT
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.assessment import AttackSettings, check_installed, is_installed
from ktsafe.stream.config.connector_kinds import (
    DeadLettersTable,
    Positive,
    Seconds,
    Section,
    SigningTable,
    SinkTable,
    Site,
    SourceTable,
    check_scheduler,
    configuration_type,
    refuse_secrets,
)
from ktsafe.stream.config.connector_tables import BUILT_IN
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.config_errors import config_error_text, config_faults
from ktsafe.stream.files.graphs import AttributesTable, CompositeSchema
from ktsafe.stream.files.releases_write import Format as ReleaseFormat
from ktsafe.stream.ingest.debezium import Tables
from ktsafe.stream.slots import Slots, parse_slots


class StateTable(Section, frozen=True):
    """`[state]`: the folder of true graph, ledger, staged bytes and audits."""

    folder: str
    audits_kept: Annotated[int, msgspec.Meta(ge=0)] = 0


class PrivacyTable(Section, frozen=True):
    """`[privacy]`: the parameters; t and epsilon are 0."""

    k: int = 10
    alpha: float | str = "1/5"
    values: Values = "exchanged"
    margin: int | None = None


class SequenceTable(Section, frozen=True):
    """`[sequence]`: how a sequence of releases reacts to changes."""

    max_age: int = 48


class WorkersTable(Section, frozen=True):
    """`[workers]`: threads or processes for the parts of a release.

    `threads` by default is one per core. With `dask` these are the workers of a cluster, which
    read from `folder`; by default it lies in the state's folder.
    """

    threads: Positive | None = None
    dask: str = ""
    folder: str | None = None


class AboutTable(Section, frozen=True, omit_defaults=True):
    """`[release] about`: the owner's words for readers, in README.txt."""

    title: Annotated[str, msgspec.Meta(max_length=200)] = ""
    publisher: Annotated[str, msgspec.Meta(max_length=200)] = ""
    contact: Annotated[str, msgspec.Meta(max_length=200)] = ""
    terms: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    licence: Annotated[str, msgspec.Meta(max_length=200)] = ""

    def given(self) -> dict[str, str]:
        """Return nonempty values by name."""
        told = {name: str(getattr(self, name)).strip() for name in ABOUT}
        return {name: text for name, text in told.items() if text}


class ReleaseTable(Section, frozen=True):
    """`[release]`: times, aim and effort of releases."""

    every: str
    idle_s: Seconds = 60.0
    effort: Effort = "balanced"
    aim: Aim = "balanced"
    min_f1: Annotated[float, msgspec.Meta(ge=0, le=1)] = MIN_F1
    change_max: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    seed: Annotated[int, msgspec.Meta(ge=0)] | None = None
    format: tuple[ReleaseFormat, ...] = ("csv",)
    about: AboutTable = AboutTable()


class StatisticsTable(Section, frozen=True):
    """`[statistics]`: monthly noisy counts of the true graph."""

    epsilon_per_year: Annotated[float, msgspec.Meta(ge=0, le=100)] = 1.0


BUDGET_S: Final = 10.0
"""Seconds that a release waits for its attacks, where the configuration does not say."""


class AttackTable(Section, frozen=True):
    """`[attack]`: releases are attacked before they are published; see `ktsafe audit --attacks`."""

    budget: Annotated[float, msgspec.Meta(ge=0, le=86_400)] | None = None
    """Seconds; None: `BUDGET_S` where the extra `assess` is installed, else no attacks."""
    hold: bool = False

    def settings(self) -> AttackSettings:
        """Return what the service does.

        Raises
        ------
        ConfigError
            If releases are to be held back, or attacked for a stated time, without the extra.
        """
        if self.budget or self.hold:
            check_installed("[attack]")
        budget_s = (BUDGET_S if is_installed() else 0.0) if self.budget is None else self.budget
        return AttackSettings(budget_s, self.hold)


class IngestTable(Section, frozen=True):
    """`[ingest]`: bounds on accepted events."""

    lateness_max_s: Annotated[int, msgspec.Meta(ge=1, le=3_153_600_000)] = 604_800


_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:\s]+):[0-9]{1,5}")
PORT_MAX: Final = 65_535


class MetricsTable(Section, frozen=True):
    """`[metrics]`: where status, metrics and health are served; loopback by default.

    The secrets of releases are there if readers must show a token.
    """

    listen: str = "127.0.0.1:9464"
    token_file: str | None = None

    def __post_init__(self) -> None:
        """Refuse an address without a port."""
        if not _ADDRESS.fullmatch(self.listen) or self.port > PORT_MAX:
            raise ValueError('listen must be "host:port"')

    @property
    def host(self) -> str:
        """The address to listen on."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port to listen on; 0: any free one."""
        return int(self.listen.rpartition(":")[2])


class LogTable(Section, frozen=True):
    """`[log]`: what goes to standard error."""

    format: Literal["text", "json"] = "text"


class Config(Section, frozen=True):
    """The whole file; the kinds of its connectors are those of `configuration_type`."""

    source: SourceTable
    sink: SinkTable
    dead_letters: DeadLettersTable
    state: StateTable
    release: ReleaseTable
    attributes: AttributesTable
    privacy: PrivacyTable = PrivacyTable()
    sequence: SequenceTable = SequenceTable()
    workers: WorkersTable = WorkersTable()
    kafka: KafkaSettings | None = None
    attack: AttackTable = AttackTable()
    statistics: StatisticsTable = StatisticsTable()
    ingest: IngestTable = IngestTable()
    metrics: MetricsTable = MetricsTable()
    log: LogTable = LogTable()
    signing: SigningTable | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A checked configuration: the tables, and what they mean."""

    config: Config
    site: Site
    schema: Schema
    params: PrivacyParams
    sequence: SequenceOptions
    slots: Slots

    def path(self, text: str) -> Path:
        """Return a configured path, relative ones from the configuration's folder."""
        return self.site.path(text)


def load(path: Path) -> Settings:
    """Read and check a configuration file, touching nothing that it names.

    Raises
    ------
    ConfigError
        With the table and key at fault, and what would be right.
    """
    return check(_document(path), path.parent, str(path))


def load_kafka(path: Path) -> KafkaSettings:
    """Read the [kafka] table of a file; other tables are ignored.

    Raises
    ------
    ConfigError
        If there is none, or a key in it is wrong.
    """
    document = {"kafka": _document(path).get("kafka")}
    refuse_secrets(document, str(path))
    try:
        found = msgspec.convert(document, dict[str, KafkaSettings])
    except msgspec.ValidationError as error:
        msg = f"{path}: {config_error_text(error, KafkaSettings)}"
        raise ConfigError(msg, hint="`ktsafe config` prints every key.") from error
    return found["kafka"].resolved(path.parent.resolve())


def _document(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds.

    Raises
    ------
    ConfigError
        If it is none.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror})."
        raise ConfigError(msg, hint="Name the service's configuration file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML file: {error}.") from error


def check(document: dict[str, Any], base: Path, name: str) -> Settings:
    """Check a parsed configuration.

    Raises
    ------
    ConfigError
        With the table and key at fault, and what would be right.
    """
    refuse_secrets(document, name)
    decoded = configuration_type(Config, BUILT_IN, document)
    if faults := config_faults(document, decoded):
        raise ConfigError(_listed(name, faults), hint="`ktsafe config` prints every key.")
    config: Config = msgspec.convert(document, decoded)
    _refuse_all(
        name,
        lambda: _check_together(config),
        lambda: _check_private(config, Site(base)),
        lambda: _check_workers(config.workers),
        lambda: _check_tables(config.source.tables, _schema(config)),
        lambda: _params(config.privacy),
        lambda: _sequence_options(config),
        lambda: _slots(config.release),
    )
    if config.kafka is not None:
        config = msgspec.structs.replace(config, kafka=config.kafka.resolved(base.resolve()))
    schema = _schema(config)
    return Settings(
        config=config,
        site=Site(base.resolve(), config.kafka, config.release.change_max, schema),
        schema=schema,
        params=_params(config.privacy),
        sequence=_sequence_options(config),
        slots=_slots(config.release),
    )


def _listed(name: str, faults: Sequence[str]) -> str:
    """Return faults as one paragraph."""
    if len(faults) == 1:
        return f"{name}: {faults[0]}"
    return " ".join([f"{name}: {len(faults)} faults:", *faults])


def _refuse_all(name: str, *checks: Callable[[], object]) -> None:
    """Run all checks and tell all that they find.

    Raises
    ------
    ConfigError
        If any of them fails.
    """
    found: list[KtsafeError] = []
    for check_one in checks:
        try:
            check_one()
        except KtsafeError as error:
            found.append(error)
    if len(found) == 1:
        raise ConfigError(f"{name}: {found[0].message}", hint=found[0].hint) from found[0]
    if found:
        texts = [f"{error.message} {error.hint}".strip() for error in found]
        raise ConfigError(_listed(name, list(dict.fromkeys(texts)))) from found[0]


def _schema(config: Config) -> Schema:
    """Return what `[attributes]` says of values."""
    schema = config.attributes.to_schema()
    if isinstance(schema, CompositeSchema):
        msg = "A service takes one sensitive attribute."
        raise InvalidParams(msg, hint="Let the feed send the combined value.")
    return schema


def _slots(table: ReleaseTable) -> Slots:
    """Return when releases are due."""
    try:
        return parse_slots(table.every)
    except ValueError as error:
        raise ConfigError(f"release.every {error}.") from error


def _check_together(config: Config) -> None:
    """Check what no single table can say."""
    users = (config.source, config.sink, config.dead_letters)
    if config.kafka is None and any(user.kafka_topic is not None for user in users):
        msg = "a connector of kind kafka needs a [kafka] table."
        raise ConfigError(msg, hint='Give at least bootstrap_servers = ["host:9092"].')
    if "csv" not in config.release.format:
        msg = 'release.format must contain "csv".'
        raise ConfigError(msg, hint='Parquet comes beside it: format = ["csv", "parquet"].')


def _check_tables(tables: Tables, schema: Schema) -> None:
    """Refuse tables of which no graph of the schema can be made."""
    if not tables:
        return
    if not any(table.is_of_people for table in tables):
        msg = "source.tables names no table of people."
        raise InvalidGraph(msg, hint="Its columns name that of the id.")
    names = [table.table for table in tables]
    if len(set(names)) < len(names):
        raise InvalidGraph("source.tables names a table twice.")
    if not isinstance(schema.ties, str) and all(table.kind is None for table in tables):
        raise InvalidGraph("attributes.ties lists kinds, and source.tables no column of any.")
    for table in tables:
        if table.is_of_people and (unknown := table.columns.keys() - {"id", *schema.attributes}):
            msg = f"source.tables: {min(unknown)} is no attribute of the schema."
            raise InvalidGraph(msg)


def _check_private(config: Config, site: Site) -> None:
    """Refuse private folders among the releases that are handed out."""
    public = config.sink.folder_handed_out(site)
    if public is None:
        return
    private = {"state.folder": site.path(config.state.folder)}
    if (letters := config.dead_letters.private_file(site)) is not None:
        private["dead_letters.path"] = letters
    for key, path in private.items():
        if path.is_relative_to(public):
            msg = f"{key} lies in sink.folder."
            raise ConfigError(
                msg, hint="It is private, and releases are handed out: keep them apart."
            )


def _check_workers(table: WorkersTable) -> None:
    """Refuse what no worker could be reached by."""
    if not table.dask:
        return
    check_scheduler(table.dask)
    if find_spec("distributed") is None:
        msg = "workers.dask needs Dask, which is not installed."
        raise ConfigError(msg, hint='Install it: pip install "ktsafe[dask]".')


def _params(table: PrivacyTable) -> PrivacyParams:
    return PrivacyParams.from_mapping({"k": table.k, "t": 0, "alpha": table.alpha, "epsilon": 0})


def _sequence_options(config: Config) -> SequenceOptions:
    """Return the options of a sequence of releases.

    Raises
    ------
    InvalidParams
        If an option is out of range.
    """
    release = config.release
    return SequenceOptions(
        effort=release.effort,
        aim=release.aim,
        max_age=config.sequence.max_age,
        values=config.privacy.values,
        margin=config.privacy.margin,
    )
