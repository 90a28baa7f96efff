"""An error in the reader's language, as the command line and `doctor` say it."""

from __future__ import annotations

from memory.wording import reason_words
from schemas.errors import BadInput, NotFound, ServiceError
from schemas.fault_words import KINDS, fault_text
from workers.speech import tr


def said(exc: ServiceError) -> str:
    """What happened: contract reasons, messages and codes have their words, the rest speaks for itself."""
    language = tr("zh", "en")
    if isinstance(exc, BadInput):
        return f"{exc.field}: {fault_text(exc.reason, language)}"
    if isinstance(exc, NotFound) and exc.unsaid:
        nameless = tr(f"没有这个{KINDS[exc.kind]}", f"no {exc.kind} of that name")
        named = tr(f"没有{KINDS[exc.kind]} {exc.unsaid}", f"no {exc.kind} {exc.unsaid}")
        return fault_text(str(exc), language).replace(nameless, named, 1)
    if str(exc) != (type(exc).__doc__ or "").strip():
        return fault_text(str(exc), language)
    if exc.code == NotFound.code:
        return tr("该租户中没有这个对象。", str(exc))
    words = reason_words(exc.code, language)
    return str(exc) if words == exc.code else words
