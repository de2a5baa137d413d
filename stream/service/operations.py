"""An operator's requests, done between two rounds of the loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from ktsafe.state.store import GraphStore
from ktsafe.stream.errors import Exit, Refused
from ktsafe.stream.maintenance import backup
from ktsafe.stream.maintenance.erasure import EraseLetters, NoteErased, erase_everywhere
from ktsafe.stream.release.sequence_inputs import new_sequence
from ktsafe.stream.release.snapshotter import BuildSettings, Snapshotter
from ktsafe.stream.service.control_wire import Arguments
from ktsafe.stream.service.loop import Loop
from ktsafe.stream.slots import rfc3339

_NEEDS_NO_CUT: Final = ("erase", "freeze")
"""A release that was cut shows whom an erasure would take out, and its bytes are fixed once staged;
a copy of the state from before that point is behind as soon as the release is out."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operations:
    """Implements `ktsafe.stream.service.control.Operator` on the parts of one service.

    Attributes
    ----------
    build:
        What releases are made with.
    inputs_digest:
        What a new sequence begins with: see `ktsafe.stream.release.sequence_inputs`.
    erase_letters:
        Blanks dead letters, which nobody writes meanwhile.
    note_erased:
        Notes who is erased, for whoever restores a backup.
    wall_us:
        The wall clock, microseconds since the epoch.
    """

    loop: Loop
    store: GraphStore
    snapshotter: Snapshotter
    build: BuildSettings
    inputs_digest: str
    erase_letters: EraseLetters
    note_erased: NoteErased
    wall_us: Callable[[], int]

    def must_wait(self, command: str) -> bool:
        """Whether a release in flight, or to be remade, interferes."""
        if self.loop.is_catching_up:
            return True  # Whatever the command changes, the releases would not come out the same.
        if command in _NEEDS_NO_CUT:
            return self.store.ledger.pending_cut() is not None
        return command == "rebase" and self.loop.is_releasing

    def do(self, command: str, arguments: Arguments) -> dict[str, Any]:
        """Do a command and return what came of it.

        Raises
        ------
        Refused
            If it cannot be done; nothing has happened then, or the erasure is not complete.
        """
        match command:
            case "erase":
                return self._erase(arguments.ids)
            case "rebase":
                return self._rebase(arguments.inputs_digest)
            case "release":
                return self._release()
            case _:
                assert command == "freeze"
                folder = backup.freeze(self.store, self.snapshotter.staging_folder)
                return {"folder": str(folder)}

    def _erase(self, ids: Sequence[str]) -> dict[str, Any]:
        """Erase persons, after applying what was read of them.

        Else that would bring them back.
        """
        if not ids:
            raise Refused("The command needs ids.")
        if not self.loop.checkpoint():
            raise Refused("The service stops; nothing was done.", code=Exit.UNAVAILABLE)
        try:
            return erase_everywhere(
                self.store, ids, self.build.audit_dir, self.erase_letters, self.note_erased
            )
        except OSError as error:
            # The service goes on; what the graph has let go of leaves the disk when it has room.
            raise Refused(
                f"The erasure is not complete: {error.strerror}.",
                hint="Make room for past mappings, then give the command again.",
                code=Exit.UNAVAILABLE,
            ) from error

    def _rebase(self, digest: str | None) -> dict[str, Any]:
        if digest != self.inputs_digest:
            raise Refused(
                "The configuration has changed since the service started.",
                hint="Stop the service, run `ktsafe rebase`, and start it again.",
            )
        sequence = new_sequence(self.inputs_digest, self.wall_us(), seed=self.build.seed)
        self.store.ledger.start_sequence(sequence)
        self.snapshotter.open(self.store.ledger)
        self.loop.forget_last_cut()
        return {"sequence_id": sequence.sequence_id}

    def _release(self) -> dict[str, Any]:
        if self.loop.is_releasing:
            raise Refused("A release is being made already.", code=Exit.UNAVAILABLE)
        slot_us = self.loop.release_now()
        if slot_us is None:
            raise Refused("Nothing was read since the last release; another would be the same.")
        return {"slot": rfc3339(slot_us)}
