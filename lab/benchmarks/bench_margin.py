"""What a margin of cohorts costs and keeps: people among candidates where people leave.

    python -m lab.benchmarks.bench_margin [--demo 2000] [--years 1]
        [--data FOLDER --name fb-reed98 [--leaving 0.01] [--releases 12]]
        [--data FOLDER --name ldbc-snb-sf0.1 [--begin 24] [--without born]]
        [--margins 0,3] [--seeds 2]

Feeds: the network of `ktsafe demo` over some years, by months; or a data set that a share of its
people leaves before each release (one with events is released month by month, and nobody leaves).
Every release is judged by the independent auditor, for w = all with cover.

Columns: mean F1 and cost over the ties; newcomers shown, and how many releases half of them wait at
most; at the last release the fewest candidates who are people, how many people have fewer than k
and for how many the sensitive share is above alpha, and the greatest such numbers at any release;
people whose candidates who are people are below k for an attacker who follows them over ids;
the share of leavers that is named, and a uniform guess; people who are not shown; the release with
which the margin was to be used up, as foretold with the sixth, and the one with which it was;
releases refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.assess.attacks.common.history import History as Attacked
from ktsafe.assess.attacks.known_changes import departure
from ktsafe.audit.sequence import Promise, SequenceAuditor
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.graph_changes import changes_between
from lab.benchmarks.bench_anonymize import from_folder
from lab.benchmarks.bench_growing import released
from lab.benchmarks.bench_turnover import case_of
from lab.benchmarks.sequences.growing_feeds import demo_slots, left_slots, recorded
from lab.benchmarks.sequences.history import Shown, shown, wait
from tests.feeds import Slot, slots_of

PARAMS = PrivacyParams()


def main() -> int:
    """Run the benchmark; return the number of releases that the auditor refused."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=int, default=0, help="people of the demo's network")
    parser.add_argument("--years", type=int, default=1)
    parser.add_argument("--data", type=Path, help="folder of data sets, instead of the demo")
    parser.add_argument("--name", default="fb-reed98")
    parser.add_argument("--begin", type=int, default=0, help="first month that is released")
    parser.add_argument("--without", default="", help="quasi-identifiers to leave out")
    parser.add_argument("--leaving", type=float, default=0.01, help="of the people per release")
    parser.add_argument("--releases", type=int, default=12, help="after the first one")
    parser.add_argument("--margins", default="0,3", help="separated by commas")
    parser.add_argument("--seeds", type=int, default=1)
    a = parser.parse_args()
    print(
        "seed margin releases    F1  cost shown wait | fewest below above (worst) | linked | named"
        " guess | withheld foretold came refused"
    )
    refused = 0
    for seed in range(a.seeds):
        slots = list(_slots(a, seed))
        for margin in map(int, a.margins.split(",")):
            row, failed = measured(slots, margin, seed)
            print(f"{seed:4} {margin:6} {len(slots):8} {row}", flush=True)
            refused += failed
    return refused


def _slots(a: argparse.Namespace, seed: int) -> Iterator[Slot]:
    """Yield the slots that are asked for."""
    if a.demo:
        yield from demo_slots(a.demo, seed, a.years)
    elif (a.data / a.name / "events.jsonl.gz").exists():
        yield from list(slots_of(*recorded(a.data / a.name, a.without), 0))[a.begin :]
    else:
        graph = next(graph for known, graph in from_folder(a.data) if known == a.name)
        yield from left_slots(graph, a.leaving, a.releases, seed)


def measured(slots: list[Slot], margin: int, seed: int) -> tuple[str, int]:
    """Publish all slots with a margin; return what was found, and how many were refused."""
    rng, options = np.random.default_rng(seed), SequenceOptions(margin=margin)
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    first = Changes.of_graph(*slots[0])
    sequence = SequenceEngine.begin(slots[0][0].schema, PARAMS, options, first, rng)
    cases, ids, persons, found, lasting = [], [], [], [], []
    seen: list[Shown] = []
    number: dict[int, int] = {}
    refused = 0
    for i, (graph, keys) in enumerate(slots):
        if i:
            sequence.advance(changes_between(*slots[i - 1], graph, keys), rng)
        findings = auditor.extend(released(sequence))
        refused += not findings.is_safe
        found.append(findings.figures)
        seen.append(shown(sequence.released(), graph, keys))
        cases.append(case_of(sequence))
        published = sequence.released().ids.tolist()
        ids.append(np.array([number.setdefault(one, len(number)) for one in published], np.int64))
        persons.append(keys)
        lasting.append(sequence.figures().margin_lasts)
    people = [each.published.candidates_real_leavers_known for each in found]
    above = [each.published.alpha_real_leavers_known.above_alpha for each in found]
    linked = found[-1].linked
    n_linked = linked.candidates_real_leavers_known.below_k if linked else 0
    named = next(iter(departure(Attacked(cases, ids, persons), PARAMS, ways=("named",))), None)
    newcomers = seen[-1].people - seen[0].people
    n_shown = len(newcomers & seen[-1].published)
    waited = wait([(each.people, each.published) for each in seen], newcomers)
    foretold = 6 + lasting[6] if len(lasting) > 6 and lasting[6] is not None else "-"
    came = lasting.index(0) if 0 in lasting else "-"
    return (
        f"{mean(each.f1 for each in seen):.3f} {mean(each.cost for each in seen):5.3f} "
        f"{n_shown / max(len(newcomers), 1):5.3f} {'-' if waited is None else round(waited):>4} | "
        f"{people[-1].min:6} {people[-1].below_k:5} {above[-1]:5} "
        f"({max(each.below_k for each in people)}, {max(above)}) | "
        f"{n_linked:6} | "
        + ("    -     -" if named is None else f"{named.value:.3f} {named.control:.3f}")
        + f" | {sequence.figures().withheld_vertices:8} {foretold} {came} {refused}"
    ), refused


if __name__ == "__main__":
    sys.exit(main())
