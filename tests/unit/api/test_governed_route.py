"""The order of checks, seen from outside: 401, 400, 403, body, 422, then the endpoint."""

from typing import Annotated
from uuid import UUID

import pytest
from fastapi import Depends
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.intake import accepts, validated
from eai.api.requirement import authenticated, remember_subject, require
from eai.kernel.errors import NotFound, Unauthenticated
from tests.fakes.platform import Plumbing, operator, subject

Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]
Either = Annotated[Subject, Depends(require(Scope.KB_READ, Scope.MODELS_ADMIN, any_of=True))]
Both = Annotated[Subject, Depends(require(Scope.KB_READ, Scope.KB_WRITE))]
Operator = Annotated[Subject, Depends(require(Scope.PLATFORM_ADMIN))]
Anybody = Annotated[Subject, Depends(authenticated())]
Writer = Annotated[Subject, Depends(require(Scope.KB_WRITE, base=Permission.WRITE))]
Asker = Annotated[str, Depends(require(Scope.RAG_QUERY, deferred=True))]


class Thing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    size: int = 1


router = GovernedRouter()


@router.get("/things/{thing}")
async def show(caller: Reader, thing: UUID) -> dict[str, str]:
    """Show."""
    if thing.int == 0:
        raise NotFound
    return {"thing": str(thing), "by": str(caller.principal)}


@router.post("/things/{thing}")
async def change(caller: Reader, thing: UUID, body: Thing) -> dict[str, object]:
    """Change."""
    return {"name": body.name, "size": body.size}


@router.post("/committed")
async def committed(caller: Reader, session: Transaction, body: Thing, made: NewId) -> dict[str, str]:
    """Write something."""
    if body.name == "missing":
        raise NotFound
    if body.name == "crash":
        raise RuntimeError("a secret sentence")
    return {"session": str(session), "id": str(made)}


@router.get("/either")
async def either(caller: Either) -> str:
    """Either scope."""
    return "ok"


@router.get("/both")
async def both(caller: Both) -> str:
    """Both scopes."""
    return "ok"


@router.get("/operators")
async def operators(caller: Operator) -> str:
    """Operators."""
    return "ok"


@router.get("/anybody")
async def anybody(caller: Anybody) -> str:
    """Any credential."""
    return "ok"


@router.get("/public")
async def public() -> str:
    """Nobody asks."""
    return "ok"


@router.post("/questions/{base}")
async def ask(request: Request, credential: Asker, base: UUID, body: Thing) -> dict[str, str]:
    """Ask; the statement behind it authenticates."""
    keys = request.app.state.platform.identity
    if credential not in keys.known:
        raise Unauthenticated
    remember_subject(request, keys.known[credential])
    return {"answer": body.name}


@router.post("/files")
@accepts("application/json", "multipart/form-data", max_bytes=2000)
async def upload(caller: Reader, request: Request) -> dict[str, str]:
    """Either form of body."""
    if request.headers["content-type"].startswith("application/json"):
        return {"name": validated(Thing, await request.json()).name}
    form = await request.form()
    return {"name": validated(Thing, {k: v for k, v in form.items() if isinstance(v, str)}).name}


THING = "/v1/things/6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01"
QUESTION = "/v1/questions/6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01"
GOOD = {"name": "a"}


@pytest.fixture
def plumbing() -> Plumbing:
    return Plumbing(router)


async def test_who_may_come_in_is_decided_before_the_body_is_read(plumbing: Plumbing) -> None:
    sent: list[dict[str, object]] = []

    async def unreadable() -> dict[str, object]:
        raise AssertionError("the body was read")

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    guess = "eai_0123456789abcdef_" + "0" * 64
    json_body = (b"content-type", b"application/json"), (b"content-length", b"1000")
    cases = [
        (path, credential, status)
        for path in (THING, QUESTION)
        for credential, status in (
            (None, 401),
            (guess, 401),
            (plumbing.keys.key_of(subject(Scope.AUDIT_READ)), 403),
        )
    ]
    for path, credential, status in cases:
        headers = [(b"authorization", f"Bearer {credential}".encode())] if credential else []
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"localhost"), *json_body, *headers],
            "client": ("192.0.2.7", 1),
        }
        await plumbing.app(scope, unreadable, send)
        assert sent[0]["status"] == status
        sent.clear()


