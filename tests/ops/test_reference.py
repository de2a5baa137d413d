"""The reference is that of the code: keys of the configuration, commands, metrics."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path

import jsonschema
import pytest

from tests.ops import reference

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", reference.files())
def test_the_reference_is_as_it_is_made(name: str) -> None:
    """`make reference` writes it; nobody edits it."""
    assert (DOCS / name).read_text(encoding="utf-8") == reference.files()[name]


def test_every_key_has_a_meaning() -> None:
    """The comments of the example say it, and comments of keys that are gone are noticed."""
    made = reference.schema()
    keys = {
        (table, key): value.get("description")
        for table, names in reference.tables(made).items()
        for name in names
        for key, value in made["$defs"][name]["properties"].items()
        if key != "kind"
    }
    assert {key for key, text in keys.items() if not text} == set()
    named = {key for key in reference.meanings() if key[1] != "kind"}
    assert named <= keys.keys()


def test_the_schema_takes_the_example_and_refuses_a_misspelt_key() -> None:
    """Editors that check by it agree with the program."""
    schema = json.loads((DOCS / reference.SCHEMA).read_text(encoding="utf-8"))
    text = resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    example = tomllib.loads(text)
    jsonschema.validate(example, schema)
    example["release"]["evry"] = "1d"
    with pytest.raises(jsonschema.ValidationError, match="evry"):
        jsonschema.validate(example, schema)
