"""The table of all revisions as a page, with a picture: a slowdown is seen in review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib import pyplot as plt

from lab.benchmarks.by_revision.rows import Row
from lab.benchmarks.by_revision.running import BENCHMARKS
from lab.evaluation.paper_plots import saved

_HEAD = """# Benchmarks by revision

`make bench-all` takes some six minutes on two cores, adds a row for each benchmark to [the table](evaluation/benchmarks.csv), and writes this page. `python -m lab.benchmarks.by_revision --at REVISION` measures another revision by its commands.

A *share* is the core seconds of a benchmark over those of a fixed loop that runs before and after it, so that shares compare between machines; beside other work they differ by a tenth or two. The hash is of all output.

![Share of each benchmark by revision, over that of the first](evaluation/benchmarks.svg)
"""  # noqa: E501 -- a paragraph is a line


def write_page(page: Path, picture: Path, rows: Sequence[Row]) -> None:
    """Write the page and its picture."""
    page.write_text("\n".join(lines(rows)) + "\n", encoding="utf-8")
    draw(picture, rows)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the page: a table for each benchmark, a line for each revision."""
    yield _HEAD.rstrip("\n")
    for name in dict.fromkeys(row.benchmark for row in rows):
        of = BENCHMARKS[name]
        yield f"\n## {name}\n\n{of.what}.\n"
        yield f"| revision | day | core seconds | share | over the first | MiB | {of.told} | hash |"
        yield "|---|---|---|---|---|---|---|---|"
        own = [row for row in rows if row.benchmark == name]
        for row in own:
            yield (
                f"| {row.revision} | {row.date[:10]} | {row.core_s:.1f} | {row.share:.2f} | "
                f"{row.share / own[0].share:.2f} | {row.peak_mib} | {row.figure} | {row.hash} |"
            )


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Draw the share of each benchmark over that of its first revision, a line for each."""
    revisions = list(dict.fromkeys(row.revision for row in rows))
    figure, axis = plt.subplots(figsize=(8, 4))
    for name in dict.fromkeys(row.benchmark for row in rows):
        own = [row for row in rows if row.benchmark == name]
        places = [revisions.index(row.revision) for row in own]
        axis.plot(places, [row.share / own[0].share for row in own], "o-", label=name)
    axis.set_xticks(range(len(revisions)), revisions, rotation=30)
    axis.set_ylim(bottom=0)
    axis.set_ylabel("core seconds over those of the first revision")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    saved(figure, path)
