"""README.txt of a release: its meaning, its bias, how to load it.

It follows from the manifest alone, so it tells nothing that the manifest does not.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

README: Final = "README.txt"
ABOUT: Final = ("title", "publisher", "contact", "terms", "licence")
"""What an owner may say of releases, in the order in which it is printed."""
WIDTH: Final = 88

LEANINGS: Final = (
    (
        "Likeness is too strong",
        (
            "ties between people of one value are overstated, those between unlike people "
            "understated: assortativity and regressions of ties on attributes come out by a third "
            "to a half too high. Use release.estimate(...) where there is statistics.json; else "
            "leave them open."
        ),
    ),
    (
        "Pairs of classes without an edge are gaps, not zeros",
        (
            'the manifest lists them under "dark". In a series `ktsafe releases read --latest` '
            "writes one graph of what each pair showed last."
        ),
    ),
    (
        "The ends of the degree distribution are cut",
        (
            "people with very many ties have fewer here, and hardly anybody has none or one. "
            "Middle, quartiles and mean are near."
        ),
    ),
    (
        "Clustering is a little low in a first release, and by a fifth to a third in later ones",
        "fewer triangles, fewer common neighbours. Compare groups within one release, not levels.",
    ),
    (
        "Releases of a series change far more than the network",
        (
            "edges that come and go are ten times as many as true ties that do; growth from "
            "release to release is not that of the network. Where there is statistics.json, use "
            "difference(...) and trend(...) of ktsafe.read(FOLDER OF ALL RELEASES)."
        ),
    ),
    (
        "Single edges and single people mean nothing",
        "an edge may be invented and a tie hidden. Count over many people. Look nobody up.",
    ),
)
"""What leans in releases, and what to use instead.

Sizes are those of the demonstration network, seed 1, beside its truth, over a year: assortativity
by age .25 -> .34 (.37 after a year), greatest degree 66 -> 42, isolates 1.6% -> 0, transitivity
.105 -> .100 (.101 -> .080), turnover of ties a month 1.0% -> 10%.
"""
HOLDS: Final = (
    "Near the truth in our demonstration network: numbers of people by value, mean and quartiles "
    "of degrees, degree assortativity, distances, the largest component, cores."
)

LOADING: Final = """\
Python, with error bars   import ktsafe
                          release = ktsafe.read("{folder}")
                          release.estimate("assortativity", by="{attribute}")
networkx                  graph = ktsafe.read("{folder}").to_networkx()
igraph                    graph = ktsafe.read("{folder}").to_igraph()
PyTorch Geometric         data = ktsafe.read("{folder}").to_pyg()
pandas                    vertices = pd.read_csv("vertices.csv", dtype=str,
                                                 keep_default_na=False)
                          edges = pd.read_csv("edges.csv", dtype=str)
R, igraph                 edges <- read.csv("edges.csv", colClasses = "character")
                          people <- read.csv("vertices.csv", colClasses = "character",
                                             na.strings = "")
                          graph <- graph_from_data_frame(edges, FALSE, people)
Gephi                     ktsafe releases read --folder .. --into OUT --also gexf
Take vertices.csv, too: people without an edge are not in edges.csv.
"""


def readme(manifest: Mapping[str, Any]) -> str:
    r"""Return the text of README.txt for a release.

    Parameters
    ----------
    manifest:
        What manifest.json says, JSON values by name.

    Examples
    --------
    >>> manifest = {
    ...     "release_id": "one", "sequence_id": "single", "nominal_time": None,
    ...     "params": {"k": 10, "alpha": "1/5"}, "guarantee": {"text": "Safe."}, "vertices": 3,
    ...     "edges": 2, "values": "in place", "sha256": {"edges.csv": ""}, "about": {"title": "A"},
    ...     "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"},
    ... }
    >>> print(readme(manifest).partition("What it is")[0].rstrip())
    A
    =
    <BLANKLINE>
    Release one: 3 vertices, 2 undirected edges.
    """
    return "\n".join(line.rstrip() for line in _lines(manifest)) + "\n"


def _lines(manifest: Mapping[str, Any]) -> Iterator[str]:
    about, schema = manifest.get("about", {}), manifest["schema"]
    title = about.get("title") or "Anonymized social network"
    yield from (title, "=" * len(title), "")
    counts = f"{manifest['vertices']:,} vertices, {manifest['edges']:,} undirected edges"
    dated = "" if manifest["nominal_time"] is None else f" as of {manifest['nominal_time']}"
    yield from _paragraph(f"Release {manifest['release_id']}{dated}: {counts}.")
    for name in ABOUT[1:]:
        if name in about:
            yield from _paragraph(f"{name.capitalize()}: {about[name]}")
    yield from _section("What it is")
    params = manifest["params"]
    yield from _paragraph(
        "An anonymized edition of a social network, made by ktsafe. It is not the network: edges "
        "are invented, true ties are hidden, and ids were drawn at random. kt-safe with "
        f"k = {params['k']}, alpha = {params['alpha']}. {manifest['guarantee']['text']}"
    )
    attributes = ", ".join(schema["quasi_identifiers"])
    yield from _paragraph(f"Attributes: {attributes}; sensitive: {schema['sensitive']}.")
    if manifest["values"] == "exchanged":
        yield from _paragraph(
            f"Values of {schema['sensitive']} are exchanged within groups of people: right in "
            "number for each group, and no information on single vertices or on who is tied to "
            "whom."
        )
    yield from _section("What leans, and what to use instead")
    for what, instead in LEANINGS:
        yield from textwrap.wrap(
            f"- {what}: {instead}", WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
    yield ""
    yield from _paragraph(HOLDS)
    if "statistics.json" not in manifest["sha256"]:
        yield from _paragraph(
            "This release has no statistics.json, which the first one of a month may have: "
            "estimates are those of the graph alone, without error bars, and lean as it does."
        )
    yield from _section("How to load it")
    first = next(iter(schema["quasi_identifiers"]), "ATTRIBUTE")
    yield from LOADING.format(folder=manifest["release_id"], attribute=first).splitlines()
    yield from _section("Files")
    yield from _paragraph(
        f"manifest.json (terms, guarantee, sha256 of the others), {', '.join(manifest['sha256'])}. "
        "Check them with `ktsafe verify`."
    )


def _section(title: str) -> Iterator[str]:
    yield from ("", title, "-" * len(title))


def _paragraph(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
