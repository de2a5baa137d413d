"""What a reader of a release would conclude wrongly.

Mixing beside the truth, and what not to say.

Pure figures, from the private audit. Values are numbered by how frequent they are in the truth, and
never named: a rare value is a person.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ktsafe.audit.model import ConclusionFigures, Conclusions


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
        "mixing": msgspec.to_builtins(dict(sorted(found.mixing.items()))),
        "worst": worst,
        "not_to_conclude": not_to_conclude(found),
    }


def said(row: ConclusionFigures) -> str:
    """Return a conclusion in words, without its figures.

    Examples
    --------
    >>> said(ConclusionFigures(of="ties", by="age", ranks=[1, 4]))
    'ties between values 1 and 4 of age'
    >>> said(ConclusionFigures(of="ties a person"))
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
