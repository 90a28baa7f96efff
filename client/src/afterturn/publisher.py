"""The agent's side: say what happened in microseconds, and never wait for the broker.

A call checks its arguments by hand, numbers the event and appends it to a buffer; a daemon thread does the rest. A
wrong argument raises at once (BadEvent, a ValueError that names the field); nothing else ever does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, Unpack
from uuid import UUID

from afterturn.arguments import (
    EventOptions,
    add_texts,
    copied,
    listed,
    note_fault,
    one_of,
    procedure_ref,
    require,
    tool_use,
    true_or_false,
    uuid_fault,
)
from afterturn.errors import BadEvent
from afterturn.limits import id_fault, name_fault, patch_fault, text_fault
from afterturn.outlet import Outlet

if TYPE_CHECKING:
    from afterturn.masking import Json

_ROLES = frozenset({"user", "assistant", "tool", "staff", "system"})
_OUTCOMES = frozenset({"success", "failure", "unknown"})
_VERDICTS = frozenset({"right", "wrong", "outdated"})
_REMEMBER_SCOPES = frozenset({"thread", "ticket", "user", "organization"})
_STATE_SCOPES = frozenset({"session", "thread", "ticket"})


class Publisher(Outlet):
    """Publishes events of one agent. Make one per process, early, and share it between threads.

    key: default `AFTERTURN_KEY`. url: the broker, default `AFTERTURN_BROKER_URL`. agent: default of agent=.
    durability: what becomes of an event before a worker's receipt for it. "memory": it stays in this process, and
    survives any loss in the broker; a killed process loses it. "spool": it is on disk, sealed, when the call returns,
    and the next process sends it; a power cut may lose the last seconds, for nothing is synced.
    max_events, max_bytes: what memory may hold. Beyond it, "memory" refuses new events and "spool" leaves them on disk.
    spool: the folder, default `spool` in AFTERTURN_HOME; on a local disk. spool_bytes: beyond that, or on a full disk,
    new events are refused. Whatever is refused is counted in `stats().refused`.
    on_reject: called with (event id, code, field) for each event that the service did not keep; in the publisher's own
    thread, so it must be quick.
    exit_seconds: how long the end of the process may wait for delivery; what is left is counted on stderr.
    Raises: BadCredential, BadSetting. Every other method returns whatever the broker does.
    """

    def turn(
        self,
        user: str,
        session: str,
        role: str,
        content: str,
        *,
        name: str | None = None,
        tool: str | Mapping[str, object] | None = None,
        ok: bool | None = None,
        procedure: str | tuple[str, int] | None = None,
        actor: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """Something was said. role: user, assistant, tool, staff (needs actor=) or system. Answers the event's id.

        tool: a tool's name or {"name", "call_id", "arguments"}; ok: whether its call succeeded; the content of a
        tool's turn is its result. procedure: the one in use, by name or (name, version).
        """
        if role not in _ROLES:
            one_of("role", role, _ROLES)
        if content != "" or tool is None or role != "assistant":  # A model may call a tool without a word.
            reason = text_fault(content)
            if reason is not None:
                raise BadEvent("content", reason)
        if role == "staff" and actor is None:
            raise BadEvent("actor", "is required for role staff")
        own: dict[str, Json] = {}
        if name is not None or actor is not None:
            add_texts(own, name_fault, name=name)
            add_texts(own, id_fault, actor_id=actor)
        if tool is not None or ok is not None:
            own["tool"] = tool_use(tool, ok)
        if procedure is not None:
            own["procedure"] = procedure_ref(procedure)
        return self._accept("turn", user, session, own, options, role=role, content=content)

    def remember(
        self,
        user: str,
        session: str,
        content: str,
        *,
        scope: Literal["thread", "ticket", "user", "organization"] = "user",
        key: str | None = None,
        actor: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """A wish that something be remembered; it passes the same gate as everything else."""
        require("content", content, text_fault)
        one_of("scope", scope, _REMEMBER_SCOPES)
        own: dict[str, Json] = {"scope": scope}
        add_texts(own, id_fault, key=key, actor_id=actor)
        _require_scope(scope, options)
        return self._accept("remember", user, session, own, options, content=content)

    def state(
        self,
        user: str,
        session: str,
        patch: Mapping[str, object],
        *,
        scope: Literal["session", "thread", "ticket"] = "session",
        **options: Unpack[EventOptions],
    ) -> str:
        """Patches the working state (`limits.STATE_FIELDS` and any others): fields replace, None removes."""
        one_of("scope", scope, _STATE_SCOPES)
        copy = copied("patch", patch)
        fault = patch_fault(copy)
        if fault is not None:
            raise BadEvent(f"patch.{fault[0]}".rstrip("."), fault[1])
        _require_scope(scope, options)
        return self._accept("state", user, session, {"scope": scope, "patch": copy}, options)

    def outcome(
        self,
        user: str,
        session: str,
        procedure: str | tuple[str, int],
        succeeded: bool,
        *,
        evidence: Iterable[str | UUID] = (),
        reason: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """A procedure was used, and it worked or not. evidence: ids of the events that show it."""
        true_or_false("succeeded", succeeded)
        own: dict[str, Json] = {"procedure": procedure_ref(procedure), "succeeded": succeeded}
        own["evidence"] = listed("evidence", evidence, uuid_fault)
        add_texts(own, note_fault, reason=reason)
        return self._accept("procedure_outcome", user, session, own, options)

    def approval(
        self,
        user: str,
        session: str,
        what: str,
        approved: bool,
        *,
        actor: str,
        reason: str | None = None,
        about: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """Somebody (actor) approved or refused something. about: the event or memory that was judged."""
        true_or_false("approved", approved)
        require("actor", actor, id_fault)
        own: dict[str, Json] = {"approved": approved}
        add_texts(own, note_fault, what=what, reason=reason)
        add_texts(own, id_fault, actor_id=actor, about=about)
        return self._accept("approval", user, session, own, options)

    def end(
        self,
        session: str,
        *,
        user: str,
        outcome: Literal["success", "failure", "unknown"] = "unknown",
        reason: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """The conversation is over: what is undigested of it becomes due at once."""
        one_of("outcome", outcome, _OUTCOMES)
        own: dict[str, Json] = {"outcome": outcome}
        add_texts(own, note_fault, reason=reason)
        return self._accept("session_ended", user, session, own, options)

    def ticket_closed(
        self,
        ticket: str,
        /,
        *,
        user: str,
        session: str,
        outcome: Literal["success", "failure", "unknown"] = "unknown",
        reason: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """The ticket is closed, which ends its working state."""
        one_of("outcome", outcome, _OUTCOMES)
        own: dict[str, Json] = {"outcome": outcome}
        add_texts(own, note_fault, reason=reason)
        options["ticket"] = ticket
        require("ticket", ticket, id_fault)
        return self._accept("ticket_closed", user, session, own, options)

    def feedback(
        self,
        user: str,
        session: str,
        memory_id: str,
        verdict: Literal["right", "wrong", "outdated"],
        *,
        correction: str | None = None,
        actor: str | None = None,
        **options: Unpack[EventOptions],
    ) -> str:
        """A memory of a pack is right, wrong or outdated."""
        require("memory_id", memory_id, id_fault)
        one_of("verdict", verdict, _VERDICTS)
        own: dict[str, Json] = {"memory_id": memory_id, "verdict": verdict}
        add_texts(own, note_fault, correction=correction)
        add_texts(own, id_fault, actor_id=actor)
        return self._accept("feedback", user, session, own, options)

    def accessed(self, user: str, session: str, memory_ids: Iterable[str], **options: Unpack[EventOptions]) -> str:
        """Memories that an answer cited (`PackItem.id`). Being in a pack is no use; being cited is."""
        ids = listed("memory_ids", memory_ids, id_fault)
        if not ids:
            raise BadEvent("memory_ids", "must not be empty")
        return self._accept("accessed", user, session, {"memory_ids": ids}, options)


def _require_scope(scope: str, options: EventOptions) -> None:
    if scope in ("thread", "ticket") and options.get(scope) is None:
        raise BadEvent(scope, f"is required for scope {scope}")
