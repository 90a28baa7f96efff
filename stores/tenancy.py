"""Who is there: tenants, the keys of their agents, and their users by keyed hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select
from sqlmodel import Session, col

from afterturn.credentials import Credential, new_credential, parse_credential, seal_key
from schemas.envelopes import enclose, keyed_hash
from schemas.errors import BadInput, Forbidden, NotFound
from schemas.tables import Key, Tenant, User
from stores.sql import insert_once

RIGHTS = frozenset({"publish", "recall", "staff", "review", "erase", "admin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyInfo:
    """Whom a credential stands for and what it may do. `agent_id` is None when the key fixes no agent."""

    tenant_id: UUID
    key_id: str
    agent_id: str | None
    rights: frozenset[str]
    hash_key: bytes

    def require(self, right: str) -> None:
        """Raises: Forbidden when the key lacks the right."""
        if right not in self.rights:
            msg = f"key {self.key_id} lacks the right {right}"
            raise Forbidden(msg)
