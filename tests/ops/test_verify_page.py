"""verify.html in a real browser: sound releases pass, tampered ones are told, nothing is asked for.

The page is the third implementation of the definition. It is compared with the verifier and with
the naive oracle, and what it says of chains and signatures with `ktsafe.seals`.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ktsafe.errors import KtsafeError
from ktsafe.reader import read
from ktsafe.seals import check_seals, public_key
from ktsafe.stream.files.certificates import seal_manifest, verified
from ktsafe.stream.files.releases_read import read_release
from ktsafe.stream.files.releases_write import manifest_text
from tests import graphs, naive, sealed
from tests.naive import Small, Tolerance
from tests.ops.browser import Browser, browser

PAGE = Path(__file__).parents[2] / "stream" / "files" / "verify.html"
POLICY = re.compile(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"')


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        opened.open(PAGE.as_uri())
        yield opened


@dataclasses.dataclass
class Case:
    """Releases to change, with the owner's signer and public key."""

    folder: Path
    key: Path | None
    signer: Any
    other: Any

    @property
    def releases(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.is_dir())

    def digests(self, n: int) -> list[str]:
        manifests = [path / "manifest.json" for path in self.releases[:n]]
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in manifests]

    def edit(self, at: int, file: str, old: str, new: str) -> None:
        path = self.releases[at] / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def manifest(self, at: int) -> dict[str, Any]:
        return json.loads((self.releases[at] / "manifest.json").read_text())

    def reseal(self, at: int, signer: Any, verdict: str | None = None, **changed: Any) -> None:
        """Seal a changed release as its forger, or a careless owner, would."""
        folder, manifest = self.releases[at], self.manifest(at) | changed
        stated = manifest.pop("seal")["verdict"]["sha256"] if verdict is None else verdict
        manifest["sha256"] = {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in manifest["sha256"]
        }
        manifest.pop("seal", None)
        (folder / "manifest.json").write_text(manifest_text(manifest))
        seal_manifest(folder, self.digests(at), Stated(stated), [], signer)  # type: ignore[arg-type]


@dataclasses.dataclass
class Stated:
    """A verdict that somebody claims."""

    text: str
    evidence: str = "definition"

    def digest(self, ids: Any) -> str:
        return self.text


def swap(case: Case) -> None:
    a, b = case.releases[2:4]
    a.rename(case.folder / "x")
    b.rename(a)
    (case.folder / "x").rename(b)


def with_an_edge_less(case: Case, at: int) -> None:
    lines = (case.releases[at] / "edges.csv").read_text().splitlines(keepends=True)
    (case.releases[at] / "edges.csv").write_text("".join(lines[:-1]))


def forged(case: Case, at: int, signer: Any) -> None:
    with_an_edge_less(case, at)
    case.reseal(at, signer, edges=case.manifest(at)["edges"] - 1)


def with_a_row_twice(case: Case, file: str) -> None:
    path = case.releases[4] / file
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[-1]]))
    count = {"vertices.csv": "vertices", "edges.csv": "edges"}[file]
    case.reseal(4, case.signer, **{count: len(lines)})


def with_a_loop(case: Case) -> None:
    path = case.releases[4] / "edges.csv"
    *rest, last = path.read_text().splitlines()
    path.write_text("\n".join([*rest, ",".join([last.split(",")[0]] * 2)]) + "\n")
    case.reseal(4, case.signer)


def with_seal(case: Case, at: int, **changed: Any) -> None:
    manifest = case.manifest(at)
    manifest["seal"] |= changed
    (case.releases[at] / "manifest.json").write_text(manifest_text(manifest))


def without_seal(case: Case, at: int) -> None:
    manifest = case.manifest(at)
    del manifest["seal"]
    (case.releases[at] / "manifest.json").write_text(manifest_text(manifest))


def with_another_log(case: Case) -> None:
    seal_manifest(
        case.releases[4], ["0" * 64, *case.digests(4)[1:]], Stated("0" * 64), [], case.signer
    )  # type: ignore[arg-type]


