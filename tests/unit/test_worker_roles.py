"""Each role keeps its own books at the broker, and every task has a queue that exactly one role serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stores.policies import policies_of
from stores.settings import Settings, load_settings
from tasks.app import PREFIX, QUEUES, ROUTES, configuration
from workers.beat import beat_schedule
from workers.life import role_configuration
from workers.roles import EMBEDDED, INDEX, INGEST, LLM, UPKEEP, Role

APART = (INGEST, LLM, INDEX, UPKEEP)
ALL = (*APART, EMBEDDED)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(home=tmp_path)


def _options(role: Role, settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = role_configuration(role, settings)["broker_transport_options"]
    return options


def test_no_two_roles_share_their_books_of_unacknowledged_messages(settings: Settings):
    keys = ("unacked_key", "unacked_index_key", "unacked_mutex_key")
    books = [_options(role, settings)[key] for role in ALL for key in keys]

    assert len(set(books)) == len(ALL) * 3


def test_every_role_reads_the_same_prefix(settings: Settings):
    assert {_options(role, settings)["global_keyprefix"] for role in ALL} == {PREFIX}


def test_every_queue_is_served_by_one_role():
    assert sorted(queue for role in APART for queue in role.queues) == sorted(QUEUES)
    assert sorted(EMBEDDED.queues) == sorted(set(QUEUES) - set(INGEST.queues))


def test_every_task_lives_in_a_module_of_the_role_that_serves_its_queue():
    for name, queue in ROUTES.items():
        module = f"tasks.{name.removeprefix('afterturn.')}"
        assert [role.name for role in APART if module in role.modules] == [
            role.name for role in APART if queue in role.queues
        ]


def test_a_message_is_never_delivered_again_while_its_lease_runs(settings: Settings):
    lease = policies_of(settings).windows.lease_seconds

    assert _options(LLM, settings)["visibility_timeout"] > lease
    assert _options(EMBEDDED, settings)["visibility_timeout"] > lease


def test_only_the_ingest_worker_obeys_nobody(settings: Settings):
    assert [role.name for role in ALL if not role.has_remote_control] == ["ingest"]
    assert not role_configuration(INGEST, settings)["worker_enable_remote_control"]


def test_two_processes_take_events_in_or_as_many_as_set(settings: Settings, tmp_path: Path):
    told = load_settings(home=tmp_path, workers={"ingest_processes": 3})

    assert role_configuration(INGEST, settings)["worker_concurrency"] == 2
    assert role_configuration(INGEST, told)["worker_concurrency"] == 3


def test_a_beat_entry_expires_with_its_interval(settings: Settings):
    for entry in beat_schedule(settings).values():
        assert entry["options"]["expires"] >= entry["schedule"]
        assert entry["options"]["queue"] == ROUTES[entry["task"]]


def test_messages_are_json_acknowledged_late_and_never_answered(settings: Settings):
    conf = configuration(settings)

    assert conf["accept_content"] == ["json"]
    assert conf["result_backend"] is None
    assert conf["task_acks_late"]
    assert conf["task_reject_on_worker_lost"]
    assert conf["worker_prefetch_multiplier"] == 1
    assert not conf["task_create_missing_queues"]
