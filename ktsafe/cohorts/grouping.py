"""Which vertices of one class form a cohort: a task of its own, for a worker of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts import _choose_core as core
from ktsafe.cohorts import _grouping_core as search
from ktsafe.cohorts import _shapes_core as shaping
from ktsafe.index import _table_core
from ktsafe.params import PrivacyParams

TEMPERATURES = (3.0, 0.5)
LOOKALIKE_REACH, LOOKALIKES = 150, 20
# Share of alpha beyond which a class has hardly room to move sensitive vertices to.
HOPELESS_SHARE = 0.8


def cohorts_of_class(
    pool: shaping.Pool,
    rule: _table_core.Rule,
    params: PrivacyParams,
    steps: int,
    random: NDArray[np.uint64],
) -> NDArray[np.int32]:
    """Group the vertices of one class, given in descending degree, into cheap cohorts.

    Parameters
    ----------
    pool:
        The vertices.
    rule:
        The guarantee, by the columns in which targets are chosen.
    params:
        The guarantee.
    steps:
        Steps of the search.
    random:
        uint64, shape (1,): state of the search's generator.

    Returns
    -------
    int32, shape (vertices,)
        The cohort of each, numbered from 0.
    """
    cohort = _seeded(pool, rule, params)
    has_room = pool.is_sensitive.mean() <= HOPELESS_SHARE * params.alpha
    limits = rule.limits.copy()
    limits[_table_core.RESERVE] = int(has_room)
    if int(cohort.max()) > 0 and steps:
        nearest = core.lookalikes(pool, LOOKALIKE_REACH, LOOKALIKES)
        rule = rule._replace(limits=limits)
        search.improve(pool, rule, cohort, steps, nearest, TEMPERATURES, random.copy())
    return cohort


def _seeded(pool: shaping.Pool, rule: _table_core.Rule, params: PrivacyParams) -> NDArray[np.int32]:
    """Return consecutive cohorts; a last one that is too small joins the one before it."""
    cohort: NDArray[np.int32] = core.seed(pool, rule, params.group_size_min)
    last = int(cohort.max())
    is_last = cohort == last
    short_of_real = shaping.lacking_real(rule, int(pool.is_real[is_last].sum()))
    if last > 0 and (is_last.sum() < params.group_size_min or short_of_real):
        merged = cohort >= last - 1
        sensitive = int(pool.is_sensitive[merged].sum())
        if short_of_real or not shaping.lacking(rule, int(merged.sum()), sensitive):
            cohort[merged] = last - 1
    return cohort
