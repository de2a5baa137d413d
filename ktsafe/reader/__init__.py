"""Read releases: the graph, and figures with error bars. Needs numpy only.

>>> import ktsafe
>>> release = ktsafe.read("releases/000013-20270101T000000Z")  # doctest: +SKIP
>>> release.estimate("assortativity", by="age_band")  # doctest: +SKIP
Estimate(value=0.257, low=0.243, high=0.271, source='tables')

It imports numpy and nothing heavier (tests/ktsafe/reader/test_minimum_install.py); other packages
go through `published.imported`. Names here are for users: none changes its meaning.
"""

from ktsafe.reader.estimates import FIGURES, Estimate, StudiedTable
from ktsafe.reader.folders import Change, NotARelease, Releases, Withdrawn, read
from ktsafe.reader.published import StudiedRelease

__all__ = [
    "FIGURES",
    "Change",
    "Estimate",
    "NotARelease",
    "Releases",
    "StudiedRelease",
    "StudiedTable",
    "Withdrawn",
    "read",
]
