from pathlib import Path
from typing import Any

import httpx2
import pytest

from eai.platform.settings import PolicySettings
from tests.conftest import fresh_database
from tests.fakes.recorder import Answer, recording
from tests.stack import Company, Stack, running_stack, settings

AGENTS = "forbid (principal is Agent, action, resource);"
ABROAD = 'forbid (principal, action, resource)\nunless { resource.region == "eu" };'


def _code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _faults(answer: httpx2.Response) -> list[dict[str, Any]]:
    assert _code(answer) == (422, "invalid_input"), answer.text
    return list(answer.json()["error"]["details"]["fields"])


async def test_a_policy_is_put_read_changed_and_deleted(company: Company) -> None:
    admin, path = company.admin, "/v1/policies/no-agents"
    made = await admin.put(path, json={"cedar": AGENTS})
    assert made.status_code == 200
    assert set(made.json()) == {"name", "cedar", "version", "created_at", "updated_at"}
    assert (made.json()["name"], made.json()["cedar"], made.json()["version"]) == ("no-agents", AGENTS, "1")
    tag = made.headers["etag"]
    assert (await admin.get(path)).json() == made.json()
    assert (await admin.get(path, headers={"if-none-match": tag})).status_code == 304
    changed = await admin.put(path, json={"cedar": ABROAD}, headers={"if-match": tag})
    assert (changed.json()["cedar"], changed.json()["version"]) == (ABROAD, "2")
    for stale in (await admin.put(path, json={"cedar": AGENTS}, headers={"if-match": tag}),
                  await admin.delete(path, headers={"if-match": tag})):  # fmt: skip
        assert _code(stale) == (412, "precondition_failed")
    gone = await admin.delete(path, headers={"if-match": changed.headers["etag"]})
    assert (gone.status_code, gone.content) == (204, b"")
    assert _code(await admin.get(path)) == (404, "not_found")
    assert _code(await admin.delete(path)) == (404, "not_found")


async def test_what_if_match_names_must_be_there(company: Company) -> None:
    headers = {"if-match": '"1-0123456789abcdef"'}
    put = await company.admin.put("/v1/policies/a", json={"cedar": AGENTS}, headers=headers)
    assert _code(put) == (412, "precondition_failed")
    assert (await company.admin.got("/v1/policies"))["data"] == []


async def test_policies_are_listed_in_pages(company: Company) -> None:
    for name in ("c", "a", "b"):
        assert (await company.admin.put(f"/v1/policies/{name}", json={"cedar": AGENTS})).status_code == 200
    first = await company.admin.got("/v1/policies", limit=2)
    rest = await company.admin.got("/v1/policies", limit=2, cursor=first["next_cursor"])
    assert [policy["name"] for policy in (*first["data"], *rest["data"])] == ["c", "a", "b"]
    assert (first["has_more"], rest["has_more"]) == (True, False)


@pytest.mark.parametrize(
    ("cedar", "line", "column"),
    [
        ("forbid (principal, action, resource) when { context.colour == 1 };", "1", "53"),
        (f"{AGENTS}\n// Then:\n  forbid (principal is Robot, action, resource);", "3", "24"),
        (f"{AGENTS}\n\n  forbid (principal, action, resource) whem {{ true }};", "3", "40"),
        (f"{AGENTS} forbid (principal, action", "1", "73"),
        ('forbid (principal, action == Action::"model.destroy", resource);', "1", "30"),
        ('forbid (principal, action, resource)\nwhen { context.level > "high" };', "1", "1"),
        ("forbid (principal == ?principal, action, resource);", "1", "22"),
        ("// nothing yet", "1", "1"),
        (" ", "1", "1"),
    ],
)
async def test_a_text_that_will_not_do_is_refused_with_the_place(
    company: Company, cedar: str, line: str, column: str
) -> None:
    answer = await company.admin.put("/v1/policies/a", json={"cedar": cedar})
    fault = _faults(answer)[0]
    assert (fault["path"], fault["code"], fault["line"], fault["column"]) == (
        "cedar", "policy_invalid", line, column,
    )  # fmt: skip
    assert fault["message"].startswith(f"Line {line}, column {column}: ")
    french = await company.admin.put(
        "/v1/policies/a", json={"cedar": cedar}, headers={"accept-language": "fr"}
    )
    assert _faults(french)[0]["message"].startswith(f"Ligne {line}, colonne {column}")
    assert (await company.admin.got("/v1/policies"))["data"] == []


