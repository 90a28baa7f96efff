"""What is wrong with a setting, where inside it, and what is allowed. Never what it was set to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from pydantic import ValidationError

_NOUNS = {"integer": "a whole number", "number": "a number"}
_KEY_CHARS = 64


def first_fault(exc: ValidationError, schema: Mapping[str, Any], known: Sequence[str], prefix: str) -> str:
    """`NAME["place"]: what must be` of the first fault; `schema` is the settings' own JSON schema."""
    error = exc.errors(include_url=False, include_input=False)[0]
    loc = [str(part) for part in error["loc"]]
    found = [_resolved(schema, schema)]
    for part in loc:
        found.append(_inside(found[-1], part, schema))
    is_area = len(loc) > 1 and "default" in schema["properties"].get(loc[0], {}) and "properties" in found[1]
    depth = 2 if is_area else 1
    name = prefix + "_".join(loc[:depth]).upper()
    places = [part for part in loc[depth:] if part != "[key]"]
    where = name + "".join(f"[{json.dumps(part[:_KEY_CHARS], ensure_ascii=False)}]" for part in places)
    if error["type"] == "contract":
        return f"{where}: {error.get('ctx', {})['reason']}"
    if error["type"] == "extra_forbidden" and len(loc) <= depth:
        return f"{name}: {unknown(name, known)}"
    if error["type"] == "extra_forbidden":
        return f"{where}: {_no_field(found[-2]['properties'])}"
    if loc[-1] == "[key]":
        return f"{where}: {_no_field(found[-3]['propertyNames']['enum'])}"
    return f"{where}: {'is required' if error['type'] == 'missing' else must(found[-1])}"


def unknown(name: str, known: Iterable[str]) -> str:
    """That there is no setting of that name, and the one that was probably meant."""
    near = nearest(name, known)
    return "there is no such setting" if near is None else f"there is no such setting; did you mean {near}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that begins like it or is spelt most alike; None when none is near."""
    prefix = name[: name.index("_") + 1] if "_" in name else ""
    rest, rests = name.removeprefix(prefix), [one.removeprefix(prefix) for one in known]
    near = [one for one in rests if one.startswith(f"{rest}_")] or get_close_matches(rest, rests, n=1, cutoff=0.65)
    return prefix + near[0] if near else None


def must(schema: Mapping[str, Any]) -> str:
    """What a value has to be, as its JSON schema says it."""
    if "must" in schema:
        return f"must be {schema['must']}"
    if "enum" in schema:
        return f"must be one of {', '.join(str(one) for one in schema['enum'])}"
    kind = schema.get("type")
    if kind in _NOUNS:
        return f"must be {_NOUNS[kind]}{_bounds(schema)}"
    return {"boolean": "must be true or false", "object": "must be a JSON object"}.get(str(kind), "is not valid")


def broken_json(texts: Mapping[str, str], complex_names: Iterable[str], areas: Mapping[str, str]) -> str | None:
    """The first of these variables whose text is no JSON, and where it breaks.

    `areas` are names that only others begin with, each with one of those.
    """
    for name in (*complex_names, *areas):
        try:
            cast("object", json.loads(texts.get(name) or "{}"))
        except json.JSONDecodeError as exc:
            if name in areas:
                return f"{name}: is no setting, others begin like it: {areas[name]}"
            return f"{name}: must be JSON, and is none from line {exc.lineno}, column {exc.colno}"
    return None


def _bounds(schema: Mapping[str, Any]) -> str:
    least, above, most = (schema.get(name) for name in ("minimum", "exclusiveMinimum", "maximum"))
    if above is not None:
        return f" above {_plain(above)}" + ("" if most is None else f", at most {_plain(most)}")
    if least is not None:
        return f" of at least {_plain(least)}" if most is None else f" from {_plain(least)} to {_plain(most)}"
    return ""


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _no_field(known: Iterable[str]) -> str:
    return f"is no field here; known are {', '.join(known)}"


def _inside(schema: Mapping[str, Any], part: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    return _resolved(properties.get(part, rest if isinstance(rest, dict) else {}), root)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without references, and without the null that stands for unset."""
    if "$ref" in schema:
        return _resolved(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for one in schema.get("anyOf", ()):
        if one.get("type") != "null":
            return _resolved({**one, **{name: schema[name] for name in ("must",) if name in schema}}, root)
    return schema
