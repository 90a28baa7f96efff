"""Every door, every read and every message with another organisation's key: nothing is told, nothing is changed.

Both organisations have the same user id, session, ticket and texts. Doors come from the application's own routes, reads
from the signatures of `stores`, tasks from the worker's registry: whatever is new must be tried here, or this fails.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID, uuid4

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlmodel import Session, SQLModel

from afterturn.batches import encode_batch
from afterturn.credentials import parse_credential, seal_key
from afterturn.errors import BadSeal
from afterturn.ids import uuid7
from afterturn.receipts import BatchReceipt, list_name, open_receipt, seal_receipt
from afterturn.sealing import Sealer
from api.app import create_app
from index_fixtures import INDEXES
from memory.terms import query_terms
from recall_builders import NOON
from schemas.errors import BadBatch
from schemas.indexing import IndexQuery
from schemas.tables import ProcedureOutcome, Turn
from stores import keys, moments, reviews, sights, tenancy
from stores.held import Held, held_back
from stores.index import Index
from stores.reviews import Wanted
from stores.sights import Sight
from stores.turns import view
from tasks.ingest import ingest_batch
from two_tenants import CANARY, Org, two_tenants
from workers.app import app

PROBES = {"/healthz", "/readyz", "/metrics", "/openapi.json"}


class Both(NamedTuple):
    """The organisation that is asked about, the one that asks, and the asker's way in."""

    theirs: Org
    ours: Org
    http: TestClient


@pytest.fixture(scope="module", params=INDEXES)
def both(request: pytest.FixtureRequest) -> Generator[Both]:
    server = None
    if request.param == "weaviate":
        server = f"At{uuid4().hex}", request.getfixturevalue("weaviate_address")
    with ExitStack() as stack:
        theirs, ours = stack.enter_context(two_tenants(server))
        http = stack.enter_context(TestClient(create_app(theirs.house.kit), raise_server_exceptions=False))
        http.headers["Authorization"] = f"Bearer {ours.house.bearer}"
        yield Both(theirs, ours, http)


def doors(app: FastAPI) -> set[tuple[str, str]]:
    """Every method and path that the application answers, those that its document does not show included."""
    found: set[tuple[str, str]] = set()
    for route in app.routes:
        contexts: Any = getattr(route, "effective_route_contexts", None)
        for one in [route] if contexts is None else contexts():
            place: Any = one
            found |= {
                (method, place.path) for method in place.methods if method != "HEAD" or "GET" not in place.methods
            }
    assert len(found) > 20
    return {(method, path) for method, path in found if path not in PROBES}


def of(name: str, tail: str = "", **asked: Any) -> Callable[[Org], dict[str, Any]]:
    """A request for something of theirs by its id."""
    return lambda org: {"name": f"{org.ids[name]}{tail}", **asked}


def asks(**asked: Any) -> Callable[[Org], dict[str, Any]]:
    """A request in the words that both organisations use."""
    return lambda _: dict(asked)


def event_of(org: Org) -> dict[str, Any]:
    return {
        "json": {
            **{"kind": "turn", "event_id": str(org.ids["event"]), "user_id": "u1", "session_id": "s1"},
            **{"role": "user", "content": "I live in Lyon.", "at": "2026-07-25T09:00:00+02:00"},
            **{"thread_id": "th1", "ticket_id": "T-1", "tenant_id": str(org.house.key.tenant_id)},
        }
    }


def recall_of(_: Org) -> dict[str, Any]:
    asked = {"user_id": "u1", "session_id": "s1", "thread_id": "th1", "ticket_id": "T-1", "deadline_ms": 30_000}
    return {"json": {**asked, "query": f"Where do I live? {CANARY}"}}


def verdict_of(org: Org) -> dict[str, Any]:
    with org.house.kit.db.read() as session:
        row = reviews.find(session, org.house.key.tenant_id, org.ids["evidence"])
        assert row is not None
        seen = reviews.content_hash(org.house.key.hash_key, row)
    return {"content_hash": seen, "value": "bank", "reason": "no", "has_user_consent": True}


def bulk_of(org: Org) -> dict[str, Any]:
    one = {"id": str(org.ids["evidence"]), "verdict": "approve", **verdict_of(org)}
    return {"json": {"items": [one]}}


