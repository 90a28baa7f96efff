"""Every table, and the metadata that the migrations compare with."""

from sqlmodel import SQLModel

from schemas.delivery import DeadLetter, LedgerEntry, Observation, Reception, Session, Turn, Window
from schemas.knowledge import KnowledgeVersion, Triple
from schemas.memories import (
    Draft,
    Episode,
    Evidence,
    Fact,
    FactDecision,
    Moment,
    Procedure,
    ProcedureOutcome,
    ProcedureVersion,
    Span,
    StatePatch,
    WorkingState,
)
from schemas.operations import (
    Circuit,
    ClockOffset,
    IndexGeneration,
    IndexState,
    Job,
    Operation,
    OutboxRow,
    Reservation,
    Spending,
)
from schemas.reviews import Policy, Review, Undo
from schemas.tenancy import Key, Tenant, User

metadata = SQLModel.metadata

__all__ = [
    "Circuit",
    "ClockOffset",
    "DeadLetter",
    "Draft",
    "Episode",
    "Evidence",
    "Fact",
    "FactDecision",
    "IndexGeneration",
    "IndexState",
    "Job",
    "Key",
    "KnowledgeVersion",
    "LedgerEntry",
    "Moment",
    "Observation",
    "Operation",
    "OutboxRow",
    "Policy",
    "Procedure",
    "ProcedureOutcome",
    "ProcedureVersion",
    "Reception",
    "Reservation",
    "Review",
    "Session",
    "Span",
    "Spending",
    "StatePatch",
    "Tenant",
    "Triple",
    "Turn",
    "Undo",
    "User",
    "Window",
    "WorkingState",
    "metadata",
]
