"""What a question is refused for before anything is sent: by the argument's name, and nothing else is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afterturn import BadCredential, BadEvent, BadSetting, recall, why
from afterturn.credentials import generate_credential

KEY = generate_credential().text()


@pytest.mark.parametrize("ask", [why, recall])
@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"key": 5}, BadCredential, "key: must be a string"),
        ({"key": b"at_"}, BadCredential, "key: must be a string"),
        ({"url": 5}, BadSetting, "url: must be a string"),
        ({"url": b"http://h"}, BadSetting, "url: must be a string"),
    ],
)
def test_a_key_or_url_that_is_no_text_is_refused(
    ask: Callable[..., Any], given: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ask("Lyon", user="u1", **{"key": KEY, **given})


@pytest.mark.parametrize(
    ("ask", "name"),
    [(why, name) for name in ("user", "start", "session", "ticket", "agent")]
    + [(recall, name) for name in ("user", "session", "thread", "ticket", "agent")],
)
def test_a_wrong_argument_is_called_what_the_caller_calls_it(ask: Callable[..., Any], name: str) -> None:
    given: dict[str, Any] = {"user": "u1", name: 5}

    with pytest.raises(BadEvent) as wrong:
        ask("Lyon", key=KEY, **given)

    assert (wrong.value.field, wrong.value.reason) == (name, "must be a string")


@pytest.mark.parametrize("name", ["scopes", "kinds", "tags"])
@pytest.mark.parametrize("values", [5, None, "user"])
def test_what_is_no_list_is_refused_by_name(name: str, values: object) -> None:
    given: dict[str, Any] = {name: values}

    with pytest.raises(BadEvent) as wrong:
        recall("Lyon", user="u1", key=KEY, **given)

    assert (wrong.value.field, wrong.value.reason) == (name, "must be a list")
