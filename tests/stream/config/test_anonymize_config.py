"""The [anonymize] table: what arrives at the mechanism, and what is refused."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ktsafe import AnonymizeOptions
from ktsafe.stream.config import settings
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.release.fresh import FreshReleases
from ktsafe.stream.service import assembly
from tests.stream.config.test_config import changed


def by_itself(path: str, value: object) -> dict[str, Any]:
    """Return the minimal document for releases that are safe by themselves, with one key set."""
    document: dict[str, Any] = changed(path, value)
    document.setdefault("privacy", {})["window"] = 1
    return document


def test_every_option_arrives(tmp_path: Path) -> None:
    """Treatments and threads reach what makes the releases."""
    table = {"rare_qi": "suppress", "over_alpha": "pad"}
    document = by_itself("anonymize", table)
    document["workers"] = {"threads": 2}
    document["release"] |= {"effort": "fast", "aim": "f1"}
    mechanism = assembly.mechanism(settings.check(document, tmp_path, "here"))
    assert isinstance(mechanism, FreshReleases)
    assert mechanism.workers.n_threads == 2
    assert mechanism.options == AnonymizeOptions(
        effort="fast", aim="f1", rare_qi="suppress", over_alpha="pad"
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"threads": 0}, "workers.threads"),
        ({"dask": "tcp://scheduler:8786"}, "TLS"),
        ({"processes": 2}, "processes"),
    ],
)
def test_workers_that_cannot_be(tmp_path: Path, table: dict[str, object], message: str) -> None:
    """No thread at all, and a cluster to which the graph would travel in the open."""
    with pytest.raises(ConfigError, match=message):
        settings.check(changed("workers", table), tmp_path, "here")


def test_the_strategy_follows_the_neighbourhoods(tmp_path: Path) -> None:
    """The service takes the one that knows them."""
    found = [
        settings.check(by_itself("privacy.n_hops", hops), tmp_path, "here").anonymize.strategy
        for hops in (1, 2)
    ]
    assert found == ["exact", "aligned"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"strategy": "partition"}, "strategy"),
        ({"edits": "insert"}, "edits"),
        ({"knowledge": "true"}, "knowledge"),
        ({"over_alpha": "withhold"}, "anonymize.over_alpha"),
        ({"rare": "pad"}, "rare"),
    ],
)
def test_what_cannot_work_is_refused(
    tmp_path: Path, table: dict[str, object], message: str
) -> None:
    """The error names the key or the way out."""
    with pytest.raises(ConfigError, match=message):
        settings.check(by_itself("anonymize", table), tmp_path, "here")


def test_a_sequence_does_not_use_it(tmp_path: Path) -> None:
    """An option that would do nothing is refused."""
    document = changed("anonymize", {"rare_qi": "pad"})
    document["privacy"] = {"window": "all"}
    with pytest.raises(ConfigError, match="window"):
        settings.check(document, tmp_path, "here")


def test_the_example_shows_every_key_with_its_default() -> None:
    """No default differs from what the program takes."""
    text = resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    shown = tomllib.loads(text)["anonymize"]
    assert shown == msgspec.structs.asdict(settings.AnonymizeTable())


def test_options_of_the_table_are_those_of_the_library() -> None:
    """None but the strategy is missing; defaults agree."""
    ours = msgspec.structs.asdict(settings.AnonymizeTable())
    theirs = msgspec.structs.asdict(settings.ReleaseTable(every="1d"))
    options = vars(AnonymizeOptions())
    del options["strategy"]
    for name, value in options.items():
        assert (ours | theirs)[name] == value