#: How each door is tried, and what it may answer: what is named by an id is not there.
TRIES: dict[tuple[str, str], tuple[Callable[[Org], dict[str, Any]], set[int]]] = {
    ("POST", "/v1/events"): (event_of, {202}),
    ("GET", "/v1/events/{event_id}"): (of("staff"), {404}),
    ("GET", "/v1/dead"): (asks(), {200}),
    ("GET", "/v1/dead/{letter_id}"): (of("letter", params={"content": "true"}), {404}),
    ("POST", "/v1/dead/{letter_id}/retry"): (of("letter"), {404}),
    ("DELETE", "/v1/dead/{letter_id}"): (of("letter"), {404}),
    ("POST", "/v1/recall"): (recall_of, {200}),
    ("GET", "/v1/why"): (asks(params={"user_id": "u1", "to": CANARY, "ticket_id": "T-1"}), {200}),
    ("GET", "/v1/memories"): (asks(params={"user_id": "u1", "status": "all"}), {200}),
    ("GET", "/v1/memories/{memory_id}"): (of("fact"), {404}),
    ("GET", "/v1/memories/{memory_id}/explain"): (of("episode"), {404}),
    ("GET", "/v1/users/{user_id}/aliases"): (asks(name="u1"), {200}),
    ("POST", "/v1/users/{user_id}/aliases"): (asks(name="u1", json={"alias": "anon"}), {200}),
    ("DELETE", "/v1/users/{user_id}/aliases/{alias}"): (asks(name="u1"), {404}),
    ("GET", "/v1/reviews"): (asks(params={"user_id": "u1"}), {200}),
    ("GET", "/v1/reviews/log"): (asks(), {200}),
    ("POST", "/v1/reviews/bulk"): (bulk_of, {200}),
    ("GET", "/v1/reviews/{evidence_id}"): (of("evidence"), {404}),
    ("POST", "/v1/reviews/{evidence_id}/approve"): (lambda org: of("evidence", json=verdict_of(org))(org), {404}),
    ("POST", "/v1/reviews/{evidence_id}/edit"): (lambda org: of("evidence", json=verdict_of(org))(org), {404}),
    ("POST", "/v1/reviews/{evidence_id}/reject"): (of("evidence", json={"reason": "no"}), {404}),
    ("GET", "/v1/undos"): (asks(), {200}),
    ("POST", "/v1/undos"): (
        lambda org: {"json": {"kind": "summary", "name": str(org.ids["episode"]), "reason": "no"}},
        {404},
    ),
    ("POST", "/v1/undos/{undo_id}/withdraw"): (of("undo", json={}), {404}),
    ("GET", "/v1/requests"): (asks(params={"state": ["open", "done", "refused"]}), {200}),
    ("POST", "/v1/requests/{request_id}/answer"): (of("request", json={"state": "done"}), {404}),
    ("GET", "/v1/operations/{operation_id}"): (of("request"), {404}),
    ("GET", "/v1/spend"): (asks(params={"days": 366}), {200}),
}


def plain_path(path: str) -> str:
    return path.replace(":path}", "}")


def test_no_door_is_forgotten(both: Both) -> None:
    served: Any = both.http.app
    assert {(method, plain_path(path)) for method, path in doors(served)} == set(TRIES)


@pytest.mark.parametrize("door", TRIES, ids=" ".join)
def test_another_organisation_s_key_opens_nothing(both: Both, door: tuple[str, str]) -> None:
    method, path = door
    make, may = TRIES[door]
    asked = make(both.theirs)
    name, before, marks = str(asked.pop("name", "")), both.theirs.rows(), both.theirs.marks() - both.ours.marks()
    for hole in ("alias", *(part for part in path.split("/") if part.startswith("{"))):
        path = path.replace(hole if hole.startswith("{") else "{alias}", name if hole.startswith("{") else "stranger")

    answer = both.http.request(method, path, **asked)

    assert answer.status_code in may, answer.text
    # What was asked with may come back; nothing else of theirs.
    told = [one for one in marks if one in answer.text and one not in f"{name} {json.dumps(asked)}"]
    assert told == []
    assert CANARY not in answer.text.replace(json.dumps(asked.get("params", {}).get("to", "")), "")
    assert both.theirs.rows() == before


