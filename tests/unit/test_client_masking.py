"""Masking: what must never be kept goes, prose and order numbers stay, and hostile text costs little."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.masking import Json, mask, mask_json

PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAA\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("my password is hunter2.", "my password is [secret:password]."),
        ("Password: S3cret!x, thanks", "Password: [secret:password], thanks"),
        ("db_password=correcthorse", "db_password=[secret:password]"),
        ("the password hunter2 works", "the password [secret:password] works"),
        ("set the password to Tr0ub4dor&3", "set the password to [secret:password]"),
        ('{"password": "two words 1", "n": 1}', '{"password": "[secret:password]", "n": 1}'),
        ("the password for my account is gr33n!x.", "the password for my account is [secret:password]."),
        ("the passphrase of our old vault: x9-kettle", "the passphrase of our old vault: [secret:password]"),
        ("my PIN for the gate is 4711", "my PIN for the gate is [secret:password]"),
        ("my PIN is 4711", "my PIN is [secret:password]"),
        ("pin code: 4711", "pin code: [secret:password]"),
        ("the OTP is 884213", "the OTP is [secret:code]"),
        ("verification code 884213", "verification code [secret:code]"),
        ("cvv 123", "cvv [secret:card_code]"),
        ("api key: 12ab34cd", "api key: [secret:password]"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [secret:password]"),
        ("密码是abc123，谢谢", "密码是[secret:password]，谢谢"),
        ("支付密码123456", "支付密码[secret:password]"),
        ("密码改成了吗？密码改成：Xy_9988。", "密码改成了吗？密码改成：[secret:password]。"),
        ("口令：open$esame", "口令：[secret:password]"),
        ("密钥为 9f8e7d6c", "密钥为 [secret:password]"),
        ("验证码是：884213，5分钟内有效", "验证码是：[secret:code]，5分钟内有效"),
        ("安全码 321", "安全码 [secret:card_code]"),
        ("use sk-ABCDEFGHIJKLMNOPQRSTUVWX please", "use [secret:token] please"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[secret:token]"),
        ("密钥 AKIAIOSFODNN7EXAMPLE 在这", "密钥 [secret:password] 在这"),
        ("id AKIAIOSFODNN7EXAMPLE", "id [secret:token]"),
        ("xoxb-123456789012-abcdefghijkl", "[secret:token]"),
        ("Authorization: Bearer abcdefghijklmnop1234567", "Authorization: Bearer [secret:token]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_1", "[secret:jwt]"),
        (f"key:\n{PEM}\nthat is it", "key:\n[secret:private_key]\nthat is it"),
        (PEM[:50], "[secret:private_key]"),
        ("postgres://me:pa:ss@db/x", "postgres://me:[secret:url_password]@db/x"),
        ("card 4111 1111 1111 1111, ok", "card [secret:card], ok"),
        ("4111-1111-1111-1111", "[secret:card]"),
        ("378282246310005", "[secret:card]"),
        ("13812345678 4111111111111111", "13812345678 [secret:card]"),
        ("银行卡6222021234567894尾号", "银行卡[secret:card]尾号"),
        ("身份证11010519491231002X，男", "身份证[secret:national_id]，男"),
        ("ssn 123-45-6789", "ssn [secret:ssn]"),
        ("at_abcdefgh2345_" + "A" * 43, "[secret:token]"),
        (
            "seed phrase: apple banana cherry delta eagle fancy grape hotel india juice koala lemon",
            "seed phrase: [secret:seed_phrase]",
        ),
        ("助记词是 " + "apple " * 11 + "lemon", "助记词是 [secret:seed_phrase]"),
    ],
)
def test_a_secret_is_masked_and_its_neighbours_stay(text: str, masked: str) -> None:
    came, types = mask(text)

    assert came == masked
    assert types


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I moved to Lyon yesterday.",
        "the token bucket algorithm is fine",
        "please send me the password reset link",
        "I forgot my password, what now?",
        "the password for the portal is broken!",
        "the code for the door is on 3rd floor",
        "密码是什么？我忘了密码",
        "密码8位以上就行",
        "the secret of 42 is that there is none",
        "spin it 1234 times, shopping list 2024",
        "order 4111111111111111 has not arrived",
        "订单号4111111111111111还没到",
        "order 20261130123456789012",
        "call +86 138 1234 5678 before 2026-11-30 10:00",
        "4111 1111 1111 1112",
        "110105194912310021",
        "000-12-3456 and 123-45-67890",
        "https://example.com/a@b and mailto:me@example.com",
        "https://localhost:8710/x?y=me@example.com",
        "01932f00-0000-7000-8000-0000000000ff",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "his basic understanding of internationalization",
        "😀 \ud800 ok 12",
    ],
)
def test_what_is_no_secret_stays_the_same_object(text: str) -> None:
    came, types = mask(text)

    assert came is text
    assert types == ()


pieces = st.sampled_from(
    [
        *("password", "is", "=", ": ", " ", "密码", "是", "：", "hunter2", "[secret:", "password]", '"', "pin", "1234"),
        *("4111111111111111", "11010519491231002X", "sk-ABCDEFGHIJKLMNOPQRSTUVWX", "://me:", "pw1@", "token", ".", "x"),
        *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "eyJ", "a" * 30, "secret", "]", "验证码"),
    ]
)


@given(st.lists(pieces | st.text(max_size=5), max_size=25).map("".join))
def test_masking_twice_is_masking_once(text: str) -> None:
    once, _ = mask(text)

    assert mask(once) == (once, ())


@given(st.text(), st.text())
def test_a_card_is_found_wherever_it_stands(before: str, after: str) -> None:
    came, types = mask(f"{before}\nthis is my card, I hope: 4111111111111111\n{after}")

    assert "4111111111111111" not in came
    assert "card" in types or "private_key" in types


@pytest.mark.parametrize("size", [16 * 1024 - 8, 16 * 1024, 32 * 1024 + 3])
def test_a_secret_across_two_slices_is_found(size: int) -> None:
    came, types = mask("x " * (size // 2) + "4111111111111111 sk-ABCDEFGHIJKLMNOPQRSTUVWX")

    assert types == ("card", "token")
    assert came.endswith("x [secret:card] [secret:token]")


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN RSA PRIVATE KE-----\n",
        "-----BEGIN PRIVATE KEY-----",
        "1 ",
        "4",
        "1-",
        "password ",
        "password:",
        "password=a",
        "a:",
        "eyJ",
        "eyJaaaaaaaa.",
        "密码",
        "http://a:",
        "seed phrase abc ",
        "sk-",
        "[secret:card]",
        "123-45-678",
    ],
)
def test_hostile_text_of_a_quarter_megabyte_costs_milliseconds(piece: str) -> None:
    text = (piece * (256 * 1024 // len(piece)))[: 256 * 1024] + " 1@"
    seconds: list[float] = []
    for _ in range(3):  # A busy machine may slow one; what is not linear is slow each time.
        begin = time.thread_time()
        mask(text)
        seconds.append(time.thread_time() - begin)

    assert min(seconds) < 0.25


def test_json_is_masked_inside_and_by_its_names() -> None:
    value: Json = {
        "query": ["密码是abc123", 7, None],
        "password": "tiny",
        "nested": {"apiKey": "abcdefgh", "count": 3},
        "next": "page",
    }

    came, types = mask_json(value)

    assert came == {
        "query": ["密码是[secret:password]", 7, None],
        "password": "[secret:password]",
        "nested": {"apiKey": "[secret:password]", "count": 3},
        "next": "page",
    }
    assert types == ("password",) * 3
    assert mask_json(came) == (came, ())
