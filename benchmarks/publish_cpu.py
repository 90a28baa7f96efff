"""CPU of publishing by the event, beside that of `task.delay()` with the same text at the same pace."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from afterturn import generate_credential
from afterturn.masking import mask
from benchmarks.publish_server import DURABILITIES, Durability, Server, answering, roomy

TEXT = (
    "Hello, I ordered a headset last week and it arrived today. The sound is fine, but there is a noise on the left "
    "side when I turn my head. I would like to exchange it, and please write to me rather than call. "
)
TURN = (TEXT * 6)[:1000]
ZH = ("你好，我上周买的耳机今天到了，声音不错，但是转头的时候左边有杂音。想换一个，另外请发邮件，不要打电话。" * 30)[
    :1000
]
WORDS = TURN.split(" ")
ZH_WORDS = [ZH[place : place + 2] for place in range(0, len(ZH), 2)]
RUNS = 3


def shuffled(words: Sequence[str], space: str, count: int) -> list[str]:
    """Texts of these words in ever new order."""
    chance = random.Random(7)
    return [space.join(chance.sample(words, len(words))) for _ in range(count)]


def cpu_per_event(count: int) -> dict[str, tuple[float, float | None]]:
    """CPU microseconds of this whole process for each event, from the call to its receipt, masking left out.

    Beside each what `delay()` of the same text took at that pace; None where there is nothing to compare.
    """
    server = Server()
    figures: dict[str, tuple[float, float | None]] = {}
    try:
        for language, text, words, space in (("", TURN, WORDS, " "), (", zh", ZH, ZH_WORDS, "")):
            mixed = shuffled(words, space, 2000)
            masking = {"same": _masking_cpu([text]), "shuffled": _masking_cpu(mixed)}
            figures[f"masking{language}"] = masking["same"], None
            for pace, number, pause in (("full batches", count, None), ("1k/s", 4000, 0.001), ("100/s", 400, 0.01)):
                delay = _delay_cpu(server.url, text, 1000 if number > 1000 else 200, pause or 0.0)
                figures[f"task.delay(), {pace}{language}"] = delay, None
                for durability in DURABILITIES:
                    for kind, texts in (("same", [text]), ("shuffled", mixed)):
                        if kind == "shuffled" and pause is not None:
                            continue
                        runs = [_publisher_cpu(server, durability, texts, number, pause) for _ in range(RUNS)]
                        what = f"{durability}, {pace}{language}" + (", shuffled" if kind == "shuffled" else "")
                        figures[what] = statistics.median(runs) - masking[kind], delay
    finally:
        server.close()
    return figures


def _publisher_cpu(server: Server, durability: Durability, texts: list[str], count: int, pause: float | None) -> float:
    server.client.flushall()  # pyright: ignore[reportUnknownMemberType] - untyped keyword arguments
    credential = generate_credential()
    with (
        answering(server, credential),
        roomy(server, credential, durability) as publisher,
    ):
        publisher.turn("u1", "s1", "user", texts[0])
        publisher.flush(30, receipts=True)
        idle = 0.0 if pause is None else _loop_cpu(count, pause)
        begin = time.process_time()
        for number in range(count):
            publisher.turn("u1", "s1", "user", texts[number % len(texts)])
            if pause is not None:
                time.sleep(pause)
        # Without hurry, which asks for receipts fifty times a second.
        deadline = time.monotonic() + 120
        while publisher.stats().unreceipted or publisher.stats().waiting:
            if time.monotonic() > deadline:
                sys.exit("publish.py: the healthy broker did not take everything")
            time.sleep(0.1)
        return (time.process_time() - begin - idle) / count * 1e6


def _masking_cpu(texts: list[str]) -> float:
    begin = time.process_time()
    for number in range(3000):
        mask(texts[number % len(texts)])
    return (time.process_time() - begin) / 3000 * 1e6


def _loop_cpu(count: int, pause: float) -> float:
    begin = time.process_time()
    for _ in range(count):
        time.sleep(pause)
    return time.process_time() - begin


DELAY = """
import sys, time
from celery import Celery
app = Celery(broker=sys.argv[1])
app.conf.task_ignore_result = True
@app.task(name="afterturn.ingest")
def ingest(event): pass
event = {"user_id": "u1", "session_id": "s1", "role": "user", "content": sys.argv[4]}
count, pause = int(sys.argv[2]), float(sys.argv[3])
def loop(call):
    begin = time.process_time()
    for _ in range(count):
        call()
        if pause:
            time.sleep(pause)
    return time.process_time() - begin
ingest.delay(event)
idle = loop(lambda: None) if pause else 0.0
print((loop(lambda: ingest.delay(event)) - idle) / count * 1e6)
"""


def _delay_cpu(url: str, text: str, count: int, pause: float) -> float:
    """In a process of its own, so that neither pays for the other's threads."""
    command = [sys.executable, "-c", DELAY, url, str(count), str(pause), text]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(RUNS)]
    return statistics.median(float(run.stdout) for run in runs)
