"""The configuration: what is accepted, what is refused, and in which words."""

import copy
import json
import tomllib
import types
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from ktsafe.connectors import kafka_topics
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.config import settings as config
from ktsafe.stream.config.connector_tables import KafkaSinkTable
from ktsafe.stream.errors import ConfigError

ROOT = Path(__file__).parents[3]
MINIMAL = {
    "attributes": {"quasi_identifiers": ["a"], "sensitive": "s", "sensitive_values": ["x"]},
    "source": {"kind": "files", "paths": ["feed.jsonl"]},
    "sink": {"kind": "files", "folder": "releases"},
    "dead_letters": {"kind": "files", "path": "dead.jsonl"},
    "state": {"folder": "state"},
    "release": {"every": "1d"},
}


def changed(path, value):
    """Return the minimal document with one key set, or removed if `value` is None."""
    document = copy.deepcopy(MINIMAL)
    *tables, key = path.split(".")
    table = document
    for name in tables:
        table = table.setdefault(name, {})
    if value is None:
        del table[key]
    else:
        table[key] = value
    return document


def test_the_minimal_configuration_has_sane_defaults(tmp_path):
    """Everything optional has a default; metrics stay on loopback."""
    settings = config.check(MINIMAL, tmp_path, "here")
    assert settings.config.metrics.host == "127.0.0.1"
    assert (settings.params.k, settings.params.t, settings.params.epsilon) == (10, 0, 0)
    assert settings.path("state") == tmp_path / "state"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("what", 1, "what"),
        ("state.folder", "releases/state", "state.folder lies in sink.folder"),
        ("state.folder", "x/../releases", "state.folder lies in sink.folder"),
        ("dead_letters.path", "releases/dead.jsonl", "dead_letters.path lies in sink.folder"),
        ("release.seed", -1, "release.seed"),
        ("release.evry", "1d", "evry"),
        ("release.every", "soon", "release.every must be a number with a unit"),
        ("release.effort", "lazy", "release.effort"),
        ("state", None, "state"),
        ("source.kind", "carrier-pigeon", "source"),
        ("source.kind", ["files"], "source"),
        ("source.paths", [], "source.paths"),
        ("source.paths", ["-", "-"], "standard input twice"),
        ("sink", {"kind": "kafka", "topic": "releases"}, r"needs a \[kafka\] table"),
        ("sink", {"kind": "kafka", "topic": "bad topic"}, "sink.topic"),
        ("attributes", None, "attributes is missing"),
        ("attributes.buckets", {"a": [2, 1]}, "must ascend"),
        ("privacy.k", 0, "k must be"),
        ("privacy.alpha", "zero", "alpha must be"),
        ("privacy.t", "1/10", "privacy.*t"),
        ("privacy.n_hops", 2, "n_hops"),
        ("privacy.window", "all", "window"),
        ("anonymize.rare_qi", "withhold", "anonymize"),
        ("sequence.births", "withhold", "births"),
        ("sequence.qi_change", "hold", "qi_change"),
        ("sequence.max_age", 1, "max_age"),
        ("sequence.sybil_margin", 2, "sybil_margin"),
        ("sequence.birth_wait_max", 12, "birth_wait_max"),
        ("metrics.listen", "127.0.0.1:70000", "host:port"),
        ("metrics.listen", "127.0.0.1", "host:port"),
        ("metrics.listen", "::1:9464", "host:port"),
        ("ingest.checkpoint_records_max", 10_000, "checkpoint_records_max"),
        ("log.format", "loud", "log.format"),
        ("source.tables", [{"table": "a", "columns": {"id": "i"}, "kind": "x"}], r"\.kind"),
        ("release.effort", "thorough", "release.effort cannot be .thorough."),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path, path, value, message):
    """The error names the key at fault."""
    with pytest.raises(ConfigError, match=message) as caught:
        config.check(changed(path, value), tmp_path, "here")
    assert str(caught.value).startswith("here: ")


