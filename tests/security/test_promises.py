"""Every sentence that promises something has its attack or check, and a test that runs it.

`docs/tested.md` lists them, long ones by `cell`. A sentence promises if it has one of the `WORDS`;
every one of manifests and of the report is listed.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ktsafe import PrivacyParams, anonymize
from ktsafe.anonymization.anonymization import Anonymized
from ktsafe.assess.attacks import Case, ids_removed, run
from ktsafe.assess.releases.attacks import NAMES
from ktsafe.assess.report.words import NOT_COVERED, parameters
from ktsafe.graph import AttributedGraph
from ktsafe.graph.synthetic import uniform
from ktsafe.stream.files.releases_write import ALONE, TOGETHER

ROOT = Path(__file__).parents[2]
LIST = (ROOT / "docs/tested.md").read_text(encoding="utf-8")
PAGES = ("README", "promise", "one-release", "sequences", "officers", "statistics")
WORDS = re.compile(
    r"\b(at least (k|max)|at most (a share|alpha|1/k)|k (candidates?|places|people|of your)"
    r"|never|nobody|no release|no file|cannot|nothing (changes|is promised)|withstand\w*|kt-safe"
    r"|weakens?|let fewer|margin|attackers?|candidate places|candidates who|whole cohort|same row"
    r"|equally many|independent|no code|e\^epsilon|safe)\b",
    re.IGNORECASE,
)
CHECKS = {"strict verifier", "auditor", "definition"}
"""What tests a sentence where no attack does: our own judges, or a count written apart."""

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_BLOCKS = re.compile(r"\n\s*\n|\n(?=\s*- |\s*\d+\. |\|)")


def plain(text: str) -> str:
    """Return Markdown without pictures, targets of links, stars and backquotes."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    return re.sub(r"[*`]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def sentences(page: str) -> Iterator[str]:
    """Yield the sentences of a page: of paragraphs, items and cells of tables."""
    for block in _BLOCKS.split(_FENCED.sub("", page)):
        text = " ".join(block.split()).removeprefix("- ")
        if set(text) - set("|-: ") and not text.startswith("#"):
            for cell in text.strip("|").split("|") if text.startswith("|") else [text]:
                yield from (one for one in split(plain(cell)) if len(one.split()) > 2)


def split(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [one.strip() for one in re.split(r"(?<=[.!?:])\s+(?=[A-Z\[])", text)]


WHOLE_MAX, BEGINNING = 8, 3
"""Words of a sentence that is listed whole, and of a longer one that are listed."""


def cell(sentence: str) -> str:
    """Return what stands for a sentence in the list; it differs where any word does."""
    words = sentence.split()
    if len(words) <= WHOLE_MAX:
        return sentence
    digest = hashlib.sha256(sentence.encode()).hexdigest()[:6]
    return f"{' '.join(words[:BEGINNING])} … `{digest}`"


def promising() -> dict[str, list[str]]:
    """Return by source the sentences that must be listed."""
    found = {}
    for name in PAGES:
        path = f"{name}.md" if name.isupper() else f"docs/{name}.md"
        page = (ROOT / path).read_text(encoding="utf-8")
        found[path] = [one for one in sentences(page) if WORDS.search(one)]
    promised = PrivacyParams(t=Fraction(0), epsilon=0)
    told = parameters(promised.to_mapping(), "all", "exchanged")
    found["manifest"] = [one for said in (ALONE, TOGETHER) for one in split(said["text"])]
    found["report"] = [*NOT_COVERED, *(row["means"] for row in told)]
    return {source: list(dict.fromkeys(texts)) for source, texts in found.items()}


def rows(text: str = LIST) -> dict[str, list[list[str]]]:
    """Return by source the rows of the list: sentence, attack or check, tests."""
    found = {}
    for part in text.split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]
        found[part.partition("\n")[0]] = cells
    return found


def difference(said: list[str], listed: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the cells of sentences that are not listed, and what is listed and not said."""
    cells = Counter(map(cell, said))
    return cells - Counter(listed), Counter(listed) - cells


@pytest.mark.parametrize("source", promising())
def test_every_promise_is_listed_and_nothing_else(source: str) -> None:
    """A new sentence needs a row, and a row goes with its sentence."""
    unlisted, gone = difference(promising()[source], [row[0] for row in rows()[source]])
    assert not unlisted, "docs/tested.md has no row"
    assert not gone, "docs/tested.md has rows whose sentence is gone"


def test_a_planted_promise_is_noticed() -> None:
    """So is one that was changed: it has no row, and its row no sentence."""
    said = [*sentences("- **New.** Nobody can find you.\n\n| a cell | At least k look alike. |")]
    assert [one for one in said if WORDS.search(one)] == [
        "Nobody can find you.",
        "At least k look alike.",
    ]
    unlisted, gone = difference(["Nobody finds you."], ["Nobody found you."])
    assert (list(unlisted), list(gone)) == (["Nobody finds you."], ["Nobody found you."])
    long = "Nobody can tell you from at least nine others by {}."
    unlisted, gone = difference([long.format("any score")], [cell(long.format("one score"))])
    assert (unlisted.total(), gone.total()) == (1, 1)


@pytest.mark.parametrize("source", rows())
def test_every_row_names_an_attack_or_a_check_and_a_test(source: str) -> None:
    """Attacks are those of the suite, tests are there, and nothing else stands in their place."""
    for sentence, tried, tests in rows()[source]:
        named = re.findall(r"`(\w+)[\w.]*`", tried)
        checks = {each for each in tried.split(", ") if "`" not in each}
        assert set(named) <= {*NAMES, "sybils"}, sentence
        assert tried.startswith("Reason: ") or checks <= CHECKS, sentence
        paths = re.findall(r"`([\w/]+\.py)::(test_\w+)`", tests)
        assert paths or tried.startswith("Reason: "), sentence
        for path, name in paths:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {
                each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)
            }


