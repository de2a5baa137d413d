"""From a frozen graph to staged, verified bytes: one release is built here, and judged.

Runs beside ingest, on a snapshot that nobody else touches. What it leaves behind is a staging
folder and a private audit; whether they become a release is decided by `stream.publish`.
"""

from __future__ import annotations

import dataclasses
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.audit import audit_release
from ktsafe.errors import NotKTSafe
from ktsafe.verify import verify
from state.ledger import PendingCut, ReleaseRecord, Status
from state.store import GraphSnapshot
from stream import release_files
from stream.observer import Observer
from stream.release_read import read_release
from stream.slots import rfc3339


class Cancelled(Exception):
    """The service is stopping: the release is built again after the next start."""


@dataclasses.dataclass(frozen=True, slots=True)
class BuildSettings:
    """What a release is made with.

    Attributes
    ----------
    staging_dir, audit_dir:
        Where staged bytes and private audits go, a folder per release.
    seed:
        Fixed only for tests; None draws from the system's CSPRNG. Never published, never logged.
    """

    params: PrivacyParams
    options: AnonymizeOptions
    staging_dir: Path
    audit_dir: Path
    seed: int | None = None


class Snapshotter:
    """Builds releases.

    Parameters
    ----------
    cancelled:
        Asked between the phases of long work; True ends it with `Cancelled`.
    monotonic:
        A clock in seconds, for measuring only.
    """

    def __init__(
        self,
        settings: BuildSettings,
        *,
        observer: Observer,
        monotonic: Callable[[], float],
        cancelled: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._observer = observer
        self._monotonic = monotonic
        self._cancelled = cancelled

    def staging_folder(self, release_id: str) -> Path:
        """Return where the bytes of a release are staged."""
        return self._settings.staging_dir / release_id

    def build(
        self, index: int, sequence_id: str, cut: PendingCut, snapshot: GraphSnapshot
    ) -> ReleaseRecord:
        """Anonymize, write, read back and verify one release.

        Returns
        -------
        ReleaseRecord
            STAGED in the sense that its bytes are; the ledger does not know it yet.

        Raises
        ------
        NotKTSafe
            If the strict verifier finds the staged bytes unsafe: they must not be published.
        Infeasible
            If there is no safe release of this graph.
        Cancelled
            If the service is stopping.
        """
        settings = self._settings
        release_id = release_files.release_id(index, cut.slot_us)
        timings: dict[str, float] = {}
        with self._phase("anonymize", timings):
            seed = secrets.randbits(128) if settings.seed is None else [settings.seed, index]
            anonymized = anonymize(
                snapshot.graph,
                settings.params,
                rng=np.random.default_rng(seed),
                options=settings.options,
                progress=self._check_cancelled,
            )
        ids = release_files.random_ids(
            anonymized.graph.n_vertices,
            seed=None if settings.seed is None else settings.seed + index,
        )
        folder = self.staging_folder(release_id)
        with self._phase("stage", timings):
            # What an earlier, crashed attempt left was never recorded: it is no release.
            shutil.rmtree(folder, ignore_errors=True)
            header = release_files.ReleaseHeader(
                release_id, sequence_id, cut.slot_us, settings.params
            )
            files = release_files.write_release(folder, anonymized.graph, ids, header)
        with self._phase("verify", timings):
            _check_bytes(folder, settings.params)
        with self._phase("audit", timings):
            figures: dict[str, Any] = {
                "release_id": release_id,
                "nominal_time": rfc3339(cut.slot_us),
                **audit_release(
                    snapshot.graph,
                    anonymized.graph,
                    settings.params,
                    original_of=anonymized.origin,
                ),
            }
            figures["seconds"] = {name: round(s, 6) for name, s in timings.items()}
            behind = release_files.originals_behind(anonymized.origin, snapshot.ids)
            release_files.write_audit(settings.audit_dir / release_id, ids, behind, figures)
        return ReleaseRecord(
            index=index,
            release_id=release_id,
            sequence_id=sequence_id,
            slot_us=cut.slot_us,
            offsets=cut.offsets,
            files=files,
            status=Status.STAGED,
            n_vertices=anonymized.graph.n_vertices,
            n_edges=anonymized.graph.n_edges,
            n_lives=snapshot.n_lives,
        )

    def discard(self, release_id: str) -> None:
        """Remove the staged bytes of a release that the sink holds now, or that is withheld."""
        shutil.rmtree(self.staging_folder(release_id), ignore_errors=True)

    @contextmanager
    def _phase(self, name: str, timings: dict[str, float]) -> Iterator[None]:
        self._check_cancelled(name, 0.0)
        started = self._monotonic()
        yield
        timings[name] = self._monotonic() - started
        self._observer.release_phase(name, timings[name])

    def _check_cancelled(self, _phase: str, _done: float) -> None:
        if self._cancelled():
            raise Cancelled


def _check_bytes(folder: Path, params: PrivacyParams) -> None:
    """Judge a staged release by its bytes, against the service's parameters, not its own word.

    Raises
    ------
    NotKTSafe
        If it is not kt-safe, or claims other parameters than it was judged by.
    """
    release = read_release(folder)
    verdict = verify(release.quasi_identifiers(), release.is_sensitive(), release.edges, params)
    verdict.raise_if_unsafe()
    if release.params != params:
        raise NotKTSafe("The manifest claims other parameters.", hint="Do not publish this graph.")
