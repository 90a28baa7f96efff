"""Every table, and the metadata that the migrations compare with."""

from sqlmodel import SQLModel

from schemas.delivery import DeadLetter, LedgerEntry, Observation, Reception, Session, Turn, Window
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
from schemas.operations import ClockOffset, Job, Operation, OutboxRow
from schemas.tenancy import Key, Tenant, User

metadata = SQLModel.metadata

__all__ = [
    "ClockOffset",
    "DeadLetter",
    "Draft",
    "Episode",
    "Evidence",
    "Fact",
    "FactDecision",
    "Job",
    "Key",
    "LedgerEntry",
    "Moment",
    "Observation",
    "Operation",
    "OutboxRow",
    "Procedure",
    "ProcedureOutcome",
    "ProcedureVersion",
    "Reception",
    "Session",
    "Span",
    "StatePatch",
    "Tenant",
    "Turn",
    "User",
    "Window",
    "WorkingState",
    "metadata",
]
