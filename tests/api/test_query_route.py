"""Questions over HTTP: who is let in, what is refused and in which order, and what is audited."""

from typing import Any
from uuid import uuid4

import pytest

from tests.stack import Caller, Company, Stack

REFUND = "Customers get a refund within thirty days of purchase."


def path(base: str) -> str:
    return f"/v1/knowledge-bases/{base}/query"


async def refused(api: Caller, base: str, body: Any, status: int) -> dict[str, Any]:
    answer = await api.post(path(base), json=body)
    assert answer.status_code == status, answer.text
    return dict(answer.json()["error"])


async def denials(company: Company) -> list[dict[str, Any]]:
    found = await company.admin.got("/v1/audit/events", action="access.denied")
    return [event for event in found["data"] if event["resource"]["id"] == "query_knowledge_base"]


async def test_a_member_asks_and_gets_cited_passages(company: Company) -> None:
    asker = await company.person("member")
    base = await company.base("tenant:*")
    document = await company.document(base, REFUND, title="Handbook", classification="public")
    answer = await asker.api.post(path(base), json={"query": "refund", "top_k": 3})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert (found["knowledge_base_id"], found["count"], found["mode"]) == (base, 1, "hybrid")
    (result,) = found["results"]
    assert (result["document_id"], result["title"], result["content"]) == (document, "Handbook", REFUND)
    assert result["position"] == {"start": 0, "end": len(REFUND)}
    assert result["provenance"]["version"] == "1"


async def test_a_platform_operator_has_no_content_to_ask(stack: Stack, company: Company) -> None:
    base = await company.base("tenant:*")
    assert (await refused(stack.operator, base, {"query": "refund"}, 403))["code"] == "tenant_required"


async def test_scope_comes_before_input_and_input_before_the_base(company: Company) -> None:
    unscoped = await company.person("auditor")
    member = await company.person("member")
    nothing = str(uuid4())
    assert (await refused(unscoped.api, nothing, {"top_k": 0}, 403))["code"] == "scope_missing"
    assert (await refused(unscoped.api, nothing, {"query": "refund"}, 403))["code"] == "scope_missing"
    assert (await refused(member.api, nothing, {"top_k": 0}, 422))["code"] == "invalid_input"
    assert (await refused(member.api, nothing, {"query": "refund"}, 404))["code"] == "not_found"


async def test_no_credential_and_a_revoked_one_come_before_everything(stack: Stack, company: Company) -> None:
    member = await company.person("member")
    keys = await member.api.got("/v1/api-keys")
    answer = await company.admin.delete(f"/v1/api-keys/{keys['data'][0]['id']}")
    assert answer.is_success
    for api in (stack.caller(None), stack.caller("nonsense"), member.api):
        assert (await refused(api, str(uuid4()), {"top_k": 0}, 401))["code"] == "unauthenticated"
        assert (await refused(api, str(uuid4()), {"query": "refund"}, 401))["code"] == "unauthenticated"


async def test_foreign_unreadable_missing_and_malformed_bases_are_told_apart_by_nobody(
    stack: Stack, company: Company
) -> None:
    member = await company.person("member")
    other = await stack.company()
    foreign, unreadable = await other.base("tenant:*"), await company.base()
    answers = []
    for reference in (foreign, unreadable, str(uuid4()), "kb_nothing", "no-id-at-all"):
        answer = await member.api.post(path(reference), json={"query": "refund"})
        body = answer.json()
        del body["instance"], body["error"]["request_id"]
        answers.append((answer.status_code, body, sorted(set(answer.headers) - {"x-request-id"})))
    assert answers[0][0] == 404
    assert answers == [answers[0]] * 5


async def test_what_was_refused_is_audited_in_the_callers_chain_and_nowhere_else(
    stack: Stack, company: Company
) -> None:
    """Attack 1."""
    other = await stack.company()
    foreign = await other.base("tenant:*")
    member, auditor = await company.person("member"), await company.person("auditor")
    await refused(member.api, foreign, {"query": "refund"}, 404)
    await refused(auditor.api, foreign, {"query": "refund"}, 403)
    found = await denials(company)
    by_actor = {event["actor"]["principal"]: event for event in found}
    assert by_actor[member.id]["facts"] == {"code": "not_found", "status": 404}
    assert by_actor[auditor.id]["facts"] == {"code": "scope_missing", "status": 403}
    assert {event["decision"] for event in found} == {"deny"}
    assert foreign not in str([(event["facts"], event["resource"]) for event in found])
    assert await denials(other) == []


