"""The gate's policy of each tenant, version by version. Rows are only ever added; the newest one holds.

A tenant without one, or whose newest row has no content, is under the shipped rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from uuid import UUID

from sqlmodel import Session, col, select

from memory.policy import GatePolicy
from memory.policy_file import read
from schemas.envelopes import disclose, enclose
from schemas.errors import BadSettings
from schemas.tables import Policy
from stores.sql import insert_once

SHIPPED = Path(__file__).resolve().parent.parent / "deploy" / "policy.yaml"


def gate_of(session: Session, tenant_id: UUID, shipped: GatePolicy) -> GatePolicy:
    """The policy that judges this tenant's statements now. Raises: BadSettings for one that an older version wrote."""
    row = newest(session, tenant_id)
    return shipped if row is None or row.content is None else _read(disclose(row.content))


def newest(session: Session, tenant_id: UUID) -> Policy | None:
    """The row that holds."""
    return next(iter(history(session, tenant_id, limit=1)), None)


def history(session: Session, tenant_id: UUID, *, limit: int = 100) -> Sequence[Policy]:
    """All that held for a tenant, the newest first."""
    order = (col(Policy.set_at).desc(), col(Policy.id).desc())
    return session.exec(select(Policy).where(Policy.tenant_id == tenant_id).order_by(*order).limit(limit)).all()


def put(
    session: Session, tenant_id: UUID, text: str | None, *, version: str, policy_id: UUID, actor: str, now: datetime
) -> None:
    """Gives a tenant a policy that was read without a fault, or with None the shipped rules again."""
    row = Policy(
        id=policy_id,
        tenant_id=tenant_id,
        version=version,
        content=None if text is None else enclose(text),
        actor=actor,
        set_at=now,
    )
    insert_once(session, Policy, [row])


@lru_cache(maxsize=256)
def _read(text: str) -> GatePolicy:
    found = read(text)
    if found.policy is None:
        fault = found.faults[0]
        msg = f"a tenant's policy cannot be read: {fault.path} (line {fault.line}). Mend: ./afterturn policy set"
        raise BadSettings(msg)
    return found.policy
