"""Every metric, declared once. A user is never a label; a tenant is one only for spend, where the count is bounded.

Prefork children cannot be scraped: what they count goes through the API process or one exporter that reads SQL.
"""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

_LAG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600)
_TASK_SECONDS = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300)
_RECALL_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

# What waits
QUEUE_DEPTH = Gauge("afterturn_queue_depth", "Messages in the queue, all priorities.", ["queue"])
QUEUE_UNACKED = Gauge("afterturn_queue_unacked", "Messages taken and not acknowledged.", ["queue"])
OLDEST_EVENT_AGE = Gauge("afterturn_oldest_unprocessed_event_age_seconds", "Age of the oldest one waiting.", ["stage"])
DEAD_LETTERS = Gauge("afterturn_dead_letters", "Dead letters that nobody resolved.", ["reason"])
PENDING_REVIEWS = Gauge("afterturn_pending_reviews", "Memories that wait for a reviewer.")
OLDEST_REVIEW_AGE = Gauge("afterturn_pending_review_oldest_age_seconds", "Age of the oldest waiting review.")
INDEX_DRIFT = Gauge("afterturn_index_drift", "Records that differed from SQL at the last look.", ["kind"])
BEAT_SUCCESS = Gauge("afterturn_beat_last_success_timestamp_seconds", "When the job last succeeded.", ["job"])
SUSPECTS = Gauge("afterturn_suspect_windows", "Windows that wait to run alone, because a worker was lost over them.")
MODEL_OPEN = Gauge("afterturn_model_circuit_open", "1 while the model is left alone, 0 otherwise.")
OVER_BUDGET = Gauge("afterturn_over_budget_windows", "Windows that wait for their tenant's next day.")
BUDGET_LEFT = Gauge("afterturn_budget_remaining_ratio", "Share of today's tokens left.", ["tenant"])

# What is done
EVENTS = Counter("afterturn_events_total", "Events received, by what became of them.", ["outcome"])
EVENT_LAG = Histogram("afterturn_event_lag_seconds", "From publish to a stage.", ["stage"], buckets=_LAG_SECONDS)
TASK_DURATION = Histogram(
    "afterturn_task_duration_seconds", "Run time of a task.", ["task", "outcome"], buckets=_TASK_SECONDS
)
TASK_RETRIES = Counter("afterturn_task_retries_total", "Attempts put off until later.", ["task"])
CONFLICTS = Counter("afterturn_conflicts_total", "Decisions on a slot with a value.", ["decision"])
REVIEWS = Counter("afterturn_reviews_total", "Statements that a person, or their user, decided on.", ["verdict"])

# What it costs: read from SQL, since the workers that spend it cannot be scraped
LLM_CALLS = Gauge(
    "afterturn_llm_today_calls", "Requests to the model since midnight UTC.", ["tenant", "model", "stage"]
)
LLM_TOKENS = Gauge(
    "afterturn_llm_today_tokens", "Tokens billed since midnight UTC.", ["tenant", "model", "stage", "direction"]
)
LLM_COST = Gauge("afterturn_llm_today_cost_usd", "Estimated spend since midnight UTC.", ["tenant", "model", "stage"])
LLM_ERRORS = Counter("afterturn_llm_errors_total", "Model calls that gave no usable answer.", ["code"])

# What is asked
RECALL_DURATION = Histogram("afterturn_recall_duration_seconds", "Time to a pack.", buckets=_RECALL_SECONDS)
RECALL_EMPTY = Counter("afterturn_recall_empty_total", "Recalls that found nothing worth saying.")
RECALL_DEGRADED = Counter("afterturn_recall_degraded_total", "Recalls that left a part out.", ["missing"])

# What keeps it running
RESTARTS = Counter("afterturn_process_restarts_total", "Processes that the supervisor started again.", ["role"])
