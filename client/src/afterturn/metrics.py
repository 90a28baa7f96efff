"""A publisher's counts for Prometheus: `REGISTRY.register(PublisherCollector(publisher))`. Needs prometheus-client.

An agent that drops events is the only one who knows: nothing of them reaches the service.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from afterturn.outlet import Outlet

_OUTCOMES = ("stored", "duplicates", "rejected", "dead")


class PublisherCollector(Collector):
    """Reads `stats()` at each scrape; of one publisher a process."""

    def __init__(self, publisher: Outlet) -> None:
        self._publisher = publisher

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """As the publisher stands."""
        stats = self._publisher.stats()
        yield CounterMetricFamily("afterturn_publish_events", "Events that were published.", stats.published)
        yield CounterMetricFamily(
            "afterturn_publish_dropped",
            "Events refused at a bound, or that could not be encoded.",
            stats.refused + stats.failed,
        )
        outcomes = CounterMetricFamily("afterturn_publish_receipts", "What the workers answered.", labels=["outcome"])
        for name in _OUTCOMES:
            outcomes.add_metric([name], getattr(stats, name))
        yield outcomes
        yield CounterMetricFamily("afterturn_publish_resent", "Events sent again.", stats.resent)
        yield CounterMetricFamily("afterturn_publish_failures", "Attempts in vain to reach the broker.", stats.failures)
        yield GaugeMetricFamily("afterturn_publish_waiting", "Events that are not in the broker yet.", stats.waiting)
        yield GaugeMetricFamily("afterturn_publish_unreceipted", "Events sent, not answered yet.", stats.unreceipted)
        yield GaugeMetricFamily("afterturn_publish_spooled_bytes", "Bytes in the spool.", stats.spooled_bytes)
