"""The suite: every attack on one release, by name.

A new attack goes to the end of `ATTACKS` or `SEQUENCE_ATTACKS`, since the order of the first
settles their random streams; into `WORK` if it takes long; into docs/attacks.md
(tests/ktsafe/assess/releases/test_attack_names.py), with a leak that it finds
(tests/ktsafe/assess/attacks/test_leak_and_noise.py). Names stand in audits and in the
configuration.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from ktsafe.assess.attacks.alignment import alignment, risk_curve, seeds
from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.denoised import age, denoised
from ktsafe.assess.attacks.friends import friends_degrees, friends_values, sensitive_by_friends
from ktsafe.assess.attacks.known_changes import arrival, changes, departure, intersection
from ktsafe.assess.attacks.membership import (
    membership_of_people,
    membership_of_ties,
    membership_of_vertices,
)
from ktsafe.assess.attacks.neighbourhoods import (
    one_hop,
    partial_knowledge,
    sensitive_inference,
    structure,
    two_hops,
)
from ktsafe.assess.attacks.net_changes import net_changes
from ktsafe.assess.attacks.own_account import own_account
from ktsafe.errors import InvalidParams
from ktsafe.params import PrivacyParams, found, offered

GROUP = "ktsafe.attacks"
"""Entry points by which installed packages add attacks on one release; they run when named."""

Attack = Callable[[Case, PrivacyParams, np.random.Generator], list[Result]]

ATTACKS: Mapping[str, Attack] = MappingProxyType(
    {
        "one_hop": lambda case, params, _rng: one_hop(case, params),
        "denoised": denoised,
        "membership_of_ties": lambda case, _params, rng: membership_of_ties(case, rng),
        "membership_of_vertices": membership_of_vertices,
        "sensitive_inference": sensitive_inference,
        "two_hops": lambda case, params, _rng: two_hops(case, params),
        "partial_knowledge": partial_knowledge,
        "seeds": lambda case, _params, rng: seeds(case, rng),
        "alignment": lambda case, _params, _rng: alignment(case),
        "risk_curve": lambda case, _params, rng: risk_curve(case, rng),
        "own_account": lambda case, _params, rng: own_account(case, rng),
        "friends_values": lambda case, params, rng: friends_values(History.of(case), params, rng),
        "sensitive_by_friends": lambda case, params, rng: sensitive_by_friends(
            History.of(case), params, rng
        ),
        "friends_degrees": lambda case, params, _rng: friends_degrees(History.of(case), params),
        "membership_of_people": lambda case, _params, rng: membership_of_people(case, rng),
        "structure": lambda case, params, _rng: structure(case, params),
    }
)
"""Every attack by name. The order is that of their streams: new ones go to the end."""
N_SPAWNED = 11
"""How many of them have streams that are spawned; those of later ones follow from their names."""
WORK: Mapping[str, float] = MappingProxyType(
    {
        "one_hop": 1.0,
        "denoised": 12.0,
        "membership_of_ties": 5.0,
        "membership_of_vertices": 2.0,
        "sensitive_inference": 0.3,
        "two_hops": 3.0,
        "partial_knowledge": 2.0,
        "seeds": 20.0,
        "alignment": 25.0,
        "risk_curve": 200.0,
        "own_account": 1.0,
        "friends_values": 2.0,
        "sensitive_by_friends": 1.0,
        "friends_degrees": 5.0,
        "membership_of_people": 3.0,
        "structure": 3.0,
    }
)
"""What an attack takes, as a multiple of `one_hop`, for estimates of the time that is left."""
TARGETS_MAX = 5_000
"""Greatest number of targets; more are sampled down to it: at most 1.4 points of a share are lost.

