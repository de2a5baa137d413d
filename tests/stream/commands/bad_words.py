"""Sixty mistakes, and what the program answers: `mistakes.txt` is made of them.

python -m tests.stream.commands.bad_words > tests/stream/commands/mistakes.txt
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.errors import KtsafeError
from ktsafe.stream.cli import run_command
from ktsafe.verify import verify
from tests.configurations import CONFIG, FEED, SCHEMA

VERTICES = "id,gender,health\n" + "".join(
    f"p{i},{'fm'[i % 2]},{'ill' if i == 3 else 'well'}\n" for i in range(24)
)
EDGES = "source,target\n" + "".join(
    f"p{i},p{(i + step) % 24}\n" for i in range(24) for step in (1, 2)
)
KAFKA = CONFIG.replace(FEED, '\n[source]\nkind = "kafka"\ntopic = "events"\n')
KAFKA += '[kafka]\nbootstrap_servers = ["127.0.0.1:9"]\n'


class Mistake(NamedTuple):
    """What is done wrong: in a file, or on the command line."""

    what: str
    command: str
    files: Mapping[str, str | bytes] = MappingProxyType({})


ANONYMIZE = (
    "anonymize --vertices v.csv --edges e.csv --schema s.toml --out release --audit private "
    "--k 2 --alpha 1/2"
)


def first(text: str, old: str, new: str) -> str:
    """Return a text in which the first occurrence is replaced."""
    assert old in text
    return text.replace(old, new, 1)


FILES = [
    Mistake(
        "people separated in two ways",
        ANONYMIZE,
        {"v.csv": first(VERTICES, "r,health", "r;health")},
    ),
    Mistake("a tie separated by a TAB", ANONYMIZE, {"e.csv": first(EDGES, "p5,p6", "p5\tp6")}),
    Mistake("two columns of one name", ANONYMIZE, {"v.csv": first(VERTICES, "health", "gender")}),
    Mistake(
        "columns of ties have names of their own",
        ANONYMIZE,
        {"e.csv": first(EDGES, "source,target", "left,right")},
    ),
    Mistake("an adjacency matrix for ties", ANONYMIZE, {"e.csv": "0,1,0\n1,0,1\n0,1,0\n"}),
    Mistake("no column of ids", ANONYMIZE, {"v.csv": first(VERTICES, "id,", "who,")}),
    Mistake("--columns that are not there", ANONYMIZE + " --columns source=who,target=whom"),
    Mistake("--columns of one end", ANONYMIZE + " --columns source=who"),
    Mistake("a value in two spellings", ANONYMIZE, {"v.csv": first(VERTICES, "p5,m,", "p5,'m',")}),
    Mistake("no column of an attribute", ANONYMIZE, {"v.csv": first(VERTICES, "gender", "sex")}),
    Mistake("an empty file of people", ANONYMIZE, {"v.csv": ""}),
    Mistake("an empty file of ties", ANONYMIZE, {"e.csv": ""}),
    Mistake(
        "people in Latin-1",
        ANONYMIZE,
        {"v.csv": first(VERTICES, "well", "schön").encode("latin-1")},
    ),
    Mistake(
        "a quotation mark that never closes", ANONYMIZE, {"v.csv": first(VERTICES, "p5", '"p5')}
    ),
    Mistake("a field of 3 MB", ANONYMIZE, {"v.csv": first(VERTICES, "p5", "p" * 3_000_000)}),
    Mistake("no gzip behind .gz", ANONYMIZE.replace("v.csv", "v.csv.gz"), {"v.csv.gz": VERTICES}),
    Mistake("a row too short", ANONYMIZE, {"v.csv": first(VERTICES, "p5,m,well", "p5,m")}),
    Mistake("a row too long", ANONYMIZE, {"e.csv": first(EDGES, "p5,p6", "p5,p6,p7")}),
    Mistake("an id twice", ANONYMIZE, {"v.csv": first(VERTICES, "p5", "p4")}),
    Mistake("an empty id", ANONYMIZE, {"v.csv": first(VERTICES, "p5", "")}),
    Mistake("a tie to nobody", ANONYMIZE, {"e.csv": first(EDGES, "p5,p6", "p5,p99")}),
    Mistake("no such file of people", ANONYMIZE.replace("v.csv", "nowhere.csv")),
    Mistake("a folder for a file", ANONYMIZE.replace("v.csv", ".")),
    Mistake("no such schema", ANONYMIZE.replace("s.toml", "nowhere.toml")),
    Mistake("a schema that is no TOML", ANONYMIZE, {"s.toml": "attributes: {}"}),
    Mistake(
        "a schema without its table",
        ANONYMIZE,
        {"s.toml": SCHEMA.replace("[attributes]", "[columns]")},
    ),
    Mistake(
        "a key misspelt in a schema",
        ANONYMIZE,
        {"s.toml": SCHEMA.replace("quasi_identifiers", "quasi_identifier")},
    ),
    Mistake(
        "one name where a list is due",
        ANONYMIZE,
        {"s.toml": SCHEMA.replace('["gender"]', '"gender"')},
    ),
    Mistake(
        "an attribute both visible and sensitive",
        ANONYMIZE,
        {"s.toml": SCHEMA.replace('["gender"]', '["health"]')},
    ),
    Mistake(
        "a sensitive value that nobody has",
        ANONYMIZE,
        {"s.toml": SCHEMA.replace('["ill"]', '["il"]')},
    ),
    Mistake(
        "buckets of what is no number",
        ANONYMIZE,
        {"s.toml": SCHEMA + "buckets = { gender = [10] }\n"},
    ),
    Mistake(
        "buckets that fall", ANONYMIZE, {"s.toml": SCHEMA + "buckets = { gender = [20, 10] }\n"}
    ),
    Mistake(
        "sensitive values as one word", ANONYMIZE, {"s.toml": SCHEMA.replace('["ill"]', '"ill"')}
    ),
]
OPTIONS = [
    Mistake("k = 0", f"{ANONYMIZE} --k 0"),
    Mistake("k is no number", f"{ANONYMIZE} --k ten"),
    Mistake("alpha = 0", f"{ANONYMIZE} --alpha 0"),
    Mistake("alpha above 1", f"{ANONYMIZE} --alpha 3/2"),
    Mistake("an effort that is none", f"{ANONYMIZE} --effort maximal"),
    Mistake("no threads", f"{ANONYMIZE} --workers 0"),
    Mistake("an option misspelt", f"{ANONYMIZE} --apha 1/2"),
    Mistake("an option left out", ANONYMIZE.replace("--schema s.toml ", "")),
    Mistake("a release that exists", ANONYMIZE.replace("--out release", "--out .")),
    Mistake(
        "the audit inside the release",
        ANONYMIZE.replace("--audit private", "--audit release/private"),
    ),
    Mistake(
        "the release inside the audit", ANONYMIZE.replace("--out release", "--out private/release")
    ),
]
COMMANDS = [
    Mistake("a command that is none", "anonymise"),
    Mistake("no such release", "verify nowhere"),
    Mistake("a folder without releases", "verify ."),
    Mistake("a truth without a mapping", "audit . --truth ."),
    Mistake("a window of nothing", "audit . --window 0"),
    Mistake("no such configuration", "config nowhere.toml"),
    Mistake("a configuration that is no TOML", "config c.toml", {"c.toml": "[source"}),
    Mistake(
        "a table left out",
        "config c.toml",
        {"c.toml": first(CONFIG, "[state]\nfolder", "[stat]\nfolder")},
    ),
    Mistake(
        "a connector that is none",
        "config c.toml",
        {"c.toml": first(CONFIG, 'kind = "files"', 'kind = "rabbitmq"')},
    ),
    Mistake("a key that is none", "config c.toml", {"c.toml": first(CONFIG, "every", "evry")}),
    Mistake("a pace that is none", "config c.toml", {"c.toml": first(CONFIG, '"1d"', '"daily"')}),
    Mistake("topics where there are files", "config c.toml --topics", {"c.toml": CONFIG}),
    Mistake("events for files", "demo --feed-to c.toml", {"c.toml": CONFIG}),
]


def _graph() -> AttributedGraph:
    schema = Schema(("gender",), "health", frozenset({"ill"}))
    columns = {"gender": ["f", "m"] * 3, "health": ["well"] * 5 + ["ill"]}
    return AttributedGraph.from_columns(schema, columns, np.array([[0, 1], [2, 3]]))


LIBRARY: list[tuple[str, str, Callable[[], Any]]] = [
    ("k = 0", "PrivacyParams(k=0)", lambda: PrivacyParams(k=0)),
    ("t below 0", "PrivacyParams(t=-1)", lambda: PrivacyParams(t=-1)),
    ("alpha = 0", "PrivacyParams(alpha=0)", lambda: PrivacyParams(alpha=0)),
    (
        "a tie to nobody",
        "AttributedGraph.from_columns(schema, columns, [[0, 99]])",
        lambda: AttributedGraph.from_columns(
            _graph().schema, {"gender": ["f"], "health": ["ill"]}, np.array([[0, 99]])
        ),
    ),
    (
        "a loop",
        "AttributedGraph.from_columns(schema, columns, [[0, 0]])",
        lambda: AttributedGraph.from_columns(
            _graph().schema, {"gender": ["f"], "health": ["ill"]}, np.array([[0, 0]])
        ),
    ),
    (
        "columns of two lengths",
        "AttributedGraph.from_columns(schema, columns, [])",
        lambda: AttributedGraph.from_columns(
            _graph().schema, {"gender": ["f", "m"], "health": ["ill"]}, np.zeros((0, 2), int)
        ),
    ),
    (
        "one name where several are due",
        'Schema("gender", "health", {"ill"})',
        lambda: Schema("gender", "health", frozenset({"ill"})),
    ),  # type: ignore[arg-type]
    (
        "codes that are no whole numbers",
        "verify(codes, flags, edges, params)",
        lambda: verify(np.zeros((3, 1)), np.zeros(3, bool), np.zeros((0, 2), int), PrivacyParams()),
    ),
    (
        "a directed graph",
        "AttributedGraph.from_networkx(nx.DiGraph(...), schema)",
        lambda: AttributedGraph.from_networkx(nx.DiGraph([(0, 1)]), _graph().schema),
    ),
]


@contextlib.contextmanager
def site(mistake: Mistake) -> Iterator[Path]:
    """Give a folder with good files, but for those of a mistake; it is the working folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in {
            "v.csv": VERTICES,
            "e.csv": EDGES,
            "s.toml": SCHEMA,
            **mistake.files,
        }.items():
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        yield Path(folder)


