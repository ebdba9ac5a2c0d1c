"""What holds for every operation alike, seen over HTTP on the running product."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.stack import Caller, Company, Stack

OPERATIONAL = {"healthz", "readyz"}
MISSING = "6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01"


def _code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _told(answer: httpx2.Response) -> Any:
    """An answer without what differs from request to request."""
    body = answer.json()
    # OpenAI's form names no request in its body.
    body.pop("instance", None)
    body["error"].pop("request_id", None)
    return answer.status_code, body, sorted(name for name in answer.headers if name != "date")


async def _operations(stack: Stack) -> list[tuple[str, str, dict[str, Any]]]:
    async with stack.caller(None) as anybody:
        document = await anybody.got("/openapi.json")
    return list(_guarded(document))


def _guarded(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for template, methods in document["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] in OPERATIONAL:
                continue
            path = template
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    path = path.replace("{" + parameter["name"] + "}", MISSING)
            yield method.upper(), path, operation


async def test_strangers_are_stopped_before_a_word_on_their_input(stack: Stack) -> None:
    operations = await _operations(stack)
    unknown_key = f"eai_{'0' * 16}_{'0' * 64}"
    async with stack.caller(None) as nobody, stack.caller("eai_nonsense") as malformed:
        for method, path, _ in operations:
            body = {"content": b"{", "headers": {"content-type": "text/plain"}}
            answers = [
                await nobody.request(method, path, **body),
                await malformed.request(method, path, **body),
            ]
            for answer in answers:
                assert _code(answer) == (401, "unauthenticated"), (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
            assert _told(answers[0]) == _told(answers[1])
            doubled = await nobody.request(
                method, path, headers={"x-api-key": unknown_key, "authorization": f"Bearer {unknown_key}"}
            )
            assert _code(doubled) == (400, "ambiguous_credentials"), (method, path)
    assert len(operations) > 20


async def test_a_key_without_the_scope_is_told_which_before_its_input_is_read(
    stack: Stack, company: Company
) -> None:
    person = await company.person("member", "tenant_admin", key={"scopes": []})
    for method, path, operation in await _operations(stack):
        if not operation["x-required-scope"]:
            continue
        answer = await person.api.request(
            method, path, content=b"{", headers={"content-type": "application/json"}
        )
        assert _code(answer) == (403, "scope_missing"), (method, path)
        assert answer.json()["error"]["details"]["scopes"] == operation["x-required-scope"], (method, path)


async def test_platform_operators_have_no_tenant_operations(stack: Stack) -> None:
    for method, path, operation in await _operations(stack):
        scopes = operation["x-required-scope"]
        if scopes and "platform:admin" not in scopes:
            assert _code(await stack.operator.request(method, path)) == (403, "tenant_required"), (
                method,
                path,
            )


async def test_no_operation_takes_a_method_or_a_path_that_it_does_not_name(
    stack: Stack, company: Company
) -> None:
    for path in (
        "/v1",
        "/v1/",
        "/v1/me/",
        "/V1/me",
        "//v1/me",
        "/v1/me;x",
        "/v1/%2e%2e/v1/me",
        "/v1/nowhere",
    ):
        assert _code(await company.admin.get(path)) == (404, "not_found"), path
    refused = await company.admin.put("/v1/me", headers={"x-http-method-override": "GET"})
    assert _code(refused) == (405, "method_not_allowed")
    assert refused.headers["allow"] == "GET"


async def test_a_foreign_a_missing_and_a_malformed_id_are_told_alike(stack: Stack, company: Company) -> None:
    other = await stack.company()
    foreign = await other.base()
    for method, tail, body in (
        ("GET", "", None),
        ("HEAD", "", None),
        ("GET", "/acl", None),
        ("PATCH", "", {"description": "x"}),
        ("PUT", "/acl", {"entries": []}),
        ("GET", "/documents", None),
        ("POST", "/documents", {"title": "a", "content": "b"}),
        ("POST", "/query", {"query": "a"}),
        ("DELETE", "", None),
    ):
        answers = [
            await company.admin.request(method, f"/v1/knowledge-bases/{base}{tail}", json=body)
            for base in (foreign, MISSING, "nonsense", "kb_nothing", "%27%20OR%201=1--")
        ]
        assert {answer.status_code for answer in answers} == {404}, (method, tail)
        if method != "HEAD":
            first, *others = [_told(answer) for answer in answers]
            assert all(told == first for told in others), (method, tail)


async def test_what_a_caller_may_not_set_is_refused_with_its_field(company: Company) -> None:
    for field in ("id", "tenant_id", "vector_generation", "vector_collection", "created_at", "alias"):
        answer = await company.admin.post("/v1/knowledge-bases", json={"name": "a", field: MISSING})
        assert _code(answer) == (422, "invalid_input")
        faults = answer.json()["error"]["details"]["fields"]
        assert [(fault["path"], fault["code"]) for fault in faults] == [(field, "extra_forbidden")]


async def test_the_tenant_comes_from_the_credential_alone(stack: Stack, company: Company) -> None:
    other = await stack.company()
    async with stack.caller(
        company.admin.key, **{"x-tenant-id": other.id, "x-forwarded-user": other.id}
    ) as api:
        assert (await api.got("/v1/me"))["tenant"]["id"] == company.id


async def test_a_key_may_come_in_either_header(stack: Stack, company: Company) -> None:
    async with stack.caller(None, **{"x-api-key": company.admin.key or ""}) as api:
        assert (await api.got("/v1/me"))["tenant"]["id"] == company.id


async def test_errors_are_told_in_the_callers_language(company: Company) -> None:
    path = f"/v1/knowledge-bases/{MISSING}"
    french = await company.admin.get(path, headers={"accept-language": "fr-CA,fr;q=0.9,en;q=0.1"})
    english = await company.admin.get(path, headers={"accept-language": "de, en;q=0.5"})
    error = french.json()["error"]
    assert (french.headers["content-language"], english.headers["content-language"]) == ("fr", "en")
    assert error["message"].startswith("Il n'y a rien ici")
    assert error["message_i18n"]["en"] == english.json()["error"]["message"]
    assert error["request_id"] == french.headers["x-request-id"]


async def test_one_key_makes_one_base(company: Company) -> None:
    headers = {"idempotency-key": uuid4().hex}
    posts = [company.admin.post("/v1/knowledge-bases", json={"name": "a"}, headers=headers) for _ in range(8)]
    answers = await asyncio.gather(*posts)
    again = await company.admin.post("/v1/knowledge-bases", json={"name": "a"}, headers=headers)
    other = await company.admin.post("/v1/knowledge-bases", json={"name": "b"}, headers=headers)
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert _code(other) == (422, "idempotency_key_reused")
    assert len((await company.admin.got("/v1/knowledge-bases"))["data"]) == 1


async def test_a_replay_needs_the_rights_that_the_request_needed(company: Company) -> None:
    writer = await company.person("kb_manager")
    base = await company.base()
    everything = [{"principal": writer.reference, "permission": "write", "effect": "allow"}]
    acl = (await company.admin.got(f"/v1/knowledge-bases/{base}/acl"))["entries"]
    await company.admin.put(f"/v1/knowledge-bases/{base}/acl", json={"entries": acl + everything})
    headers = {"idempotency-key": uuid4().hex}
    path, body = f"/v1/knowledge-bases/{base}/documents", {"title": "a", "content": "Some words to keep."}
    assert (await writer.api.post(path, json=body, headers=headers)).status_code == 201
    assert (await writer.api.post(path, json=body, headers=headers)).status_code == 201
    await company.admin.put(f"/v1/knowledge-bases/{base}/acl", json={"entries": acl})
    assert _code(await writer.api.post(path, json=body, headers=headers)) == (404, "not_found")


async def test_changes_may_insist_on_the_revision_that_was_read(company: Company) -> None:
    path = f"/v1/knowledge-bases/{await company.base()}"
    first = await company.admin.get(path)
    unchanged = await company.admin.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    insisting = {"if-match": first.headers["etag"]}
    assert (await company.admin.patch(path, json={"description": "x"}, headers=insisting)).status_code == 200
    assert _code(await company.admin.patch(path, json={"description": "y"}, headers=insisting)) == (
        412,
        "precondition_failed",
    )


async def test_an_etag_is_no_oracle_for_those_who_do_not_see_the_thing(
    stack: Stack, company: Company
) -> None:
    other = await stack.company()
    path = f"/v1/knowledge-bases/{await company.base()}"
    tag = (await company.admin.get(path)).headers["etag"]
    for headers in ({"if-none-match": tag}, {"if-none-match": "*"}, {"range": "bytes=0-1"}):
        assert _code(await other.admin.get(path, headers=headers)) == (404, "not_found")


async def test_a_cursor_is_of_no_use_to_another_reader(stack: Stack, company: Company) -> None:
    other = await stack.company()
    for _ in range(2):
        await company.base()
    cursor = (await company.admin.got("/v1/knowledge-bases", limit=1))["next_cursor"]
    assert len((await company.admin.got("/v1/knowledge-bases", limit=1, cursor=cursor))["data"]) == 1
    for reader, value in ((other.admin, cursor), (company.admin, cursor[:-1] + "~"), (company.admin, "x")):
        answer = await reader.get("/v1/knowledge-bases", params={"limit": 1, "cursor": value})
        assert _code(answer) == (400, "cursor_invalid")


async def test_a_tenant_can_limit_itself(stack: Stack) -> None:
    company = await stack.company()
    change = {"rate_limits": {"requests_per_minute": 3}}
    assert (await company.admin.patch("/v1/settings", json=change)).status_code == 200
    # Another process would honour the new limit at once; this one has looked at the old one just now.
    answers = []
    async with asyncio.timeout(30):
        while not answers or answers[-1].status_code != 429:
            answers.append(await company.admin.get("/v1/me"))
            await asyncio.sleep(0.2)
    refused = answers[-1]
    assert _code(refused) == (429, "rate_limited")
    assert refused.headers["ratelimit-policy"] == '"tenant";q=3;w=60'
    assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"name": "a", "name": "b"}', 400, "malformed_json"),
        (b'{"name": NaN}', 400, "malformed_json"),
        (b'{"name": ' + b"[" * 100_000, 400, "malformed_json"),
        (b'{"name": ' + b"9" * 100_000 + b"}", 400, "malformed_json"),
        (b'{"name": "a\\u0000b"}', 422, "invalid_input"),
        (b'{"name": "\\ud800"}', 422, "invalid_input"),
        (b"[]", 422, "invalid_input"),
        (b'"' + b"a" * 1_100_000 + b'"', 413, "payload_too_large"),
    ],
)
async def test_hostile_json_is_refused_cheaply(company: Company, body: bytes, status: int, code: str) -> None:
    headers = {"content-type": "application/json"}
    answer = await company.admin.post("/v1/knowledge-bases", content=body, headers=headers)
    assert _code(answer) == (status, code)


async def test_compressed_and_unsized_bodies_are_refused(company: Company) -> None:
    async def chunks():
        yield b'{"name": "a"}'

    json_type = {"content-type": "application/json"}
    zipped = await company.admin.post(
        "/v1/knowledge-bases", content=b"\x1f\x8b", headers={**json_type, "content-encoding": "gzip"}
    )
    chunked = await company.admin.post("/v1/knowledge-bases", content=chunks(), headers=json_type)
    assert _code(zipped) == (415, "content_encoding_unsupported")
    assert _code(chunked) == (411, "length_required")


async def test_hostile_credentials_are_refused_fast(stack: Stack) -> None:
    for credential in (
        "eai_' OR '1'='1_x",
        "eai_0123456789abcdef_" + "x" * 50_000,
        "eai__",
        "eai_" + "\u0660" * 16 + "_x",
    ):
        async with Caller(stack.url, None) as api:
            answer = await api.get("/v1/me", headers=[("authorization", f"Bearer {credential}".encode())])
        assert _code(answer) == (401, "unauthenticated")


async def test_the_operational_pages_need_no_credential_and_hold_no_tenant(
    stack: Stack, company: Company
) -> None:
    base = await company.base()
    await company.admin.get(f"/v1/knowledge-bases/{base}")
    async with stack.caller(None) as anybody:
        assert (await anybody.got("/healthz")) == {"status": "alive"}
        assert (await anybody.got("/readyz"))["dependencies"] == {"database": "ok", "vector_store": "ok"}
        metrics = (await anybody.get("/metrics")).text
        page = await anybody.get("/docs")
    assert 'route="/v1/knowledge-bases/{base}"' in metrics
    for secret in (company.id, base):
        assert secret not in metrics
    assert page.headers["content-type"].startswith("text/html")
