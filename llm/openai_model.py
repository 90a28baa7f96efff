"""A model behind any OpenAI-compatible endpoint: one chat completion per window, decoded by us.

Retries do not live here: a busy endpoint is an error that says when to come back, because a sleeping worker slot helps
nobody. Two things are repeated at once: a refused form of request in a humbler form, and an unusable answer, once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast
from urllib.parse import urlsplit

import httpx2
import openai
from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import ResponseFormat

from llm.completion import Completion, Counts, read_completion
from llm.config import OPENAI_URL, ModelConfig, Stage
from llm.decode import Decoded, Undecodable, decode
from llm.dialect import Dialect, Mode, TokensParam, next_dialect
from llm.face import Answer, Line, Usage, WindowRequest
from llm.failures import billed
from llm.json_schema import SCHEMA_NAME, Schema, bucketed_labels, window_schema
from llm.transport import Body, Failure, error_for, new_client, send
from memory.prompts import KEYS, Message, window_messages
from memory.tokens import estimate_tokens
from schemas.errors import BadAnswer, ModelBusy


class OpenAIModel:
    """Implements `llm.face.Model`. Safe to share between threads.

    Errors are those of `llm/failures.py` and carry the usage of the attempt.
    """

    def __init__(self, config: ModelConfig, *, keys: Mapping[str, str] = KEYS) -> None:
        self.name = config.model_of("digest")
        self._config = config
        self._keys = dict(keys)
        self._client = new_client(config.base_url or OPENAI_URL, config.api_key)
        self._dialects: dict[tuple[str, str], Dialect] = {}
        self._lock = threading.Lock()

    def digest(self, request: WindowRequest) -> Answer:
        """The answer for one window. Raises: BilledModelBusy, BilledBadAnswer."""
        bill = _Bill(self._config.timeout_seconds)
        try:
            decoded = self._decoded(request, bill)
        except (ModelBusy, BadAnswer) as error:
            failed = billed(error, bill.usage())
        else:
            return Answer(draft=decoded.draft, usage=bill.usage(), dropped=decoded.dropped)
        raise failed

    def close(self) -> None:
        """Releases connections. Repeat: harmless."""
        self._client.close()

    def mode(self, model: str | None = None) -> Mode:
        """The mode that the endpoint is asked in, as far as it is known."""
        return self._dialect(model or self._config.model_of("digest")).mode

    def _decoded(self, request: WindowRequest, bill: _Bill) -> Decoded:
        messages = window_messages(
            request.turns, context=request.context, procedures=request.procedures, keys=self._keys
        )
        schema = window_schema(list(self._keys), bucketed_labels(len(request.turns)))
        completion = self._completion("digest", messages, schema, bill)
        try:
            return decode(completion)
        except Undecodable as error:
            # A window of one turn cannot be split, so that asking for fewer words is all that is left.
            if not error.again and not (error.code == "truncated" and len(request.turns) == 1):
                raise
            problems = error.problems
        completion = self._completion("repair", _with_problems(messages, problems), schema, bill)
        try:
            return decode(completion, lenient=True)
        except Undecodable as error:
            if error.code != "empty":
                raise
        # Some servers answer nothing under load: worth another try, later.
        raise ModelBusy("the model's answer is empty", code="empty")

    def _completion(self, stage: Stage, messages: Sequence[Message], schema: Schema, bill: _Bill) -> Completion:
        model = self._config.model_of(stage)
        bill.begin(stage, model)
        dialect = self._dialect(model)
        while True:
            outcome = self._call(model, messages, schema, dialect, bill)
            if isinstance(outcome, Body):
                break
            humbler = next_dialect(dialect, outcome)
            if humbler is None:
                raise error_for(outcome)
            dialect = humbler
        completion = read_completion(outcome.text)
        bill.charge(messages, completion if isinstance(completion, Completion) else None)
        if not isinstance(completion, Completion):
            raise completion
        # Only now: a server that refuses everything must not leave us in the lowest mode.
        with self._lock:
            self._dialects[self._place(model)] = dialect
        return completion

    def _call(
        self, model: str, messages: Sequence[Message], schema: Schema, dialect: Dialect, bill: _Bill
    ) -> Body | Failure:
        config = self._config
        left = bill.seconds_left()
        if left <= 0:
            return Failure(0, kind="timeout", reached=False)
        create = self._client.chat.completions.with_streaming_response.create
        tokens = {name: config.max_tokens if dialect.tokens_param == name else openai.omit for name in _TOKEN_PARAMS}
        outcome = send(
            lambda: create(
                model=model,
                messages=_in_role(messages, config.system_role),
                response_format=_response_format(dialect.mode, schema) or openai.omit,
                max_tokens=tokens["max_tokens"],
                max_completion_tokens=tokens["max_completion_tokens"],
                temperature=config.temperature if dialect.temperature else openai.omit,
                seed=config.seed if dialect.seed else openai.omit,
                extra_body=_extra_body(config),
                timeout=httpx2.Timeout(left, connect=min(left, config.connect_timeout_seconds)),
            ),
            deadline=bill.deadline,
        )
        bill.called(model, dialect.mode, outcome)
        if isinstance(outcome, Failure) and outcome.status == 0 and outcome.reached:
            # Generation goes on behind a connection that is gone, and so does its price.
            bill.charge(messages, None)
        return outcome

    def _dialect(self, model: str) -> Dialect:
        with self._lock:
            known = self._dialects.get(self._place(model))
        return known or first_dialect(self._config)

    def _place(self, model: str) -> tuple[str, str]:
        return (self._config.base_url or OPENAI_URL, model)


_TOKEN_PARAMS: tuple[TokensParam, ...] = ("max_tokens", "max_completion_tokens")


def first_dialect(config: ModelConfig) -> Dialect:
    """What to try first: strict schemas, and the token parameter that the endpoint's makers use."""
    host = urlsplit(config.base_url or OPENAI_URL).hostname or ""
    native: TokensParam = "max_completion_tokens" if host.endswith(("openai.com", "azure.com")) else "max_tokens"
    return Dialect(
        mode="json_schema" if config.structured == "auto" else config.structured,
        tokens_param=native if config.max_tokens_param == "auto" else config.max_tokens_param,
        temperature=config.temperature is not None,
        seed=config.seed is not None,
        mode_fixed=config.structured != "auto",
        tokens_fixed=config.max_tokens_param != "auto",
    )


