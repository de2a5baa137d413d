"""What attackers gain from `statistics.json`: the same attacks without the file and with it.

    python -m lab.trials.attacks_with_statistics DATA [--only demo,fb-reed98] [--per-year 5]

Sequences of the engine, 13 releases, each told at a share of a year's epsilon, as in
`lab.trials.reader`. The attacker fits a weight of each shown edge to all tables of ties, and counts
edges by it; counts what appeared and vanished by what was told to begin and end; and learns with
the tables' ratios as features. What names a vertex by chance among equal ones, or by which changes
are equal (`arrival.named`, `departure.named`, `changes.consecutive.shown`), is the same with the
file: no table tells one vertex of a class from another.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.attacks import Case, History, Result
from ktsafe.assess.attacks.common.history import ABSENT, Together, VertexKinds
from ktsafe.assess.attacks.common.logistic import judged
from ktsafe.assess.attacks.common.nearest import SAME, nearest_share, standings
from ktsafe.assess.attacks.common.result import auc_result, share_result, standing_result
from ktsafe.assess.attacks.denoised import UNIT, weighted_guesses
from ktsafe.assess.attacks.friends import VARIANTS, _by_band, kinds_with_values
from ktsafe.assess.attacks.known_changes import _true_changes, shown_changes
from ktsafe.assess.attacks.membership import chances_of_truth
from ktsafe.graph.numbering import classes_of
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.graph_changes import changes_between
from ktsafe.statistics import MICRO, NoisyTable, SecretBytes, TrueChanges, noisy_tables
from lab.benchmarks.sequences.growing_feeds import churned, demo_slots
from tests.feeds import Slot

RELEASES = 13
RAKES = 100
PARAMS = PrivacyParams()
Floats = NDArray[np.float64]
Tables = Sequence[NoisyTable]


def main() -> None:
    """Print a line per feed and attack."""
    parser = argparse.ArgumentParser(description="Attacks without and with statistics.json.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="demo,fb-reed98")
    parser.add_argument("--per-year", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    micro = int(a.per_year * MICRO) // 14
    for name in a.only.split(","):
        if name == "demo":
            slots = demo_slots(2000, a.seed)[:RELEASES]
        else:
            slots = churned(a.data, name, 0.01, RELEASES - 1, a.seed)
        history, told = released(name, slots, micro, a.seed)
        for without, given in found(history, told):
            print(
                f"{name} | {without.attack} | {without.targets:,} | {shown(without)} | "
                f"{shown(given)} | {given.value - without.value:+.3f}",
                flush=True,
            )


def shown(result: Result) -> str:
    """Return a figure and its interval."""
    return f"{result.value:.3f} ({result.low:.3f} to {result.high:.3f})"


def released(
    feed: str, slots: Sequence[Slot], micro: int, seed: int
) -> tuple[History, list[Tables]]:
    """Release a feed; return the releases with the truth, and the tables of each."""
    rng = np.random.default_rng(seed)
    sequence = SequenceEngine.begin(
        slots[0][0].schema, PARAMS, SequenceOptions(), Changes.of_graph(*slots[0]), rng
    )
    cases, ids, told = [], [], []
    for i, (graph, keys) in enumerate(slots):
        if i:
            sequence.advance(changes_between(*slots[i - 1], graph, keys), rng)
        made = sequence.released()
        place = {key: at for at, key in enumerate(keys.tolist())}
        behind = np.array([place.get(key, -1) for key in made.keys.tolist()], dtype=np.int64)
        cases.append(Case(graph, made.graph, behind))
        ids.append(made.ids)
        secret = SecretBytes(seed.to_bytes(32, "big"), f"{feed} {i}")
        changes = began_and_ended(slots[i - 1], slots[i]) if i else None
        told.append(noisy_tables(graph, made.graph, micro, secret, changes))
    return History(cases, numbered(ids), numbered([keys for _, keys in slots])), told


def numbered(each: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return the place of every number among all of them."""
    known = np.unique(np.concatenate(each))
    return [np.searchsorted(known, numbers).astype(np.int64) for numbers in each]


