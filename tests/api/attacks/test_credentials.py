"""Attack lines 11 to 13, 44 to 49 and 99: credentials that are forged, doubled, stretched or worn out."""

from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest

from eai.api.governed_route import GovernedRoute
from eai.api.idempotency.records import Replay
from eai.api.v1 import routers
from tests.api.attacks.wire import get, sent
from tests.api.matrix.operations import operations, resolved
from tests.api.matrix.requests import Request
from tests.api.matrix.world import things_of
from tests.conftest import DatabaseUrls
from tests.stack import Caller, Company, Stack


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"] if answer.is_error else ""


async def test_a_cookie_a_query_or_a_basic_login_is_no_credential(stack: Stack, company: Company) -> None:
    other = await stack.company()
    key = company.admin.key
    async with stack.caller(None) as nobody:
        for headers, query in (
            ({"cookie": f"api_key={key}; authorization={key}; session={key}"}, {}),
            ({"authorization": f"Basic {key}"}, {}),
            ({"authorization": f"Token {key}"}, {}),
            ({"authorization": f"Bearer {key}, Bearer {key}"}, {}),
            ({"proxy-authorization": f"Bearer {key}"}, {}),
            ({"x-tenant-id": company.id, "x-forwarded-user": "admin", "x-remote-user": "admin"}, {}),
            ({}, {"api_key": key, "access_token": key, "token": key}),
        ):
            answer = await nobody.get("/v1/me", headers=headers, params=query)
            assert code(answer) == (401, "unauthenticated"), headers
    mixed = await other.admin.get("/v1/me", headers={"cookie": f"api_key={key}"})
    assert mixed.json()["tenant"]["id"] == other.id


async def test_two_headers_of_one_name_are_two_credentials(stack: Stack, company: Company) -> None:
    other = await stack.company()
    headers = [f"Authorization: Bearer {key}" for key in (company.admin.key, other.admin.key)]
    answer = await sent(stack.url, get("/v1/me", *headers))
    assert (answer.status, answer.code) == (400, "ambiguous_credentials")
    both = await sent(stack.url, get("/v1/me", headers[0], f"X-API-Key: {company.admin.key}"))
    assert (both.status, both.code) == (400, "ambiguous_credentials")


CREDENTIALS = [
    b"Bearer ' UNION SELECT token FROM litellm_verificationtoken --",
    b"Bearer '; DROP TABLE eai.api_keys; --",
    b"Bearer eai_0000000000000000_' OR '1'='1",
    b"Bearer eai_%_%",
    b"Bearer eai_" + b"0" * 16 + b"_" + b"0" * 63,
    b"Bearer eai_" + b"0" * 16 + b"_" + b"0" * 65,
    b"Bearer eai_" + b"0" * 16 + b"_" + b"G" * 64,
    b"Bearer EAI_" + b"0" * 16 + b"_" + b"0" * 64,
    "Bearer eai_\u0661\u0661_x".encode(),
    b"Bearer \xff\xfe",
    b"Bearer " + b"a" * 50_000,
    b"Bearer",
    b"",
]


@pytest.mark.parametrize("credential", CREDENTIALS, ids=[str(c[:30]) for c in CREDENTIALS])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_could_be_no_key_is_refused_at_once(stack: Stack, credential: bytes, method: str) -> None:
    path = "/v1/me" if method == "GET" else f"/v1/knowledge-bases/{uuid4()}/query"
    async with stack.caller(None) as nobody:
        began = perf_counter()
        answer = await nobody.request(method, path, headers=[(b"authorization", credential)])
        assert code(answer) == (401, "unauthenticated")
        assert perf_counter() - began < 2


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Bearer eai_\0_x",
        b"Authorization: Bearer " + b"a" * 1_000_000,
        b"X-Big: " + b"a" * 5_000_000,
    ],
    ids=["nul", "1 MB", "5 MB"],
)
async def test_a_header_that_no_server_should_read_costs_nothing(stack: Stack, header: bytes) -> None:
    began = perf_counter()
    head = b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + header + b"\r\n\r\n"
    answer = await sent(stack.url, head)
    assert answer.status in {0, 400}
    assert perf_counter() - began < 5
    assert (await sent(stack.url, get("/healthz"))).status == 200


async def test_an_id_and_a_secret_open_only_together(stack: Stack, company: Company) -> None:
    other = await stack.company()
    mine, theirs = str(company.admin.key), str(other.admin.key)
    (_, id_, secret), (_, other_id, other_secret) = mine.split("_"), theirs.split("_")
    for forged in (
        f"eai_{id_}_{other_secret}",
        f"eai_{other_id}_{secret}",
        f"eai_{id_}_{secret[:-1]}",
        f"eai_{id_}_{secret}0",
        f"eai_{id_[:8]}_{secret}",
        f"eai_{id_}_{secret.upper()}",
        f"eai_{id_}_{secret}_{secret}",
        f"eai_{id_}{other_id}_{secret}",
        f"eai_{id_}_{'0' * 64}",
        mine[:30],
    ):
        assert code(await stack.caller(forged).get("/v1/me")) == (401, "unauthenticated"), forged
    assert (await company.admin.got("/v1/me"))["tenant"]["id"] == company.id


async def test_guessing_at_one_key_is_slowed_and_its_holder_is_not(stack: Stack, company: Company) -> None:
    assert (await company.admin.get("/v1/me")).status_code == 200
    wrong = f"{str(company.admin.key)[:-64]}{'0' * 64}"
    elsewhere = httpx2.AsyncHTTPTransport(local_address="127.0.0.45", verify=False)
    headers = {"authorization": f"Bearer {wrong}"}
    async with httpx2.AsyncClient(base_url=stack.url, transport=elsewhere, headers=headers) as guesser:
        answers = [await guesser.get("/v1/me") for _ in range(320)]
    assert {code(answer) for answer in answers[:200]} == {(401, "unauthenticated")}
    assert code(answers[-1]) == (429, "rate_limited")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert (await company.admin.get("/v1/me")).status_code == 200