def _response_format(mode: Mode, schema: Schema) -> ResponseFormat | None:
    if mode == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "strict": True, "schema": schema}}
    return {"type": "json_object"} if mode == "json_object" else None


def _extra_body(config: ModelConfig) -> dict[str, object]:
    thinking: dict[str, object] = {"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": False}}
    return {**(thinking if config.thinking_off else {}), **config.extra_body}


def _in_role(messages: Sequence[Message], role: Literal["system", "user"]) -> list[ChatCompletionMessageParam]:
    shaped = list(messages)
    if role == "user":
        shaped = [Message(role="user", content="\n\n".join(message["content"] for message in messages))]
    return [cast("ChatCompletionMessageParam", dict(message)) for message in shaped]


def _with_problems(messages: Sequence[Message], problems: Sequence[str]) -> list[Message]:
    """The same question with what was wrong, in the last message: many chat templates refuse two users in a row."""
    told = "\n".join(f"- {problem}" for problem in problems)
    last = messages[-1]
    content = f"{last['content']}\n# An earlier answer could not be used\n{told}\nAnswer again with one JSON object."
    return [*messages[:-1], Message(role=last["role"], content=content)]


class _Bill:
    """What one digest has cost so far, and how long it may still take. One thread only."""

    def __init__(self, timeout_seconds: float) -> None:
        self._started = time.monotonic()
        self.deadline = self._started + timeout_seconds
        self._usage = Usage(provider="openai", model="", mode="")
        self._lines: list[Line] = []

    def seconds_left(self) -> float:
        """Seconds until the digest must have ended."""
        return self.deadline - time.monotonic()

    def begin(self, stage: Stage, model: str) -> None:
        """What follows is asked of `model` for `stage`."""
        self._lines.append(Line(stage=stage, model=model))

    def called(self, model: str, mode: Mode, outcome: Body | Failure) -> None:
        """Counts a request that may have reached the server."""
        reached = isinstance(outcome, Body) or outcome.reached
        self._lines[-1] = replace(self._lines[-1], calls=self._lines[-1].calls + reached)
        self._usage = replace(
            self._usage,
            model=model,
            mode=mode,
            calls=self._usage.calls + reached,
            request_id=outcome.request_id or self._usage.request_id,
        )

    def charge(self, messages: Sequence[Message], completion: Completion | None) -> None:
        """Adds the tokens of a request: as the server counted them, else estimated and marked so."""
        counts = completion.counts if completion is not None else None
        if counts is None:
            said = (completion.content + completion.reasoning) if completion is not None else ""
            counts = Counts(sum(estimate_tokens(message["content"]) for message in messages), estimate_tokens(said))
            self._usage = replace(self._usage, estimated=True)
        line = self._lines[-1]
        self._lines[-1] = replace(
            line,
            input_tokens=line.input_tokens + counts.input_tokens,
            output_tokens=line.output_tokens + counts.output_tokens,
            cached_tokens=line.cached_tokens + counts.cached_tokens,
            reasoning_tokens=line.reasoning_tokens + counts.reasoning_tokens,
        )
        self._usage = replace(
            self._usage,
            input_tokens=self._usage.input_tokens + counts.input_tokens,
            output_tokens=self._usage.output_tokens + counts.output_tokens,
            cached_tokens=self._usage.cached_tokens + counts.cached_tokens,
            reasoning_tokens=self._usage.reasoning_tokens + counts.reasoning_tokens,
        )

    def usage(self) -> Usage:
        """The bill. `model` and `mode` are those of the last call."""
        duration_ms = round((time.monotonic() - self._started) * 1000)
        return replace(self._usage, duration_ms=duration_ms, lines=tuple(line for line in self._lines if line.calls))