An attacker has as many candidates as before; only the figure is of fewer people.
"""

SequenceAttack = Callable[[History, PrivacyParams, np.random.Generator], list[Result]]

SEQUENCE_ATTACKS: Mapping[str, SequenceAttack] = MappingProxyType(
    {
        "intersection": lambda history, params, _rng: intersection(history, params),
        "changes": lambda history, params, _rng: changes(history, params),
        "age": age,
        "arrival": lambda history, params, _rng: arrival(history, params),
        "departure": lambda history, params, _rng: departure(history, params),
        "net_changes": net_changes,
        "friends_values_over_time": lambda history, params, rng: friends_values(
            sampled(history, rng), params, rng, "friends_values_over_time"
        ),
        "sensitive_by_friends_over_time": lambda history, params, rng: sensitive_by_friends(
            sampled(history, rng), params, rng, "sensitive_by_friends_over_time"
        ),
        "friends_degrees_over_time": lambda history, params, rng: friends_degrees(
            sampled(history, rng), params, "friends_degrees_over_time"
        ),
    }
)
"""Every attack on several releases together, by name. New ones go to the end."""


def run(
    case: Case,
    params: PrivacyParams,
    rng: np.random.Generator,
    *,
    attacks: Iterable[str] = ATTACKS,
    targets_max: int = TARGETS_MAX,
    progress: Callable[[str, float], None] | None = None,
) -> list[Result]:
    """Attack a release, and return private results.

    Parameters
    ----------
    case:
        The release and the truth behind it, which judges the guesses.
    params:
        The parameters of the release: what it promises.
    rng:
        The only randomness. Every attack draws from a stream of its own, so its figures do not
        depend on which others run.
    attacks:
        Names of `ATTACKS`, or of attacks that installed packages offer.
    targets_max:
        How many people are attacked at most. More are sampled, uniformly; intervals say what that
        costs.
    progress:
        Called with the name of the attack and the fraction of the work that is done.

    Raises
    ------
    InvalidParams
        If an attack is not known.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> case = Case(graph, *ids_removed(graph, rng))
    >>> results = run(case, PrivacyParams(k=10), rng, attacks=["one_hop"])
    >>> any(result.is_broken for result in results)
    True
    """
    wanted = list(attacks)
    for name in wanted:
        attack_named(name)  # None begins beside one that is not known.
    report = progress or (lambda _name, _fraction: None)
    results: list[Result] = []
    each = run_each(case, params, rng, attacks=wanted, targets_max=targets_max)
    works = np.array([WORK.get(name, 1.0) for name in wanted])
    done = np.cumsum(works) - works
    for i, name in enumerate(wanted):
        report(name, float(done[i] / works.sum()))
        results += next(each)[1]
    if wanted:
        report(wanted[-1], 1.0)
    return results


def run_each(
    case: Case,
    params: PrivacyParams,
    rng: np.random.Generator,
    *,
    attacks: Iterable[str] = ATTACKS,
    targets_max: int = TARGETS_MAX,
) -> Iterator[tuple[str, list[Result]]]:
    """Yield each attack's name and results as soon as it has ended.

    Parameters are those of `run`; a name is asked for when the attack before has ended.

    Raises
    ------
    InvalidParams
        If an attack is not known, when its turn comes.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> case = Case(graph, *ids_removed(graph, rng))
    >>> [name for name, _ in run_each(case, PrivacyParams(k=10), rng, attacks=["one_hop"])]
    ['one_hop']
    """
    *rest, drawing = rng.spawn(N_SPAWNED + 1)
    streams = dict(zip(ATTACKS, rest, strict=False))
    sampled = case.sampled(targets_max, drawing)
    for name in attacks:
        own = streams[name] if name in streams else _stream(rng, name)
        yield name, attack_named(name)(sampled, params, own)


def attack_named(name: str) -> Attack:
    """Return an attack on one release.

    One of ours, or one that an installed package offers.

    Raises
    ------
    InvalidParams
        If there is none of this name, or two packages offer it.

    Examples
    --------
    >>> attack_named("one_hop") is ATTACKS["one_hop"]
    True
    """
    if name in ATTACKS:
        return ATTACKS[name]
    if (point := found(GROUP, name)) is None:
        msg = f"There is no attack {name!r}."
        raise InvalidParams(msg, hint=f"Known: {', '.join([*ATTACKS, *offered(GROUP)])}.")
    attack: Attack = point.load()
    return attack


def _stream(rng: np.random.Generator, name: str) -> np.random.Generator:
    """Return the randomness of an attack that none was spawned for.

    It follows from its name.
    """
    seeds = rng.bit_generator.seed_seq
    assert isinstance(seeds, np.random.SeedSequence)
    key = (*seeds.spawn_key, zlib.crc32(name.encode()))
    return np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=key))


def sampled(history: History, rng: np.random.Generator) -> History:
    """Return the releases with at most `TARGETS_MAX` uniform targets.

    They are of the last release.
    """
    cases = [*history.cases[:-1], *(case.sampled(TARGETS_MAX, rng) for case in history.cases[-1:])]
    return dataclasses.replace(history, cases=cases)


def run_sequence(
    history: History,
    params: PrivacyParams,
    rng: np.random.Generator,
    *,
    attacks: Iterable[str] = SEQUENCE_ATTACKS,
) -> list[Result]:
    """Attack releases together, and return private results.

    Parameters
    ----------
    history:
        The releases, in order, and the truth.
    params:
        The parameters of the sequence.
    rng:
        The only randomness; every attack draws from a stream of its own.
    attacks:
        Names of `SEQUENCE_ATTACKS`.

    Raises
    ------
    InvalidParams
        If an attack is not known.

    Examples
    --------
    The same graph twice, under the same ids, and nothing hidden:

    >>> from ktsafe.assess.attacks import Case, History, ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(100, 600, rng=rng)
    >>> case, ids, persons = Case(graph, *ids_removed(graph, rng)), np.arange(100), np.arange(100)
    >>> history = History([case, case], [ids, ids], [persons, persons])
    >>> len(run_sequence(history, PrivacyParams(k=10), rng, attacks=["intersection"])) > 0
    True
    """
    wanted = list(attacks)
    if unknown := sorted(set(wanted) - set(SEQUENCE_ATTACKS)):
        msg = f"There is no attack {unknown[0]!r} on sequences."
        raise InvalidParams(msg, hint=f"Known: {', '.join(SEQUENCE_ATTACKS)}.")
    streams = dict(zip(SEQUENCE_ATTACKS, rng.spawn(len(SEQUENCE_ATTACKS)), strict=True))
    results: list[Result] = []
    for name in wanted:
        results += SEQUENCE_ATTACKS[name](history, params, streams[name])
    return results
