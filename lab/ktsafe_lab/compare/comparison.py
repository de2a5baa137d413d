"""Anonymizes a data set under many parameters, each in a process.

A process of its own has a peak of memory of its own, and takes nothing down with it.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from msgspec.structs import asdict

from ktsafe import AnonymizeOptions, PrivacyParams, Schema
from ktsafe.anonymization.request import Effort, RareQi, Request
from ktsafe.audit import ReleaseAudit
from ktsafe.errors import Infeasible, KtsafeError, NotKTSafe
from ktsafe.stream.files.audit_model import Utility
from ktsafe.stream.files.release_figures import WORTH, worth_of
from ktsafe.stream.process import logs
from ktsafe.stream.process.pool import Workers

Row = dict[str, Any]
Progress = Callable[[str, float], None]
COST_PARTS = ("unowned_vertices", "deleted_vertices", "inserted_edges", "deleted_edges")
Outcome = Literal["kt-safe", "unsafe", "infeasible", "failed"]


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid.

    Attributes
    ----------
    k, t, alpha, epsilon:
        The parameters, rationals as they were written.
    effort, rare_qi:
        Options of `ktsafe.AnonymizeOptions`.
    strategy:
        A name of `ktsafe_lab.strategies.ALL`.
    without:
        Quasi-identifiers that are left out of the data.
    """

    k: int
    t: str
    alpha: str
    epsilon: int
    effort: Effort
    strategy: str = "exact"
    rare_qi: RareQi = "withhold"
    without: tuple[str, ...] = ()

    @property
    def params(self) -> PrivacyParams:
        """The parameters, checked."""
        return PrivacyParams(self.k, self.t, self.alpha, self.epsilon)  # type: ignore[arg-type]

    @property
    def options(self) -> AnonymizeOptions:
        """The options, checked."""
        return AnonymizeOptions(effort=self.effort, rare_qi=self.rare_qi)

    def to_row(self) -> Row:
        """Return the columns that say which point it is."""
        return {**dataclasses.asdict(self), "without": " ".join(self.without)}


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """What every cell is measured on, and how."""

    vertices: Path
    edges: Path
    schema: Schema
    seed: int
    utility: bool
    workers: int = 1


def columns(schema: Schema, *, utility: bool) -> list[str]:
    """Return the names of all columns of a row, in their order."""
    names = [field.name for field in dataclasses.fields(Cell)]
    names += ["outcome", "vertices", "edges", "released_vertices", "released_edges"]
    names += list(COST_PARTS)
    names += [*WORTH, "cost", "share_of_k_copies", "lower_bound", "times_lower_bound"]
    names += ["seconds", "peak_mib", "unsafe_vertices", "candidates_min"]
    names += ["k_real_min", "k_real_share_below_k", "k_known_min", "k_known_share_below_k"]
    names += ["alpha_real_max", "alpha_real_above", "beta_median", "beta_above_t"]
    if utility:
        names += ["degree_emd", "pagerank_overlap", "ami", "ami_again"]
        figures = ["mean_degree", "max_degree", "isolated", "clustering"]
        figures += ["transitivity", "largest_component"]
        figures += ["connected_pairs", "mean_hops"]
        figures += [f"assortativity_{name}" for name in schema.quasi_identifiers]
        names += [f"{figure}_{of}" for figure in figures for of in ("original", "released")]
    return names


def measured_cells(
    cells: Sequence[Cell], task: Task, progress: Callable[[int, str, float], None]
) -> Iterator[Row]:
    """Measure cells one by one and yield each row at once.

    Closing the generator, or any exception in it, ends the running process.

    Parameters
    ----------
    progress:
        Called with the number of the cell, its phase, and the fraction of it that is done.

    Raises
    ------
    KtsafeError
        If the data cannot be read, so no cell can be measured.
    """
    context = multiprocessing.get_context("spawn")
    for number, cell in enumerate(cells):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(theirs, cell, task), daemon=True)
        try:
            with theirs, interrupts_held():
                process.start()
            found = _received(ours, lambda *args, n=number: progress(n, *args))
        except EOFError:
            found = {"outcome": "failed"}  # Ended without a word: most likely out of memory.
        finally:
            ours.close()
            if process.pid is not None:
                process.terminate()
                process.join()
        yield {**cell.to_row(), **found}


def _received(connection: Connection, progress: Progress) -> Row:
    """Return what the other process found.

    Pass its progress on, raise its error.
    """
    while True:
        match connection.recv():
            case (str(phase), float(done)):
                progress(phase, done)
            case KtsafeError() as error:
                raise error
            case dict(found):
                return found


def _work(connection: Connection, cell: Cell, task: Task) -> None:
    """Measure one cell and send what was found.

    The whole life of a process.
    """
    logs.configure(level="warning")
    logs.install_crash_hooks()
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def progress(phase: str, done: float) -> None:
        connection.send((phase, float(done)))

    try:
        connection.send(_measured(cell, task, progress))
    except KtsafeError as error:
        connection.send(error)
    except BrokenPipeError:
        return  # Nobody waits for it any more.
    except Exception:  # noqa: BLE001 -- the other cells go on
        sys.excepthook(*sys.exc_info())
        connection.send({"outcome": "failed"})