def keyless(case: Case) -> None:
    case.key = None


def rotated(case: Case) -> None:
    case.reseal(4, case.other)
    case.key = sealed.key_files(case.folder.parent, 2)[1]


def drop(*places: int) -> Callable[[Case], None]:
    def dropped(case: Case) -> None:
        for path in [case.releases[at] for at in places]:
            shutil.rmtree(path)

    return dropped


SOUND: dict[str, Callable[[Case], None]] = {
    "all of them, signed": lambda case: None,
    "without a key": keyless,
    "the last three": drop(0, 1),
    "one alone": drop(0, 1, 2, 3),
    "a new key": rotated,
    "the older ones without a key": lambda case: (drop(2, 3, 4)(case), keyless(case))[1],
}
TAMPERED: dict[str, Callable[[Case], None]] = {
    "a value changed": lambda case: case.edit(3, "vertices.csv", ",f,", ",m,"),
    "an edge dropped": lambda case: with_an_edge_less(case, 3),
    "a table missing": lambda case: (case.releases[3] / "edges.csv").unlink(),
    "a manifest that is none": lambda case: case.edit(3, "manifest.json", "{", "["),
    "k lowered": lambda case: case.edit(4, "manifest.json", '"k": 2', '"k": 1'),
    "alpha raised": lambda case: case.edit(4, "manifest.json", '"alpha": "1/2"', '"alpha": 1'),
    "an edge dropped from the last, not signed": lambda case: forged(case, 4, None),
    "an edge dropped from the last, another key": lambda case: forged(case, 4, case.other),
    "an edge dropped from an earlier one": lambda case: forged(case, 2, case.other),
    "the last signed again by another key": lambda case: case.reseal(4, case.other),
    "one before signed again by another key": lambda case: case.reseal(3, case.other),
    "one taken away": drop(3),
    "two taken away": drop(2, 3),
    "two swapped": swap,
    "one put in": lambda case: shutil.copytree(case.releases[3], f"{case.releases[3]}x"),
    "an older one put in": lambda case: shutil.copytree(case.releases[0], f"{case.releases[3]}x"),
    "one published again": lambda case: shutil.copytree(case.releases[3], case.folder / "000006"),
    "an older one replaced": lambda case: case.edit(0, "manifest.json", '"k": 2', '"k": 1'),
    "the last seal stripped": lambda case: without_seal(case, 4),
    "an earlier seal stripped": lambda case: without_seal(case, 3),
    "the signature left out": lambda case: with_seal(case, 4, key="", signature=""),
    "the signature of another": lambda case: with_seal(
        case, 4, signature=case.manifest(3)["seal"]["signature"]
    ),
    "another release before it": lambda case: with_seal(case, 4, before="0" * 64),
    "a seal that is none": lambda case: with_seal(case, 4, before=None),
    "another log": with_another_log,
    "an id twice": lambda case: with_a_row_twice(case, "vertices.csv"),
    "an edge twice": lambda case: with_a_row_twice(case, "edges.csv"),
    "a loop": with_a_loop,
    "wrong counts": lambda case: case.reseal(4, case.signer, vertices=13),
    "not kt-safe, and signed": lambda case: case.reseal(
        4, case.signer, params=case.manifest(4)["params"] | {"k": 7}
    ),
    "another verdict, and signed": lambda case: case.reseal(4, case.signer, verdict="0" * 64),
    "withdrawn": lambda case: (case.releases[3] / "withdrawn.json").write_text('{"why": "x"}'),
}


def packed(case: Case) -> dict[str, Any]:
    """Return a case as the page takes it, bytes as base64."""
    releases = [
        {
            "name": path.name,
            "files": {
                file.name: base64.b64encode(file.read_bytes()).decode() for file in path.iterdir()
            },
        }
        for path in case.releases
    ]
    return {"releases": releases, "pem": case.key.read_text() if case.key else ""}


