"""Which model and which embedder a configuration means. The openai client is imported only when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.config import EmbedConfig, ModelConfig
    from llm.face import Embedder, Model


def open_model(config: ModelConfig | None) -> Model:
    """The endpoint's model when one is configured, else the offline provider."""
    if config is None:
        from llm.offline import OfflineModel  # noqa: PLC0415

        return OfflineModel()
    from llm.openai_model import OpenAIModel  # noqa: PLC0415

    return OpenAIModel(config)


def open_embedder(config: EmbedConfig | None) -> Embedder:
    """The endpoint's embedder when one is configured, else the offline one."""
    if config is None:
        from llm.offline_embedder import OfflineEmbedder  # noqa: PLC0415

        return OfflineEmbedder()
    from llm.embeddings import OpenAIEmbedder  # noqa: PLC0415

    return OpenAIEmbedder(config)
