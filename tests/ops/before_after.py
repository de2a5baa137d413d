"""Draw a small network before and after: `python -m tests.ops.before_after docs/images`.

The network is made up: friends in three circles, people of two kinds. Places are those of the true
network on both sides, which only its owner can draw.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import networkx as nx
import numpy as np

import ktsafe

PEOPLE, CIRCLES, K = 36, 3, 3
WIDTH, HEIGHT, TOP = 380, 330, 34
STYLE = """
text{font:15px sans-serif;fill:#333}line{stroke:#8a8f98;stroke-width:1.4}
line.new{stroke:#d9662b;stroke-dasharray:4 3}line.gone{stroke:#8a8f98;stroke-width:.7;opacity:.35}
circle{stroke:#fff;stroke-width:1.5}.a{fill:#3567b0}.b{fill:#4b9d6b}
@media(prefers-color-scheme:dark){text{fill:#ddd}circle{stroke:#222}}
"""

Place = tuple[float, float]


def network() -> nx.Graph:
    """Return friends in circles, with a kind each."""
    rng = np.random.default_rng(5)
    size = PEOPLE // CIRCLES
    inside, across = 0.42, 0.02
    chances = [[inside if i == j else across for j in range(CIRCLES)] for i in range(CIRCLES)]
    graph = nx.stochastic_block_model([size] * CIRCLES, chances, seed=5)
    made = nx.Graph(graph.edges)
    made.add_nodes_from(graph)
    for person in made:
        made.nodes[person]["kind"] = "a" if rng.random() < 0.5 else "b"
        made.nodes[person]["health"] = "ill" if person % 12 == 0 else "well"
    return made


def lines(edges: Iterable[tuple[int, int]], places: dict[int, Place], name: str = "") -> str:
    """Return edges as SVG."""
    mark = f' class="{name}"' if name else ""
    return "".join(
        f'<line{mark} x1="{places[u][0]:.0f}" y1="{places[u][1]:.0f}" '
        f'x2="{places[v][0]:.0f}" y2="{places[v][1]:.0f}"/>'
        for u, v in sorted(tuple(sorted(edge)) for edge in edges)
    )


def panel(left: int, title: str, drawn: str, graph: nx.Graph, places: dict[int, Place]) -> str:
    """Return one side of the picture."""
    dots = "".join(
        f'<circle class="{graph.nodes[v]["kind"]}" cx="{x:.0f}" cy="{y:.0f}" r="6"/>'
        for v, (x, y) in sorted(places.items())
    )
    return f'<g transform="translate({left},0)"><text x="12" y="20">{title}</text>{drawn}{dots}</g>'


def main() -> int:
    """Write the picture into a folder; print what it shows."""
    folder = Path(sys.argv[1])
    graph = network()
    safe = ktsafe.protect(
        graph,
        quasi_identifiers=["kind"],
        sensitive="health",
        sensitive_values=["ill"],
        k=K,
        alpha="1/3",
        rng=np.random.default_rng(2),
    )
    who = safe.private_mapping
    true = {frozenset(edge) for edge in graph.edges}
    shown = {frozenset((who[u], who[v])) for u, v in safe.graph.edges}
    spots = nx.spring_layout(graph, seed=3, iterations=300)
    corner, far = np.min(list(spots.values()), axis=0), np.max(list(spots.values()), axis=0)
    scale = np.array([WIDTH - 40, HEIGHT - TOP - 20])
    places = {
        v: tuple((spot - corner) / (far - corner) * scale + (20, TOP)) for v, spot in spots.items()
    }
    before = lines(map(tuple, true), places)
    after = lines(map(tuple, true - shown), places, "gone")
    after += lines(map(tuple, shown - true), places, "new")
    after += lines(map(tuple, shown & true), places)
    (folder / "before-after.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH + 20} {HEIGHT}" '
        f'role="img"><title>A network and its release</title><style>{STYLE}</style>'
        + panel(0, "The true network", before, graph, places)
        + panel(WIDTH + 20, "Its release, in the owner's eyes", after, graph, places)
        + "</svg>\n",
        encoding="utf-8",
    )
    print(safe.report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