@pytest.mark.parametrize("door", TRIES, ids=" ".join)
@pytest.mark.parametrize("key", ["none", "unknown", "forged", "revoked"])
def test_without_a_good_key_every_door_is_shut(both: Both, door: tuple[str, str], key: str, revoked: str) -> None:
    unknown = f"at_{'a' * 12}_{'A' * 43}"
    forged = f"at_{both.theirs.house.key.key_id}_{both.ours.house.bearer[16:]}"
    bearer = {"none": "", "unknown": unknown, "forged": forged, "revoked": revoked}[key]
    headers = {"Authorization": f"Bearer {bearer}" if bearer else ""}

    answer = both.http.request(door[0], door[1].replace("{", "").replace("}", ""), headers=headers)

    assert answer.status_code == 401
    assert answer.json()["code"] == ("key_revoked" if key == "revoked" else "unauthorized")


@pytest.fixture(scope="module")
def revoked(both: Both) -> str:
    def make(session: Session) -> str:
        tenant = session.get_one(tenancy.Tenant, both.theirs.house.key.tenant_id)
        key, credential = keys.create(session, tenant, keys.RIGHTS)
        keys.revoke(session, key.id)
        return credential

    return both.theirs.house.kit.db.write(make)


def test_recall_finds_the_asker_s_own_words_and_only_those(both: Both) -> None:
    for org, other in ((both.ours, both.theirs), (both.theirs, both.ours)):
        headers = {"Authorization": f"Bearer {org.house.bearer}"}
        answer = both.http.post("/v1/recall", headers=headers, **recall_of(org))

        assert org.canary in answer.text
        assert other.canary not in json.dumps(answer.json()["items"])
        assert "index" not in answer.json()["missing"]


# --- reads of the stores

READERS = (
    *("aliases", "catalogue", "drafts", "episodes", "facts", "fates", "held", "knowledge", "ledger", "live", "moments"),
    *("procedures", "recall", "relations", "requests", "reviews", "sights", "spans", "spend", "stories", "tenancy"),
    *("tenant_policies", "turns", "undos", "working"),
)
TENANTS = ("tenant_id", "sight", "key", "tenant", "user")
#: Those that write, or make no read of a store at all.
NO_READS = {
    *("aliases.rehome", "episodes.add", "episodes.touch", "facts.touch", "knowledge.add", "knowledge.withdraw"),
    *("ledger.count", "ledger.enter", "ledger.enter_window", "ledger.mark", "moments.add", "moments.pass_on"),
    *(
        "moments.share",
        "moments.touch",
        "procedures.named",
        "procedures.recount",
        "requests.open_request",
        "spans.hold",
        "spans.release",
    ),
    *("spans.settle", "spend.charge", "tenancy.create_tenant", "tenancy.ensure_users", "tenancy.hash_of"),
    *(
        "tenancy.user_hash",
        "tenant_policies.put",
        "turns.assign",
        "working.checkpoint",
        "working.end_ticket",
    ),
    *("sights.form", "sights.values", "recall.foreign"),
}
#: Their own rows are asked about with them: what these open they were given.
OPENS_WHAT_IT_IS_GIVEN = {"recall.fact_records", "recall.episode_records", "recall.alias_set"}


