"""The message around a sealed batch: Celery's protocol v2 as kombu's Redis transport stores it, written by hand.

A Celery worker takes it like any of its own; a test has a real one do so. Building it here costs a fifth of a publish
through kombu and needs no Celery in the agent. Source: docs.celeryq.dev, "Message Protocol", version 2.
"""

from __future__ import annotations

import json

TASK = "afterturn.ingest"
QUEUE = "ingest"
KEY_PREFIX = "afterturn:v1:"

_BLOB, _ID, _TAG = "<blob>", "<id>", "<tag>"
_SENT = ',"timestamp":0'


def wrap(blob: str, message_id: str, delivery_tag: str, sent_at: int | None = None) -> str:
    """The list element that carries `blob` (base64) as the task's one positional argument.

    Sent again, a message keeps its id and needs a delivery tag of its own: kombu books what is unacknowledged by tag.

    sent_at (Unix seconds) tells an operator how old the queue is: Celery's own messages do not say.
    The repr of the arguments is a constant: workers log it and Flower shows it, and no text may lie there.
    """
    sent = "" if sent_at is None else f',"timestamp":{sent_at}'
    element = _ELEMENT.replace(_ID, message_id).replace(_TAG, delivery_tag).replace(_SENT, sent)
    return element.replace(_BLOB, blob)


def _element() -> str:
    """The element with marks where messages differ: in ids, times and base64, none of which JSON would escape."""
    headers: dict[str, object] = {
        "lang": "py",
        "task": TASK,
        "id": _ID,
        "shadow": None,
        "eta": None,
        "expires": None,
        "group": None,
        "group_index": None,
        "retries": 0,
        "timelimit": [None, None],
        "root_id": _ID,
        "parent_id": None,
        "argsrepr": "<batch>",
        "kwargsrepr": "{}",
        "origin": "afterturn",
        "ignore_result": True,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }
    properties: dict[str, object] = {
        "correlation_id": _ID,
        "reply_to": "",
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": QUEUE},
        "priority": 0,
        # The blob is base64 already: kombu's own second base64 would cost 33 % and 2.4 us an event.
        "body_encoding": "utf-8",
        "delivery_tag": _TAG,
        "timestamp": 0,
    }
    body = f'[["{_BLOB}"],{{}},{{"callbacks":null,"errbacks":null,"chain":null,"chord":null}}]'
    return json.dumps(
        {
            "body": body,
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": headers,
            "properties": properties,
        },
        separators=(",", ":"),
    )


_ELEMENT = _element()