def asked(window: Browser, cases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return what the page finds in every case, in one call."""
    script = f"""(async () => {{
      const found = [];
      for (const one of {json.dumps(cases)}) {{
        for (const release of one.releases) {{
          for (const [name, text] of Object.entries(release.files)) {{
            release.files[name] = Uint8Array.from(atob(text), c => c.charCodeAt(0));
          }}
        }}
        found.push(await check(one.releases, one.pem));
      }}
      return found;
    }})()"""
    return window.ask(script)


def ours(case: Case) -> list[tuple[bool, str | None]] | None:
    """Return by the program whether each release is in order, and its verdict's digest."""
    keys = [public_key(case.key.read_bytes())] if case.key else []
    manifests = [(path / "manifest.json").read_bytes() for path in case.releases]
    try:
        checks = check_seals(manifests, keys)
    except ValueError:
        return None
    found: list[tuple[bool, str | None]] = []
    for path, check in zip(case.releases, checks, strict=True):
        try:
            read(path)
            release = read_release(path)
            verdict = verified(release)
        except KtsafeError:
            found.append((False, None))
            continue
        digest, stated = verdict.digest(release.ids), release.manifest.seal
        is_stated = stated is None or stated.verdict.sha256 == digest
        found.append((verdict.is_safe and is_stated and not check.problems, digest))
    return found


def test_sound_releases_pass_and_tampered_ones_are_told(window: Browser, tmp_path: Path) -> None:
    """The page finds of every release what the program finds, and asks nobody for anything."""
    signer, other = sealed.signer(tmp_path), sealed.signer(tmp_path, 2)
    sealed.sealed_releases(tmp_path / "made", 5, signer, past=2)
    assert len(SOUND) == 6
    assert len(TAMPERED) >= 24
    cases = {}
    for name, change in {**SOUND, **TAMPERED}.items():
        folder = tmp_path / name / "releases"
        shutil.copytree(tmp_path / "made", folder)
        case = Case(folder, sealed.key_files(tmp_path)[1], signer, other)
        change(case)
        cases[name] = case
    window.requested()
    found = asked(window, [packed(case) for case in cases.values()])
    for (name, case), results in zip(cases.items(), found, strict=True):
        expected = ours(case)
        assert all(one["good"] for one in results) == (name in SOUND), (name, results)
        if expected is None:
            assert not any(one["good"] for one in results), name
            continue
        assert [one["good"] for one in results] == [good for good, _ in expected], (name, results)
        for one, (_, digest) in zip(results, expected, strict=True):
            assert digest is None or one["digest"] == digest, name
    assert window.requested() == []
    assert window.complaints() == []


def test_chains_are_told_in_the_words_of_the_program(window: Browser, tmp_path: Path) -> None:
    """For the same manifests page and program say the same, problem by problem."""
    signer, other = sealed.signer(tmp_path), sealed.signer(tmp_path, 2)
    sealed.sealed_releases(tmp_path / "made", 9, signer, past=1)
    rng = random.Random(5)
    cases = []
    for number in range(12):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "made", folder)
        case = Case(folder, sealed.key_files(tmp_path)[1], signer, other)
        for _ in range(2):
            rng.choice(
                [
                    lambda case: drop(rng.randrange(len(case.releases)))(case),
                    lambda case: case.reseal(len(case.releases) - 1, other),
                    lambda case: case.releases[rng.randrange(4)].rename(
                        case.folder / f"000009{rng.random()}"
                    ),
                ]
            )(case)
        cases.append(case)
    for case, results in zip(cases, asked(window, [packed(one) for one in cases]), strict=True):
        manifests = [(path / "manifest.json").read_bytes() for path in case.releases]
        checks = check_seals(manifests, [public_key(case.key.read_bytes())])  # type: ignore[union-attr]
        assert [(c.release_id, c.signature, c.size, list(c.problems)) for c in checks] == [
            (one["name"], one["signature"], one["size"], one["problems"]) for one in results
        ]