def _end_with_parent() -> None:
    """Wait for the parent process's end, and follow it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _measured(cell: Cell, task: Task, progress: Progress) -> Row:
    """Return the figures of one cell.

    Those that there are, where it cannot be anonymized.
    """
    # Compiled kernels load slowly, so only the processes in need of them pay.
    import numpy as np  # noqa: PLC0415

    from ktsafe.assess.releases.worth import without  # noqa: PLC0415
    from ktsafe.assess.utility import utility_figures  # noqa: PLC0415
    from ktsafe.audit import audit_traced  # noqa: PLC0415
    from ktsafe.audit.cost import trace  # noqa: PLC0415
    from ktsafe.stream.files.graphs import read_graph  # noqa: PLC0415
    from ktsafe.verify import verify_graph  # noqa: PLC0415
    from ktsafe_lab.figures.beta_likeness import beta_figures  # noqa: PLC0415
    from ktsafe_lab.figures.lower_bound import cost_over_bound  # noqa: PLC0415
    from ktsafe_lab.strategies import unverified  # noqa: PLC0415
    from ktsafe_lab.synthetic_degrees import zipf  # noqa: PLC0415

    params = cell.params
    options = cell.options
    progress("reading", 0.0)
    graph = read_graph(task.vertices, task.edges, without(task.schema, cell.without)).graph
    size: Row = {"vertices": graph.n_vertices, "edges": graph.n_edges}
    progress("loading kernels", 0.0)
    # Anonymizing something else first keeps the compilation and loading of kernels untimed.
    rng = np.random.default_rng(0)
    unverified(Request(zipf(500, 1_500, rng=rng), params, rng, options), cell.strategy)
    started = time.perf_counter()
    try:
        rng = np.random.default_rng(task.seed)
        with Workers(task.workers).open() as (executor, _):
            request = Request(graph, params, rng, options, executor, progress)
            result = unverified(request, cell.strategy)
    except (Infeasible, NotKTSafe) as error:
        outcome: Outcome = "infeasible" if isinstance(error, Infeasible) else "unsafe"
        return {**size, "outcome": outcome}
    seconds = time.perf_counter() - started
    released = result.graph
    progress("verifying", 1.0)
    verdict = verify_graph(released, params)
    found = {
        **size,
        "outcome": "kt-safe" if verdict.is_safe else "unsafe",
        "released_vertices": released.n_vertices,
        "released_edges": released.n_edges,
        "seconds": round(seconds, 3),
        "peak_mib": round(_peak_mib(), 1),
        "unsafe_vertices": verdict.n_unsafe,
        "candidates_min": verdict.min_k,
    }
    progress("auditing", 1.0)
    traced = trace(graph, released, result.origin)
    audit = audit_traced(traced, params)
    found |= _audit_columns(audit)
    found |= cost_over_bound(traced, params, audit.cost)
    beta = beta_figures(released, params) or {}
    found |= {"beta_median": beta.get("median"), "beta_above_t": beta.get("vertices_above_t")}
    if task.utility:
        progress("measuring utility", 1.0)
        rng = np.random.default_rng(task.seed)
        found |= _utility_columns(utility_figures(traced, rng=rng))
    return found


def _audit_columns(audit: ReleaseAudit) -> Row:
    cost, privacy = audit.cost, audit.privacy.all
    return {
        **{name: getattr(cost, name) for name in COST_PARTS},
        **worth_of(audit.usefulness),
        "cost": cost.total,
        "share_of_k_copies": cost.total / cost.k_copies if cost.k_copies else None,
        "k_real_min": privacy.k_real.min,
        "k_real_share_below_k": privacy.k_real.share,
        "k_known_min": privacy.k_known.min,
        "k_known_share_below_k": privacy.k_known.share,
        "alpha_real_max": privacy.alpha_real.max,
        "alpha_real_above": privacy.alpha_real.above_alpha,
    }


def _utility_columns(figures: Utility) -> Row:
    row: Row = {
        "degree_emd": figures.degree_emd,
        "pagerank_overlap": figures.pagerank.overlap,
        "ami": figures.communities.ami,
        "ami_again": figures.communities.ami_again,
    }
    for of in ("original", "released"):
        structure = asdict(getattr(figures, of))
        by_attribute = structure.pop("assortativity")
        structure |= {f"assortativity_{name}": value for name, value in by_attribute.items()}
        structure["connected_pairs"] = getattr(figures.paths.connected, of)
        structure["mean_hops"] = getattr(figures.paths.mean_hops, of)
        row |= {f"{name}_{of}": value for name, value in structure.items()}
    return row


def _peak_mib() -> float:
    """Return the greatest memory that this process held so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike `ru_maxrss` it does not begin with the memory of the process that started this.
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back meanwhile.

    A process started here never sees it, for it is ours to end.

    That process inherits what this thread blocks. Here, another thread may take the signal, and
    Python would still interrupt this one: half started, the process could not read what it is for.
    """
    held: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *called: held.append(called))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
        if held and callable(handler):
            handler(*held[-1])
