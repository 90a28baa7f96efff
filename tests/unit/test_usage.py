"""A reader of Chinese is told in Chinese how the command line is used, whatever typer and click say themselves."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest

from workers.cli import build
from workers.speech import speak
from workers.usage import in_chinese, run_in_chinese

ENGLISH = re.compile(r"Usage|Options|Arguments|Commands|Missing|No such|Invalid|Input|requires|unexpected|Try|Show")


@pytest.fixture(autouse=True)
def chinese() -> Generator[None]:
    speak("zh")
    yield
    speak("en")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nonsense", "没有命令 'nonsense'。"),
        ("udo", "没有命令 'udo'"),
        ("recall", "缺少参数 'query'。"),
        ("recall x", "缺少选项 '--user' / '-u'。"),
        ("recall x --user", "选项 '--user' 需要一个值。"),
        ("recall x --usr u", "没有选项 --usr；"),
        ("recall x --user u --json=5", "选项 '--json' 不带值。"),
        ("recall x --user u y z", "多余的参数：y z"),
        ("recall x --user u --budget many", "'--budget' 的值无效："),
        ("review list --limit 0", "'--limit' 的值无效："),
        ("review list --limit 5000", "'--limit' 的值无效："),
        ("dead show x", "'letter_id' 的值无效："),
        ("eval x --provider moon", "'--provider' 的值无效：没有 'moon'；可用：'offline', 'openai'"),
    ],
)
def test_a_wrong_call_is_told_in_chinese(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_in_chinese(build(), words.split())

    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    # Releases differ in the case of names and in what they suggest.
    assert f"错误（usage）：{said.casefold()}" in told.err.casefold()
    assert not ENGLISH.search(told.err)


@pytest.mark.parametrize("words", ["--help", "recall --help", "review --help", "review list --help"])
def test_help_has_chinese_titles(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_in_chinese(build(), words.split())

    told = capsys.readouterr().out
    assert code == 0
    assert all(title in told for title in ("用法：afterturn", "[选项]", "─ 选项 ─", "显示本说明并退出。"))
    assert not ENGLISH.search(told)


@pytest.mark.parametrize(
    ("message", "chinese"),
    [
        (
            "Invalid value for '--limit': 0 is not in the range 1<=x<=1000.",
            "'--limit' 的值无效：0 不在范围 1<=x<=1000 内",
        ),
        ("Invalid value for 'N': 'x' is not a valid integer.", "'N' 的值无效：'x' 不是整数"),
        ("Got unexpected extra argument (x)", "多余的参数：x"),
        ("No such option: --usr Did you mean --user?", "没有选项 --usr；是否要写 --user？"),
        ("Something that nobody has said before.", "Something that nobody has said before."),
    ],
)
def test_what_click_itself_says_is_known_too(message: str, chinese: str) -> None:
    assert in_chinese(message) == chinese