async def test_no_credential_and_a_wrong_one_get_the_same_answer(plumbing: Plumbing) -> None:
    async with plumbing.client() as stranger:
        none = await stranger.get(THING)
        wrong = await stranger.get(THING, headers={"x-api-key": "eai_0123456789abcdef_" + "0" * 64})
    assert none.status_code == wrong.status_code == 401
    assert none.headers["www-authenticate"] == "Bearer"
    bodies = [answer.json() for answer in (none, wrong)]
    for body in bodies:
        body["error"].pop("request_id")
    assert bodies[0] == bodies[1]


async def test_two_credentials_are_refused(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get(THING, headers={"x-api-key": "eai_x_y"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "ambiguous_credentials")


async def test_cookies_are_not_credentials(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get(THING, headers={"cookie": "session=eai_x_y"})
    assert answer.status_code == 200


async def test_a_missing_scope_is_named_and_audited(plumbing: Plumbing) -> None:
    who = subject(Scope.AUDIT_READ)
    async with plumbing.client(who) as client:
        answer = await client.post(THING, content=b"not even json")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]) == (
        403,
        "scope_missing",
        {"scopes": ["kb:read"]},
    )
    (entry,) = plumbing.audit.entries
    assert (entry.tenant, entry.decision, entry.facts["code"]) == (who.tenant, "deny", "scope_missing")


async def test_one_of_several_scopes_can_be_enough(plumbing: Plumbing) -> None:
    for scopes, status in (((Scope.KB_READ,), 200), ((Scope.MODELS_ADMIN,), 200), ((), 403)):
        async with plumbing.client(subject(*scopes)) as client:
            assert (await client.get("/v1/either")).status_code == status


async def test_or_all_can_be_needed(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/both")
    assert answer.json()["error"]["details"] == {"scopes": ["kb:write"]}


async def test_operators_have_no_tenant_routes_and_tenants_no_operator_routes(plumbing: Plumbing) -> None:
    async with plumbing.client(operator()) as client:
        refused = await client.get(THING)
        assert (await client.get("/v1/operators")).status_code == 200
        assert (await client.get("/v1/anybody")).status_code == 200
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "tenant_required")
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        assert (await client.get("/v1/operators")).json()["error"]["code"] == "scope_missing"


async def test_a_public_route_asks_for_nothing(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        assert (await client.get("/v1/public")).status_code == 200
    assert plumbing.keys.asked == 0


async def test_tenant_headers_change_nothing(plumbing: Plumbing) -> None:
    who = subject(Scope.KB_READ)
    async with plumbing.client(who) as client:
        answer = await client.get(THING, headers={"x-tenant-id": "other", "x-forwarded-user": "root"})
    assert answer.json()["by"] == str(who.principal)


async def test_a_malformed_id_is_a_missing_one(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answers = [
            await client.get(f"/v1/things/{thing}")
            for thing in ("00000000-0000-0000-0000-000000000000", "nonsense", "%27%20OR%201=1", "..%2e")
        ]
        with_bad_body = [
            await client.post(f"/v1/things/{thing}", json={})
            for thing in (THING.rpartition("/")[2], "nonsense")
        ]
    assert {answer.status_code for answer in answers} == {404}
    assert {answer.json()["error"]["message"] for answer in answers} == {
        "There is nothing here that you can see. Check the address and the identifiers in it."
    }
    assert {answer.status_code for answer in with_bad_body} == {422}
    assert len({str(answer.json()["error"]["details"]) for answer in with_bad_body}) == 1
    assert [entry.facts["code"] for entry in plumbing.audit.entries] == ["not_found"] * 4


async def test_every_refused_field_is_told_and_no_value_comes_back(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.post(THING, json={"size": "sesame", "tenant_id": "x", "id": "y"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid_input")
    assert error["details"]["fields"] == [
        {"path": "name", "code": "missing", "message": "Required."},
        {"path": "size", "code": "int_parsing", "message": "Must be a whole number."},
        {"path": "tenant_id", "code": "extra_forbidden", "message": "Unknown field; remove it."},
        {"path": "id", "code": "extra_forbidden", "message": "Unknown field; remove it."},
    ]
    assert "sesame" not in answer.text


async def test_field_faults_are_told_in_french_too(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.post(THING, json={}, headers={"accept-language": "fr-CA"})
    assert answer.headers["content-language"] == "fr"
    assert answer.json()["error"]["details"]["fields"][0]["message"] == "Obligatoire."


async def test_bodies_are_judged_by_type_length_and_json(plumbing: Plumbing) -> None:
    async def chunks():
        yield b"{}"

    async with plumbing.client(subject(Scope.KB_READ)) as client:
        json_type = {"content-type": "application/json"}
        cases = [
            (await client.post(THING, content=b"{"), 415, "unsupported_media_type"),
            (
                await client.post(THING, content=b"a=b", headers={"content-type": "text/plain"}),
                415,
                "unsupported_media_type",
            ),
            (
                await client.post(THING, content=b"x", headers={**json_type, "content-encoding": "gzip"}),
                415,
                "content_encoding_unsupported",
            ),
            (await client.post(THING, content=b"{", headers=json_type), 400, "malformed_json"),
            (
                await client.post(THING, content=b'{"name":"a","name":"b"}', headers=json_type),
                400,
                "malformed_json",
            ),
            (
                await client.post(THING, content=b" " * (1024 * 1024 + 1), headers=json_type),
                413,
                "payload_too_large",
            ),
            (await client.post(THING, content=chunks(), headers=json_type), 411, "length_required"),
            (await client.post(THING, headers=json_type), 422, "invalid_input"),
            (await client.post(THING), 422, "invalid_input"),
        ]
    for answer, status, code in cases:
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert cases[0][0].json()["error"]["details"] == {"accepted": ["application/json"]}


async def test_a_body_longer_than_it_declares_is_cut_off(plumbing: Plumbing) -> None:
    key, sent, block = plumbing.keys.key_of(subject(Scope.KB_READ)), [], b" " * 600_000
    given: list[int] = []

    async def endless() -> dict[str, object]:
        given.append(1)
        return {"type": "http.request", "body": block, "more_body": True}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    headers = [
        (b"host", b"localhost"),
        (b"authorization", f"Bearer {key}".encode()),
        (b"content-type", b"application/json"),
        (b"content-length", b"10"),
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": THING,
        "query_string": b"",
        "headers": headers,
        "client": None,
    }
    await plumbing.app(scope, endless, send)
    assert sent[0]["status"] == 413
    assert len(given) == 2


async def test_a_nul_in_the_query_is_refused_with_its_name(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/either?q=%00&limit=1")
    assert answer.json()["error"]["details"]["fields"] == [
        {"path": "q", "code": "string_nul", "message": "Must not contain the character U+0000."}
    ]


async def test_an_operation_may_read_json_or_a_form(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        as_json = await client.post("/v1/files", json=GOOD)
        as_form = await client.post("/v1/files", data={"name": "b"}, files={"file": b"x"})
        wrong = await client.post("/v1/files", files={"file": b"x"})
        large = await client.post("/v1/files", files={"file": b"x" * 2000})
        broken = await client.post(
            "/v1/files", content=b"--x", headers={"content-type": "multipart/form-data; boundary=y"}
        )
    assert (as_json.json(), as_form.json()) == ({"name": "a"}, {"name": "b"})
    assert wrong.json()["error"]["details"]["fields"][0] == {
        "path": "name",
        "code": "missing",
        "message": "Required.",
    }
    assert (large.status_code, large.json()["error"]["details"]) == (413, {"limit_bytes": 2000})
    assert broken.status_code == 422


async def test_a_transaction_commits_before_the_answer_and_rolls_back_on_a_refusal(
    plumbing: Plumbing,
) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        assert (await client.post("/v1/committed", json=GOOD)).status_code == 200
        assert (await client.post("/v1/committed", json={"name": "missing"})).status_code == 404
        assert (await client.post("/v1/committed", json={"name": "crash"})).status_code == 500
        assert plumbing.database.ended == ["committed", "committed", "rolled back", "rolled back"]
        plumbing.database.fails_at_commit = True
        failed = await client.post("/v1/committed", json=GOOD)
    assert (failed.status_code, failed.json()["error"]["code"]) == (503, "database_unavailable")
    assert failed.headers["retry-after"] == "5"


async def test_an_unforeseen_failure_tells_its_request_id_and_nothing_else(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.post("/v1/committed", json={"name": "crash"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]) == (500, "internal_error", {})
    assert error["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text


async def test_a_deferred_operation_authenticates_by_itself_once_a_credential_was_good(
    plumbing: Plumbing,
) -> None:
    async with plumbing.client(subject(Scope.RAG_QUERY)) as client:
        answers = [await client.post(QUESTION, json=GOOD) for _ in range(3)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"answer": "a"})] * 3
    assert plumbing.keys.asked == 1


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01", b"{}", {"content-type": "application/json"}),
        ("6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01", b"{", {"content-type": "application/json"}),
        ("6f1e1c0e-7b0a-4c55-9d0f-3f1f5b6f9a01", b"{}", {"content-type": "text/plain"}),
        ("nonsense", b'{"name":"a"}', {"content-type": "application/json"}),
    ],
)
async def test_before_a_word_on_the_input_comes_who_is_asking(
    plumbing: Plumbing, path: str, body: bytes, headers: dict[str, str]
) -> None:
    stranger, without = subject(), subject(Scope.KB_READ)
    address = f"/v1/questions/{path}"
    async with plumbing.client(without) as client:
        assert (await client.post(address, content=body, headers=headers)).status_code == 403
    async with plumbing.client(stranger) as client:
        plumbing.keys.known.clear()
        assert (await client.post(address, content=body, headers=headers)).status_code == 401
    async with plumbing.client() as client:
        assert (await client.post(address, content=body, headers=headers)).status_code == 401


async def test_guessing_is_slowed_down_on_deferred_operations_too(plumbing: Plumbing) -> None:
    path, key = QUESTION, "eai_0123456789abcdef_"
    async with plumbing.client() as client:
        statuses = [
            (await client.post(path, json=GOOD, headers={"x-api-key": f"{key}{n:064x}"})).status_code
            for n in range(302)
        ]
    assert statuses == [401] * 300 + [429] * 2


async def test_ten_thousand_guesses_are_answered_429_with_a_wait(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        for n in range(300):
            await client.get(THING, headers={"x-api-key": f"eai_0123456789abcdef_{n:064x}"})
        asked = plumbing.keys.asked
        answer = await client.get(THING, headers={"x-api-key": "eai_0123456789abcdef_" + "f" * 64})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert plumbing.keys.asked == asked
    assert plumbing.failures.reasons == ["invalid"] * 300 + ["limited"]


async def test_a_tenants_own_limit_is_counted_and_told(plumbing: Plumbing) -> None:
    plumbing.limits.per_minute = 2
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answers = [await client.get("/v1/either") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"tenant";q=2;w=60'
    assert answers[0].headers["ratelimit"] == '"tenant";r=1;t=60'
    assert answers[2].headers["retry-after"] == "60"


async def test_a_deferred_operation_counts_for_the_tenant_from_the_first(plumbing: Plumbing) -> None:
    plumbing.limits.per_minute = 1
    async with plumbing.client(subject(Scope.RAG_QUERY)) as client:
        statuses = [(await client.post(QUESTION, json=GOOD)).status_code for _ in range(3)]
    assert statuses == [200, 429, 429]


async def test_without_a_limit_no_rate_headers_are_sent(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/either")
    assert "ratelimit" not in answer.headers


def test_a_route_has_one_requirement() -> None:
    broken = GovernedRouter()
    with pytest.raises(TypeError, match="one requirement"):

        @broken.get("/twice")
        async def twice(first: Reader, second: Both) -> str:
            return ""


def test_a_permission_on_a_base_needs_a_base_in_the_path() -> None:
    broken = GovernedRouter()
    with pytest.raises(TypeError, match="names none"):

        @broken.post("/elsewhere")
        async def elsewhere(caller: Writer) -> str:
            return ""
