"""Which model a configuration means, and what it costs to ask for the offline one."""

from __future__ import annotations

import subprocess
import sys

from llm.config import ModelConfig
from llm.face import Model
from llm.open import open_model


def test_what_is_configured_decides_which_model_is_opened() -> None:
    offline: Model = open_model(None)
    online: Model = open_model(ModelConfig(model_small="small", base_url="http://127.0.0.1:1/v1"))

    assert type(offline).__name__ == "OfflineModel"
    assert online.name == "small"
    offline.close()
    online.close()


def test_an_offline_process_never_imports_the_client() -> None:
    code = "import sys; from llm.open import open_model; open_model(None); print('openai' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)

    assert told.stdout.strip() == "False"
