"""Hooks to `ktsafe.assess`: preparation, checks after the gate, reports.

This module alone names that package, and `command_registry` its commands; nothing below imports it.
What it needs beyond the rest is the extra `ktsafe[assess]`.

A hook is a method here and in `ktsafe.assess.commands.hooks`. `NEEDS` are the packages of the extra
in pyproject.toml; `HOOKS` in tests/test_layers.py lists the two modules that may name the room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from ktsafe.stream.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ktsafe.anonymization.anonymization import Anonymized
    from ktsafe.audit import ReleaseAudit, Traced
    from ktsafe.audit.freshness import Differences
    from ktsafe.graph import AttributedGraph
    from ktsafe.params import PrivacyParams
    from ktsafe.stream.files.audit_model import AttackFindings, Audit
    from ktsafe.stream.files.releases_read import Manifest

NEEDS: Final = ("jinja2", "networkit")
"""What the extra installs."""


@dataclasses.dataclass(frozen=True, slots=True)
class AttackSettings:
    """How the service attacks its releases.

    Attributes
    ----------
    budget_s:
        Seconds that a release waits for its attacks; 0: there are none.
    hold:
        Whether a release is withheld against which an attack surely exceeds its promise.
    """

    budget_s: float = 0.0
    hold: bool = False


NO_ATTACKS: Final = AttackSettings()


@dataclasses.dataclass(frozen=True, eq=False)
class GatedRelease:
    """A release that passed the gate, beside its truth.

    Attributes
    ----------
    sequence_id:
        Releases of one sequence can be linked.
    traced:
        The release beside the true graph.
    ids:
        For every released vertex an integer that stands for its published id.
    lives:
        int64: a number for every true vertex, see `ktsafe.state.snapshot.GraphSnapshot`.
    release_id:
        Of the release.
    since:
        What changed since the release before, people being lives; None without one.
    """

    sequence_id: str
    traced: Traced
    ids: NDArray[np.integer[Any]]
    lives: NDArray[np.int64]
    release_id: str
    since: Differences | None = None


class Check(Protocol):
    """A check of releases after the gate, before they are published."""

    def check(
        self, release: GatedRelease, params: PrivacyParams, go_on: Callable[[], None]
    ) -> AttackFindings:
        """Return figures for the private audit, or raise to hold the release.

        Parameters
        ----------
        params:
            What the release promises.
        go_on:
            Called now and then; may end the check by raising.
        """

    def end_build(self, *, staged: bool) -> None:
        """Take the release checked last as published, or forget it."""


class Advised(Protocol):
    """How coarsely to tell each attribute; as text a sentence."""

    @property
    def graph(self) -> AttributedGraph:
        """The graph told so."""


class Assessment(Protocol):
    """Hooks that `ktsafe.assess` implements, and all else calls."""

    def advised(
        self,
        graph: AttributedGraph,
        params: PrivacyParams,
        *,
        hierarchies: Mapping[str, Any] | Path | None = None,
        keep: Collection[str] = (),
        other_ks: Iterable[int] = (),
        releases: int = -1,
        seed: int = 0,
    ) -> Advised:
        """Return how coarsely to tell each quasi-identifier.

        Parameters
        ----------
        hierarchies:
            The only ways to tell attributes, or a TOML file with a table of them.
        keep:
            Quasi-identifiers that must be told.
        other_ks:
            Other k to estimate.
        releases:
            How many releases are made besides that of what is advised; -1: the first estimates do.
        """

    def attacked(
        self,
        traced: Traced,
        params: PrivacyParams,
        attacks: Iterable[str] | None,
        rng: np.random.Generator,
    ) -> list[Any]:
        """Return the results of attacks by name; None: all."""

    def check(self, settings: AttackSettings) -> Check:
        """Return the check that attacks each release."""

    def measured(
        self,
        audit: Audit,
        traced: Traced,
        params: PrivacyParams,
        progress: Callable[[str, float], None],
    ) -> Audit:
        """Return a private audit with all figures of a report."""

    def page(self, manifest: Manifest, audit: Audit, sha256: str | None = None) -> str:
        """Return the report on one release as a page of HTML."""

    def page_of(
        self, told: AttributedGraph, made: Anonymized, params: PrivacyParams, audit: ReleaseAudit
    ) -> str:
        """Return the report on a release in memory as HTML."""


def is_installed() -> bool:
    """Return whether the extra is installed."""
    return all(find_spec(name) is not None for name in NEEDS)


def check_installed(asked: str) -> None:
    """Refuse what needs the extra, before work is spent.

    Raises
    ------
    ConfigError
        If the extra is not installed.
    """
    if missing := [name for name in NEEDS if find_spec(name) is None]:
        msg = f"{asked} needs what is not installed: {', '.join(missing)}."
        raise ConfigError(msg, hint='Install it: pip install "ktsafe[assess]".')


def assessment(asked: str) -> Assessment:
    """Return the hooks, or refuse what was asked for.

    Raises
    ------
    ConfigError
        If the extra is not installed.
    """
    check_installed(asked)
    hooks: Assessment = import_module("ktsafe.assess.commands.hooks").HOOKS
    return hooks
