"""An error in the reader's language, as the command line and `doctor` say it."""

from __future__ import annotations

from memory.wording import reason_words
from schemas.errors import BadInput, NotFound, ServiceError
from schemas.fault_words import KINDS, fault_text
from stores.settings import unknown_variables
from workers.speech import tell, tr


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


def unknown_settings() -> str:
    """The AFTERTURN_* names that are set and that nothing reads, with what may be meant; empty when there are none."""
    found = unknown_variables()
    named = (
        name + ("" if near is None else tr(f"（是否要写 {near}？）", f" (did you mean {near}?)"))
        for name, near in found.items()
    )
    return tr("没有这些设置：", "no such settings: ") + tr("、", ", ").join(named) if found else ""


def tell_unknown_settings() -> None:
    """Warns of them, as a process starts."""
    if found := unknown_settings():
        tell(f"注意：{found}", f"warning: {found}")