def random_graph(rng: random.Random) -> Small:
    n, width = rng.randrange(16), rng.randrange(3)
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = rng.sample(pairs, rng.randrange(len(pairs) // 2 + 1))
    values = [tuple(rng.randrange(2) for _ in range(width)) for _ in range(n)]
    return Small(values, [rng.random() < 0.3 for _ in range(n)], edges)


def test_the_definition_is_that_of_verifier_and_oracle(window: Browser) -> None:
    """Protection sets of the paper's examples and of random graphs, at many tolerances."""
    rng = random.Random(1)
    small = [graphs.paper_original(), graphs.paper_anonymized(), graphs.stars(3, 4)]
    small += [graphs.regular(8, 3, sensitive=2), *(random_graph(rng) for _ in range(120))]
    cases = []
    for graph in small:
        t = rng.choice([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1)])
        cases.append((graph, Tolerance(2, t, Fraction(1, 2), rng.randrange(7))))
    told = [
        {
            "classes": [list(map(str, values)) for values in graph.quasi_identifiers],
            "ill": graph.is_sensitive,
            "edges": graph.edges,
            "params": {"t": str(tolerance.t), "epsilon": tolerance.epsilon},
        }
        for graph, tolerance in cases
    ]
    script = f"{json.dumps(told)}.map(c => protectionSets(c.classes, c.ill, c.edges, c.params))"
    for (graph, tolerance), found in zip(cases, window.ask(script), strict=True):
        sets = naive.protection_sets(graph, tolerance)
        assert found["candidates"] == [len(members) for members in sets]
        ill = [sum(graph.is_sensitive[u] for u in members) for members in sets]
        assert found["sensitive"] == ill
        verdict = graphs.verdict_of(graph, tolerance)
        assert found["candidates"] == verdict.ps_size.tolist()
        assert found["sensitive"] == verdict.ps_sensitive.tolist()


def test_what_it_cannot_judge_it_says(window: Browser, tmp_path: Path) -> None:
    """Two hops, and the induced reading, are left to the program; numbers are never rounded."""
    signer = sealed.signer(tmp_path)
    sealed.sealed_releases(tmp_path / "made", 1, signer)
    case = Case(tmp_path / "made", None, signer, signer)
    for params in ({"n_hops": 2}, {"reading": "induced"}):
        case.reseal(0, signer, params=case.manifest(0)["params"] | params)
        ((found,),) = asked(window, [packed(case)])
        assert (found["safe"], found["good"]) == (None, False)
        assert "ktsafe verify" in found["note"]
    case.reseal(0, signer, params=case.manifest(0)["params"] | {"n_hops": 1, "reading": "walk"})
    params = case.manifest(0)["params"] | {"t": "1/9007199254740993"}
    case.reseal(0, signer, params=params)
    ((found,),) = asked(window, [packed(case)])
    assert not found["good"]
    assert "too large" in found["problems"][0]


def test_texts_of_releases_are_shown_as_texts(window: Browser) -> None:
    """What a release calls itself, or a reason, is no markup; and the page fits a phone."""
    hostile = "<img src=x onerror=document.title='broken'>" + "w" * 200
    result = {"name": hostile, "note": hostile, "problems": [hostile], "signature": hostile}
    result |= {"withdrawn": None, "good": False, "safe": False, "size": 1, "manifest": hostile}
    window.look(320, 640)
    window.ask(f"show([{json.dumps(result)}], true)")
    assert window.ask("document.querySelectorAll('img').length") == 0
    assert window.ask("document.title") == "ktsafe: verify releases"
    assert window.ask("document.querySelectorAll('td').length") == 4


def test_the_page_asks_for_nothing() -> None:
    """Its policy allows its own script and style, by their hashes, and nothing else."""
    text = PAGE.read_text()
    (policy,) = POLICY.findall(text)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules.pop(rule) == f"'sha256-{digest}'"
    assert rules == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|WebSocket|innerHTML|eval\(", text)
