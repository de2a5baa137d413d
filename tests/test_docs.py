"""What the guide says is what there is: commands, options, codes, reasons, links, examples."""

import itertools
import re
from pathlib import Path

import pytest
import typer.main

from ktsafe.stream.cli import app
from ktsafe.stream.files.graphs import read_schema
from ktsafe.stream.ingest import events

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHAPTERS = (
    "tutorial",
    "promise",
    "concepts",
    "owners",
    "officers",
    "readers",
    "one-release",
    "files",
    "sequences",
    "operators",
    "events",
    "report",
    "commands",
)
GUIDE = "\n".join(
    [README, *((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in CHAPTERS)]
)
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "ops/**/*.md", "lab/*.md", "lab/results/*.md")
    for path in ROOT.glob(pattern)
)

PROGRAM = typer.main.get_command(app)
OWN_FOLDERS = ("connectors", "docs", "ktsafe", "lab", "ops", "state", "stream", "tests")


_ITEMS = re.compile(r"\n(?=\s*- |\s*\d+\. |\|)")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language):
    """Return the code blocks of a language."""
    return [text for found, text in _FENCED.findall(GUIDE) if found == language]


def spans():
    """Return the inline code."""
    return re.findall(r"`([^`\n]+)`", _FENCED.sub("", GUIDE))


def command_lines():
    """Return every command line of the program, as words; alternatives (`a|b`) one by one."""
    shown = [line.partition("#")[0] for block in blocks("") for line in block.splitlines()]
    lines = []
    for text in (*spans(), *shown):
        words = [word.strip("[]").split("\\|") for word in text.partition(">")[0].split()]
        if words and words[0] == ["ktsafe"]:
            lines += map(list, itertools.product(*words[1:]))
    return [line for line in lines if line]


def resolved(words):
    """Return the command that `words` begin with, its name, and the words that follow."""
    command, name = PROGRAM, []
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command = command.commands[words[0]]
        name.append(words[0])
        words = words[1:]
    return command, tuple(name), words


def all_commands(group=PROGRAM, name=()):
    """Yield the name of every command that is no group."""
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from all_commands(command, (*name, word))
        else:
            yield (*name, word)


def test_the_library_example_runs():
    """The one Python block that asserts anything runs as it stands; the others need releases."""
    (code,) = [block for block in blocks("python") if "assert " in block]
    exec(compile(code, "guide", "exec"), {})  # noqa: S102 -- our own text


@pytest.mark.parametrize("line", command_lines(), ids=" ".join)
def test_every_command_named_exists_with_its_options(line):
    """No command line of the guide names a command or an option that is not there."""
    command, name, rest = resolved(line)
    assert name, line
    assert not hasattr(command, "commands"), f"{line} stops at a group"
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= options


def test_every_command_is_named():
    """The table of commands has them all."""
    assert len(command_lines()) > 20
    named = {resolved(line)[1] for line in command_lines()}
    assert set(all_commands()) <= named
    table = " ".join(line for line in GUIDE.splitlines() if line.startswith("| `ktsafe "))
    assert not [name for name in all_commands() if f"`ktsafe {name[0]}" not in table]


def test_every_command_can_print_json():
    """Programs read what any command says."""
    without = {
        name
        for name in all_commands()
        if "--json" not in {o for p in resolved(list(name))[0].params for o in p.opts}
    }
    assert without == set()


def test_the_readme_fits_one_screen():
    """Who opens it sees what this is, what it is worth, and where to go on."""
    assert len(README.splitlines()) <= 60


def test_reasons_of_dead_letters_are_those_of_the_program():
    """Every reason is named, in the program's order."""
    (text,) = re.findall(r"dead letters with a reason \(([^)]*)\)", GUIDE)
    assert tuple(re.findall(r"`([^`]+)`", text)) == events.REASONS


def test_event_and_schema_examples_are_valid(tmp_path):
    """What the guide shows to be copied is accepted."""
    (lines,) = blocks("json")
    kinds = [events.decode(line.encode()).__struct_config__.tag for line in lines.splitlines()]
    assert tuple(kinds) == events.EVENT_TYPES
    schemas = [block for block in blocks("toml") if block.startswith("[attributes]")]
    assert len(schemas) == 2
    for schema in schemas:
        (tmp_path / "schema.toml").write_text(schema)
        assert read_schema(tmp_path / "schema.toml").sensitive_values


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page):
    """Links to files of the project name files that are there."""
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


