"""A chain of edges in words: one line an edge, with what was said, when, by whom, or by which version of a document."""

from __future__ import annotations

from memory.entities import KIN, USER, Entity, kin_text
from memory.labels import LABELS, title
from memory.predicates import predicate_text
from memory.relations import Edge, Proof

_ROLES = {"user": ("the user", "用户"), "staff": ("staff", "工作人员"), "tool": ("a tool", "工具")}
_QUOTE_CHARS = 160


def edge_text(edge: Edge, language: str) -> str:
    """One edge: `BT-500 - belongs to - electronics`, with what a reader must know of it."""
    zh = language == "zh"
    predicate = _predicate(edge, language)
    if edge.is_negative:
        predicate = f"不{predicate}" if zh else f"not: {predicate}"
    head, tail = (entity_text(*end, language) for end in ((edge.head, edge.head_text), (edge.tail, edge.tail_text)))
    flags = [
        text
        for text, is_on in (
            ("使用前请核实" if zh else "verify before acting", edge.is_volatile),
            ("说法不一" if zh else "contested", edge.is_contested),
        )
        if is_on
    ]
    note = f" [{', '.join(flags)}]" if flags else ""
    return f"{head} - {predicate} - {tail}{note}"


def proof_text(proof: Proof, language: str) -> str:
    """Where an edge comes from, in one line."""
    zh = language == "zh"
    day = "" if proof.at is None else proof.at.date().isoformat()
    if proof.kind == "knowledge":
        named = " ".join(part for part in (proof.source, proof.version) if part)
        return f"{'知识库' if zh else 'knowledge'}: {named}"
    who = _ROLES.get(proof.role, (proof.role, proof.role))[1 if zh else 0]
    quote = f"“{proof.quote[:_QUOTE_CHARS]}”" if proof.quote else ""
    if proof.kind == "state":
        who = "工单状态" if zh else "the ticket's state"
    return " ".join(part for part in (who, day, quote) if part)


def entity_text(entity: Entity, said: str, language: str) -> str:
    """An entity as it is read: kinship in the reader's language, all else as it was said."""
    if entity == USER:
        return "用户" if language == "zh" else "the user"
    if entity.kind == "kin":
        kin = kin_text(entity.id, language)
        return kin if said.casefold() in {entity.id, *_words(entity.id)} else f"{kin} ({said})"
    return said


def _words(code: str) -> set[str]:
    kin = KIN[code]
    return {kin.en, kin.zh, *kin.said}


def _predicate(edge: Edge, language: str) -> str:
    if edge.predicate in LABELS:
        return title(edge.predicate, language, (edge.proof.quote,))
    if edge.predicate in KIN:
        return kin_text(edge.predicate, language)
    return predicate_text(edge.predicate, language)
