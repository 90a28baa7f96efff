"""From the text that a model wrote to a `WindowDraft`, however it was wrapped.

Never raises anything but BadAnswer, and no message of one quotes the text. What it finds inside is only well-formed;
whether it is true is for verification.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from pydantic import ValidationError

from llm.completion import Completion, Object, as_object
from schemas.drafts import EntityDraft, FactDraft, ProcedureDraft, WindowDraft
from schemas.errors import BadAnswer, ModelBusy

# Bounds on what an answer may hold; what is longer is cut (strings) or dropped and counted (items).
MAX_CHARS = 8000
MAX_ITEMS = 300
_MAX_STARTS = 40
_MAX_PROBLEMS = 8

_FIELDS = frozenset(WindowDraft.model_fields)
_KNOWN = {
    "facts": frozenset(FactDraft.model_fields),
    "entities": frozenset(EntityDraft.model_fields),
    "procedure": frozenset(ProcedureDraft.model_fields),
}
_TEXTS = ("outcome_turns", "tags")
_RECORDS = ("entities", "facts")
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am) (?:very |so |really )?(?:sorry|unable)|sorry"
    r"|i (?:can(?:no|['’]?)t|won['’]?t|must decline)|as an ai"
    r"|(?:很|非常|真的)?(?:抱歉|对不起|遗憾)|我(?:无法|不能|没办法)"
    r"|作为(?:一个|一名)?(?:ai|人工智能))",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\s*[\[(]?[tT]?\s*(\d{1,4})[\])]?\s*")
# A string that never ends is matched too: tried again from each of its escaped quotes, it would cost a square.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+("|\\?\Z)', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A draft, and how many of its items had to be left out because they were malformed."""

    draft: WindowDraft
    dropped: int = 0


class Undecodable(BadAnswer):
    """An answer that holds no usable draft. `problems` says what to do better; it names fields, never their values.

    `again`: asking once more, with the problems, can help.
    """

    code = "invalid"

    def __init__(self, code: str, message: str, *, again: bool, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, code=code)
        self.again = again
        self.problems = problems


def decode(completion: Completion, *, lenient: bool = False) -> Decoded:
    """The draft of a completion.

    `lenient` leaves malformed facts, entities and procedures out instead of refusing the whole answer.
    Raises: Undecodable with code refused, content_filter, truncated, empty or invalid; ModelBusy `bad_response` when
    the text is a gateway's HTML page.
    """
    if completion.refused:
        raise Undecodable("refused", "the model refused to answer", again=False)
    if completion.finish_reason == "content_filter":
        raise Undecodable("content_filter", "the model's content filter stopped the answer", again=False)
    if completion.finish_reason == "length":
        # Also when the JSON could be closed by repair: the end of its lists would be missing silently.
        raise _truncated()
    # Some servers put the whole answer where thoughts belong; thoughts beside an answer are never read.
    return decode_text(completion.content if completion.content.strip() else completion.reasoning, lenient=lenient)


def decode_text(text: str, *, lenient: bool = False) -> Decoded:
    """The draft inside a text: fences, talk and thoughts around it are ignored. Raises: as `decode`."""
    text = _without_thoughts(text.strip().lstrip("\ufeff"))
    if not text:
        raise Undecodable("empty", "the model's answer is empty", again=True, problems=("the answer was empty",))
    found = _find_draft(text)
    if found is None:
        raise _why_none(text)
    tidy, dropped = _tidied(found)
    return _validated(tidy, dropped, lenient=lenient)


def _without_thoughts(text: str) -> str:
    if text.startswith("{"):
        return text
    # Templates that open the thought themselves leave a closing tag alone.
    return _THOUGHT_END.split(_THOUGHT.sub("", text))[-1].strip()


def _find_draft(text: str) -> Object | None:
    """The first JSON object that looks like a draft, else the first JSON object, else None."""
    other: Object | None = None
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            break
        try:
            value, end = cast("tuple[object, int]", _DECODER.raw_decode(text, start))
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found = as_object(value)
            # Some models wrap the answer once more: {"result": {...}}.
            for candidate in (found, *map(as_object, found.values())):
                if "summary" in candidate or "facts" in candidate:
                    return candidate
            other = other or found or None
        start = text.find("{", end)
    # An inner object of an answer that was cut off is no answer.
    return None if _is_cut(text) else other