async def test_a_key_for_questions_does_nothing_else(stack: Stack, company: Company) -> None:
    person = await company.person("kb_manager", "tenant_admin", key={"scopes": ["rag:query"]})
    things = await things_of(company)
    opened = {}
    for operation in operations().values():
        answer = await Request.of(operation, things).sent(person.api)
        if "rag:query" not in operation.scopes and operation.scopes:
            assert code(answer) == (403, "scope_missing"), operation.name
        opened[operation.name] = answer.status_code
    assert {name for name, status in opened.items() if status < 300} == {
        "assemble_context", "get_contract", "get_me", "list_api_keys", "list_contracts", "validate_contract",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["me", "query"])
async def test_an_old_secret_dies_at_its_deadline_by_the_databases_clock(
    stack: Stack, stack_urls: DatabaseUrls, company: Company, path: str
) -> None:
    person = await company.person("member")
    base = await company.base(person.reference)
    key = (await person.api.got("/v1/me"))["api_key_id"]

    async def ask(caller: Caller) -> int:
        if path == "me":
            return (await caller.get("/v1/me")).status_code
        return (await caller.post(f"/v1/knowledge-bases/{base}/query", json={"query": "a"})).status_code

    rotated = await person.api.made(f"/v1/api-keys/{key}/rotate", {"grace_seconds": 600}, status=200)
    fresh = stack.caller(rotated["api_key"])
    assert (await ask(person.api), await ask(fresh)) == (200, 200)
    with psycopg.connect(stack_urls.admin, autocommit=True) as admin:
        admin.execute("UPDATE eai.api_keys SET previous_expires_at = now() WHERE id = %s", [key])
    assert (await ask(person.api), await ask(fresh)) == (401, 200)


async def narrowed(stack: Stack, company: Company) -> tuple[Any, Caller]:
    """A manager, and a key of the same principal for questions about public matters."""
    bea = await company.person("kb_manager")
    narrow = {"principal_id": bea.id, "scopes": ["rag:query"], "clearance": "public"}
    return bea, stack.caller((await bea.api.made("/v1/api-keys", narrow))["api_key"])


async def test_a_narrower_key_is_not_told_the_secret_that_a_wider_one_made(
    stack: Stack, company: Company
) -> None:
    bea, narrow = await narrowed(stack, company)
    headers, body = {"idempotency-key": uuid4().hex}, {"principal_id": bea.id}
    made = await bea.api.post("/v1/api-keys", json=body, headers=headers)
    assert made.status_code == 201
    stolen = await narrow.post("/v1/api-keys", json=body, headers=headers)
    assert code(stolen) == (422, "idempotency_key_reused")
    assert "api_key" not in stolen.text.replace("api_key_id", "")
    again = await bea.api.post("/v1/api-keys", json=body, headers=headers)
    assert (again.status_code, again.json()["api_key"]) == (201, made.json()["api_key"])


async def test_a_narrower_key_is_not_told_the_secret_of_a_rotation(stack: Stack, company: Company) -> None:
    bea, narrow = await narrowed(stack, company)
    key = (await bea.api.got("/v1/me"))["api_key_id"]
    headers = {"idempotency-key": uuid4().hex}
    path, body = f"/v1/api-keys/{key}/rotate", {"grace_seconds": 600}
    assert (await bea.api.post(path, json=body, headers=headers)).status_code == 200
    stolen = await narrow.post(path, json=body, headers=headers)
    assert code(stolen) == (422, "idempotency_key_reused")
    assert "eai_" not in stolen.text


async def test_an_idempotency_key_means_nothing_to_others(stack: Stack, company: Company) -> None:
    other = await stack.company()
    colleague = await company.person("tenant_admin")
    headers = {"idempotency-key": "one-for-all"}
    made = set()
    for caller, name in ((company.admin, "a"), (other.admin, "a"), (colleague.api, "b")):
        for path, body in (
            ("/v1/groups", {"name": name}),
            ("/v1/principals", {"kind": "agent", "name": name}),
        ):
            answer = await caller.post(path, json=body, headers=headers)
            assert (answer.status_code, answer.headers.get("idempotent-replayed")) == (201, None)
            made.add(answer.json()["id"])
    assert len(made) == 6


MODEL_ANSWERS = {
    "create_embeddings", "rerank_documents", "create_chat_completion", "create_openai_embeddings",
    "create_openai_chat_completion",
}  # fmt: skip


def _is_secret(name: str) -> bool:
    return name.endswith("api_key") and name != "has_api_key"


def test_the_operations_that_show_a_secret_keep_their_answer_for_one_reading() -> None:
    """Whatever answer has a field for a secret, or a model's words, is one that a repetition gets once."""
    shown = set()
    for operation in operations().values():
        for status, response in operation.description["responses"].items():
            schema = response.get("content", {}).get("application/json", {}).get("schema", {})
            names = resolved(schema).get("properties", {})
            if status.startswith("2") and any(_is_secret(name) for name in names):
                shown.add(operation.name)
    assert shown == {"create_tenant", "create_api_key", "rotate_api_key"}
    routes = [route for router in routers() for route in router.routes if isinstance(route, GovernedRoute)]
    assert {route.name for route in routes if route.replay is Replay.ONCE} == shown | MODEL_ANSWERS
