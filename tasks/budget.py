"""An attempt on a window within its tenant's budget: tokens are set aside before, what was used is noted after."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from schemas.errors import NotNow
from stores import budget
from stores.kit import Kit
from stores.waits import OVER_BUDGET
from stores.windows import Claim

logger = logging.getLogger(__name__)


@contextmanager
def within(kit: Kit, claim: Claim) -> Generator[None]:
    """Runs the block on reserved tokens. Raises: NotNow, before the block, when today's are spent.

    A block that fails has its reservation settled too; one whose process dies leaves it, and is charged in full.
    """
    limit = kit.settings.llm.daily_tokens
    if not limit or claim.is_answered or kit.settings.llm.is_offline:
        yield
        return
    answer_tokens = kit.settings.llm.max_output_tokens
    is_within = kit.db.write(
        lambda session: budget.reserve(
            session, claim.tenant_id, claim.window_id, claim.epoch, answer_tokens=answer_tokens, limit=limit
        )
    )
    if not is_within:
        with kit.db.read() as session:
            wait = budget.seconds_to_tomorrow(kit.db.now(session))
        raise NotNow(code=OVER_BUDGET, retry_after_seconds=wait)
    try:
        yield
    finally:
        kit.db.write(lambda session: budget.settle(session, claim.window_id, claim.epoch))