def began_and_ended(before: Slot, after: Slot) -> TrueChanges:
    """Return what changed from a true graph to the next."""
    people = [set(keys.tolist()) for _, keys in (before, after)]
    ties = [
        set(map(tuple, np.sort(keys[graph.edges], axis=1).tolist()))
        for graph, keys in (before, after)
    ]
    return TrueChanges(
        len(ties[1] - ties[0]),
        len(ties[0] - ties[1]),
        len(people[1] - people[0]),
        len(people[0] - people[1]),
    )


def found(history: History, told: Sequence[Tables]) -> Iterator[tuple[Result, Result]]:
    """Yield each attack without the tables and with them."""
    weights = [
        weighed(case.released, tables) for case, tables in zip(history.cases, told, strict=True)
    ]
    last, known = history.cases[-1], np.log(np.maximum(weights[-1], 1e-3))[:, None]
    alone = np.ones(last.released.n_edges)
    pairs = zip(
        weighted_guesses(last, PARAMS, alone),
        weighted_guesses(last, PARAMS, weights[-1]),
        strict=True,
    )
    yield from ((named("one_hop", one), other) for one, other in pairs)
    chances = [
        chances_of_truth(last, np.random.default_rng(0), more=more) for more in (None, known)
    ]
    one, other = (auc_result("membership_of_ties", each, last.is_true_edge) for each in chances)
    yield one, other
    pairs = zip(*(weighted_guesses(last, PARAMS, each) for each in chances), strict=True)
    yield from ((named("denoised", one), other) for one, other in pairs)
    ones = [np.ones_like(each) for each in weights]
    yield intersection(history, ones), intersection(history, weights)
    yield from zip(friends(history, ones), friends(history, weights), strict=True)
    yield changes(history, None), changes(history, told)
    yield net_loss(history, ones), net_loss(history, weights)
    yield from coming(history, told)


def named(family: str, result: Result) -> Result:
    """Return a result under the name of its family."""
    return dataclasses.replace(result, attack=f"{family}.{result.attack}")


def weighed(graph: AttributedGraph, tables: Tables) -> Floats:
    """Return a weight of each edge, fitted in turn to all tables of ties.

    `StudiedRelease.weights` is fitted likewise, to those within attributes alone.
    """
    names = graph.schema.quasi_identifiers
    texts = {
        name: np.array(graph.categories[j], dtype=object)[graph.codes[:, j]].tolist()
        for j, name in enumerate(names)
    }
    ends = np.concatenate((graph.edges, graph.edges[:, ::-1])).tolist()
    margins = []
    for table in tables:
        if table.of not in ("ties", "across"):
            continue
        cell = {pair: i for i, pair in enumerate(table.cells)}
        target = np.maximum(table.counts, 0).astype(np.float64)
        if table.of == "ties":
            cell |= {(b, a): i for (a, b), i in cell.items()}
            target *= 2  # Both directions of each edge are counted.
        first, second = texts[str(table.by)], texts[str(table.across or table.by)]
        at = np.array([cell[first[u], second[v]] for u, v in ends], dtype=np.int64)
        margins.append((at, target))
    weights = np.ones(len(ends))
    for _ in range(RAKES):
        for at, target in margins:
            now = np.bincount(at, weights, len(target))
            weights = weights * (target / np.where(now > 0, now, 1.0))[at]
        weights = np.tile(np.sqrt(weights[: graph.n_edges] * weights[graph.n_edges :]), 2)
    # No sum of a row may be too great for the whole numbers that attacks count in.
    return np.minimum(weights[: graph.n_edges], 8.0)


def seen(
    history: History, i: int, weights: Floats, kinds: VertexKinds | None = None
) -> sparse.csr_matrix:
    """Return the weighed neighbours of every id by tuple or kind, in units, (n_ids, kinds)."""
    graph, ids = history.cases[i].released, history.ids[i]
    labels, n = history.tuples[1][i], history.tuples[2]
    if kinds is not None:
        labels, n = kinds.shown[i], kinds.size
    worth = np.tile(np.rint(weights * UNIT).astype(np.int64), 2)
    one, two = graph.edges.T
    at = np.concatenate((ids[one], ids[two])), np.concatenate((labels[two], labels[one]))
    return sparse.csr_matrix((worth, at), shape=(history.n_ids, n))


