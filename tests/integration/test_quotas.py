"""Quotas hold however many workers digest a person's windows at once, and whichever of their ids the words come by."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlmodel import Session, col, select

from delivery_fixtures import turn
from digest_fixtures import Shop, shop
from schemas.tables import Draft, Evidence, FactDecision
from stores import tenant_policies
from tasks import join as aliases
from tasks.digest import digest
from tasks.review import Who

__all__ = ["shop"]

POLICY = "afterturn_policy: 1\nname: forms\nquotas: {identity_changes_per_day: 2, per_source_per_day: {form: 4}}\n"
THINGS = ("rye bread", "oat milk", "green tea", "plum jam", "goat cheese", "barley", "figs", "walnuts", "mint", "kale")


def limited(shop: Shop) -> None:
    """Gives the tenant a policy with narrow quotas."""

    def write(session: Session) -> None:
        tenant_policies.put(
            session,
            shop.key.tenant_id,
            POLICY,
            version="forms@1",
            policy_id=shop.kit.new_id(),
            actor="test",
            now=shop.kit.clock(),
        )

    shop.kit.db.write(write)


def digest_at_once(shop: Shop, workers: int) -> None:
    """Cuts what is due, and lets so many threads begin with it in the same moment, each on connections of its own."""
    shop.cut()
    barrier = Barrier(workers)

    def work(_: int) -> None:
        barrier.wait(10)
        while digest(shop.kit) is not None:
            pass

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    while shop.digest() is not None:
        shop.due_now()


def reasons(shop: Shop) -> list[str]:
    """What the quotas left to a person."""
    return [code for row in shop.rows(Draft, Draft.decision == "pending_review") for code in row.reason_codes]


def test_two_workers_at_once_keep_no_more_from_a_source_than_one(shop: Shop) -> None:
    limited(shop)
    for number, (one, other) in enumerate(zip(THINGS[::2], THINGS[1::2], strict=True)):
        said = f"I like {one}. I like {other}."
        shop.say(turn(said, number, session_id=f"s{number}", source="form"))

    digest_at_once(shop, 5)

    assert {row.state for row in shop.windows()} == {"applied"}
    statuses = [row.write_status for row in shop.rows(Evidence)]
    assert (statuses.count("auto"), statuses.count("pending_review")) == (4, 6)
    assert reasons(shop) == ["quota_source"] * 6


def test_workers_at_once_change_no_more_of_who_somebody_is(shop: Shop) -> None:
    limited(shop)
    shop.say(turn("I live in Bergen."))
    shop.settle()
    for number, city in enumerate(("Oslo", "Lyon", "Graz", "Jena", "Porto", "Turin"), 1):
        shop.say(turn(f"I live in {city} now.", 60 * number, session_id=f"s{number}"))

    digest_at_once(shop, 6)

    with shop.kit.db.read() as session:
        changed = session.exec(select(FactDecision.evidence_id).where(col(FactDecision.op) == "supersede")).all()
    assert len(set(changed)) <= 2
    assert set(reasons(shop)) <= {"quota_identity"}
    assert len([row for row in shop.rows(Evidence) if row.write_status == "auto"]) >= 3


def test_a_second_id_of_the_same_person_is_no_second_share(shop: Shop) -> None:
    limited(shop)
    shop.say(turn("Hello."), turn("Hello.", user_id="anon", session_id="a0"))
    shop.settle()
    aliases.join(shop.kit, shop.key.tenant_id, "u1", "anon", Who(actor="test"))
    for number, thing in enumerate(THINGS[:6]):
        user = ("u1", "anon")[number % 2]
        shop.say(turn(f"I like {thing}.", 10 + number, user_id=user, session_id=f"{user}-{number}", source="form"))

    digest_at_once(shop, 4)

    statuses = [row.write_status for row in shop.rows(Evidence)]
    assert (statuses.count("auto"), statuses.count("pending_review")) == (4, 2)
