"""Draw the pictures of the documentation: `python -m tests.ops.concepts docs/images`.

Protection sets are computed by the definition for one hop, the risk curve is that of the table in
docs/figures.md; the other pictures are drawn by hand.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

STYLE = """
text{font:14px sans-serif;fill:#333}.small{font-size:12px;fill:#777}
line{stroke:#8a8f98;stroke-width:1.6}line.new{stroke:#d9662b;stroke-dasharray:4 3}
line.gone{opacity:.3}line.axis{stroke:#bbb;stroke-width:1}
line.same{stroke:#bbb;stroke-dasharray:2 4}
circle{stroke:#fff;stroke-width:1.5}.you{fill:#333}.a{fill:#3567b0}.b{fill:#4b9d6b}.off{fill:#c9ccd2}
.empty{fill:none;stroke:#8a8f98}.ill{stroke:#c0392b;stroke-width:3}
rect{fill:none;stroke:#aaa;rx:10}.area{fill:#3567b0;opacity:.13;stroke:none;rx:0}
@media(prefers-color-scheme:dark){text{fill:#ddd}.small{fill:#999}circle{stroke:#222}.you{fill:#eee}}
"""
CURVES = """
polyline{fill:none!important;stroke-width:2}polyline.you{stroke:#333}polyline.a{stroke:#3567b0}
polyline.b{stroke:#4b9d6b}polygon.band{fill-opacity:.12}polygon.you{fill:#333}
polygon.a{fill:#3567b0}polygon.b{fill:#4b9d6b}@media(prefers-color-scheme:dark){polyline.you{stroke:#eee}}
"""
EPSILON, T = 5, Fraction(1, 10)
PEOPLE = {"Ada": (2, 1), "Bea": (3, 1), "Cleo": (2, 0)}


def text(x: float, y: float, words: str, name: str = "") -> str:
    """Return words as SVG."""
    return f'<text x="{x:.0f}" y="{y:.0f}"{_class(name)}>{words}</text>'


def dot(x: float, y: float, name: str, radius: int = 7) -> str:
    """Return a vertex as SVG."""
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius}"{_class(name)}/>'


def line(start: tuple[float, float], end: tuple[float, float], name: str = "") -> str:
    """Return an edge as SVG."""
    ends = f'x1="{start[0]:.0f}" y1="{start[1]:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}"'
    return f"<line {ends}{_class(name)}/>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def star(x: float, y: float, neighbours: Sequence[tuple[str, str]]) -> str:
    """Return a person with neighbours: the kind of each, and what became of the tie."""
    places = []
    for place in range(len(neighbours)):
        angle = math.pi * (0.15 + 0.7 * place / max(len(neighbours) - 1, 1))
        places.append((x + 52 * math.cos(math.pi + angle), y + 46 * math.sin(math.pi + angle)))
    drawn = [line((x, y), at, fate) for at, (_, fate) in zip(places, neighbours, strict=True)]
    drawn += [
        dot(*at, "off" if fate == "gone" else kind)
        for at, (kind, fate) in zip(places, neighbours, strict=True)
    ]
    return "".join(drawn) + dot(x, y, "you", 9)


def released(true: tuple[int, int], row: tuple[int, int]) -> list[tuple[str, str]]:
    """Return the neighbours of a person whose row is to be `row`, by kind."""
    found = []
    for kind, have, want in zip("ab", true, row, strict=True):
        found += [(kind, "")] * min(have, want)
        found += [(kind, "gone")] * (have - want) + [(kind, "new")] * (want - have)
    return found


def cohort() -> str:
    """Three people of one kind, before and after."""
    drawn = [text(150, 22, "true ties"), text(560, 22, "released")]
    for place, (name, true) in enumerate(PEOPLE.items()):
        for left, row in ((60, true), (460, (2, 1))):
            x = left + 130 * place
            drawn += [star(x, 110, released(true, row)), text(x - 14, 142, name, "small")]
    drawn.append('<rect x="392" y="36" width="400" height="120"/>')
    return picture("A cohort: three people, before and after", 810, 170, drawn)


def is_alike(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two people with so many neighbours of each kind are similar, for one hop."""
    if 2 * abs(sum(one) - sum(other)) > EPSILON:
        return False
    shares = [Fraction(own[0] + 1, sum(own) + 1) for own in (one, other)]
    return abs(shares[0] - shares[1]) <= T


def protection_set() -> str:
    """You, and those who are similar to you."""
    you, side, left, bottom = (7, 5), 42, 60, 350
    others = [(6, 5), (8, 5), (7, 4), (6, 4), (7, 6), (8, 6), (5, 4), (9, 3), (4, 7), (3, 2)]
    others += [(10, 7), (5, 7), (6, 2), (9, 5), (4, 4)]

    def at(point: tuple[int, int]) -> tuple[float, float]:
        return left + side * (point[0] - 2), bottom - side * (point[1] - 1)

    drawn = [line((left, bottom), (left + 9 * side, bottom), "axis")]
    drawn += [line((left, bottom), (left, bottom - 7 * side), "axis")]
    drawn.append(text(left, bottom + 24, "neighbours from the north: 2 to 11", "small"))
    drawn.append(text(left, bottom - 7 * side - 12, "neighbours from the south: 1 to 8", "small"))
    for point in ((x, y) for x in range(2, 12) for y in range(1, 9)):
        if is_alike(you, point):
            x, y = at(point)
            half = side / 2
            place = f'x="{x - half:.0f}" y="{y - half:.0f}" width="{side}" height="{side}"'
            drawn.append(f'<rect class="area" {place}/>')
    within = 1
    for number, point in enumerate(others):
        alike = is_alike(you, point)
        within += alike
        ill = " ill" if number in {3, 8} else ""
        drawn.append(dot(*at(point), ("a" if alike else "off") + ill))
    drawn += [dot(*at(you), "you", 9), text(at(you)[0] + 12, at(you)[1] - 10, "you")]
    drawn.append(text(470, 150, f"{within} in the shaded area, you included:"))
    drawn.append(text(470, 172, "your protection set for epsilon = 5, t = 0.1."))
    drawn.append(text(470, 204, "A red ring marks a sensitive value:"))
    drawn.append(text(470, 226, f"1 of {within} in the set."))
    return picture("A protection set: who is similar to you", 810, 390, drawn)


def sequence() -> str:
    """Two cohorts over four releases: ids persist, an owner leaves, newcomers come together."""
    rows = [70, 100, 130, 190, 220, 250]
    columns = [170, 340, 510, 680]
    drawn = [text(x - 30, 26, f"release {n}") for n, x in enumerate(columns, 1)]
    drawn += [text(20, 104, "first cohort"), text(20, 224, "newcomers")]
    for row, y in enumerate(rows):
        shown = columns if row < len(rows) // 2 else columns[2:]
        drawn += [line((a, y), (b, y), "same") for a, b in pairwise(shown)]
        drawn += [dot(x, y, "empty" if (row, x) == (1, 680) else "a") for x in shown]
    for top, shown in ((52, columns), (172, columns[2:])):
        drawn += [f'<rect x="{x - 24}" y="{top}" width="48" height="96"/>' for x in shown]
    drawn.append(text(712, 104, "has left", "small"))
    return picture("A sequence: cohorts over four releases", 810, 280, drawn)


def cover() -> str:
    """One person gains a tie; all of the cohort gain a neighbour."""
    drawn = [text(150, 22, "one release"), text(560, 22, "the next one")]
    for place, name in enumerate(PEOPLE):
        before = [("a", ""), ("b", "")]
        gained = ("b", "") if name == "Ada" else ("b", "new")
        for left, row in ((60, before), (460, [*before, gained])):
            x = left + 130 * place
            drawn += [star(x, 110, row), text(x - 14, 142, name, "small")]
    drawn.append('<rect x="392" y="36" width="400" height="120"/>')
    return picture("Cover: a whole cohort changes alike", 810, 170, drawn)


def risk_rows() -> list[tuple[float, list[list[float]]]]:
    """Return the rows of the table: the share of ties known, and people found, with their band."""
    page = (Path(__file__).parents[2] / "docs/figures.md").read_text(encoding="utf-8")
    table = page.partition("| of the ties |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [row.strip("| ").split("|") for row in table]
    return [
        (float(ties.strip(" %")) / 100, [[*map(float, re.findall(r"\.\d+", one))] for one in found])
        for ties, *found in cells
    ]


def risk_curve() -> str:
    """People found by the share of the true ties that the attacker knows."""
    left, bottom, wide, high = 60, 270, 560, 240
    rows = risk_rows()

    def at(ties: float, found: float) -> tuple[float, float]:
        return left + wide * ties, bottom - high * found

    drawn = [f"<style>{CURVES}</style>"]
    for tenths in range(0, 11, 2):
        share = tenths / 10
        drawn.append(line(at(0, share), at(1, share), "axis"))
        drawn.append(text(18, at(0, share)[1] + 4, f"{share:.0%}", "small"))
        drawn.append(text(at(share, 0)[0] - 12, bottom + 20, f"{share:.0%}", "small"))
    drawn.append(text(left, 16, "people found", "small"))
    drawn.append(text(left + wide / 2 - 90, bottom + 40, "share of the true ties known", "small"))
    words = ("nobody known", "1% of the people known", "5% of the people known")
    for column, (name, says) in enumerate(zip(("you", "a", "b"), words, strict=True), 1):
        points = [at(ties, found[column - 1][0]) for ties, found in rows]
        least, most = ([at(ties, found[column - 1][i]) for ties, found in rows] for i in (1, 2))
        around = " ".join(f"{x:.0f},{y:.0f}" for x, y in [*least, *reversed(most)])
        drawn.append(f'<polygon class="{name} band" points="{around}"/>')
        joined = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        drawn.append(f'<polyline class="{name} curve" points="{joined}"/>')
        drawn += [dot(*point, name, 4) for point in points]
        y = 60 + 26 * column
        drawn += [dot(660, y, name, 5), text(674, y + 5, says, "small")]
    return picture("People found by the share of the true ties known", 840, 320, drawn)


def picture(title: str, width: int, height: int, drawn: Sequence[str]) -> str:
    """Return a file of SVG that needs nothing else."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{title}</title><style>{STYLE}</style>{''.join(drawn)}</svg>\n"
    )


def main() -> int:
    """Write the pictures into a folder."""
    for draw in (cohort, protection_set, sequence, cover, risk_curve):
        name = draw.__name__.replace("_", "-")
        (Path(sys.argv[1]) / f"{name}.svg").write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
