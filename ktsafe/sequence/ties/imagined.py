"""A pair of classes of a sequence, with imagined ties of its inserted members."""

from __future__ import annotations

import dataclasses

import numpy as np

from ktsafe.exact.imagined import imagined_ties, is_own
from ktsafe.graph import edge_keys
from ktsafe.sequence.ties.pairs import PairOfClasses


def with_imagined(pair: PairOfClasses, share: float, rng: np.random.Generator) -> PairOfClasses:
    """Return the pair with imagined ties of its inserted members among its ties.

    Parameters
    ----------
    pair:
        The pair of classes.
    share, rng:
        As in `ktsafe.exact.imagined.imagined_ties`.
    """
    if not pair.is_inserted.any() or not pair.n_ties:
        return pair
    last = pair.shown if len(pair.shown) else pair.former
    program = pair.program(pair.ties, np.ones(pair.n_ties), 1.0)
    ties = imagined_ties(program, pair.is_inserted, last, share, rng)
    is_shown = np.isin(edge_keys(ties), edge_keys(pair.shown))
    return dataclasses.replace(
        pair,
        is_true=pair.is_true | is_own(pair.shown, pair.is_inserted),
        hidden=np.concatenate((pair.hidden, ties[~is_shown])),
    )
