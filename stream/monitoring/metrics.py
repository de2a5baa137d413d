"""The service's metrics for Prometheus, made from the table `metrics_table.METRICS`.

Every notice of the observer goes to the metrics whose source it is.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector

from ktsafe import PrivacyParams
from ktsafe.stream.monitoring.metrics_secrets import SECRETS
from ktsafe.stream.monitoring.metrics_table import METRICS, NOW, UNKNOWN, Metric
from ktsafe.stream.observer import NOTICES, Observer


class PrometheusMetrics(Observer):
    """Keeps the service's figures in its own registry, and renders it.

    Safe to use from several threads.

    Parameters
    ----------
    params:
        The parameters promised, to compare with; by default the default ones.
    secrets:
        Whether the secrets of releases are shown.
    wall_s:
        Seconds since the epoch, for what is compared with moments.
    monotonic_s:
        A clock in seconds, for what is measured; never steps back.
    """

    def __init__(
        self,
        *,
        params: PrivacyParams | None = None,
        secrets: bool = False,
        wall_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        # The creation times of counters double the number of series and serve no alert.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._wall_s = wall_s
        self._monotonic_s = monotonic_s
        self._alive_at_s = monotonic_s()
        self._published_at_s = self._alive_at_s
        self._nominal_s = wall_s()
        self._is_ready = False
        shown = (*METRICS, *SECRETS) if secrets else METRICS
        self._made = {metric.name: _made(metric, self.registry) for metric in shown}
        self._told = {
            source: [metric for metric in shown if metric.source == source]
            for source in (*NOTICES, "settings")
        }
        for notice in set(NOTICES) - vars(PrometheusMetrics).keys():
            setattr(self, notice, partial(self._tell, notice))
        self._tell("settings", params or PrivacyParams())
        self._tell("alive")
        age = self._made["ktsafe_release_age_seconds"]
        age.labels("nominal").set_function(lambda: self._wall_s() - self._nominal_s)
        age.labels("published").set_function(lambda: self._monotonic_s() - self._published_at_s)
        build = Info("ktsafe_build", "Version of the service.", registry=self.registry)
        build.info({"version": version("ktsafe")})
        ProcessCollector(registry=self.registry)

    @property
    def is_ready(self) -> bool:
        """Whether the service is consuming and able to publish."""
        return self._is_ready

    def silence_s(self) -> float:
        """Return the seconds since the main loop last went round."""
        return max(0.0, self._monotonic_s() - self._alive_at_s)

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """Return content type and body of a scrape, as `accept` asks."""
        encoder, content_type = choose_encoder(accept)
        return content_type, encoder(self.registry)

    def release_published(
        self, release_id: str, nominal_us: int, vertices: int, edges: int
    ) -> None:
        """Show the release that the sink confirmed; its age begins again."""
        self._published_at_s = self._monotonic_s()
        self._nominal_s = nominal_us / 1e6
        self._tell("release_published", release_id, nominal_us, vertices, edges)

    def ready(self, is_ready: bool) -> None:
        """Show whether the service is ready."""
        self._is_ready = is_ready
        self._tell("ready", is_ready)

    def alive(self) -> None:
        """Note that the main loop went round."""
        self._alive_at_s = self._monotonic_s()
        self._tell("alive")

    def _tell(self, source: str, *given: Any, **named: Any) -> None:
        """Show a notice by each metric that is taken from it."""
        for metric in self._told[source]:
            made = self._made[metric.name]
            for values, number in metric.samples(*given, **named).items():
                sample = made.labels(*_listed(metric, values)) if values else made
                _add(metric.kind, sample, self._wall_s() if number == NOW else number)


def _made(metric: Metric, registry: CollectorRegistry) -> Any:
    """Return a metric with all values of its labels from the start."""
    about = metric.name, metric.text, list(metric.labels)
    if metric.kind == "histogram":
        made: Any = Histogram(*about, buckets=metric.buckets, registry=registry)
    else:
        made = (Counter if metric.kind == "counter" else Gauge)(*about, registry=registry)
    if metric.labels:
        samples = [made.labels(*values) for values in itertools.product(*metric.labels.values())]
    else:
        samples = [made]
    if metric.kind == "gauge":
        for sample in samples:
            sample.set(metric.at_start)
    return made


def _listed(metric: Metric, values: tuple[str, ...]) -> list[str]:
    """Return labels' values, unlisted ones as the last one."""
    return [
        value if value in known or not known else known[-1]
        for value, known in zip(values, metric.labels.values(), strict=True)
    ]


def _add(kind: str, sample: Any, number: float | None) -> None:
    match kind:
        case "counter":
            sample.inc(number)
        case "histogram":
            sample.observe(number)
        case _:
            sample.set(UNKNOWN if number is None else number)