def intersection(history: History, weights: Sequence[Floats]) -> Result:
    """Find people by their true neighbours in all releases, as `intersection` does."""
    releases = range(len(history.cases))
    classes = classes_of([history.tuples_of_ids(i) for i in releases])
    owners = history.owners(len(history.cases) - 1)
    own = np.flatnonzero(owners != ABSENT)
    known = sparse.hstack([history.known(i, owners[own]) for i in releases], format="csr")
    there = sparse.hstack([seen(history, i, weights[i]) for i in releases], format="csr")
    (standing,) = standings(known * UNIT, there, own, classes, [SAME])
    return standing_result("intersection.joint", PARAMS, standing, control=0.0)


def friends(history: History, weights: Sequence[Floats]) -> Iterator[Result]:
    """Find people, and "is sensitive", by what friends have, as `ktsafe.assess.attacks.friends`."""
    it, last = Together.of(history), history.cases[-1]
    values, (degrees, _) = kinds_with_values(history), _by_band(history, VARIANTS["wide"])
    flags = np.zeros((history.n_ids, 1))
    flags[history.ids[-1], 0] = last.released.is_sensitive
    for name, kinds in (("values", values), ("degrees", degrees)):
        known = it.known(kinds) * UNIT
        there = sparse.hstack(
            [seen(history, i, each, kinds) for i, each in enumerate(weights)], format="csr"
        )
        (standing,) = standings(known, there, it.own, it.classes, [SAME])
        yield standing_result(f"friends_{name}", PARAMS, standing, control=it.by_chance)
        if name == "values":
            share = nearest_share(known, there, it.own, it.classes, SAME, flags)[:, 0]
            truth = last.original.is_sensitive[it.vertices]
            right = truth[share > 0.5].astype(np.float64)
            yield share_result("sensitive_by_friends", right, control=float(truth.mean()))


def changes(history: History, told: Sequence[Tables] | None) -> Result:
    """Find people by what they gained and lost, see `ktsafe.assess.attacks.known_changes`."""
    parts = []
    for first, last in itertools.pairwise(range(len(history.cases))):
        before, after = history.tuples_of_ids(first), history.tuples_of_ids(last)
        owners = history.owners(last)
        stays = (before != ABSENT) & (after != ABSENT) & (owners != ABSENT)
        own = np.flatnonzero(stays & (owners == history.owners(first)))
        known = _true_changes(history, first, last)[owners[own]]
        there = shown_changes(history, first, last)
        scale = np.ones(there.shape[1])
        if told is not None:
            half = there.shape[1] // 2
            for which, columns in enumerate((slice(half), slice(half, None))):
                total = 2 * counts_of(told[last], "changes of ties")[which]
                scale[columns] = min(max(total, 0) / max(there[:, columns].sum(), 1), 8.0)
        there = (there @ sparse.diags(scale * UNIT)).rint().astype(np.int64).tocsr()
        there.eliminate_zeros()
        moved = np.flatnonzero(np.diff(known.indptr) > 0)
        classes = classes_of([before, after])
        parts += standings(known[moved] * UNIT, there, own[moved], classes, [SAME])
    whole = type(parts[0])(
        np.concatenate([part.nearer for part in parts]),
        np.concatenate([part.tied for part in parts]),
    )
    return standing_result("changes.consecutive.true", PARAMS, whole, control=0.0)


def net_loss(history: History, weights: Sequence[Floats]) -> Result:
    """Tell places that were left by the share of first neighbours lost, see `departure.net`."""
    n = len(history.cases)
    tuples = np.array([history.tuples_of_ids(i) for i in range(n)])
    first = np.argmax(tuples != ABSENT, axis=0)
    left = np.any([history.left_at(i) for i in range(1, n)], axis=0)
    stays = history.owners(n - 1) != ABSENT
    there = np.flatnonzero((tuples[-1] != ABSENT) & (first < n - 1) & (left | stays))
    now = adjacent(history, n - 1, np.ones_like(weights[-1]))
    lost = np.zeros(history.n_ids)
    for i in range(n - 1):
        before = adjacent(history, i, weights[i])
        whole = before.sum(axis=1).A1
        share = (before - before.multiply(now)).sum(axis=1).A1 / np.where(whole > 0, whole, 1.0)
        lost[first == i] = share[first == i]
    return auc_result("departure.net", lost[there], left[there])