def reads() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module_name in READERS:
        module = importlib.import_module(f"stores.{module_name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            is_public = function.__module__ == module.__name__ and not name.startswith("_")
            if is_public and set(TENANTS) & set(inspect.signature(function).parameters):
                yield f"{module_name}.{name}", function


READS = {name: function for name, function in reads() if name not in NO_READS | OPENS_WHAT_IT_IS_GIVEN}
#: What these read differs for nobody, or is nothing in this installation.
SAY_NOTHING = {"tenant_policies.gate_of", "sights.shared_threads", "turns.traceparents", "undos.episodes_of"}


def given(function: Callable[..., Any], who: Org, what: Org, session: Session) -> dict[str, Any]:
    """Arguments that name everything of one organisation, in the name of another."""
    ids, key = what.ids, who.house.key
    module = function.__module__.rpartition(".")[2]
    events = [ids["event"], ids["staff"], ids["waiting"]]
    own: dict[str, Any] = {
        "tenant_id": key.tenant_id,
        "key": key,
        "tenant": key,
        "sight": Sight(
            tenant_id=key.tenant_id,
            users=(ids["user"],),
            now=NOON + timedelta(days=1),
            as_of=NOON + timedelta(days=1),
            session_ref=what.session_ref,
            thread_id="th1",
            ticket_id="T-1",
        ),
    }
    some: dict[str, Any] = {
        **{"event_ids": events, "event_id": ids["event"], "users": [ids["user"]], "user_ref": ids["user"]},
        **{"refs": [ids["user"]], "user_id": "u1", "slot_hash": what.slot, "slot_hashes": [what.slot]},
        **{"fact_id": ids["fact"], "episode_id": ids["episode"], "version_id": ids["procedure"]},
        **{"evidence_id": ids["evidence"], "request_id": ids["request"], "undo_id": ids["undo"]},
        **{"draft_id": ids["draft"], "session_ref": what.session_ref, "scope": "ticket", "scope_key": "T-1"},
        **{"wanted": Wanted(), "held": Held(), "after": None, "limit": 50, "status": "all", "now": NOON},
        **{"before": NOON + timedelta(days=9), "as_of": NOON + timedelta(days=1), "known_at": None, "days": 3650},
        **{"name": "refund", "version": None, "thread_id": "th1", "threads": ["th1"], "groups": [events]},
        "ids": {
            "recall": [ids["fact"], ids["episode"], ids["procedure"], *moments_of(what, session)],
        }.get(module, events),
    }
    parameters = inspect.signature(function).parameters
    found = {name: own.get(name, some.get(name)) for name in parameters if name in own or name in some}
    found |= particular(f"{module}.{function.__name__}", who, what, session, own["sight"])
    if "turns" in parameters:
        turn = session.get_one(Turn, (what.house.key.tenant_id, ids["staff"]))
        shapes = {"episodes_of": turn, "about_turns": view(turn)}
        found["turns"] = [shapes.get(function.__name__, (view(turn), ids["user"], what.session_ref))]
    if "talks" in parameters:
        found["talks"] = sights.talks(session, [ids["user"]])
    return {"session": session, **found}


def particular(name: str, who: Org, what: Org, session: Session, sight: Sight) -> dict[str, Any]:
    """What one read takes otherwise than the rest."""
    ids, tenant_id = what.ids, what.house.key.tenant_id
    outcomes: Callable[[], Any] = lambda: [session.get_one(ProcedureOutcome, ids["outcome"])]  # noqa: E731
    others: dict[str, tuple[str, Callable[[], Any]]] = {
        "recall.turns": ("ids", lambda: [ids["event"], ids["staff"], ids["waiting"]]),
        "turns.before": ("ids", lambda: [ids["waiting"]]),
        "turns.near": ("rows", lambda: [session.get_one(Turn, (tenant_id, ids["waiting"]))]),
        "relations.tickets_of_turns": ("event_ids", lambda: [str(ids[one]) for one in ("event", "staff", "waiting")]),
        "facts.evidence_of_turn": ("event_id", lambda: ids["quoted"]),
        "held.staff_words": ("sight", lambda: replace(sight, ticket_id=None)),
        "held.held_words": ("held", lambda: held_back(session, replace(sight, tenant_id=tenant_id))),
        "tenant_policies.gate_of": ("shipped", lambda: who.house.kit.policies.gate),
        "undos.covering_outcomes": ("rows", outcomes),
        "undos.about_outcomes": ("rows", outcomes),
        "undos.of_target": ("by_kind", lambda: {"event": {str(ids["staff"])}}),
        "undos.reaches": ("at", lambda: NOON + timedelta(days=2)),
    }
    return {} if name not in others else {others[name][0]: others[name][1]()}


def moments_of(org: Org, session: Session) -> list[UUID]:
    return [row.id for row in moments.of_turns(session, org.house.key.tenant_id, [org.ids["event"]])]


def spelled(value: Any) -> str:
    """All that a value holds, opened."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return " ".join(spelled(one) for pair in cast("dict[Any, Any]", value).items() for one in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return " ".join(spelled(one) for one in cast("Iterable[Any]", value))
    if isinstance(value, SQLModel):
        return spelled(value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return spelled({one.name: getattr(value, one.name) for one in fields(value)})
    return str(value)


def read(name: str, who: Org, what: Org) -> tuple[str, str]:
    """What a read answers, and what it was asked with."""
    with who.house.kit.db.read() as session:
        asked = given(READS[name], who, what, session)
        answer = spelled(READS[name](**asked))
        return answer, spelled({name: one for name, one in asked.items() if name != "session"})


def test_every_kind_of_read_is_tried() -> None:
    known = {name for name, _ in reads()}

    assert len(READS) > 50
    assert known >= NO_READS | OPENS_WHAT_IT_IS_GIVEN
    assert set(READS) >= SAY_NOTHING


@pytest.mark.parametrize("name", READS)
def test_a_read_in_another_organisation_s_name_finds_nothing(both: Both, name: str) -> None:
    answer, asked = read(name, both.ours, both.theirs)

    marks = both.theirs.marks() - both.ours.marks()
    assert [one for one in marks if one in answer and one not in asked] == []
    assert CANARY not in answer
    if name not in SAY_NOTHING:
        own, _ = read(name, both.theirs, both.theirs)
        assert own != answer, "a read that answers nobody tells nothing of isolation"


# --- the index


ASKED_OF_AN_INDEX = {"search", "ids", "held", "identity", "delete", "delete_user", "upsert"}


def test_the_index_keeps_organisations_apart(both: Both) -> None:
    theirs, ours, _ = both
    index, ids = theirs.house.kit.index, theirs.ids
    methods = inspect.getmembers(Index, inspect.isfunction)
    about = {"tenant_id", "query", "rows", "ids", "user_ref"}
    assert {name for name, one in methods if about & set(inspect.signature(one).parameters)} == ASKED_OF_AN_INDEX
    vector = theirs.house.kit.embedder.embed([f"Lyon {CANARY}"])[0]
    listed = {one for one, _, _ in index.ids(theirs.house.key.tenant_id)}

    def found(org: Org) -> set[UUID]:
        query = IndexQuery(
            tenant_id=org.house.key.tenant_id,
            users=[ids["user"]],
            terms=" ".join(query_terms(f"Lyon {CANARY}")),
            vector=vector,
            now=NOON + timedelta(days=1),
            as_of=NOON + timedelta(days=1),
            ticket_id="T-1",
            thread_ids=["th1"],
        )
        return {hit.id for hit in asyncio.run(index.search(query, timeout_seconds=10.0))}

    assert ids["fact"] in found(theirs)
    assert found(ours) & listed == set()
    assert index.held(ours.house.key.tenant_id, list(listed)) == {}
    assert list(index.ids(ours.house.key.tenant_id, ids["user"])) == []
    assert not {one for one, _, _ in index.ids(ours.house.key.tenant_id)} & listed

    index.delete(ours.house.key.tenant_id, list(listed))
    assert index.delete_user(ours.house.key.tenant_id, ids["user"]) == 0

    assert {one for one, _, _ in index.ids(theirs.house.key.tenant_id)} == listed


# --- messages


def sealed(credential: str, org: Org, *, key_id: str | None = None) -> str:
    parsed = parse_credential(credential)
    event = event_of(org)["json"] | {"event_id": str(org.ids["waiting"])}
    event["at"] = NOON
    producer = uuid7()
    return Sealer(key_id or parsed.key_id, seal_key(parsed.secret), producer).seal(
        uuid7(), encode_batch([event], sent_at=NOON)
    )


def test_a_batch_lands_with_whose_key_sealed_it(both: Both) -> None:
    theirs, ours, _ = both
    before = theirs.rows()

    (receipt,) = ingest_batch(ours.house.kit, sealed(ours.house.bearer, theirs))

    assert receipt.state == "stored"
    with ours.house.kit.db.read() as session:
        assert session.get(Turn, (ours.house.key.tenant_id, theirs.ids["waiting"])) is not None
    assert theirs.rows() == before


def test_a_batch_in_another_key_s_name_does_not_open(both: Both) -> None:
    theirs, ours, _ = both
    before = theirs.rows()

    with pytest.raises(BadBatch) as refused:
        ingest_batch(ours.house.kit, sealed(ours.house.bearer, theirs, key_id=theirs.house.key.key_id))

    assert refused.value.code == "forged"
    assert theirs.rows() == before


def test_no_other_message_names_anything(both: Both) -> None:
    """The ingest queue's sealed batch is the only message with content: all others are hints without arguments."""
    finalized: Any = app
    finalized.loader.import_default_modules()
    registered = {name: one for name, one in finalized.tasks.items() if name.startswith("afterturn.")}
    assert len(registered) >= 7

    takes = {name: list(inspect.signature(task.run).parameters) for name, task in registered.items()}

    assert {name: given for name, given in takes.items() if given} == {"afterturn.ingest": ["blob"]}


def test_receipts_wait_where_their_own_key_looks_and_open_under_it_alone(both: Both) -> None:
    theirs, ours = (seal_key(parse_credential(org.house.bearer).secret) for org in both[:2])
    producer = uuid7()
    receipt = seal_receipt(BatchReceipt(uuid7(), (("stored", 1),)), theirs, producer)

    assert list_name(theirs, producer) != list_name(ours, producer)
    assert open_receipt(receipt, theirs, producer).runs == (("stored", 1),)
    with pytest.raises(BadSeal):
        open_receipt(receipt, ours, producer)
