"""Descriptions of a release for catalogues, and its README.txt.

Croissant 1.1 and RO-Crate 1.1 describe the files of a release folder. Nothing in them tells more
than the release, and none has a date but the release's own.

Words may be changed, and with them the bytes of every later release: README.txt is published and
sealed. What it advises must exist (tests/ktsafe/reader/test_exports.py); figures in it are those of
the demo.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

UNDATED: Final = "1970-01-01"
"""The date of a release without one: a fixed date repeats, and a missing one becomes today."""
_MEDIA_TYPES: Final = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".txt": "text/plain",
    ".parquet": "application/vnd.apache.parquet",
}
_TERMS: Final = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field"),
    *("fileProperty", "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset"),
    *("jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
"""Croissant's own terms. Its checker warns if the context has not all of them."""
_CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in _TERMS},
}


def croissant(manifest: Mapping[str, Any]) -> str:
    """Return a release's croissant.json (Croissant 1.1 with `rai:` terms).

    Parameters
    ----------
    manifest:
        What manifest.json says, JSON values by name.

    Examples
    --------
    >>> manifest = {
    ...     "release_id": "one", "nominal_time": None, "vertices": 3, "edges": 2,
    ...     "params": {"k": 10, "alpha": "1/5"}, "guarantee": {"text": "Safe."},
    ...     "sha256": {"vertices.csv": "ab", "edges.csv": "cd"},
    ...     "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"},
    ... }
    >>> described = json.loads(croissant(manifest))
    >>> [field["@id"] for field in described["recordSet"][0]["field"]]
    ['vertices/id', 'vertices/age', 'vertices/ill']
    """
    schema = manifest["schema"]
    columns = {
        "vertices": ["id", *schema["quasi_identifiers"], schema["sensitive"]],
        "edges": ["source", "target"],
    }
    references = {"source": "vertices/id", "target": "vertices/id"}
    tables = [
        {
            "@type": "cr:RecordSet",
            "@id": table,
            "name": table,
            **({"key": {"@id": "vertices/id"}} if table == "vertices" else {}),
            "field": [
                {
                    "@type": "cr:Field",
                    "@id": f"{table}/{name}",
                    "name": name,
                    "dataType": "sc:Text",
                    "source": {"fileObject": {"@id": f"{table}.csv"}, "extract": {"column": name}},
                    **(
                        {"references": {"field": {"@id": references[name]}}}
                        if table == "edges"
                        else {}
                    ),
                }
                for name in names
            ],
        }
        for table, names in columns.items()
    ]
    files = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": _media_type(name),
            "sha256": digest,
        }
        for name, digest in manifest["sha256"].items()
    ]
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        **_described(manifest),
        "rai:personalSensitiveInformation": [
            f"Sensitive attribute: {schema['sensitive']}. Anonymized: {_promise(manifest)}"
        ],
        "rai:dataLimitations": [f"{what}: {instead}" for what, instead in LEANINGS],
        "rai:dataUseCases": [HOLDS],
        "rai:dataManipulationProtocol": "kt-safe anonymization by ktsafe: edges were added and "
        "removed, ids drawn at random.",
        "distribution": files,
        "recordSet": tables,
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def ro_crate(manifest: Mapping[str, Any]) -> str:
    """Return the text of ro-crate-metadata.json for a release (RO-Crate 1.1)."""
    names = ["manifest.json", *manifest["sha256"]]
    about = manifest.get("about", {})
    root = {
        "@id": "./",
        "@type": "Dataset",
        **_described(manifest),
        "license": about.get("licence") or about.get("terms") or "See README.txt.",
        "hasPart": [{"@id": name} for name in names],
    }
    files = [
        {"@id": name, "@type": "File", "name": name, "encodingFormat": _media_type(name)}
        for name in names
    ]
    people = [each for each in (root.get("publisher"),) if each is not None]
    if people:
        root["publisher"] = {"@id": "#publisher"}
    graph = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        root,
        *files,
        *({"@id": "#publisher", **each} for each in people),
    ]
    crate = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    return json.dumps(crate, indent=2, ensure_ascii=False) + "\n"


def _described(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, description, date and terms in schema.org's words."""
    about = manifest.get("about", {})
    counts = f"{manifest['vertices']:,} vertices, {manifest['edges']:,} undirected edges"
    told: dict[str, Any] = {
        "name": about.get("title") or f"Anonymized social network {manifest['release_id']}",
        "description": f"An anonymized edition of a social network: {counts}. {README} says what "
        "leans and what to use instead.",
        "datePublished": str(manifest["nominal_time"] or UNDATED)[:10],
        "identifier": manifest["release_id"],
    }
    if "publisher" in about:
        told["publisher"] = {"@type": "Organization", "name": about["publisher"]}
        if "contact" in about:
            told["publisher"]["email" if "@" in about["contact"] else "url"] = about["contact"]
    if "licence" in about:
        told["license"] = about["licence"]
    if "terms" in about:
        told["usageInfo"] = about["terms"]
    return told


def _promise(manifest: Mapping[str, Any]) -> str:
    params = manifest["params"]
    return f"k = {params['k']}, alpha = {params['alpha']}. {manifest['guarantee']['text']}"


def _media_type(name: str) -> str:
    return _MEDIA_TYPES[Path(name).suffix]


# README.txt of a release: its meaning, its bias, how to load it.
#
# It follows from the manifest alone, so it tells nothing that the manifest does not.


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
Gephi                     networkx.write_graphml(graph, "graph.graphml")
igraph                    graph = ktsafe.read("{folder}").to_igraph()
PyTorch Geometric         data = ktsafe.read("{folder}").to_pyg()
pandas                    vertices = pd.read_csv("vertices.csv", dtype=str,
                                                 keep_default_na=False)
                          edges = pd.read_csv("edges.csv", dtype=str)
R, igraph                 edges <- read.csv("edges.csv", colClasses = "character")
                          people <- read.csv("vertices.csv", colClasses = "character",
                                             na.strings = "")
                          graph <- graph_from_data_frame(edges, FALSE, people)
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
