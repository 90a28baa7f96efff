"""Why something was refused, from codes of the ingest and errors of pydantic, in the contract's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from afterturn.fields import fault_reason

_CODES: Mapping[str, str] = {
    "id_conflict": "is the id of another event",
    "forbidden": "needs the right staff, which this key does not have",
}


def code_reason(code: str | None, field: str | None) -> str:
    """The reason behind a code with which an event was rejected though nothing is wrong with its form."""
    if code == "forbidden" and field == "agent_id":
        return "is not the agent of this key"
    return _CODES.get(code or "", "is not valid")


def validation_fault(errors: list[dict[str, object]]) -> tuple[str, str]:
    """(field, reason) of the first of pydantic's errors. Its message is never used: some of them quote the value."""
    first = errors[0]
    loc = [str(part) for part in cast("tuple[object, ...]", first.get("loc", ()))]
    if loc and loc[0] in {"body", "query", "path", "header"}:
        loc = loc[1:] or loc
    context = cast("dict[str, object]", first.get("ctx", {}))
    return ".".join(loc), fault_reason(str(first.get("type")), context)
