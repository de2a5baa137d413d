"""Releases of one network, one after another.

Differences and trends with error bars.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from ktsafe.errors import InvalidParams
from ktsafe.notebook import html_table
from ktsafe.reader.estimates import Estimate, Floats, estimate_of
from ktsafe.reader.published import StudiedRelease, check_asked

SHOWN_MAX = 20
"""Releases that a notebook lists, the last ones."""

SURE = 3.29
"""Standard deviations of the noise beyond which a direction is told: readers ask for dozens, and of
100 that are not there five would be outside of an interval of 95%."""
SURE_SHARE = 0.999
"""Share of draws that a direction must lie beyond, too: noise of few cells has heavy tails."""


@dataclasses.dataclass(frozen=True)
class Change(Estimate):
    """A difference, or a change per release, with its interval of 95%.

    Attributes
    ----------
    direction:
        "up" or "down" where an interval of 99.9% leaves no doubt, else "not told".
    """

    direction: Literal["up", "down", "not told"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Releases:
    """Releases in the order of their publication."""

    releases: Sequence[StudiedRelease]

    def __repr__(self) -> str:
        names = [each.release_id for each in self.releases[:: max(len(self) - 1, 1)]]
        return f"<Releases: {len(self)}, {' to '.join(names)}>"

    def _repr_html_(self) -> str:
        left_out = len(self) - SHOWN_MAX
        first = [("...", f"{left_out:,} earlier ones")] if left_out > 0 else []
        last = self.releases[-SHOWN_MAX:]
        return html_table([*first, *((each.release_id, each.size) for each in last)])

    def __len__(self) -> int:
        return len(self.releases)

    def __getitem__(self, i: int) -> StudiedRelease:
        return self.releases[i]

    def __iter__(self) -> Iterator[StudiedRelease]:
        return iter(self.releases)

    def estimate(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> list[Estimate]:
        """Return the figure of every release.

        Parameters are those of a single release.
        """
        return [each.estimate(figure, *values, by=by, across=across) for each in self.releases]

    def mean(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> Estimate:
        """Return the figure's mean over all releases that tell it.

        So turnover, the share of ties that come or go with a release, has a narrower interval than
        in any one of them. Count it never in the graph: pairs of classes that are hidden and
        planned afresh show ten times as much of it.
        """
        check_asked(figure, values, by, across)
        rows = [release.drawn(figure, values, by, across) for release in self.releases]
        told = [row for row in rows if not np.isnan(row[0])]
        if not told:
            return Estimate(float("nan"), None, None, "graph")
        n = min(map(len, told))
        drawn = np.mean([row[:n] for row in told], axis=0)
        return estimate_of(drawn) if n > 1 else Estimate(float(drawn[0]), None, None, "graph")

    def difference(
        self,
        figure: str,
        *values: str,
        by: str | None = None,
        across: str | None = None,
        first: int = 0,
        last: int = -1,
    ) -> Change:
        """Return the figure of one release less that of an earlier one.

        The noise of each release is drawn afresh, so the interval is that of both together.
        """
        before, after = self._drawn(figure, values, by, across)[[first, last]]
        return _change(after - before)

    def trend(
        self, figure: str, *values: str, by: str | None = None, across: str | None = None
    ) -> Change:
        """Return the figure's change from release to release, by least squares."""
        drawn = self._drawn(figure, values, by, across)
        if len(drawn) < 2:
            raise InvalidParams("A trend needs two releases.", hint="Read a folder of releases.")
        times = np.arange(len(drawn)) - (len(drawn) - 1) / 2
        return _change(times @ drawn / (times @ times))

    def _drawn(
        self, figure: str, values: tuple[str, ...], by: str | None, across: str | None
    ) -> Floats:
        """Return the figure in draws of every release: float64, shape (releases, draws)."""
        check_asked(figure, values, by, across)
        rows = [release.drawn(figure, values, by, across) for release in self.releases]
        # Without its tables a release tells no interval, nor does what it is compared with.
        n = min(map(len, rows))
        return np.array([row[:n] for row in rows])


def _change(drawn: Floats) -> Change:
    if len(drawn) == 1:
        return Change(float(drawn[0]), None, None, "graph", "not told")
    noise = np.abs(drawn[1:] - drawn[0])
    # Noise of few tables has heavier tails than their standard deviation tells.
    is_sure = abs(drawn[0]) > max(SURE * drawn[1:].std(), np.quantile(noise, SURE_SHARE))
    direction: Literal["up", "down"] = "up" if drawn[0] > 0 else "down"
    return Change(
        **dataclasses.asdict(estimate_of(drawn)), direction=direction if is_sure else "not told"
    )
