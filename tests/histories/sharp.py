"""Misfortunes of sharp histories: what befalls a service where defects are.

A history is sharp for one seed of `SHARP_ONE_IN`. Its feed lies at the edges of slots
(`tests.histories.feed.sharpened`), and beside what happens in any history

- a sink of dead letters refuses, and takes the same letters the next time;
- a partition gives nothing for a while, though there is more in it;
- a file that is rewritten is cut short by the crash;
- staged bytes change while the sink does not answer;
- somebody else publishes a release of this id, with other bytes;
- the last release of a former sequence goes from the sink, and is not missed.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ktsafe.connectors.base import MANIFEST, ReleaseBundle, TopicPartition
from tests.memory_connectors import Crash

if TYPE_CHECKING:
    from tests.histories.history import History

SHARP_ONE_IN: Final = 4
THEMES: Final = ("plain", "restore", "rebase", "sink")
LETTERS: Final = "before MemoryDeadLetterSink.write"


class Misfortunes:
    """Says what happens, by dice of its own; nothing happens where a history is not sharp."""

    def __init__(self, history: History, *, is_sharp: bool) -> None:
        self._history = history
        self.is_sharp = is_sharp
        self.dice = random.Random(f"sharp {history.seed}")
        self._lagging: TopicPartition | None = None
        self._lags_for = 0
        self._changed: tuple[Path, bytes] | None = None
        self.is_met = False
        """Whether another's release is at the sink, which this service must not go on beside."""

    @property
    def is_damaged(self) -> bool:
        """Whether a staged release was changed, which this service must refuse to send."""
        return self._changed is not None

    def _happens(self, chance: float) -> bool:
        return self.is_sharp and not self._history.is_quiet and self.dice.random() < chance

    def refuses(self, step: str) -> bool:
        """Whether the sink of dead letters refuses at a step."""
        return step == LETTERS and self._happens(0.5)

    def held_back(self, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
        """Return a partition that gives nothing now, whatever there is in it."""
        if self._lags_for <= 0 and self._happens(0.05):
            self._lagging = self.dice.choice(sorted(partitions))
            self._lags_for = self.dice.choice((10, 60, 300))
        self._lags_for -= 1
        is_over = self._lagging is None or self._lags_for <= 0 or self._history.is_quiet
        return set() if is_over else {self._lagging}

    def cut_short(self, path: Path, texts: Iterable[str | bytes]) -> None:
        """Let the service die while it writes a file, perhaps."""
        if self._happens(0.3):
            data = b"".join(each if isinstance(each, bytes) else each.encode() for each in texts)
            path.write_bytes(data[: self.dice.randrange(len(data))])
            raise Crash(str(path))

    def change_staged(self, bundle: ReleaseBundle) -> None:
        """Change a bit of a staged release, perhaps, until this life of the service is over."""
        if self._changed is None and self._happens(0.5):
            path = bundle.folder / self.dice.choice(bundle.files)
            data = path.read_bytes()
            self._changed = path, data
            at = self.dice.randrange(len(data))
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])

    def another_publishes(self, bundle: ReleaseBundle, there: dict[str, Any]) -> bool:
        """Put a release of this id and other bytes at the sink, perhaps."""
        is_new = bundle.release_id not in there and self._history.theme == "sink"
        if not (is_new and self._happens(0.2)):
            return False
        files = {name: (bundle.folder / name).read_bytes() for name in bundle.files}
        there[bundle.release_id] = 0, {**files, MANIFEST: files[MANIFEST] + b"\n"}
        self.is_met = True
        return True

    def forget_former(self) -> None:
        """Let the last release of the sequence that has just ended go from the sink, perhaps."""
        there = self._history.world.releases.releases
        if there and self._happens(0.5):
            self._history.gone_for_good.add(max(there))
            del there[max(there)]

    def life_is_over(self) -> None:
        """Put right what only one life of the service meets."""
        self.is_met = False
        if self._changed is not None:
            path, data = self._changed
            self._changed = None
            if path.exists() and len(path.read_bytes()) == len(data):
                path.write_bytes(data)
