"""Mistakes, and what the program answers: `mistakes.txt` is made of them.

python -m tests.stream.commands.bad_words > tests/stream/commands/mistakes.txt
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ktsafe.stream.cli import run_command
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
    Mistake("--columns that are not there", ANONYMIZE + " --columns source=who,target=whom"),
    Mistake("--columns of one end", ANONYMIZE + " --columns source=who"),
    Mistake("a field of 3 MB", ANONYMIZE, {"v.csv": first(VERTICES, "p5", "p" * 3_000_000)}),
    Mistake("no gzip behind .gz", ANONYMIZE.replace("v.csv", "v.csv.gz"), {"v.csv.gz": VERTICES}),
    Mistake("an id twice", ANONYMIZE, {"v.csv": first(VERTICES, "p5", "p4")}),
    Mistake("no such file of people", ANONYMIZE.replace("v.csv", "nowhere.csv")),
    Mistake("a folder for a file", ANONYMIZE.replace("v.csv", ".")),
    Mistake("no such schema", ANONYMIZE.replace("s.toml", "nowhere.toml")),
    Mistake("a schema that is no TOML", ANONYMIZE, {"s.toml": "attributes: {}"}),
    Mistake(
        "an attribute both visible and sensitive",
        ANONYMIZE,
        {"s.toml": SCHEMA.replace('["gender"]', '["health"]')},
    ),
    Mistake(
        "buckets of what is no number",
        ANONYMIZE,
        {"s.toml": SCHEMA + "buckets = { gender = [10] }\n"},
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
    Mistake("state and topics at once", "config c.toml --state --topics", {"c.toml": CONFIG}),
    Mistake("events for files", "demo --feed-to c.toml", {"c.toml": CONFIG}),
    Mistake("events over a table", "demo --feed-to people.csv", {"people.csv": "id\n1\n"}),
    Mistake("events over a feed", "demo --feed-to feed.jsonl", {"feed.jsonl": "{}\n"}),
    Mistake("pace without a topic", "demo --per-second 5"),
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


def page() -> str:
    """Return the page of mistakes and answers."""
    how = "Made by `python -m tests.stream.commands.bad_words`."
    code = "In each case nothing is written, and of a command the exit code is 2."
    parts = ["# Mistakes, and what the program answers\n", f"{how} {code}\n"]
    for title, mistakes in (("Files", FILES), ("Options", OPTIONS), ("Commands", COMMANDS)):
        parts += [f"## {title}\n", "| mistake | answer |\n|---|---|"]
        parts += [f"| {m.what} | {_cell(answer(m)[1])} |" for m in mistakes]
        parts.append("")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.removeprefix("ktsafe: ").replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page())
