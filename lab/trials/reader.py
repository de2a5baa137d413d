"""How often the intervals of `ktsafe.read` hold the truth, how wide they are, and false trends.

Turnover is the mean share of ties that came and went, told with its interval beside the truth.

    python -m lab.trials.reader DATA [--per-year 5] [--seeds 3]

Sequences of the engine, 13 releases; each release is told with an equal share of a year's epsilon,
as a service with 14 slots in a year would. The truth is counted in the true graph. Figures whose
true value is less than 30 people or ties are left out; of the others all are asked for: of the
network, of each attribute, each value, and each two values.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from ktsafe import AttributedGraph, InvalidParams, PrivacyParams
from ktsafe.reader import FIGURES, Estimate, Releases, StudiedRelease, StudiedTable
from ktsafe.reader.estimates import CHANGES
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.graph_changes import changes_between
from ktsafe.statistics import MICRO, SecretBytes, noisy_tables
from lab.benchmarks.sequences.growing_feeds import churned, demo_slots, recorded
from lab.trials.attacks_with_statistics import began_and_ended
from tests.feeds import Slot, slots_of

RELEASES = 13
LEAST = 30
COUNTS = {"ties_between", "people_of"}
TURNOVER = ("share_of_ties_gained", "share_of_ties_lost")
NO_INTERVAL = {"degree_gap_t", *CHANGES.values(), *TURNOVER}
T_MAX = 3
"""Beyond which a reader believes a difference."""
Asked = tuple[str, tuple[str, ...], str]


def main() -> None:
    """Print a line per feed and seed."""
    parser = argparse.ArgumentParser(description="Intervals of ktsafe.read against the truth.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--per-year", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=3)
    a = parser.parse_args()
    micro = int(a.per_year * MICRO) // 14
    schema, events = recorded(a.data / "ldbc-snb-sf0.1", "born")
    ldbc = list(slots_of(schema, events, 0))[-RELEASES:]
    for seed in range(a.seeds):
        follow("demo", demo_slots(2000, seed)[:RELEASES], micro, seed)
        follow("ldbc, two attributes", ldbc, micro, seed)
        follow("cora", churned(a.data, "cora", 0.01, RELEASES - 1, seed), micro, seed)
        follow("fb-reed98", churned(a.data, "fb-reed98", 0.01, RELEASES - 1, seed), micro, seed)


def follow(feed: str, slots: list[Slot], micro: int, seed: int) -> None:
    """Release a feed, ask every figure of each release, and print how true the answers are."""
    rng = np.random.default_rng(seed)
    sequence = SequenceEngine.begin(
        slots[0][0].schema, PrivacyParams(), SequenceOptions(), Changes.of_graph(*slots[0]), rng
    )
    told, true, turnover = [], [], []
    for i, (graph, keys) in enumerate(slots):
        if i:
            sequence.advance(changes_between(*slots[i - 1], graph, keys), rng)
        changes = began_and_ended(slots[i - 1], slots[i]) if i else None
        if changes is not None:
            turnover.append(
                (
                    changes.ties_gained / graph.n_edges,
                    changes.ties_lost / slots[i - 1][0].n_edges,
                )
            )
        shown = sequence.released().graph
        secret = SecretBytes(seed.to_bytes(32, "big"), f"{feed} {i}")
        tables = [
            StudiedTable(t.of, t.by, t.cells, np.array(t.counts), float(t.scale), t.across)
            for t in noisy_tables(graph, shown, micro, secret, changes)
        ]
        told.append(_published(shown, tables))
        true.append(_published(graph, []))
    series, truth = Releases(told), Releases(true)
    held, widths, wrong_trends, n_trends, leans = [], [], 0, 0, []
    n_t = false_t = 0
    for figure, values, by in _asked(told[-1]):
        try:
            right = [each.value for each in truth.estimate(figure, *values, by=by)]
            found = series.estimate(figure, *values, by=by)
        except InvalidParams:
            continue
        if figure in COUNTS and min(right) < LEAST:
            continue
        if figure == "degree_gap_t":
            pairs = list(zip(right, found, strict=True))
            n_t += sum(sure_of(each) for _, each in pairs)
            false_t += sum(sure_of(each) and abs(exact) <= T_MAX for exact, each in pairs)
        if figure in NO_INTERVAL:
            continue
        for exact, each in zip(right, found, strict=True):
            assert each.low is not None
            assert each.high is not None
            held.append(each.low - 1e-9 <= exact <= each.high + 1e-9)
            if exact:
                widths.append((each.high - each.low) / abs(exact))
        shown_last = _published_alone(told[-1]).estimate(figure, *values, by=by).value
        leans.append(abs(shown_last - right[-1]) > 0.2 * abs(right[-1]))
        trend = series.trend(figure, *values, by=by)
        slope = truth.trend(figure, *values, by=by).value
        n_trends += trend.direction != "not told"
        wrong_trends += trend.direction == ("down" if slope > 0 else "up")
        wrong_trends += slope == 0 and trend.direction != "not told"
    print(
        f"{feed}, seed {seed}: {len(held)} answers, held {np.mean(held):.3f}, "
        f"median width {median(widths):.3f}, trends told {n_trends} of {len(leans)}, "
        f"false {wrong_trends}; t beyond {T_MAX} told {n_t}, false {false_t}; "
        f"of the last graph alone {np.mean(leans):.2f} wrong by 20%",
        flush=True,
    )
    for name, exact in zip(TURNOVER, np.mean(turnover, axis=0), strict=True):
        mean = series.mean(name)
        print(f"  {name}: {exact:.4f} told {mean.value:.4f} ({mean.low:.4f} to {mean.high:.4f})")


def sure_of(t: Estimate) -> bool:
    """Return whether all of an interval of t lies beyond what a reader believes."""
    assert t.low is not None
    assert t.high is not None
    return t.low > T_MAX or t.high < -T_MAX


def _published_alone(release: StudiedRelease) -> StudiedRelease:
    """Return a release without its tables."""
    return StudiedRelease(release.manifest, release.ids, release.columns, release.edges)


def _published(graph: AttributedGraph, tables: list[StudiedTable]) -> StudiedRelease:
    """Return a graph as its reader has it."""
    names = graph.schema.quasi_identifiers
    columns = {
        name: np.array(graph.categories[j], dtype=np.str_)[graph.codes[:, j]]
        for j, name in enumerate(names)
    }
    ids = np.arange(graph.n_vertices).astype(np.str_)
    manifest = {"release_id": "", "schema": {"quasi_identifiers": list(names)}}
    return StudiedRelease(manifest, ids, columns, graph.edges.astype(np.int64), tables)


def _asked(release: StudiedRelease) -> Iterator[Asked]:
    """Yield every figure of every attribute, value and pair of values."""
    for by in release.attributes:
        values = np.unique(release.columns[by]).tolist()
        for figure, (n, _) in FIGURES.items():
            pairs = itertools.combinations_with_replacement(values, n)
            yield from ((figure, pair, by) for pair in pairs)


if __name__ == "__main__":
    main()