def _is_cut(text: str) -> bool:
    """Whether the text ends inside its first JSON object."""
    start = text.find("{")
    if start < 0:
        return False
    depth = 0
    for char in _STRING.sub(lambda string: "" if string[1] == '"' else '"', text[start:]):
        if char == '"':
            # An unescaped quote inside a string also looks like this, but then the answer has its last brace.
            return not text.rstrip("` \n").endswith("}")
        depth += (char in "{[") - (char in "}]")
        if depth == 0 and char in "}]":
            return False
    return True


def _why_none(text: str) -> Undecodable | ModelBusy:
    head = text[:200].lstrip().lower()
    if head.startswith(("<!doctype", "<html")):
        return ModelBusy("the model's endpoint answered with a web page", code="bad_response")
    if _is_cut(text):
        return _truncated()
    problems = ("the answer was not one JSON object",)
    if "{" not in text and _REFUSAL.match(text):
        return Undecodable("refused", "the model refused to answer", again=True, problems=problems)
    return Undecodable("invalid", "the model's answer is no JSON object", again=True, problems=problems)


def _truncated() -> Undecodable:
    problems = ("the answer was cut off: write fewer words",)
    return Undecodable("truncated", "the model's answer is cut off", again=False, problems=problems)


def _tidied(found: Object) -> tuple[Object, int]:
    """Known fields only, texts cleaned and bounded, null lists emptied; and how many items went over the bound."""
    tidy: Object = {name: _clean(value) for name, value in found.items() if name in _FIELDS}
    dropped = 0
    for name in (*_TEXTS, *_RECORDS):
        items = tidy.get(name)
        if items is None:
            tidy[name] = []
        elif isinstance(items, list):
            kept = cast("list[object]", items)[:MAX_ITEMS]
            dropped += len(cast("list[object]", items)) - len(kept)
            tidy[name] = [_record(name, item) for item in kept]
    if tidy.get("procedure") is not None:
        tidy["procedure"] = _record("procedure", tidy["procedure"])
    return tidy, dropped


def _record(name: str, item: object) -> object:
    if name == "outcome_turns":
        return _label(item)
    if not isinstance(item, dict):
        return item
    known = _KNOWN.get(name, frozenset())
    record: Object = {field: value for field, value in as_object(cast("object", item)).items() if field in known}
    if "turn" in record:
        record["turn"] = _label(record["turn"])
    turns = record.get("turns", [])
    if name == "procedure":
        record["turns"] = [_label(turn) for turn in cast("list[object]", turns)] if isinstance(turns, list) else []
    return record


def _label(value: object) -> object:
    """`3`, `T3` and `[t3]` all mean t3; anything else stays as it is."""
    match = _LABEL.fullmatch(str(value)) if isinstance(value, int | str) else None
    return f"t{int(match[1])}" if match else value


def _clean(value: object, depth: int = 4) -> object:
    """Strings without lone surrogates and NULs, which neither UTF-8 nor PostgreSQL can hold; numbers as text.

    No draft nests deeper than `depth`; what does is no part of one, and would only exhaust the stack.
    """
    if isinstance(value, str):
        return value[:MAX_CHARS].encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
    if isinstance(value, list | dict) and depth == 0:
        return None
    if isinstance(value, list):
        return [_clean(item, depth - 1) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _clean(item, depth - 1) for name, item in cast("Object", value).items()}
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _validated(tidy: Object, dropped: int, *, lenient: bool) -> Decoded:
    try:
        return Decoded(WindowDraft.model_validate(tidy), dropped)
    except ValidationError as error:
        places = [problem["loc"] for problem in error.errors(include_input=False, include_url=False)]
        problems = tuple(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)[:_MAX_PROBLEMS]
        )
    if lenient and all(place and place[0] in (*_TEXTS, *_RECORDS, "procedure") for place in places):
        return _validated(*_without_malformed(tidy, places, dropped), lenient=False)
    raise Undecodable("invalid", "the model's answer does not fit its schema", again=True, problems=problems)


def _without_malformed(tidy: Object, places: list[tuple[int | str, ...]], dropped: int) -> tuple[Object, int]:
    bad: dict[str, set[int]] = {}
    for place in places:
        bad.setdefault(str(place[0]), set()).update(index for index in place[1:2] if isinstance(index, int))
    kept = dict(tidy)
    for name, indexes in bad.items():
        items = tidy[name]
        if name == "procedure" or not isinstance(items, list):
            kept[name] = None if name == "procedure" else []
            dropped += 1
            continue
        kept[name] = [item for index, item in enumerate(cast("list[object]", items)) if index not in indexes]
        dropped += len(indexes)
    return kept, dropped