async def test_every_fault_is_told_at_once(company: Company) -> None:
    cedar = (
        "forbid (principal is Robot, action, resource);\n"
        "forbid (principal, action, resource) when { context.colour == 1 };\n"
        "forbid (principal, action;"
    )
    answer = await company.admin.put("/v1/policies/a", json={"cedar": cedar})
    assert {fault["line"] for fault in _faults(answer)} == {"1", "2", "3"}


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({}, [("cedar", "missing")]),
        ({"cedar": ""}, [("cedar", "string_too_short")]),
        ({"cedar": "/" * 16_385}, [("cedar", "string_too_long")]),
        ({"cedar": 1}, [("cedar", "string_type")]),
        ({"cedar": AGENTS, "name": "b"}, [("name", "extra_forbidden")]),
    ],
)
async def test_a_body_that_will_not_do_is_refused(
    company: Company, body: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    answer = await company.admin.put("/v1/policies/a", json=body)
    assert [(fault["path"], fault["code"]) for fault in _faults(answer)] == faults


@pytest.mark.parametrize("name", ["A", "a%20b", "-a", "%C3%A9", "a" * 64, "a%23b"])
async def test_a_name_that_will_not_do_is_refused(company: Company, name: str) -> None:
    answer = await company.admin.put(f"/v1/policies/{name}", json={"cedar": AGENTS})
    assert [(fault["path"], fault["code"]) for fault in _faults(answer)] == [
        ("name", "string_pattern_mismatch")
    ]
    assert _code(await company.admin.get(f"/v1/policies/{name}")) == (404, "not_found")


async def test_a_name_of_another_tenant_makes_ones_own(stack: Stack, company: Company) -> None:
    other, path = await stack.company(), "/v1/policies/no-agents"
    theirs = await other.admin.put(path, json={"cedar": ABROAD})
    assert _code(await company.admin.get(path)) == (404, "not_found")
    assert _code(await company.admin.delete(path)) == (404, "not_found")
    mine = await company.admin.put(path, json={"cedar": AGENTS})
    assert (mine.status_code, mine.json()["version"]) == (200, "1")
    assert (await other.admin.get(path)).json() == theirs.json()
    assert [policy["cedar"] for policy in (await company.admin.got("/v1/policies"))["data"]] == [AGENTS]


async def test_only_security_officers_come_in(company: Company) -> None:
    officer = await company.person("security_officer")
    assert (await officer.api.put("/v1/policies/a", json={"cedar": AGENTS})).status_code == 200
    for role in ("member", "developer", "kb_manager", "auditor", "data_steward", "tenant_admin"):
        person = await company.person(role)
        for answer in (
            await person.api.get("/v1/policies"),
            await person.api.get("/v1/policies/a"),
            await person.api.put("/v1/policies/a", json={"cedar": ABROAD}),
            await person.api.delete("/v1/policies/a"),
        ):
            assert _code(answer) == (403, "scope_missing"), role


async def test_changes_are_on_record(company: Company) -> None:
    await company.admin.put("/v1/policies/a", json={"cedar": AGENTS})
    await company.admin.delete("/v1/policies/a")
    events = (await company.admin.got("/v1/audit/events", limit=200))["data"]
    told = [event for event in events if event["action"].startswith("policy.")]
    assert [event["action"] for event in told] == ["policy.set", "policy.delete"]
    assert [event["facts"]["version"] for event in told] == [1, 2]
    assert AGENTS not in str(events)
    assert (await company.admin.got("/v1/audit/verify"))["valid"] is True


async def _asked(company: Company, base: str, mode: str) -> httpx2.Response:
    body = {"query": "parcel", "mode": mode}
    return await company.admin.post(f"/v1/knowledge-bases/{base}/query", json=body)


async def test_a_policy_binds_the_next_call_of_a_model(stack: Stack, company: Company) -> None:
    other, admin, path = await stack.company(), company.admin, "/v1/policies/no-questions"
    bases = {tenant.id: await tenant.base() for tenant in (company, other)}
    for tenant in (company, other):
        await tenant.document(bases[tenant.id], "A parcel was lost at sea.")
    await admin.put(
        path, json={"cedar": 'forbid (principal, action, resource) when { context.operation == "query" };'}
    )
    denied = await _asked(company, bases[company.id], "hybrid")
    assert _code(denied) == (403, "policy_denied")
    assert denied.json()["error"]["details"] == {"policies": ["no-questions"]}
    assert "no-questions" in denied.json()["error"]["message"]
    assert (await _asked(company, bases[company.id], "keyword")).status_code == 200
    assert (await _asked(other, bases[other.id], "hybrid")).status_code == 200
    await company.document(bases[company.id], "Another parcel arrived.")
    await admin.put(path, json={"cedar": "permit (principal, action, resource);"})
    assert (await _asked(company, bases[company.id], "hybrid")).status_code == 200
    overflowing = (
        "forbid (principal, action, resource) when { (context.texts + 1) * 9223372036854775807 > 0 };"
    )
    await admin.put(path, json={"cedar": overflowing})
    assert _code(await _asked(company, bases[company.id], "hybrid")) == (403, "policy_error")
    assert (await admin.delete(path)).status_code == 204
    assert (await _asked(company, bases[company.id], "hybrid")).status_code == 200


async def test_a_document_that_no_model_may_see_is_not_taken_in(company: Company) -> None:
    base = await company.base()
    cedar = (
        'forbid (principal, action, resource) when { context.operation == "ingest" && context.level > 1 };'
    )
    assert (await company.admin.put("/v1/policies/a", json={"cedar": cedar})).status_code == 200
    await company.document(base, "A parcel was lost at sea.")
    secret = {"title": "x", "content": "A merger.", "classification": "confidential"}
    answer = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=secret)
    assert _code(answer) == (403, "policy_denied")
    assert (await company.admin.got(f"/v1/knowledge-bases/{base}"))["documents_count"] == 1


