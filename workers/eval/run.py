"""One run from files to a report: dialogues through scratch instances, statements and poisoning beside them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from llm.face import Model
from llm.offline import OfflineModel
from llm.open import open_model
from schemas.errors import BadSettings
from stores.kit import model_config
from stores.policies import policies_of
from stores.settings import LlmSettings, load_settings
from workers.eval import checks, plan, poisoning, statements
from workers.eval.cases import Case, Dialogue, Poison, Statement
from workers.eval.files import read_cases
from workers.eval.instance import Instance, scratch
from workers.eval.model import Scripted
from workers.eval.play import Play, play, plays
from workers.eval.poisoning import Decided
from workers.eval.statements import Read

Provider = Literal["offline", "openai"]

#: How long nothing may move before a case is given up; a real model is given the time of several calls.
QUIET_SECONDS = {"offline": 60.0, "openai": 300.0}
_MODEL_THREADS = 8
_CHECK_THREADS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One dialogue, as it was played in one round, and all that is wrong with it."""

    case: Dialogue
    number: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What came of all files. `blocked` are cases that need what the product cannot do yet."""

    files: tuple[tuple[str, tuple[Case, ...]], ...]
    provider: Provider
    repeat: int
    seed: int
    dialogues: tuple[Judged, ...]
    blocked: tuple[Dialogue, ...]
    reads: tuple[Read, ...]
    decided: tuple[Decided, ...]
    seconds: float

    @property
    def has_failed(self) -> bool:
        """Any case that could be judged went wrong; statements are judged by their scores."""
        return (
            any(one.wrong for one in self.dialogues)
            or any(not one.is_right for one in self.decided)
            or any(not score.is_enough for score in statements.scores(self.reads).values())
            or any(one.fault for one in self.reads)
        )


def evaluate(paths: Sequence[Path], *, provider: Provider, repeat: int = 1, seed: int = 1) -> Results:
    """Runs all cases of all files. Raises: BadFile before anything starts; BadSettings; NotReady."""
    began = time.monotonic()
    files = tuple((path.name, tuple(read_cases(path))) for path in paths)
    llm = _llm(provider)
    cases = [case for _, found in files for case in found]
    dialogues = [case for case in cases if isinstance(case, Dialogue)]
    playable = [(case, number) for number in range(1, repeat + 1) for case in dialogues if not case.missing_actions]
    scripted = [pair for pair in playable if pair[0].answers is not None]
    provided = [pair for pair in playable if pair[0].answers is None]
    with ThreadPoolExecutor(2, "eval") as pool:
        runs: list[Future[list[Judged]]] = []
        if scripted:
            runs.append(pool.submit(_scripted, scripted, seed))
        if provided:
            runs.append(pool.submit(_provided, provided, seed, llm, QUIET_SECONDS[provider]))
        reads = _reads([case for case in cases if isinstance(case, Statement)], llm)
        gate = policies_of(load_settings()).gate
        decided = tuple(poisoning.decided(case, gate) for case in cases if isinstance(case, Poison))
        judged = [one for run in runs for one in run.result()]
    order = {case.place: place for place, case in enumerate(dialogues)}
    judged.sort(key=lambda one: (order[one.case.place], one.number))
    return Results(
        files=files,
        provider=provider,
        repeat=repeat,
        seed=seed,
        dialogues=tuple(judged),
        blocked=tuple(case for case in dialogues if case.missing_actions),
        reads=reads,
        decided=decided,
        seconds=round(time.monotonic() - began, 1),
    )


def _llm(provider: Provider) -> LlmSettings | None:
    if provider == "offline":
        return None
    given = load_settings().llm
    if given.is_offline:
        raise BadSettings("AFTERTURN_LLM_BASE_URL, AFTERTURN_LLM_API_KEY: --provider openai needs one of them")
    return given


def _scripted(cases: Sequence[tuple[Dialogue, int]], seed: int) -> list[Judged]:
    """Cases that bring their model's answers, those with a text in common one after the other."""
    with ExitStack() as stack:
        model = stack.enter_context(Scripted())
        instance = stack.enter_context(scratch(model_url=model.url, given=None))
        judged: list[Judged] = []
        for wave in plan.waves(cases):
            model.script(case for case, _ in wave)
            judged += _play(instance, wave, seed, QUIET_SECONDS["offline"])
        return judged


def _provided(
    cases: Sequence[tuple[Dialogue, int]], seed: int, llm: LlmSettings | None, quiet_seconds: float
) -> list[Judged]:
    """Cases that the run's provider answers, all together."""
    with scratch(model_url=None, given=llm) as instance:
        return _play(instance, cases, seed, quiet_seconds)


def _play(instance: Instance, cases: Sequence[tuple[Dialogue, int]], seed: int, quiet_seconds: float) -> list[Judged]:
    """Judges each case where it ends: the world's clock stands there, and moves on only afterwards."""
    judged: list[Judged] = []
    with ThreadPoolExecutor(_CHECK_THREADS, "eval-check") as pool:

        def judge(one: Play) -> Judged:
            return Judged(case=one.case, number=one.number, wrong=tuple(checks.judge(instance, one)))

        def finished(over: Sequence[Play]) -> None:
            judged.extend(pool.map(judge, over))

        play(instance, plays(instance, cases, seed=seed), quiet_seconds=quiet_seconds, finished=finished)
    return judged


def _reads(cases: Sequence[Statement], llm: LlmSettings | None) -> tuple[Read, ...]:
    if not cases:
        return ()
    model: Model = OfflineModel() if llm is None else open_model(model_config(llm))
    try:
        with ThreadPoolExecutor(_MODEL_THREADS if llm is not None else 1, "eval-model") as pool:
            return tuple(pool.map(partial(statements.read, model=model), cases))
    finally:
        model.close()