@pytest.mark.parametrize("name", [*NAMES, "sybils"])
def test_every_attack_tries_a_sentence(name: str) -> None:
    """What is attacked is promised, or told as not promised."""
    assert any(f"`{name}" in row[1] for of_source in rows().values() for row in of_source)


def test_promises_name_what_the_attacker_knows() -> None:
    """No sentence speaks of whatever somebody knows, or of whoever that is."""
    texts = [one for of_source in promising().values() for one in of_source]
    assert not [one for one in texts if re.search(r"\b(what|who)ever\b", one, re.IGNORECASE)]


def network(seed: int) -> AttributedGraph:
    """Return 300 people of four kinds with 1,500 ties."""
    return uniform(300, 1500, n_tuples=4, rng=np.random.default_rng(seed))


def released(graph: AttributedGraph, seed: int, k: int = 10) -> Anonymized:
    """Return a single release by the defaults."""
    return anonymize(graph, PrivacyParams(k=k), rng=np.random.default_rng(seed))


def alike(graph: AttributedGraph) -> list[tuple[object, ...]]:
    """Return of each vertex, by texts, its kind and how many neighbours of each kind it has."""
    names = graph.schema.quasi_identifiers
    kinds = [tuple(graph.values(v)[name] for name in names) for v in range(graph.n_vertices)]
    near: list[Counter[tuple[str, ...]]] = [Counter() for _ in kinds]
    for u, v in graph.edges.tolist():
        near[u][kinds[v]] += 1
        near[v][kinds[u]] += 1
    return [(kind, *sorted(of.items())) for kind, of in zip(kinds, near, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_k_places_have_the_kinds_of_neighbours_of_each(seed: int) -> None:
    """Counted by texts: at least k are equal, at most a share alpha of them shown as sensitive."""
    shown = released(network(seed), seed).graph
    groups: dict[tuple[object, ...], list[bool]] = {}
    for v, row in enumerate(alike(shown)):
        value = shown.values(v)[shown.schema.sensitive]
        groups.setdefault(row, []).append(value in shown.schema.sensitive_values)
    assert all(len(each) >= 10 and 5 * sum(each) <= len(each) for each in groups.values())


@pytest.mark.parametrize("seed", range(3))
def test_attackers_of_the_promise_find_one_in_k(seed: int) -> None:
    """With all friends' kinds, a part, or some wrong; where ids are removed only they find more."""
    graph, attacks = network(seed), ("one_hop", "partial_knowledge", "sensitive_inference")
    made = released(graph, seed)
    case = Case(graph, made.graph, made.origin)
    found = run(case, PrivacyParams(), np.random.default_rng(0), attacks=attacks)
    assert all(each.value <= each.promise for each in found if each.promise and each.targets)
    leak = Case(graph, *ids_removed(graph, np.random.default_rng(0)))
    assert any(
        each.is_broken
        for each in run(leak, PrivacyParams(), np.random.default_rng(0), attacks=attacks)
    )


def test_two_releases_of_one_network_leave_fewer_than_k() -> None:
    """Of a network in which nothing changed, and with another k: each is safe, both are not."""
    graph = network(0)
    left: list[dict[int, set[int]]] = []
    for seed, k in ((0, 10), (1, 10), (2, 12)):
        made = released(graph, seed, k)
        groups: dict[tuple[object, ...], set[int]] = {}
        for row, person in zip(alike(made.graph), made.origin.tolist(), strict=True):
            groups.setdefault(row, set()).add(person)
        left.append({person: each for each in groups.values() for person in each})
        assert min(map(len, groups.values())) >= k
    for other in left[1:]:
        both = left[0].keys() & other.keys()
        below = sum(len(left[0][person] & other[person]) < 10 for person in both)
        assert below > len(both) / 2
