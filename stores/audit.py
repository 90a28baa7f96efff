"""Whether every account adds up: receptions, events, windows, memories, index. Reads only, in bounded memory.

Each rule is a question for the rows that break it, so that a difference always names ids. On a service at rest the
answer is exact; on one at work, `running` leaves out what is owed to the index at the moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from sqlalchemy import func
from sqlmodel import Session, col, select

from memory.procedures import ProcedurePolicy
from schemas.delivery import EventState
from schemas.tables import DeadLetter, OutboxRow, Tenant
from stores import dead, ledger
from stores.auditing.events import ledger_checks
from stores.auditing.index import index_checks
from stores.auditing.memories import memory_checks
from stores.auditing.reading import ROWS, Checks
from stores.auditing.windows import window_checks
from stores.index import Index
from stores.ledger import Tally
from stores.sql import Database

IDS_SHOWN = 20
LETTERS_SHOWN = 100
_REFUSED = (EventState.REJECTED.value, EventState.DEAD.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A rule that does not hold: how often, and where. `ids` are the first few; `check` is the rule's stable name."""

    check: str
    tenant_id: UUID | None
    count: int
    ids: tuple[str, ...] = ()
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One tenant's two equations. `waiting` is what the ledger calls stored: kept, and not digested yet."""

    tenant_id: UUID
    name: str
    receptions: Tally
    states: dict[str, int]

    @property
    def received(self) -> int:
        """Every reception: stored + duplicate + rejected + dead."""
        return sum(self.receptions)

    @property
    def waiting(self) -> int:
        """Events that a window will take."""
        return self.states.get(EventState.STORED, 0)

    @property
    def kept(self) -> int:
        """What was stored: waiting + digested + applied + dead_window + erased + purged."""
        return sum(count for state, count in self.states.items() if state not in _REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A dead letter that nobody has dealt with."""

    id: UUID
    tenant_id: UUID | None
    kind: str
    key: str
    error_code: str
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found. `owed` counts index writes that wait; `letters` are the oldest of `letter_count`."""

    accounts: tuple[Account, ...]
    differences: tuple[Difference, ...]
    letters: tuple[Letter, ...]
    letter_count: int
    owed: int
    checked: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def is_clean(self) -> bool:
        """No rule is broken."""
        return not self.differences


def audit(db: Database, index: Index, *, procedures: ProcedurePolicy | None = None, running: bool = False) -> Audit:
    """Checks every tenant, all SQL in one snapshot. Raises: StoreBusy.

    `running`: work goes on meanwhile, so what the index is owed is counted but is no difference.
    """
    policy = procedures or ProcedurePolicy()
    accounts: list[Account] = []
    found: list[Difference] = []
    checked: dict[str, int] = {}
    with db.read() as session:
        tenants = session.exec(select(Tenant.id, Tenant.name).order_by(col(Tenant.name))).all()
        for tenant_id, name in tenants:
            account = Account(
                tenant_id=tenant_id,
                name=name,
                receptions=ledger.receptions(session, tenant_id),
                states=ledger.states(session, tenant_id),
            )
            accounts.append(account)
            found += _equations(account)
            checks = {
                **ledger_checks(session, tenant_id),
                **window_checks(session, tenant_id),
                **memory_checks(session, tenant_id, policy),
                **index_checks(session, index, tenant_id),
            }
            if not running:
                checks["outbox"] = _owed(session, tenant_id)
            found += _differences(checks, tenant_id, checked)
        found += _differences({"foreign_row": _of_no_tenant(session)}, None, checked)
        letters = dead.waiting(session, limit=LETTERS_SHOWN)
        return Audit(
            accounts=tuple(accounts),
            differences=tuple(found),
            letters=tuple(_letter(row) for row in letters),
            letter_count=_letter_count(session),
            owed=session.exec(select(func.count()).select_from(OutboxRow)).one(),
            checked=checked,
        )


def _equations(account: Account) -> Iterator[Difference]:
    """Receptions against the ledger. What was rejected or dead at first may have been kept when it came again."""
    told, states = account.receptions, account.states
    pairs = (
        ("receptions_stored", told.stored, account.kept, told.stored != account.kept),
        ("receptions_rejected", told.rejected, states.get("rejected", 0), told.rejected < states.get("rejected", 0)),
        ("receptions_dead", told.dead, states.get("dead", 0), told.dead < states.get("dead", 0)),
    )
    for check, received, entered, is_broken in pairs:
        if is_broken:
            yield Difference(
                check=check,
                tenant_id=account.tenant_id,
                count=abs(received - entered),
                found=f"{received} received, {entered} in the ledger",
            )


def _differences(checks: Checks, tenant_id: UUID | None, checked: dict[str, int]) -> Iterator[Difference]:
    for check, broken in checks.items():
        checked[check] = checked.get(check, 0) + 1
        shown, count = _first(broken)
        if count:
            yield Difference(check=check, tenant_id=tenant_id, count=count, ids=shown)


def _first(broken: Iterable[str]) -> tuple[tuple[str, ...], int]:
    rest = iter(broken)
    shown = tuple(islice(rest, IDS_SHOWN))
    return shown, len(shown) + sum(1 for _ in rest)


def _owed(session: Session, tenant_id: UUID) -> Iterator[str]:
    query = select(OutboxRow).where(OutboxRow.tenant_id == tenant_id).order_by(col(OutboxRow.created_at))
    for row in session.exec(query.execution_options(yield_per=ROWS)):
        yield f"{row.kind} {row.record_id} {row.error_code or 'due'}"


def _of_no_tenant(session: Session) -> Iterator[str]:
    known = select(Tenant.id)
    for row in session.exec(select(OutboxRow).where(col(OutboxRow.tenant_id).not_in(known))):
        yield f"outbox {row.id}"


def _letter(row: DeadLetter) -> Letter:
    return Letter(
        id=row.id,
        tenant_id=row.tenant_id,
        kind=row.kind,
        key=row.key,
        error_code=row.error_code,
        attempts=row.attempts,
    )


def _letter_count(session: Session) -> int:
    kinds = (dead.BATCH, dead.EVENT, dead.WINDOW)
    query = select(func.count()).where(col(DeadLetter.kind).in_(kinds), col(DeadLetter.resolved_at).is_(None))
    return session.exec(query).one()