def test_files_and_targets_named_exist():
    """Paths in backquotes are there, and so are the targets of make."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    manuals = [page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md"]
    quoted = [s for text in manuals for s in re.findall(r"`([^`\n]+)`", text)]
    paths = [s for s in quoted if re.fullmatch(rf"({'|'.join(OWN_FOLDERS)})/[\w./-]+", s)]
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]
    named = re.findall(r"\bmake ([a-z-]+)", "\n".join([*spans(), *blocks("")]))
    assert {"run", "test"} <= set(named)
    assert not [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)]


def tables(text):
    """Return the tables of a page: rows of cells, the row of dashes among them."""
    rows = [line.strip() for line in _FENCED.sub("", text).splitlines()]
    runs = itertools.groupby(rows, key=lambda row: row.startswith("|"))
    return [
        [re.split(r"(?<!\\)\|", row.strip("|")) for row in run]
        for is_table, run in runs
        if is_table
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_rows_of_a_table_have_equally_many_cells(page):
    """A row with another number of cells is shown wrong, or belongs elsewhere."""
    broken = [
        row
        for table in tables(page.read_text(encoding="utf-8"))
        for row in table
        if len(row) != len(table[0])
    ]
    assert broken == []


WORDS_MAX = 90
"""Of a paragraph: one thought that can be read without turning back."""


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "CHANGELOG.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_paragraphs_are_short(page):
    """A paragraph or an item of a list ends before its reader is lost; tables may be wide."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    parts = [part for block in re.split(r"\n\s*\n", text) for part in _ITEMS.split(block)]
    long = [part[:60] for part in parts if len(part.split()) > WORDS_MAX and part[0] not in "|#"]
    assert long == []


DECISIONS = sorted(ROOT.glob("ops/adr/0*.md"))
DECISIONS_WORDS_MAX = 15_000
"""Of all decisions together: a newcomer reads them in an hour."""
DECISION_WORDS_MAX = 500
"""Of one, cells of tables and their bars among them."""
_FINITE = re.compile(
    r"\b(is|are|was|were|be|has|have|had|do|does|may|must|can|could|should|will|would|goes?|gets?"
    r"|comes?|makes?|shows?|holds?|keeps?|begins?|waits?|tells?|told|stays?|follows?|finds?|what"
    r"|who|whose|which)\b",
    re.IGNORECASE,
)
"""Words of a sentence, which a title is not."""


def test_decisions_are_few_words_under_noun_phrases():
    """Each is named by what it decides on, and all of them can be read."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in DECISIONS}
    titles = {name: text.splitlines()[0].partition(". ")[2] for name, text in texts.items()}
    assert [name for name, title in titles.items() if not title or _FINITE.search(title)] == []
    words = {name: len(text.split()) for name, text in texts.items()}
    assert {name: n for name, n in words.items() if n > DECISION_WORDS_MAX} == {}
    assert 5_000 < sum(words.values()) <= DECISIONS_WORDS_MAX


def test_decisions_that_are_referred_to_exist():
    """A decision that goes takes its number along: code says the reason itself."""
    numbers = {int(path.name[:4]) for path in DECISIONS}
    code = [path for name in OWN_FOLDERS if name != "docs" for path in ROOT.glob(f"{name}/**/*.py")]
    gone = []
    for path in (*PAGES, *code):
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"\b(?:decision|ADR) (\d+)", text, re.IGNORECASE)
        gone += [f"{path.relative_to(ROOT)}: {n}" for n in named if int(n) not in numbers]
    assert gone == []


GENERATED = {"commands.md", "configuration.md", "metrics.md"}
"""Looked up and not read: `make reference` writes them, and a test compares them with the code."""
TO_READ_MAX = 20_000
"""Words of all pages of the guide that are read. They may only get fewer."""


def test_the_guide_can_be_read():
    """A guide that grows is not read: what is added takes the place of something."""
    pages = [page for page in ROOT.glob("docs/*.md") if page.name not in GENERATED]
    assert len(pages) > 20
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= TO_READ_MAX


OUR_WORDS_MAX = 20
"""Words that no paper and no field knows; every one must be learnt."""


def test_words_of_the_glossary_are_used():
    """Each word stands in code or in a guide, beside the glossary, and once in it."""
    glossary = ROOT / "docs/glossary.md"
    words = [
        word.strip()
        for table in tables(glossary.read_text(encoding="utf-8"))
        for row in table[2:]
        for word in row[0].split(",")
    ]
    assert len(words) > 40
    assert len(set(words)) == len(words)
    assert glossary.read_text(encoding="utf-8").count("*Ours:*") <= OUR_WORDS_MAX
    sources = [
        path
        for folder in ("ktsafe", "state", "stream", "lab/ktsafe_lab")
        for path in ROOT.glob(f"{folder}/**/*.py")
    ]
    sources += [page for page in PAGES if page != glossary and page.name != "CHANGELOG.md"]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    unused = [
        word
        for word in words
        if not re.search(rf"\b{re.sub(r'[ -]', '[ _-]', word)}", texts, re.IGNORECASE)
    ]
    assert unused == []
