"""Quotas and usage over HTTP."""

from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, AuditEntry, Evidence, ReservationState, Settlement, UsageRow
from eai.finops.reservations import Bound, Reservations
from eai.kernel.ids import BaseId, TenantId
from tests.stack import Company, Json, Stack

QUOTAS = "/v1/finops/quotas"
USAGE = "/v1/finops/usage"
MISSING = "00000000-0000-4000-8000-00000000dead"


async def _set(company: Company, **fields: Any) -> Json:
    body = {"owner": "tenant", "metric": "tokens", "limit": 1_000, **fields}
    answer = await company.admin.put(QUOTAS, json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def _code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def _spend(stack: Stack, company: Company, tokens: int, *, settled: int | None = None) -> None:
    """A call that holds `tokens`, and ends with `settled` of them where it ends."""
    tenant = TenantId(UUID(company.id))
    bound = Bound(tenant, None, (), None, "m", None, "query", tokens, 60)
    held = await Reservations(stack.platform.database).reserve(bound, None)
    if settled is not None:
        entry = AuditEntry(tenant, AuditAction.MODEL_INVOKE, SYSTEM)
        end = (Settlement(held.id, ReservationState.SETTLED, settled),)
        await stack.platform.audit.flush(Evidence(entries=(entry,), settled=end))


async def test_a_quota_is_set_shown_and_removed(stack: Stack, company: Company) -> None:
    made = await _set(company)
    names = ("owner", "metric", "window", "limit", "used", "remaining")
    assert [made[name] for name in names] == ["tenant", "tokens", "month", 1_000, 0, 1_000]
    await _spend(stack, company, 300, settled=250)
    await _spend(stack, company, 400)
    shown = await company.admin.get(f"{QUOTAS}/{made['id']}")
    stands = shown.json()
    assert (stands["used"], stands["reserved"], stands["remaining"]) == (250, 400, 350)
    again = await _set(company, limit=500)
    assert (again["id"], again["used"], again["remaining"]) == (made["id"], 250, 0)
    listed = await company.admin.got(QUOTAS)
    assert [(quota["id"], quota["limit"]) for quota in listed["data"]] == [(made["id"], 500)]
    stale = {"if-match": shown.headers["etag"]}
    assert _code(await company.admin.delete(f"{QUOTAS}/{made['id']}", headers=stale)) == (
        412,
        "precondition_failed",
    )
    assert (await company.admin.delete(f"{QUOTAS}/{made['id']}")).status_code == 204
    assert _code(await company.admin.get(f"{QUOTAS}/{made['id']}")) == (404, "not_found")
    told = await company.admin.got("/v1/audit/events", action="quota.set")
    assert [event["facts"]["limit"] for event in told["data"]] == [1_000, 500]
    told = await company.admin.got("/v1/audit/events", action="quota.delete")
    assert told["data"][0]["facts"] == {
        "owner": "tenant", "metric": "tokens", "window": "month", "limit": 500,
    }  # fmt: skip


async def test_a_quota_that_is_made_anew_goes_on_where_it_was(company: Company) -> None:
    asked = {"model": "local-hash-256", "input": "How long is the notice period of three months?"}
    used = (await company.admin.made("/v1/gateway/embeddings", asked, status=200))["usage"]["total_tokens"]
    assert used > 0
    for _ in range(2):
        quota = await _set(company, limit=used)
        assert (quota["used"], quota["reserved"], quota["remaining"]) == (used, 0, 0)
        refused = await company.admin.post("/v1/gateway/embeddings", json=asked)
        assert _code(refused) == (409, "quota_exceeded")
        assert (await company.admin.delete(f"{QUOTAS}/{quota['id']}")).status_code == 204


async def test_each_owner_metric_and_window_has_a_quota_of_its_own(company: Company) -> None:
    group, base = await company.group(), f"knowledge_base:{await company.base()}"
    wanted = [
        (owner, metric, window)
        for owner in ("tenant", group, base)
        for metric in ("tokens", "requests")
        for window in ("month", "minute")
    ]
    made = {
        (await _set(company, owner=owner, metric=metric, window=window))["id"]
        for owner, metric, window in wanted
    }
    assert len(made) == 12
    pages = []
    cursor: Json = {}
    while True:
        page = await company.admin.got(QUOTAS, limit=5, **cursor)
        pages += [(quota["owner"], quota["metric"], quota["window"]) for quota in page["data"]]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert pages == wanted
    await company.admin.delete(f"/v1/groups/{group.removeprefix('group:')}")
    assert len((await company.admin.got(QUOTAS))["data"]) == 8


@pytest.mark.parametrize("kind", ["group", "knowledge_base"])
async def test_an_owner_that_does_not_exist_owns_nothing(company: Company, kind: str) -> None:
    body = {"owner": f"{kind}:{MISSING}", "metric": "tokens", "limit": 1}
    answer = await company.admin.put(QUOTAS, json=body, headers={"accept-language": "fr"})
    assert _code(answer) == (422, "owner_unknown")
    (fault,) = answer.json()["error"]["details"]["fields"]
    assert (fault["path"], fault["code"]) == ("owner", "owner_unknown")
    assert (await company.admin.got(QUOTAS))["data"] == []


async def test_whoever_reads_does_not_set(company: Company) -> None:
    auditor = await company.person("auditor")
    await auditor.api.got(QUOTAS)
    await auditor.api.got(USAGE)
    body = {"owner": "tenant", "metric": "tokens", "limit": 1}
    assert _code(await auditor.api.put(QUOTAS, json=body)) == (403, "scope_missing")
    usage = {"kind": "storage", "unit": "bytes", "quantity": 1}
    assert _code(await auditor.api.post(USAGE, json=usage)) == (403, "scope_missing")


async def _sums(company: Company, *keys: str, **parameters: Any) -> list[Json]:
    return list((await company.admin.got(USAGE, group_by=list(keys), **parameters))["data"])


async def test_usage_is_summed_up_by_what_one_asks_for(stack: Stack, company: Company) -> None:
    tenant, base = TenantId(UUID(company.id)), BaseId(uuid4())
    rows = [
        ("a", "ingest", {"project": "p", "agent": "x"}, base, 10),
        ("a", "query", {"project": "p"}, base, 5),
        ("b", "query", {"project": "q"}, None, 2),
    ]
    usage = tuple(
        UsageRow(
            tenant, "embeddings", "tokens", n, model=model, tokens=n, cost_micros=2 * n, base=of,
            labels={**labels, "operation": operation},
        )
        for model, operation, labels, of, n in rows
    )  # fmt: skip
    await stack.platform.audit.flush(Evidence(usage=usage))
    told = {"kind": "embeddings", "unit": "tokens", "quantity": 100, "tokens": 100, "model": "a"}
    made = await company.admin.made(USAGE, told)
    assert (made["is_external"], made["quantity"]) == (True, 100)

    def seen(found: list[Json], key: str) -> list[tuple[Any, ...]]:
        return [(s[key], s["is_external"], s["events"], s["tokens"], s["cost_micros"]) for s in found]

    assert seen(await _sums(company, "model"), "model") == [
        ("a", False, 2, 15, 30), ("a", True, 1, 100, 0), ("b", False, 1, 2, 4),
    ]  # fmt: skip
    assert seen(await _sums(company, "operation"), "operation") == [
        (None, True, 1, 100, 0), ("ingest", False, 1, 10, 20), ("query", False, 2, 7, 14),
    ]  # fmt: skip
    assert seen(await _sums(company, "project"), "project")[1:] == [
        ("p", False, 2, 15, 30), ("q", False, 1, 2, 4),
    ]  # fmt: skip
    assert seen(await _sums(company, "agent"), "agent")[-1] == ("x", False, 1, 10, 20)
    assert seen(await _sums(company, "knowledge_base"), "knowledge_base")[-1] == (str(base), False, 2, 15, 30)
    (own, others) = await _sums(company, "day")
    assert (own["tokens"], others["tokens"], own["day"]) == (17, 100, made["occurred_at"][:10])
    pages = []
    cursor: Json = {}
    while True:
        parameters = {"group_by": ["model", "operation"], "limit": 1, **cursor}
        page = await company.admin.got(USAGE, **parameters)
        pages += [(s["model"], s["operation"], s["tokens"]) for s in page["data"]]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert pages == [("a", None, 100), ("a", "ingest", 10), ("a", "query", 5), ("b", "query", 2)]


async def test_usage_is_cut_to_the_time_that_one_asks_for(company: Company) -> None:
    told = {"kind": "storage", "unit": "bytes", "quantity": 1}
    for day in ("2025-01-01", "2025-01-02", "2025-02-01"):
        await company.admin.made(USAGE, {**told, "occurred_at": f"{day}T23:30:00-01:00"})
    assert await _sums(company) == []
    january = {"since": "2025-01-01T00:00:00Z", "until": "2025-02-01T00:00:00Z"}
    assert [(s["day"], s["quantity"]) for s in await _sums(company, **january)] == [
        ("2025-01-02", 1), ("2025-01-03", 1),
    ]  # fmt: skip


async def test_what_clients_tell_of_counts_to_no_quota_and_is_kept_once(company: Company) -> None:
    quota = await _set(company)
    told = {"kind": "chat", "unit": "tokens", "quantity": 900, "tokens": 900, "labels": {"run": "r-1"}}
    key = {"idempotency-key": uuid4().hex}
    first = await company.admin.post(USAGE, json=told, headers=key)
    again = await company.admin.post(USAGE, json=told, headers=key)
    assert (first.status_code, again.json()) == (201, first.json())
    assert first.json()["labels"] == {"run": "r-1"}
    assert (await company.admin.got(f"{QUOTAS}/{quota['id']}"))["used"] == 0
    (total,) = await _sums(company)
    assert (total["events"], total["is_external"]) == (1, True)
    assert len((await company.admin.got("/v1/audit/events", action="usage.record"))["data"]) == 1


async def test_what_has_not_happened_yet_is_no_usage(company: Company) -> None:
    told = {"kind": "chat", "unit": "tokens", "quantity": 1, "occurred_at": "9998-01-01T00:00:00Z"}
    answer = await company.admin.post(USAGE, json=told)
    assert answer.status_code == 422
    (fault,) = answer.json()["error"]["details"]["fields"]
    assert (fault["path"], fault["code"]) == ("occurred_at", "datetime_past")