def test_all_faults_are_told_at_once(tmp_path):
    """Wrong values, unknown and missing keys of all tables; then what does not go together."""
    document = copy.deepcopy(MINIMAL) | {
        "sink": {"kind": "filez", "pth": "x"},
        "state": {"foldr": "x"},
        "release": {"every": 1, "idle_s": -1, "evry": "1d"},
        "privacy": {"k": "x"},
        "what": {},
    }
    del document["dead_letters"]
    with pytest.raises(ConfigError) as caught:
        config.check(document, tmp_path, "here")
    told = str(caught.value)
    assert told.startswith("here: 8 faults: ")
    named = ("filez", "state.foldr", "release.every", "idle_s", "release.evry")
    assert [n for n in (*named, "privacy.k", "what", "dead_letters") if n not in told] == []
    document = copy.deepcopy(MINIMAL) | {"privacy": {"k": 0}, "state": {"folder": "releases"}}
    document["release"] = {"every": "soon"}
    with pytest.raises(ConfigError, match="3 faults") as caught:
        config.check(document, tmp_path, "here")
    assert all(n in str(caught.value) for n in ("k must be", "state.folder", "release.every"))


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    """So is one that does not exist."""
    path = tmp_path / "ktsafe.toml"
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(path)
    path.write_text("= 1")
    with pytest.raises(ConfigError, match="no TOML"):
        config.load(path)


def test_the_printed_example_is_sound_and_shows_every_key(tmp_path):
    """The example passes the check and holds every key of every table it shows."""
    text = resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    settings = config.check(document, tmp_path, "example")
    tables = "privacy sequence release workers ingest attack statistics metrics log"
    for name in (*tables.split(), "source", "sink", "dead_letters", "state"):
        table = getattr(settings.config, name)
        lines = text.partition(f"\n[{name}]")[2].partition("\n[")[0]
        keys = set(table.__struct_fields__)
        assert set(document[name]) - {"kind"} <= keys
        # What has no default stands as a comment.
        missing = [key for key in keys if f"{key} = " not in lines and f".{key}" not in lines]
        assert missing == []


def test_the_printed_example_shows_every_key_of_a_cluster():
    """They stand as comments, since most feeds are files at first; defaults are the program's."""
    text = resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    shown = text.partition("# [kafka]")[2]
    for field in msgspec.structs.fields(KafkaSettings):
        is_given = field.default is not None and field.default is not msgspec.NODEFAULT
        default = json.dumps(field.default) if is_given else ""
        assert f"{field.name} = {default}" in shown


def test_the_options_of_a_sequence_are_those_of_the_mechanism(tmp_path):
    """What has a key has the same default, and arrives; the others are constants of a service."""
    settings = config.check(MINIMAL, tmp_path, "here")
    assert settings.sequence == SequenceOptions()
    release = {**MINIMAL["release"], "effort": "fast", "aim": "f1"}
    table = {**MINIMAL, "release": release, "sequence": {"max_age": 5}}
    settings = config.check(table, tmp_path, "here")
    assert settings.sequence == SequenceOptions(effort="fast", aim="f1", max_age=5)
    settings = config.check(changed("release.change_max", 0.5), tmp_path, "here")
    assert settings.site.change_max == 0.5
    assert config.AttackTable(budget=0.0).settings().budget_s == 0
    page = (ROOT / "docs" / "sequences.md").read_text(encoding="utf-8")
    assert {
        name for name in config.SequenceTable.__struct_fields__ if f"`{name}" not in page
    } == set()


def test_several_sensitive_attributes_are_for_files(tmp_path):
    """A service takes one; the error says what to do."""
    table = {
        "quasi_identifiers": ["a"],
        "sensitive": ["b", "c"],
        "sensitive_values": {"b": ["x"], "c": ["y"]},
    }
    with pytest.raises(ConfigError, match="takes one sensitive attribute"):
        config.check({**MINIMAL, "attributes": table}, tmp_path, "here")


def test_a_topic_of_releases_is_written_under_its_own_id(monkeypatch):
    """Rights may be given for that transactional id alone."""
    asked = {}

    def sink(*_, **keywords):
        asked.update(keywords)

    monkeypatch.setattr(kafka_topics, "KafkaReleaseSink", sink)
    table = KafkaSinkTable(topic="releases")
    table.release_sink(types.SimpleNamespace(cluster=None))
    assert asked == {"transactional_id": "ktsafe-releases"}
