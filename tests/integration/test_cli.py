"""The command line in its own process: languages, exit codes, data on stdout, keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from services import free_port

ROOT = Path(__file__).parents[2]
AWAY = "postgresql://usr:hush@127.0.0.1:9/shop"
LOST = "01a22dc0-20b7-78eb-9e8e-c79c49b169c0"


@pytest.mark.parametrize(("words", "said"), [(["--lang", "zh"], "启动全部进程"), (["--lang=en"], "Start everything")])
def test_it_speaks_the_language_it_is_asked_for(home: Path, words: list[str], said: str) -> None:
    assert said in run(home, *words, "--help").stdout
    assert said in run(home, "up", *words, "--help").stdout


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "启动全部进程"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "Start everything"),
        ({"LANG": "zh_CN.UTF-8", "AFTERTURN_LANG": "en"}, "Start everything"),
        ({}, "Start everything"),
    ],
)
def test_it_speaks_the_language_of_the_terminal(home: Path, variables: dict[str, str], said: str) -> None:
    assert said in run(home, "--help", **variables).stdout


@pytest.mark.parametrize(
    ("words", "variables", "code", "said"),
    [
        (["--lang", "fr", "doctor"], {}, 2, "--lang: zh or en"),
        (["migrate"], {"AFTERTURN_WINDOW_IDLE_SECONDS": "soon"}, 2, "AFTERTURN_WINDOW_IDLE_SECONDS: "),
        (["worker", "nobody"], {}, 2, "role: one of ingest, app, llm, index, upkeep"),
        (["keys", "list"], {}, 2, "Mend: ./afterturn migrate"),
        (["keys", "list", "--lang", "zh"], {}, 2, "数据库结构与本版本不符。修复：./afterturn migrate"),
        (["--lang", "zh", "keys", "list"], {"AFTERTURN_DATABASE_URL": AWAY}, 3, "127.0.0.1:9/shop 的数据库没有应答"),
        (
            ["dead", "drop", LOST],
            {"AFTERTURN_DATABASE_URL": AWAY},
            3,
            "the database at 127.0.0.1:9/shop does not answer",
        ),
        (
            ["up"],
            {"AFTERTURN_BROKER_URL": "redis://:hush@127.0.0.1:9/1"},
            3,
            "the broker at 127.0.0.1:9/1 does not answer",
        ),
        (["migrate"], {"AFTERTURN_DATABASE_URL": "postgresql://usr:hush@h:x/d"}, 2, "AFTERTURN_DATABASE_URL: must be"),
        (
            ["--lang", "zh", "migrate"],
            {"AFTERTURN_LLM_STAGES": '{"digset": "small"}'},
            2,
            'LLM_STAGES["digset"]：此处没有',
        ),
        (["audit"], {}, 2, "Mend: ./afterturn migrate"),
        (["reindex"], {}, 2, "Mend: ./afterturn migrate"),
        (["recall", "where?", "--user", "u1"], {}, 2, "Mend: ./afterturn up makes one"),
        (["recall", "where?", "--user", "u1"], {"AFTERTURN_KEY": "at_x"}, 3, "does not answer"),
        (["nonsense"], {}, 2, "nonsense"),
        (["--lang", "zh", "undo", "--session", "s1", "--user", "u1"], {}, 2, "--reason: 必填"),
        (["undo", "--event", "x", "--reason", "y"], {}, 2, "--event: must be a UUID"),
        (["--lang", "zh", "undo", "--summary", "x", "--reason", "y"], {}, 2, "--summary: 必须是 UUID"),
        (["--lang", "zh", "recall", "x"], {}, 2, "错误（usage）：缺少选项"),
        (["--lang", "zh", "review", "reject", "x"], {}, 2, "--reason: 必填"),
        (["--lang", "zh", "review", "approve", "x"], {}, 2, "ids: 必须是 UUID"),
        (["--lang", "zh", "review", "approve", LOST], {}, 2, "--hash: 必填"),
        (["--lang", "zh", "review", "approve", "--from", "none.json"], {}, 2, "none.json: 没有这个文件"),
        (["--lang", "zh", "policy", "check", "none.yaml"], {}, 2, "none.yaml: 没有这个文件"),
        (["--lang", "zh", "keys", "revoke", "at_a_b"], {}, 2, "key_id: 只需编号"),
    ],
)
def test_an_error_names_what_mends_it(
    home: Path, words: list[str], variables: dict[str, str], code: int, said: str
) -> None:
    ended = run(home, *words, **variables)

    assert ended.returncode == code
    assert said in ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert "hush" not in ended.stderr


def test_what_is_not_there_is_said_in_the_readers_language(home: Path) -> None:
    assert run(home, "migrate").returncode == 0

    assert "没有凭据 nope" in run(home, "keys", "revoke", "nope", "--lang", "zh").stderr
    assert "no key nope" in run(home, "keys", "revoke", "nope", "--lang", "en").stderr
    assert f"没有死信 {LOST}" in run(home, "dead", "show", LOST, "--lang", "zh").stderr
    assert "no tenant nowhere" in run(home, "review", "list", "--tenant", "nowhere").stderr


@pytest.mark.parametrize(("language", "said"), [("en", "does not exist"), ("zh", "不存在")])
def test_doctor_makes_nothing(home: Path, language: str, said: str) -> None:
    nowhere = home / "none"

    found = run(nowhere, "doctor", "--lang", language, HOME=str(home))

    assert found.returncode == 1
    assert f"{nowhere} {said}" in found.stdout
    assert "./afterturn up" in found.stdout
    assert list(home.iterdir()) == []


def test_a_misspelt_setting_is_told_by_doctor_and_at_the_start(home: Path) -> None:
    misspelt = {"AFTERTURN_BROKR_URL": "redis://:hush@h/0"}

    found = run(home, "doctor", **misspelt)
    started = run(home, "up", "--lang", "zh", AFTERTURN_BROKER_URL="redis://127.0.0.1:9/1", **misspelt)
    worker = run(home, "worker", "nobody", **misspelt)

    hint = "AFTERTURN_BROKR_URL (did you mean AFTERTURN_BROKER_URL?)"
    assert f"[warn] settings: no such settings: {hint}" in found.stdout
    assert "注意：没有这些设置：AFTERTURN_BROKR_URL（是否要写 AFTERTURN_BROKER_URL？）" in started.stderr
    assert f"warning: no such settings: {hint}" in worker.stderr
    assert "hush" not in found.stdout + started.stderr + worker.stderr


def test_doctor_tells_a_chinese_reader_in_chinese(home: Path) -> None:
    found = run(home, "doctor", "--lang", "zh")
    migrated = run(home, "migrate")
    again = run(home, "doctor", "--lang", "zh")
    unset = run(home, "doctor", "--lang", "zh", AFTERTURN_WORKERS_SLOTS="many")

    assert migrated.returncode == 0
    assert "migrations: 还没有数据库" in found.stdout
    assert "valkey.sock 的消息代理没有应答" in found.stdout
    assert "index: 索引目录不存在" in again.stdout
    assert not (home / "index").exists()
    assert "AFTERTURN_WORKERS_SLOTS：必须是 2 至 256 的整数" in unset.stdout
    assert not any(word in found.stdout + again.stdout for word in ("does not", "is not", "there is"))


def test_a_key_is_made_listed_and_revoked(home: Path) -> None:
    assert json.loads(run(home, "migrate", "--json").stdout)["revision"]

    made = json.loads(run(home, "keys", "create", "--rights", "publish,staff", "--agent", "a1", "--json").stdout)
    assert made["credential"].startswith(f"at_{made['key_id']}_")
    secret = made["credential"].split("_", 2)[2]
    (listed,) = json.loads(run(home, "keys", "list", "--json").stdout)
    assert (listed["key_id"], listed["tenant"], listed["agent"]) == (made["key_id"], "default", "a1")
    assert listed["rights"] == ["publish", "staff"]
    assert listed["revoked_at"] is None
    assert secret not in json.dumps(listed)
    assert (listed["state"], listed["last_used_at"], listed["expires_at"]) == ("valid", None, None)

    fresh = json.loads(run(home, "keys", "rotate", made["key_id"], "--grace-hours", "1", "--json").stdout)
    assert fresh["key_id"] == made["key_id"]
    assert fresh["credential"] not in (made["credential"], "")
    assert run(home, "keys", "expire", made["key_id"], "--in-hours", "48").returncode == 0
    shown = run(home, "keys", "list", "--lang", "zh").stdout
    assert all(words in shown for words in ("publish,staff", "更换中", "从未使用"))
    assert run(home, "keys", "revoke", made["key_id"]).returncode == 0
    assert json.loads(run(home, "keys", "list", "--json").stdout)[0]["revoked_at"]
    assert run(home, "keys", "revoke", "nobody").returncode == 2
    assert run(home, "keys", "create", "--rights", "everything").returncode == 2
    refused = run(home, "keys", "revoke", made["credential"])
    assert refused.returncode == 2
    assert secret not in refused.stderr


def test_what_is_made_is_its_owners_alone(home: Path) -> None:
    run(home, "migrate")

    assert [path.name for path in home.iterdir() if path.stat().st_mode & 0o077] == []


def run(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workers", *words],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "client" / "src")]),
            "PYTHONIOENCODING": "utf-8",
            "AFTERTURN_HOME": str(home),
            "AFTERTURN_URL": f"http://127.0.0.1:{free_port()}",
            **variables,
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