async def test_an_outside_engine_is_asked_for_every_call(tmp_path: Path) -> None:
    result: dict[str, Any] = {"allow": True}
    async with recording(lambda _: Answer({"result": result})) as opa:
        with fresh_database() as urls:
            chosen = settings(urls.app, tmp_path, policies=PolicySettings(opa_url=opa.url))
            async with running_stack(chosen, is_working=False) as stack:
                company = await stack.company()
                base = await company.base()
                await company.document(base, "A parcel was lost at sea.")
                assert (await _asked(company, base, "hybrid")).status_code == 200
                operations = [request.json["input"]["context"]["operation"] for request in opa.requests]
                assert operations == ["ingest", "query"]
                assert {request.json["input"]["tenant"] for request in opa.requests} == {company.id}
                assert "sea" not in str(opa.requests)
                result["allow"] = False
                denied = await _asked(company, base, "hybrid")
                assert denied.json()["error"]["details"] == {"policies": ["opa"]}
                result["allow"] = "true"
                assert _code(await _asked(company, base, "hybrid")) == (403, "policy_error")
                opa.answer = lambda _: Answer(status=503)
                away = await _asked(company, base, "hybrid")
                assert (_code(away), away.headers["retry-after"]) == ((503, "policy_unavailable"), "5")
                assert (await _asked(company, base, "keyword")).status_code == 200
