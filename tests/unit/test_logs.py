"""Log lines: JSON, with ids, and without anything that a user wrote."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import pytest

from schemas.errors import StoreBusy
from stores.logcontext import bound, current
from workers.logs import JsonLines

TEXT = "I live at 5 rue Pasteur"


def test_a_line_is_json_with_its_ids_and_fields() -> None:
    with bound(task_id="t1"), bound(session_ref="s1"):
        line = written("tasks.digest", logging.INFO, "digest saved", extra={"turn_count": 3})

    assert line["message"] == "digest saved"
    assert (line["task_id"], line["session_ref"], line["turn_count"]) == ("t1", "s1", 3)
    assert line["level"] == "INFO"
    assert line["at"].endswith("+00:00")
    assert "\n" not in json.dumps(line)


def test_ids_end_with_their_block_and_stay_on_their_thread() -> None:
    seen: list[object] = []
    with bound(task_id="t1"):
        other = threading.Thread(target=lambda: seen.append(dict(current())))
        other.start()
        other.join()

    assert seen == [{}]
    assert dict(current()) == {}


@pytest.mark.parametrize(
    ("logger", "template", "args", "kept"),
    [
        ("celery.worker.consumer", "Unknown message\n\nbody: %s", (TEXT,), "Unknown message"),
        ("celery.app.trace", "Task %(id)s: %(exc)s\n%(t)s", ({"id": "n", "exc": TEXT, "t": TEXT},), "Task ...: ..."),
        ("kombu.x", "gave up after %d tries: %s", (3, ValueError(TEXT)), "gave up after 3 tries: ValueError"),
        ("kombu.x", "bad %d", (TEXT,), "bad %d"),
        ("py.warnings", "%s", (f"/a/b.py:7: UserWarning: {TEXT}\n  code\n",), "/a/b.py:7: UserWarning"),
    ],
)
def test_what_a_library_warns_of_keeps_its_fixed_part(
    logger: str, template: str, args: tuple[object, ...], kept: str
) -> None:
    line = written(logger, logging.ERROR, template, args)

    assert line["message"] == kept
    assert TEXT not in json.dumps(line)


def test_an_errors_text_shows_only_where_it_is_ours() -> None:
    ours = failing(StoreBusy("the broker does not answer"))
    foreign = failing(ValueError(f"invalid literal: {TEXT!r}"))

    assert ours["error"] == "StoreBusy: the broker does not answer"
    assert foreign["error"] == "ValueError"
    assert any("test_logs.py" in frame for frame in foreign["trace"])
    assert TEXT not in json.dumps(foreign)


def test_the_cause_of_an_error_is_named() -> None:
    try:
        try:
            raise ValueError(TEXT)
        except ValueError as exc:
            raise StoreBusy("busy") from exc
    except StoreBusy as caught:
        line = failing(caught)

    assert "from ValueError" in line["trace"]
    assert TEXT not in json.dumps(line)


def written(
    logger: str, level: int, template: str, args: tuple[object, ...] = (), extra: dict[str, object] | None = None
) -> dict[str, Any]:
    record = logging.getLogger(logger).makeRecord(logger, level, __file__, 1, template, args, None, extra=extra)
    line: dict[str, Any] = json.loads(JsonLines().format(record))
    return line


def failing(error: Exception) -> dict[str, Any]:
    try:
        raise error
    except Exception as caught:
        info = (type(caught), caught, caught.__traceback__)
    record = logging.getLogger("tasks.x").makeRecord("tasks.x", logging.ERROR, __file__, 1, "failed", (), info)
    line: dict[str, Any] = json.loads(JsonLines().format(record))
    return line
