"""Holds what is remembered against what a case expects. Every message says what was looked for and what was there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from afterturn.errors import NotReachable, Refused
from afterturn.recall import recall
from workers.eval import traces
from workers.eval.cases import Asked, Expect, Said
from workers.eval.instance import Instance
from workers.eval.memory_of import Remembered, Shown, remembered
from workers.eval.play import Play

#: A question of eval waits for its whole answer: what is measured is what is remembered, not how fast.
DEADLINE_MS = 10_000
BUDGET_TOKENS = 1_500
_SHOWN = 160


def judge(instance: Instance, play: Play) -> list[str]:
    """Everything that is wrong with a case that was played; [] when all is right."""
    if play.faults:
        return list(play.faults)
    expect = play.case.expect
    with instance.db.read() as session:
        found = remembered(session, play.place.tenant_id, now=play.now)
    wrong = [*_facts(expect, found), *_others(expect, found), *_counts(expect, found), *_gate(expect, found)]
    wrong += [message for asked in expect.recall for message in _recalled(instance, play, asked)]
    if expect.nowhere:
        for text, where in traces.places(instance, play.place.tenant_id, expect.nowhere).items():
            wrong += [f"nowhere {text!r}: stands in {', '.join(where)}"] if where else []
    return wrong


def _facts(expect: Expect, found: Remembered) -> Iterator[str]:
    for text in expect.current:
        if not _any(found.current, text):
            yield f"current {text!r}: no such fact; {_listed('current facts', found.current)}"
    for text in expect.not_current:
        for one in found.current:
            if one.says(text):
                yield f"not_current {text!r}: there is {_line(one)}"
    for text in expect.past:
        if not _any(found.past, text):
            yield f"past {text!r}: no closed version; {_listed('closed', found.past)}"


def _others(expect: Expect, found: Remembered) -> Iterator[str]:
    for subject, texts in expect.other.items():
        own = [one for one in found.others if subject.casefold() in one.subject.casefold()]
        for text in texts:
            if not _any(own, text):
                yield f"other {subject!r} {text!r}: no such fact; {_listed('facts of others', found.others)}"


def _counts(expect: Expect, found: Remembered) -> Iterator[str]:
    number = len(found.current)
    if expect.current_count is not None and number != expect.current_count:
        yield f"current_count {expect.current_count}: {number}; {_listed('current facts', found.current)}"
    if expect.current_max is not None and number > expect.current_max:
        yield f"current_max {expect.current_max}: {number}; {_listed('current facts', found.current)}"
    if expect.episodes is not None and found.episodes != expect.episodes:
        yield f"episodes {expect.episodes}: {found.episodes}"


def _gate(expect: Expect, found: Remembered) -> Iterator[str]:
    for text in expect.pending or ():
        if not any(text.casefold() in one.casefold() for one in found.pending):
            yield f"pending {text!r}: does not wait; {_words('waiting', found.pending)}"
    if expect.pending == () and found.pending:
        yield f"pending []: {_words('waiting', found.pending)}"
    if expect.requests is not None and Counter(found.requests) != Counter(expect.requests):
        yield f"requests {list(expect.requests)}: opened {list(found.requests)}"
    if expect.rejected is not None and not _in_order(expect.rejected, found.refused):
        yield f"rejected {list(expect.rejected)}: refused for {list(found.refused)}"


def _in_order(wanted: Sequence[str], found: Sequence[str]) -> bool:
    """Each code as often as it is wanted, in the order of first appearance; other codes may stand between."""
    counts, seen = Counter(found), list(dict.fromkeys(found))
    codes = list(dict.fromkeys(wanted))
    places = [seen.index(code) for code in codes if code in counts]
    return all(counts[code] == wanted.count(code) for code in codes) and places == sorted(places)


def _recalled(instance: Instance, play: Play, asked: Asked) -> Iterator[str]:
    where = f"recall {asked.query!r}{_at(' as of', asked.as_of)}"
    try:
        pack = recall(
            asked.query,
            user=asked.user or next(one.user for one in play.case.turns if isinstance(one, Said)),
            ticket=asked.ticket,
            session=asked.session,
            now=asked.at or play.now,
            as_of=asked.as_of,
            budget_tokens=BUDGET_TOKENS,
            deadline_ms=DEADLINE_MS,
            url=instance.settings.url,
            key=play.place.credential,
        )
    except (NotReachable, Refused) as exc:
        yield f"{where}: no answer ({exc})"
        return
    if pack.missing:
        yield f"{where}: the pack lacks {', '.join(pack.missing)}"
    shown = pack.prompt.casefold()
    for text in asked.contains:
        if text.casefold() not in shown:
            yield f"{where}: lacks {text!r}; {_words('pack', [item.text for item in pack.items])}"
    for text in asked.lacks:
        if text.casefold() in shown:
            yield f"{where}: shows {text!r}: {_around(pack.prompt, text)}"


def _any(shown: Iterable[Shown], text: str) -> bool:
    return any(one.has(text) for one in shown)


def _line(one: Shown) -> str:
    return one.full.split("\n", 1)[0]


def _listed(name: str, shown: Sequence[Shown]) -> str:
    return _words(name, [_line(one) for one in shown])


def _words(name: str, texts: Sequence[str]) -> str:
    return f"{name}: {' | '.join(_short(text) for text in texts) or 'none'}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"


def _around(prompt: str, text: str) -> str:
    line = next((line for line in prompt.splitlines() if text.casefold() in line.casefold()), "")
    return _short(line)


def _at(words: str, at: datetime | None) -> str:
    return "" if at is None else f"{words} {at.isoformat()}"