async def test_who_manages_a_base_without_reading_it_is_told_so(company: Company) -> None:
    manager = await company.person("tenant_admin", "member")
    base = await company.base()
    refusal = await refused(manager.api, base, {"query": "refund"}, 403)
    assert (refusal["code"], refusal["details"]) == ("permission_missing", {"permission": "read"})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": " \n "}, "query"),
        ({"query": "x" * 8_001}, "query"),
        ({"query": ["refund"]}, "query"),
        ({"query": "refund", "top_k": 0}, "top_k"),
        ({"query": "refund", "top_k": 101}, "top_k"),
        ({"query": "refund", "top_k": 10**9}, "top_k"),
        ({"query": "refund", "top_k": "5"}, "top_k"),
        ({"query": "refund", "mode": "fuzzy"}, "mode"),
        ({"query": "refund", "rerank": "yes"}, "rerank"),
        ({"query": "refund", "min_score": 1.5}, "min_score"),
        ({"query": "refund", "tenant_id": str(uuid4())}, "tenant_id"),
        ({"query": "refund", "generation": str(uuid4())}, "generation"),
        ({"query": "refund", "labels": {"team": "a"}}, "labels.team"),
        ({"query": "refund", "filters": {"should": []}}, "filters.should"),
        ({"query": "refund", "filters": {"tenant": "a"}}, "filters.tenant"),
        ({"query": "refund", "filters": {"metadata": {"a": {"$ne": 1}}}}, "filters.metadata.a"),
        ({"query": "refund", "filters": {"metadata": {"$or": [{"a": 1}]}}}, "filters.metadata.$or"),
        ({"query": "refund", "filters": {"metadata": {"a": None}}}, "filters.metadata.a"),
        ({"query": "refund", "filters": {"metadata": {"a": []}}}, "filters.metadata.a"),
        ({"query": "refund", "filters": {"metadata": {"a": [[1]]}}}, "filters.metadata.a"),
        ({"query": "refund", "filters": {"metadata": {"a": list(range(101))}}}, "filters.metadata.a"),
        ({"query": "refund", "filters": {"metadata": {"a": "x" * 1_001}}}, "filters.metadata.a"),
        ({"query": "refund", "filters": {"metadata": {str(n): n for n in range(11)}}}, "filters.metadata"),
    ],
)
async def test_bad_input_is_refused_with_the_field(company: Company, body: Any, field: str) -> None:
    """Attacks 16, 17 and 97."""
    refusal = await refused(company.admin, str(uuid4()), body, 422)
    assert [fault["path"] for fault in refusal["details"]["fields"]] == [field]


@pytest.mark.parametrize("text", [r'"\ud800"', r'"a\u0000b"'])
async def test_what_is_no_text_is_refused(company: Company, text: str) -> None:
    answer = await company.admin.post(
        path(str(uuid4())), content=f'{{"query": {text}}}', headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert [fault["path"] for fault in answer.json()["error"]["details"]["fields"]] == ["query"]


async def test_a_filter_of_ten_thousand_values_or_a_hundred_levels_costs_nothing(company: Company) -> None:
    deep: Any = "a"
    for _ in range(100):
        deep = [deep]
    many = {"query": "refund", "filters": {"metadata": {"a": list(range(10_000))}}}
    await refused(company.admin, str(uuid4()), many, 422)
    answer = await company.admin.post(
        path(str(uuid4())), json={"query": "refund", "filters": {"metadata": {"a": deep}}}
    )
    assert answer.status_code in {400, 422}


async def test_the_index_being_down_is_said_and_nothing_is_lost(stack: Stack, company: Company) -> None:
    base = await company.base("tenant:*")
    await company.document(base, REFUND)
    await stack.engine.kill()
    try:
        refusal = await refused(company.admin, base, {"query": "refund"}, 503)
        assert (refusal["code"], refusal["retryable"]) == ("vector_store_unavailable", True)
    finally:
        await stack.engine.start()
    answer = await company.admin.post(path(base), json={"query": "refund"})
    assert [result["content"] for result in answer.json()["results"]] == [REFUND]


async def keep_keys_out(company: Company, **more: str) -> None:
    """A document with a key waits for a steward, unless it is told not to come in."""
    settings = await company.admin.patch("/v1/settings", json={"dlp": {"api_key": "block", **more}})
    assert settings.status_code == 200, settings.text


async def test_a_base_whose_first_text_was_refused_holds_nothing_and_says_so(
    stack: Stack, company: Company
) -> None:
    await keep_keys_out(company)
    base = await company.base("tenant:*")
    secret = {"title": "Key", "content": "The key is AKIAIOSFODNN7EXAMPLE."}
    refused_text = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=secret)
    assert (refused_text.status_code, refused_text.json()["error"]["code"]) == (403, "dlp_blocked")
    await stack.engine.kill()
    try:
        answer = await company.admin.post(path(base), json={"query": "key"})
        assert (answer.status_code, answer.json()["results"]) == (200, [])
    finally:
        await stack.engine.start()


async def test_a_refusal_names_what_blocks_and_not_what_would_only_have_been_redacted(
    company: Company,
) -> None:
    base = await company.base("tenant:*")
    await keep_keys_out(company, email="redact")
    text = "Ask jean.dupont@exemple.fr: the key is AKIAIOSFODNN7EXAMPLE."
    refusal = await refused(company.admin, base, {"query": text}, 403)
    assert (refusal["code"], refusal["details"]["entities"]) == ("dlp_blocked", ["api_key"])
    # A document would be kept without the address, so that the key alone stands in its way, too.
    stored = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents", json={"title": "Key", "content": text}
    )
    assert (stored.status_code, stored.json()["error"]["code"]) == (403, "dlp_blocked")
    assert stored.json()["error"]["details"] == {"entities": ["api_key"]}
