"""Score of a release, and conclusions that readers would get wrong.

Safety has no score: a promise is kept for everybody, or it is broken.

Parts, words and `REMEDIES` may be changed, and with them what earlier releases score: the score is
worked out anew from audits. tests/ktsafe/assess/report/test_score.py asks that it rises with the
share of true ties, and lies between nothing and the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ktsafe.audit.changes_by_age import RECENT
from ktsafe.audit.distributions import Both
from ktsafe.stream.files.audit_model import (
    Audit,
    Communities,
    ConclusionFigures,
    Conclusions,
    Utility,
)


class ScorePart(msgspec.Struct, frozen=True):
    """Part of the score: how it `reads`, `do` if it is low."""

    name: str
    score: float | None
    true: float | None
    released: float | None
    reads: str
    do: str | None


Scored = tuple[float | None, Both]
"""Score of a part, and its figure in both graphs where there is one."""

READS: Final = {
    "Ties": "F1: 1 if the release shows all true ties and no others",
    "People": "F1: 1 if everybody is shown and nobody is inserted",
    "Degrees": "1 - earth mover's distance of the degrees / true mean degree",
    "Distances": "ratio of the mean distances (smaller / larger), times the ratio of the shares of "
    "connected pairs",
    "Clustering": "ratio of the clustering coefficients (smaller / larger)",
    "Communities": "agreement of communities beyond chance, relative to two runs on the true graph "
    "(where these do not agree: modularity)",
    "Mixing": "1 - relative error of the ties between two values, mean over pairs of values",
    "Centrality": "share of the true top 1% by PageRank (at least 10 people) that stays in it",
    "Attributes": "1 - distance of the shares of the values of an attribute, mean over attributes",
}
"""The parts of the score and how to read each; all are from 0 to 1, and 1 is the truth."""

READS_OVER_TIME: Final = {
    "Trend": "ratio of the changes of the number of ties since the first release (smaller / "
    "larger); 0 if of the other sign",
    "Freshness": "share of recent new ties shown, times the share of recently ended ties that are "
    "not shown any more",
}
"""Parts that a release of a sequence has besides, where there is something to follow."""

LOW: Final = 0.7
"""Score of a part below which the report says what to do."""
REMEDIES: Final = {
    "Ties": "Fewer or broader quasi-identifiers show more ties: `ktsafe advise` measures which.",
    "People": "Broaden the values that fewer than k people share: `ktsafe advise`.",
    "Degrees": "Let readers compare means and quartiles, not the ends of the distribution.",
    "Distances": "Let readers compare groups, not lengths of paths.",
    "Clustering": "Let readers compare groups within a release, not levels with other networks.",
    "Communities": "Let readers count over communities; who is in which one is not told.",
    "Mixing": "Publish statistics beside the graph, `[statistics]`: tables do not lean.",
    "Centrality": "Let readers compare groups. No release ranks people.",
    "Attributes": "Broaden the values that are withheld, or choose a greater alpha.",
    "Trend": "Publish statistics beside the graph: readers take `trend` of `ktsafe.read`.",
    "Freshness": "Let readers count changes in `statistics.json`, not edges that come and go.",
}
"""What to do about a low part, for the owner of the network."""

TREND_MIN: Final = 0.01
"""Change of the true ties, as a share of the first, below which there is no trend to show."""

WITHOUT_TIES: Final = ("People", "Attributes")
"""Parts that a release without any tie has, too: they limit the score, and do not add to it."""

UNKNOWN: Final = Both()

AGREEMENT_MIN: Final = 0.25
"""Agreement of two runs on the truth, adjusted for chance, below which it has no communities."""


def score(audit: Audit, history: Sequence[Audit] = ()) -> tuple[float | None, list[ScorePart]]:
    """Return the score of a release and its parts, private.

    Parameters
    ----------
    audit:
        The private audit of the release, with `utility` if that was measured.
    history:
        The private audits of the releases of a sequence, this one's last. With fewer than two, or
        where nothing changed, the score has no parts of `READS_OVER_TIME`.

    Returns
    -------
    tuple
        The mean of the parts that are about ties, times `People` and `Attributes`: from 0, for a
        release without ties or without people, to 1. None where a part is not known, for a mean of
        fewer parts is another score. The parts.
    """
    found = {
        "Ties": _part(audit.usefulness.edges.f1),
        "People": _part(audit.usefulness.vertices.f1),
        **(_of_structure(audit.utility) if audit.utility is not None else {}),
    }
    later = _over_time(history)
    parts = []
    for name, reads in (READS | {name: READS_OVER_TIME[name] for name in later}).items():
        value, both = (found | later).get(name, (None, UNKNOWN))
        do = REMEDIES[name] if value is not None and value < LOW else None
        parts.append(ScorePart(name, value, both.original, both.released, reads, do))
    known = {part.name: part.score for part in parts if part.score is not None}
    if len(known) < len(parts):
        return None, parts
    limits = [known.pop(name) for name in WITHOUT_TIES]
    mean = sum(known.values()) / len(known)
    return round(mean * math.prod(limits), 6), parts


def _of_structure(utility: Utility) -> dict[str, Scored]:
    true, shown, moved = utility.original, utility.released, utility.degree_emd
    degrees = 1 - moved / true.mean_degree if moved is not None and true.mean_degree else None
    connected = _ratio(utility.paths.connected)
    far = _ratio(utility.paths.mean_hops)
    if far is not None and connected is not None:
        far *= connected
    elif utility.paths.connected.original:
        far = 0.0  # No pair that is connected in truth is so in the release.
    clustering = Both(original=true.clustering, released=shown.clustering)
    mixing, mixes = utility.conclusions.mixing_error, utility.attribute_mix.values()
    apart = [mix.distance for mix in mixes if mix.distance is not None]
    return {
        "Degrees": _part(degrees, Both(original=true.mean_degree, released=shown.mean_degree)),
        "Distances": _part(far, utility.paths.mean_hops),
        "Clustering": _part(_ratio(clustering), clustering),
        # Modularity is what both graphs have of their own; agreement is between them.
        "Communities": _part(_agreement(utility.communities), utility.communities.modularity),
        "Mixing": _part(None if mixing is None else 1 - mixing),
        "Centrality": _part(utility.pagerank.overlap),
        "Attributes": _part(1 - sum(apart) / len(apart) if apart else None),
    }


def _over_time(history: Sequence[Audit]) -> dict[str, Scored]:
    """Return the parts of `READS_OVER_TIME` that there are, by name."""
    if len(history) < 2:
        return {}
    found = {}
    first, last = history[0].size, history[-1].size
    before = first.original.edges
    true = last.original.edges - before
    released = last.released.edges - first.released.edges
    if true and abs(true) >= TREND_MIN * before:
        told = Both(original=true, released=released)
        sizes = Both(original=abs(true), released=abs(released))
        found["Trend"] = _part(_ratio(sizes) if true * released > 0 else 0.0, told)
    fresh = history[-1].freshness
    if fresh is not None and (shown := fresh.ties[RECENT].shown) is not None:
        ended = [each[RECENT] for each in (fresh.ended, fresh.ended_by_leaving)]
        count = sum(each.count for each in ended)
        still = sum(each.count * (each.shown or 0.0) for each in ended)
        found["Freshness"] = _part(shown * (1 - (still / count if count else 0.0)))
    return found


def _agreement(found: Communities) -> float | None:
    """Return communities' agreement, relative to two runs on the truth.

    Where these hardly agree, the truth has no communities that a release could show; then the
    ratio of the modularities (smaller / larger) is returned.
    """
    agree, best = found.ami, found.ami_again
    true, released = found.modularity.original, found.modularity.released
    if agree is None or best is None:
        return None
    if released is None and true is not None:
        return 0.0
    return agree / best if best >= AGREEMENT_MIN else _ratio(found.modularity)


def _ratio(both: Both) -> float | None:
    """Return the lesser over the greater; 1 where both are 0."""
    true, released = both.original, both.released
    if true is None or released is None:
        return None
    return min(true, released) / max(true, released) if max(true, released) > 0 else 1.0


def _part(found: float | None, both: Both = UNKNOWN) -> Scored:
    return None if found is None else round(min(max(found, 0.0), 1.0), 6), both


# What a reader of a release would conclude wrongly.
#
# Mixing beside the truth, and what not to say.
#
# Pure figures, from the private audit. Values are numbered by how frequent they are in the truth,
# and never named: a rare value is a person.


def concluded(found: Conclusions | None) -> dict[str, Any] | None:
    """Return what readers conclude from a release, JSON-ready and private.

    None: not measured.

    Parameters
    ----------
    found:
        Of the private audit.

    Returns
    -------
    dict
        `judged`: how many conclusions; `wrong_share`: the share with an error above 20%. `mixing`:
        by attribute, rows of `ranks`, `true` ties and `released` edges. `worst`: what is wrong, the
        worst first, in the form of these rows with `of`, `by` and `says`. `not_to_conclude`:
        sentences, the most misleading first.
    """
    if found is None:
        return None
    worst = [{**msgspec.to_builtins(row), "says": said(row)} for row in found.worst]
    return {
        "judged": found.conclusions,
        "wrong_share": found.wrong_share,
        "mixing": dict(sorted(found.mixing.items())),
        "worst": worst,
        "not_to_conclude": not_to_conclude(found),
    }


def said(row: ConclusionFigures) -> str:
    """Return a conclusion in words, without its figures.

    Examples
    --------
    >>> said(ConclusionFigures("ties", "age", [1, 4], 0, 0))
    'ties between values 1 and 4 of age'
    >>> said(ConclusionFigures("ties a person", None, [], 0, 0))
    'ties a person'
    """
    of, by, ranks = row.of, row.by, row.ranks
    if by is None:
        return of
    if of == "assortativity":
        return f"assortativity by {by}"
    if len(ranks) == 1:
        return f"{of}, value {ranks[0]} of {by}"
    if ranks[0] == ranks[1]:
        return f"ties within value {ranks[0]} of {by}"
    return f"ties between values {ranks[0]} and {ranks[1]} of {by}"


def not_to_conclude(found: Conclusions) -> list[str]:
    """Return what readers must not conclude, the most misleading first.

    Parameters
    ----------
    found:
        Of the private audit.
    """
    worst = found.worst
    told: list[str] = []
    for row in worst:
        if row.of == "assortativity":
            way = "more" if row.released > row.true else "less"
            told.append(
                f"How far people of one {row.by} keep to each other: in the release "
                f"{way} than in truth."
            )
    if empty := found.cells_empty:
        told.append(
            f"That people of two values have no ties where no edge is shown: {empty:,} of "
            f"{found.cells:,} pairs of values with ties show none."
        )
    by_value: dict[tuple[str, str | None], list[ConclusionFigures]] = {}
    for row in worst:
        if row.ranks:
            by_value.setdefault((row.of, row.by), []).append(row)
    for (of, by), rows in by_value.items():
        less = sum(row.released < row.true for row in rows)
        lean = "too few" if less == len(rows) else "too many" if not less else "off either way"
        told.append(f"Differences between values of {by} in {of}: {len(rows)} are {lean}.")
    if any(row.by is None for row in worst):
        told.append("How many ties a person has on average.")
    return told
