from __future__ import annotations

from pathlib import Path

from memory.tokens import estimate_tokens
from stores.tokens import ESTIMATE, token_counter


def test_without_a_vocabulary_the_estimate_says_so(tmp_path: Path) -> None:
    assert token_counter("gpt-4o", cache=tmp_path) is ESTIMATE
    assert token_counter("a-model-nobody-knows", cache=tmp_path) is ESTIMATE
    assert token_counter(None, cache=tmp_path) is ESTIMATE
    assert ESTIMATE.name == "estimate"


def test_a_broken_vocabulary_is_never_opened(tmp_path: Path) -> None:
    # The place where tiktoken would look for o200k_base, with something else in it.
    (tmp_path / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(b"half a download")

    assert token_counter("gpt-4o", cache=tmp_path) is ESTIMATE


def test_estimates_of_both_languages() -> None:
    assert estimate_tokens("Where does the user live?") == 6
    assert estimate_tokens("用户现在住在哪里？") == 9
    assert estimate_tokens("internationalisation") == 5
    assert estimate_tokens("12345678") == 3
