"""Reads off a window how a procedure fared in it: one outcome a deciding event."""

from __future__ import annotations

from memory.procedures import verdict as verdict_of
from schemas.drafts import WindowDraft
from stores import procedures
from stores.procedures import Outcome
from tasks import outcomes
from tasks.work import Work


def count(work: Work, draft: WindowDraft) -> str | None:
    """Keeps the window's outcome; the procedure's name, or None when none was used or nothing shows how it went.

    A procedure comes to be by what agents run, never by a name that a model gives. Repeat: an event counts once.
    """
    policy = work.kit.policies.procedures
    found = verdict_of(work.said, draft.procedure, policy)
    if found is None:
        return None
    session, claim = work.session, work.claim
    decided = next(turn for turn in work.said if turn.event_id == found.event_id)
    if any(turn.procedure_name == found.name for turn in work.said):
        version = procedures.named(
            session,
            claim.tenant_id,
            found.name,
            found.version,
            new_id=work.kit.new_id,
            now=work.now,
            language=decided.language,
        )
    else:
        version = procedures.known(session, claim.tenant_id, found.name, found.version)
    if version is None:
        return None
    outcome = Outcome(
        event_id=found.event_id,
        user_ref=claim.user_ref,
        session_ref=claim.session_ref,
        succeeded=found.succeeded,
        source=found.source,
        weight=found.weight,
        at=decided.at,
        event_source=decided.source,
    )
    outcomes.note(session, version, outcome, policy=policy, new_id=work.kit.new_id)
    return found.name
