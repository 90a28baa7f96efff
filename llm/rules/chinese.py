"""All Chinese findings of one turn."""

from __future__ import annotations

from dataclasses import replace

from llm.rules import identity_zh, needs_zh, taste_zh
from llm.rules.clauses_zh import clauses
from llm.rules.finding import Finding
from llm.rules.masking import masked
from memory.dates import find_times


def findings(text: str) -> list[Finding]:
    """What the user of a Chinese turn states, in order of appearance."""
    same = masked(text)
    if needs_zh.NOT_STORED.search(same):
        return []
    parts = list(clauses(same))
    found: list[Finding] = []
    for clause in parts:
        for finder in (identity_zh.find, taste_zh.find, needs_zh.find):
            found += [_timed(finding, same) for finding in finder(clause)]
    found += needs_zh.find_budgets(parts, found)
    found += needs_zh.find_other(same, found)
    return found


def _timed(finding: Finding, text: str) -> Finding:
    if finding.when is not None:
        return finding
    left = max(text.rfind(mark, 0, finding.start) for mark in "。！？!?\n；") + 1
    near = text[max(left, finding.start - 8) : finding.end + 12]
    times = [
        span
        for span in find_times(near)
        if not set("，。！？") & set(near[span.end : finding.start - max(left, finding.start - 8)])
    ]
    return replace(finding, when=times[0].text) if times else finding