def answer(mistake: Mistake) -> tuple[int, str, set[str]]:
    """Return exit code, text, and the names of what was written."""
    with site(mistake) as folder:
        before = {path.name for path in folder.rglob("*")}
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = run_command(mistake.command.split())
        written = {path.name for path in folder.rglob("*")} - before
        return code, said.getvalue().replace(str(folder), "...").strip(), written


def raised(call: Callable[[], Any]) -> str:
    """Return the text of the error of a call of the library."""
    try:
        call()
    except KtsafeError as error:
        return str(error)
    raise AssertionError("nothing was raised")


def page() -> str:
    """Return the page of mistakes and answers."""
    how = "Made by `python -m tests.stream.commands.bad_words`."
    code = "In each case nothing is written, and of a command the exit code is 2."
    parts = ["# Mistakes, and what the program answers\n", f"{how} {code}\n"]
    for title, mistakes in (("Files", FILES), ("Options", OPTIONS), ("Commands", COMMANDS)):
        parts += [f"## {title}\n", "| mistake | answer |\n|---|---|"]
        parts += [f"| {m.what} | {_cell(answer(m)[1])} |" for m in mistakes]
        parts.append("")
    parts += ["## Library\n", "| mistake | call | answer |\n|---|---|---|"]
    parts += [f"| {what} | `{text}` | {_cell(raised(call))} |" for what, text, call in LIBRARY]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.removeprefix("ktsafe: ").replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page())