def adjacent(history: History, i: int, weights: Floats) -> sparse.csr_matrix:
    """Return the weights of the edges of a release, (n_ids, n_ids)."""
    one, two = history.ids[i][history.cases[i].released.edges].T
    ends = np.concatenate((one, two)), np.concatenate((two, one))
    return sparse.csr_matrix((np.tile(weights, 2), ends), shape=(history.n_ids, history.n_ids))


def counts_of(tables: Tables, of: str) -> Sequence[int]:
    """Return the counts of the table of this kind."""
    return next(table.counts for table in tables if table.of == of)


def coming(history: History, told: Sequence[Tables]) -> Iterator[tuple[Result, Result]]:
    """Tell people from inserted vertices by when they came and whether they stayed."""
    n = len(history.cases)
    tuples = np.array([history.tuples_of_ids(i) for i in range(n)])
    owners = np.array([history.owners(i) for i in range(n)])
    first = np.argmax(tuples != ABSENT, axis=0)
    both = [surplus_of(history, i, told[i]) for i in range(n)]
    surplus, sizes = (np.array(each) for each in zip(*both, strict=True))
    came = np.flatnonzero(first > 0)
    when = first[came]
    is_person = owners[when, came] != ABSENT
    degrees = np.array([history.seen(i).sum(axis=1).A1 for i in range(n)])[when, came]
    joined = np.array([0, *(counts_of(tables, "changes of people")[0] for tables in told[1:])])
    share = joined[when] / np.bincount(when, minlength=n)[when]
    known = np.column_stack((share, surplus[when, came]))
    yield learned("arrival.ties", degrees[:, None].astype(np.float64), known, is_person)
    seen_so = np.column_stack((degrees, sizes[when, came]))
    yield learned("arrival.ties, size of class", seen_so, known, is_person)
    ever = np.flatnonzero((tuples != ABSENT).any(axis=0))
    was_person = (owners != ABSENT).any(axis=0)[ever]
    stays = (tuples[-1, ever] != ABSENT)[:, None].astype(np.float64)
    known = surplus[first[ever], ever][:, None]
    yield learned("departure.vanished", stays, known, was_person)
    seen_so = np.column_stack((stays, sizes[first[ever], ever]))
    yield learned("departure.vanished, size of class", seen_so, known, was_person)


def surplus_of(history: History, i: int, tables: Tables) -> tuple[Floats, Floats]:
    """Return, of each id, people of its value in the tables for each vertex, and its vertices."""
    graph = history.cases[i].released
    table = next(table for table in tables if table.of == "people")
    texts = [
        np.array(graph.categories[j], dtype=object)[graph.codes[:, j]].tolist()
        for j in range(len(graph.schema.quasi_identifiers))
    ]
    cell = {values: at for at, values in enumerate(table.cells)}
    width = len(table.cells[0])
    at = np.array([cell[each] for each in zip(*texts[:width], strict=True)], dtype=np.int64)
    shown_there = np.bincount(at, minlength=len(cell))
    surplus, sizes = np.zeros((2, history.n_ids))
    surplus[history.ids[i]] = (np.array(table.counts) / np.maximum(shown_there, 1))[at]
    sizes[history.ids[i]] = shown_there[at]
    return surplus, sizes


def learned(
    attack: str, features: Floats, known: Floats, is_person: NDArray[np.bool_]
) -> tuple[Result, Result]:
    """Judge by folds without and with what the tables tell."""
    both = (features, np.column_stack((features, known)))
    one, other = (
        auc_result(attack, judged(each, is_person, np.random.default_rng(0)), is_person)
        for each in both
    )
    return one, other


if __name__ == "__main__":
    main()
