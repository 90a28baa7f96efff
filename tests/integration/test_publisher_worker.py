"""A real Celery worker takes our envelope from a real broker and runs the task with the sealed blob."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from afterturn import Credential, Publisher
from afterturn.batches import decode_batch
from afterturn.credentials import seal_key
from afterturn.sealing import open_sealed
from client_fixtures import Broker, broker, credential, wait_until

__all__ = ["broker", "credential"]

APP = """
from celery import Celery
from kombu import Queue

app = Celery(broker={url!r})
app.conf.update(
    task_ignore_result=True, task_serializer="json", accept_content=["json"], task_acks_late=True,
    task_default_queue="ingest", task_queues=[Queue("ingest")], worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True, broker_transport_options={{"global_keyprefix": "afterturn:v1:"}},
)

@app.task(name="afterturn.ingest")
def ingest(blob):
    with open({out!r}, "a") as file:
        file.write(blob + "\\n")
"""


def test_a_celery_worker_executes_what_a_publisher_sent(broker: Broker, credential: Credential, tmp_path: Path) -> None:
    out = tmp_path / "blobs"
    out.touch()
    (tmp_path / "sink.py").write_text(APP.format(url=broker.url, out=str(out)))
    log = (tmp_path / "log").open("w+")
    with Publisher(credential.text(), broker.url) as publisher:
        for number in range(250):
            publisher.turn("u1", "s1", "user", f"Zq9 {number}")
        assert publisher.flush(20)
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "sink", "worker", "-P", "solo", "-l", "INFO", "--without-mingle"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        stdout=log,
        stderr=log,
    )
    keys = {credential.key_id: seal_key(credential.secret)}

    def events() -> list[object]:
        blobs = [line for line in out.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [
            event["content"]
            for blob in blobs
            for event in decode_batch(open_sealed(blob[:-1], keys.get).payload).events
        ]

    try:
        wait_until(lambda: len(events()) >= 250, 60)
        wait_until(lambda: broker.client.hlen("unacked") == 0 == broker.client.hlen("afterturn:v1:unacked"))
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(30)
        log.seek(0)
        said = log.read()
        log.close()

    assert events() == [f"Zq9 {number}" for number in range(250)]
    assert "afterturn.ingest" in said
    assert "Zq9" not in said
