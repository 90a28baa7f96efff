"""Every metric, declared once. A user is never a label; a tenant is one only for spend, where the count is bounded.

Counters and histograms are kept by whoever counts (`stores/counting.py` adds processes up). Readings are what the
stores say at the moment of asking: the API sets them for each scrape, and every replica of it tells the same.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_LAG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600)
_TASK_SECONDS = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300)
_CALL_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
_RECALL_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

READINGS = CollectorRegistry()
"""What `/metrics` of the API tells beside the counters."""


class Reading(Collector):
    """A gauge that is read, not kept: in no file, gone when cleared. Thread-safe."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        self._name, self._documentation, self._labels = name, documentation, tuple(labels)
        self._lock = threading.Lock()
        self._values: dict[tuple[str, ...], float] = {}
        READINGS.register(self)

    def set(self, value: float, *labels: str) -> None:
        """What is so now, for these labels."""
        if len(labels) != len(self._labels):
            msg = f"{self._name} has the labels {self._labels}"
            raise ValueError(msg)
        with self._lock:
            self._values[labels] = value

    def clear(self) -> None:
        """Nothing is known any more."""
        with self._lock:
            self._values.clear()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """For the registry."""
        family = GaugeMetricFamily(self._name, self._documentation, labels=self._labels)
        with self._lock:
            for labels, value in self._values.items():
                family.add_metric(labels, value)
        yield family

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Its name, whatever is known."""
        yield GaugeMetricFamily(self._name, self._documentation, labels=self._labels)


# No label is called job or instance: Prometheus calls its targets so, and would rename ours.

# What waits
QUEUE_DEPTH = Reading("afterturn_queue_depth", "Messages in the queue, all priorities.", ["queue"])
QUEUE_UNACKED = Reading("afterturn_queue_unacked", "Messages that workers of the role have in hand.", ["role"])
WORK_DUE = Reading("afterturn_work_due", "What could be worked on now: the backlog to scale on.", ["stage"])
WORK_RUNNING = Reading("afterturn_windows_running", "Windows that a worker holds.")
OLDEST_EVENT_AGE = Reading(
    "afterturn_oldest_unprocessed_event_age_seconds", "Age of the oldest one that waits at a stage.", ["stage"]
)
DEAD_LETTERS = Reading("afterturn_dead_letters", "Dead letters that nobody resolved.", ["reason"])
PENDING_REVIEWS = Reading("afterturn_pending_reviews", "Memories that wait for a reviewer.")
OLDEST_REVIEW_AGE = Reading("afterturn_pending_review_oldest_age_seconds", "Age of the oldest waiting review.")
INDEX_DRIFT = Reading("afterturn_index_drift", "Records that differed from SQL at the last look.", ["kind"])
INDEX_OWED = Reading(
    "afterturn_index_owed", "Index writes that are owed, failed ones among them; up to 10,000.", ["state"]
)
BEAT_SUCCESS = Reading("afterturn_beat_last_success_timestamp_seconds", "When the job last succeeded.", ["task"])
BEAT_INTERVAL = Reading("afterturn_beat_interval_seconds", "How often the job is due.", ["task"])
SUSPECTS = Reading("afterturn_suspect_windows", "Windows that wait to run alone, because a worker was lost over them.")
MODEL_OPEN = Reading("afterturn_model_circuit_open", "1 while the model is left alone, 0 otherwise.")
OVER_BUDGET = Reading("afterturn_over_budget_windows", "Windows that wait for their tenant's next day.")
BUDGET_LEFT = Reading("afterturn_budget_remaining_ratio", "Share of today's tokens left.", ["tenant"])
STORE_UP = Reading(
    "afterturn_store_up", "1 when the store answered this scrape; else its readings are gone.", ["store"]
)

# What is done
EVENTS = Counter("afterturn_events_total", "Events received, by what became of them.", ["outcome"])
EVENT_LAG = Histogram(
    "afterturn_event_lag_seconds",
    "Lag by stage: committed since published, applied since cut into a window, indexed since owed.",
    ["stage"],
    buckets=_LAG_SECONDS,
)
TASK_DURATION = Histogram(
    "afterturn_task_duration_seconds", "Run time of a task.", ["task", "outcome"], buckets=_TASK_SECONDS
)
TASK_RETRIES = Counter("afterturn_task_retries_total", "Attempts put off until later.", ["task"])
CONFLICTS = Counter("afterturn_conflicts_total", "Decisions on a slot with a value.", ["decision"])
REVIEWS = Counter("afterturn_reviews_total", "Statements that a person, or their user, decided on.", ["verdict"])

# What it costs: read from SQL, since the workers that spend it cannot be scraped
LLM_CALLS = Reading(
    "afterturn_llm_today_calls", "Requests to the model since midnight UTC.", ["tenant", "model", "stage"]
)
LLM_TOKENS = Reading(
    "afterturn_llm_today_tokens", "Tokens billed since midnight UTC.", ["tenant", "model", "stage", "direction"]
)
LLM_COST = Reading("afterturn_llm_today_cost_usd", "Estimated spend since midnight UTC.", ["tenant", "model", "stage"])
LLM_DURATION = Histogram(
    "afterturn_llm_duration_seconds", "Time of a call.", ["operation", "outcome"], buckets=_CALL_SECONDS
)
LLM_ERRORS = Counter("afterturn_llm_errors_total", "Model calls that gave no usable answer.", ["code"])

# What is asked
RECALL_DURATION = Histogram("afterturn_recall_duration_seconds", "Time to a pack.", buckets=_RECALL_SECONDS)
RECALL_STAGE = Histogram(
    "afterturn_recall_stage_duration_seconds", "Time of a part of a recall.", ["stage"], buckets=_RECALL_SECONDS
)
RECALL_EMPTY = Counter("afterturn_recall_empty_total", "Recalls that found nothing worth saying.")
RECALL_PRIMARY = Counter(
    "afterturn_recall_primary_reads_total", "Reads of recall that the replica should have answered.", ["reason"]
)
RECALL_DEGRADED = Counter("afterturn_recall_degraded_total", "Recalls that left a part out.", ["missing"])

# What keeps it running
RESTARTS = Counter("afterturn_process_restarts_total", "Processes that the supervisor started again.", ["role"])
