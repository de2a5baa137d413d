"""The nine data sets of the paper's evaluation: where they come from, and how they are loaded."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Final

import numpy as np

from ktsafe import AttributedGraph
from ktsafe.graph.synthetic import uniform
from ktsafe.stream.files.graphs import read_graph, read_schema
from ktsafe_lab.paper.cost_model import sampled_vertices
from ktsafe_lab.synthetic_degrees import gaussian, zipf

SMALL_VERTICES: Final = 400
"""Of a graph in a small run; graphs of at most 3,000 vertices stay whole."""
SCALE: Final = 25
"""By which a small run divides gamma and the sizes of synthetic graphs: 10,000 are 400."""
WHOLE_MAX: Final = 3_000
SYNTHETIC: Final = {
    "Uniform": (uniform, 97_779),
    "Gaussian": (gaussian, 163_973),
    "Zipf": (zipf, 56_067),
}
"""Generator and edges per 10,000 vertices, the paper's."""


@dataclasses.dataclass(frozen=True)
class PublicData:
    """A public data set, as a folder of `vertices.csv`, `edges.csv` and `schema.toml`.

    Attributes
    ----------
    folder:
        Its name below the folder of data.
    paper:
        Vertices and edges, as the paper states them.
    edges:
        Edges here.
    source, licence, derived:
        Who publishes it, under which terms, and what its attributes are here.
    sha256:
        The first 16 digits of the edges' and the vertices' digests.
    """

    folder: str
    paper: str
    edges: int
    source: str
    licence: str
    derived: str
    sha256: tuple[str, str]


SNAP = "none stated; SNAP asks for citation"
DRAWN = "attributes drawn: the source has none"
PUBLIC: Final = {
    "Cora": PublicData(
        "cora",
        "2,708 / 5,278",
        5_278,
        "LINQS, release of 2007; Sen et al., AI Magazine 2008",
        "none stated; free for research",
        "words in six buckets; class is sensitive, `Case_Based` is the sensitive value",
        ("42e0ec5e3227c945", "2af0156dfaa25b1d"),
    ),
    "DBLP": PublicData(
        "aminer-s",
        "79,593 / 201,334",
        52_460,
        "not at hand; AMiner-S co-authors stand for it; Dong et al., 2022",
        "none stated",
        "field; continent is sensitive. 39,424 vertices, 52,460 edges",
        ("3d0532de565c3c6f", "d86df3e83963f5aa"),
    ),
    "Epinions": PublicData(
        "epinions",
        "22,166 / 355,813",
        287_032,
        "[Tang](https://www.cse.msu.edu/~tangjili/datasetcode/truststudy.htm), Gao and Liu, WSDM "
        "2012; another cut: 18,098 vertices, 287,032 edges",
        "none stated; its readme asks for citation",
        DRAWN.replace("the source has none", "ids of its ratings file are not aligned"),
        ("ff3b41cfff062509", "2f1a17d71ab2b1e2"),
    ),
    "Facebook": PublicData(
        "ego-facebook",
        "4,039 / 88,234",
        88_234,
        "[SNAP ego-Facebook](https://snap.stanford.edu/data/ego-Facebook.html); McAuley and "
        "Leskovec, NIPS 2012",
        SNAP,
        "its own profiles (gender, education, locale; employer), not sensor readings",
        ("4232d2ffe0a43821", "363e11f6db252f94"),
    ),
    "Wikipedia": PublicData(
        "wiki-vote",
        "7,115 / 103,689",
        100_762,
        "[SNAP wiki-Vote](https://snap.stanford.edu/data/wiki-Vote.html); Leskovec et al., CHI "
        "2010; undirected: 100,762 edges",
        SNAP,
        DRAWN,
        ("662c03665116bde9", "0947529ad739b6c3"),
    ),
    "Arxiv": PublicData(
        "ca-condmat",
        "23,133 / 93,497",
        93_439,
        "[SNAP ca-CondMat](https://snap.stanford.edu/data/ca-CondMat.html); Leskovec et al., TKDD "
        "2007; without loops 93,439 edges",
        SNAP,
        DRAWN,
        ("f131a3027f4ad6ff", "c5e19b621de775ed"),
    ),
}


def edges_of(name: str, vertices: int) -> int:
    """Return the edges that a data set has at the paper's size."""
    return SYNTHETIC[name][1] * vertices // 10_000 if name in SYNTHETIC else PUBLIC[name].edges


def paper_graph(
    name: str, data: Path | None, *, full: bool, vertices: int = 10_000, tuples: int = 10
) -> AttributedGraph | None:
    """Return a data set of the paper, None where its files are not at hand.

    Parameters
    ----------
    name:
        As the paper calls it.
    data:
        The folder that holds the public data sets.
    full:
        The paper's size; else what a walk in breadth reaches first, as the paper samples graphs.
    vertices, tuples:
        Size at full scale, and number of quasi-identifiers, of a synthetic graph.
    """
    if name in SYNTHETIC:
        make, edges = SYNTHETIC[name]
        n = vertices if full else vertices // SCALE
        return make(n, edges * n // 10_000, rng=np.random.default_rng(0), n_tuples=tuples)
    folder = data / PUBLIC[name].folder if data else None
    if folder is None or not folder.is_dir():
        return None
    files = [next(folder.glob(f"{stem}.csv*")) for stem in ("vertices", "edges")]
    graph = read_graph(files[0], files[1], read_schema(folder / "schema.toml")).graph
    if full or graph.n_vertices <= WHOLE_MAX:
        return graph
    return cut_to(graph, SMALL_VERTICES)


def cut_to(graph: AttributedGraph, vertices: int) -> AttributedGraph:
    """Return the part of a graph that a walk in breadth reaches first."""
    return graph.subgraph(sampled_vertices(graph, vertices, np.random.default_rng(0)))
