import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.stack import Company, Stack

MISSING = "00000000-0000-4000-8000-00000000dead"


def _code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _faults(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(fault["path"], fault["code"]) for fault in answer.json()["error"]["details"]["fields"]]


def _told(answer: httpx2.Response) -> Any:
    """An answer without what differs from request to request."""
    body = answer.json()
    del body["instance"], body["error"]["request_id"]
    headers = {name for name in answer.headers if name != "date"}
    return answer.status_code, body, headers


async def test_a_tenant_is_made_once_and_its_key_shown_once(stack: Stack) -> None:
    slug = f"t-{uuid4().hex}"
    headers = {"idempotency-key": uuid4().hex}
    body = {"name": "Valgivre", "slug": slug}
    made = await stack.operator.post("/v1/tenants", json=body, headers=headers)
    assert made.status_code == 201
    assert set(made.json()) == {"id", "name", "slug", "admin_api_key", "created_at", "updated_at"}
    replayed = await stack.operator.post("/v1/tenants", json=body, headers=headers)
    assert replayed.json() == made.json()
    assert replayed.headers["idempotent-replayed"] == "true"
    erased = await stack.operator.post("/v1/tenants", json=body, headers=headers)
    assert _code(erased) == (409, "idempotency_answer_erased")
    assert _code(await stack.operator.post("/v1/tenants", json=body)) == (409, "slug_taken")
    shown = await stack.operator.got(f"/v1/tenants/{made.json()['id']}")
    assert (shown["slug"], "admin_api_key" in shown) == (slug, False)
    me = await stack.caller(made.json()["admin_api_key"]).got("/v1/me")
    assert (me["tenant"]["slug"], me["clearance"]) == (slug, "secret")


async def test_only_operators_see_tenants_and_operators_see_nothing_else(
    stack: Stack, company: Company
) -> None:
    for path in ("/v1/tenants", f"/v1/tenants/{company.id}"):
        assert _code(await company.admin.get(path)) == (403, "scope_missing")
    for path in ("/v1/principals", "/v1/groups", "/v1/settings", "/v1/knowledge-bases"):
        assert _code(await stack.operator.get(path)) == (403, "tenant_required")
    me = await stack.operator.got("/v1/me")
    assert (me["scopes"], me["tenant"]["slug"]) == (["platform:admin"], "platform")
    assert len((await stack.operator.got("/v1/api-keys"))["data"]) == 1
    for tenant in (MISSING, "00000000-0000-4000-8000-000000000000", "nonsense"):
        assert _code(await stack.operator.get(f"/v1/tenants/{tenant}")) == (404, "not_found")


async def test_tenants_are_listed_in_pages(stack: Stack, company: Company) -> None:
    await stack.company()
    page = await stack.operator.got("/v1/tenants", limit=1)
    seen = [tenant["id"] for tenant in page["data"]]
    assert len(seen) == 1
    while page["has_more"]:
        page = await stack.operator.got("/v1/tenants", limit=200, cursor=page["next_cursor"])
        seen.extend(tenant["id"] for tenant in page["data"])
    assert company.id in seen
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({}, [("name", "missing"), ("slug", "missing")]),
        ({"name": "A", "slug": "Not A Slug"}, [("slug", "string_pattern_mismatch")]),
        ({"name": " ", "slug": "a"}, [("name", "string_too_short")]),
        ({"name": "a\nb", "slug": "a"}, [("name", "control_characters")]),
        ({"name": "A", "slug": "a", "id": MISSING}, [("id", "extra_forbidden")]),
        ({"name": "A", "slug": "a", "tenant_id": MISSING}, [("tenant_id", "extra_forbidden")]),
    ],
)
async def test_a_malformed_tenant_is_refused(
    stack: Stack, body: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    assert _faults(await stack.operator.post("/v1/tenants", json=body)) == faults


async def test_the_life_of_a_principal(company: Company) -> None:
    body = {"kind": "agent", "name": "Robin", "roles": ["developer"], "clearance": "public"}
    made = await company.admin.post("/v1/principals", json=body)
    assert made.status_code == 201
    robin = made.json()
    assert {name: robin[name] for name in body} == body
    assert set(robin) == {
        "id", "kind", "name", "clearance", "roles", "groups", "is_bootstrap", "suspended",
        "suspended_at", "created_at", "updated_at",
    }  # fmt: skip
    path = f"/v1/principals/{robin['id']}"
    read = await company.admin.get(path)
    assert (read.json(), read.headers["etag"]) == (robin, made.headers["etag"])
    unchanged = await company.admin.get(path, headers={"if-none-match": read.headers["etag"]})
    assert unchanged.status_code == 304
    renamed = await company.admin.patch(path, json={"name": "R."}, headers={"if-match": read.headers["etag"]})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "R.")
    late = await company.admin.delete(path, headers={"if-match": read.headers["etag"]})
    assert _code(late) == (412, "precondition_failed")
    listed = await company.admin.got("/v1/principals")
    assert [principal["name"] for principal in listed["data"]] == ["Administrator", "R."]
    assert (await company.admin.delete(path)).status_code == 204
    assert _code(await company.admin.get(path)) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({"kind": "user"}, [("name", "missing")]),
        ({"kind": "robot", "name": "A"}, [("kind", "enum")]),
        ({"kind": "user", "name": "A", "roles": ["god"]}, [("roles.0", "enum")]),
        ({"kind": "user", "name": "A", "clearance": "cosmic"}, [("clearance", "enum")]),
        ({"kind": "user", "name": "A", "groups": ["x"]}, [("groups.0", "uuid_parsing")]),
        ({"kind": "user", "name": "A", "groups": [MISSING]}, [("groups.0", "principal_unknown")]),
        ({"kind": "user", "name": "A", "tenant_id": MISSING}, [("tenant_id", "extra_forbidden")]),
        ({"kind": "user", "name": "A", "is_bootstrap": True}, [("is_bootstrap", "extra_forbidden")]),
        ({"kind": "user", "name": "x" * 201}, [("name", "string_too_long")]),
    ],
)
async def test_a_malformed_principal_is_refused(
    company: Company, body: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    assert _faults(await company.admin.post("/v1/principals", json=body)) == faults


@pytest.mark.parametrize(
    "patch",
    [
        {"kind": "service"},
        {"tenant_id": MISSING},
        {"id": MISSING},
        {"is_bootstrap": True},
        {"suspended": "yes"},
    ],
)
async def test_what_a_principal_is_cannot_be_patched(company: Company, patch: dict[str, Any]) -> None:
    bea = await company.person("member")
    answer = await company.admin.patch(f"/v1/principals/{bea.id}", json=patch)
    assert [path for path, _ in _faults(answer)] == list(patch)


async def test_names_are_text_and_nothing_more(company: Company) -> None:
    for name in (
        "'; DROP TABLE eai.principals; --",
        "%(tenant)s",
        ":tenant",
        "<script>",
        "{{7*7}}",
        "Zoë \U0001d4e7",
    ):
        made = await company.admin.made("/v1/principals", {"kind": "user", "name": name})
        assert (await company.admin.got(f"/v1/principals/{made['id']}"))["name"] == name


async def test_a_member_administers_nothing(company: Company) -> None:
    bea = await company.person("member")
    body = {"kind": "user", "name": "A"}
    answers = [
        await bea.api.get("/v1/principals"),
        await bea.api.post("/v1/principals", json=body),
        await bea.api.get(f"/v1/principals/{bea.id}"),
        await bea.api.patch(f"/v1/principals/{bea.id}", json={"roles": ["tenant_admin"]}),
        await bea.api.delete(f"/v1/principals/{bea.id}"),
        await bea.api.get("/v1/groups"),
        await bea.api.put(f"/v1/groups/{MISSING}/members", json={"members": []}),
        await bea.api.get("/v1/settings"),
    ]
    assert {_code(answer) for answer in answers} == {(403, "scope_missing")}


async def test_foreign_missing_and_malformed_ids_are_told_alike(stack: Stack, company: Company) -> None:
    other = await stack.company()
    group = (await other.group()).removeprefix("group:")
    person = await other.person("member")
    key = (await other.admin.got("/v1/me"))["api_key_id"]
    for kind, foreign in (("principals", person.id), ("groups", group), ("api-keys", key)):
        told = [
            _told(await company.admin.request(method, f"/v1/{kind}/{name}"))
            for method in ("GET", "DELETE")
            for name in (foreign, MISSING, "nonsense")
        ]
        assert told[0][0] == 404
        assert all(each == told[0] for each in told)
    members = [
        _told(await company.admin.put(f"/v1/groups/{name}/members", json={"members": []}))
        for name in (group, MISSING, "nonsense")
    ]
    assert members[0] == members[1] == members[2]
    own = await company.group()
    in_body = [
        _told(
            await company.admin.put(
                f"/v1/groups/{own.removeprefix('group:')}/members", json={"members": [principal]}
            )
        )
        for principal in (person.id, MISSING)
    ]
    assert in_body[0] == in_body[1]
    assert in_body[0][0] == 422


async def test_group_members_are_replaced_whole(company: Company) -> None:
    ann, bob = await company.person("member"), await company.person("member")
    group = await company.group(ann, bob)
    path = f"/v1/groups/{group.removeprefix('group:')}"
    read = await company.admin.get(path)
    assert read.json()["members"] == sorted([ann.id, bob.id])
    changed = await company.admin.put(
        f"{path}/members", json={"members": [bob.id]}, headers={"if-match": read.headers["etag"]}
    )
    assert (changed.json()["members"], changed.json()["members_count"]) == ([bob.id], 1)
    assert [g["name"] for g in (await bob.api.got("/v1/me"))["groups"]] == [read.json()["name"]]
    assert (await ann.api.got("/v1/me"))["groups"] == []
    taken = await company.admin.post("/v1/groups", json={"name": read.json()["name"]})
    assert _code(taken) == (409, "name_taken")
    too_many = await company.admin.put(f"{path}/members", json={"members": [MISSING] * 10_001})
    assert _faults(too_many) == [("members", "too_long")]
    assert (await company.admin.delete(path)).status_code == 204
    assert (await bob.api.got("/v1/me"))["groups"] == []


async def test_a_key_is_minted_used_rotated_and_revoked(stack: Stack, company: Company) -> None:
    bea = await company.person("member")
    body = {"principal_id": bea.id, "name": "laptop", "scopes": ["rag:query"], "clearance": "public"}
    made = await bea.api.made("/v1/api-keys", body)
    assert made["api_key"].startswith(made["prefix"])
    narrow = stack.caller(made["api_key"])
    me = await narrow.got("/v1/me")
    assert (me["scopes"], me["clearance"], me["api_key_id"]) == (["rag:query"], "public", made["id"])
    path = f"/v1/api-keys/{made['id']}"
    assert "api_key" not in await bea.api.got(path)
    rotated = await bea.api.post(f"{path}/rotate")
    assert rotated.status_code == 200
    for key in (made["api_key"], rotated.json()["api_key"]):
        assert (await stack.caller(key).get("/v1/me")).status_code == 200
    again = await bea.api.post(f"{path}/rotate", json={"grace_seconds": 0})
    assert _code(await stack.caller(rotated.json()["api_key"]).get("/v1/me")) == (401, "unauthenticated")
    assert (await bea.api.delete(path)).status_code == 204
    assert _code(await stack.caller(again.json()["api_key"]).get("/v1/me")) == (401, "unauthenticated")
    assert (await bea.api.got(path))["revoked_at"] is not None
    assert _code(await bea.api.post(f"{path}/rotate")) == (409, "key_not_live")


async def test_no_key_is_wider_than_what_made_it(stack: Stack, company: Company) -> None:
    bea = await company.person("kb_manager")
    narrow = stack.caller(
        (
            await bea.api.made(
                "/v1/api-keys", {"principal_id": bea.id, "scopes": ["rag:query"], "clearance": "public"}
            )
        )["api_key"]
    )
    for wider in ({}, {"scopes": ["rag:query"]}, {"scopes": ["kb:write"]}, {"scopes": ["tenant:admin"]}):
        answer = await narrow.post("/v1/api-keys", json={"principal_id": bea.id, **wider})
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] in {"scope_exceeds_own", "clearance_exceeded"}
    smuggled = {"principal_id": bea.id, "scopes": ["rag:query"], "allowed_routes": ["/*"], "budget": 1}
    assert _faults(await narrow.post("/v1/api-keys", json=smuggled)) == [
        ("allowed_routes", "extra_forbidden"),
        ("budget", "extra_forbidden"),
    ]
    assert _code(await narrow.post(f"/v1/api-keys/{(await bea.api.got('/v1/me'))['api_key_id']}/rotate")) == (
        403,
        "scope_exceeds_own",
    )


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("expires_at", "2001-01-01T00:00:00Z", "datetime_future"),
        ("expires_at", "2001-01-01T00:00:00", "timezone_aware"),
        ("expires_at", "9999-12-31T23:59:59-14:00", "less_than_equal"),
        ("expires_at", "soon", "datetime_from_date_parsing"),
        ("scopes", "rag:query", "tuple_type"),
        ("principal_id", MISSING, "principal_unknown"),
        ("principal_id", "nonsense", "uuid_parsing"),
    ],
)
async def test_a_malformed_key_is_refused(company: Company, field: str, value: str, code: str) -> None:
    bea = await company.person("member", kind="service")
    answer = await company.admin.post("/v1/api-keys", json={"principal_id": bea.id, field: value})
    assert _faults(answer) == [(field, code)]


async def test_rotation_takes_a_grace_within_bounds(company: Company) -> None:
    key = (await company.admin.got("/v1/me"))["api_key_id"]
    for grace in (-1, 2_592_001, 1.5, "60", None):
        answer = await company.admin.post(f"/v1/api-keys/{key}/rotate", json={"grace_seconds": grace})
        assert [path for path, _ in _faults(answer)] == ["grace_seconds"]


async def test_suspension_and_deletion_bind_at_once(company: Company) -> None:
    bea = await company.person("member")
    path = f"/v1/principals/{bea.id}"
    for suspended, status in ((True, 401), (False, 200)):
        assert (await company.admin.patch(path, json={"suspended": suspended})).status_code == 200
        assert (await bea.api.get("/v1/me")).status_code == status
    assert (await company.admin.delete(path)).status_code == 204
    assert _code(await bea.api.get("/v1/me")) == (401, "unauthenticated")


async def test_the_last_administrator_stays(company: Company) -> None:
    me = (await company.admin.got("/v1/me"))["principal"]["id"]
    answers = [
        await company.admin.delete(f"/v1/principals/{me}"),
        await company.admin.patch(f"/v1/principals/{me}", json={"roles": ["member"]}),
        await company.admin.patch(f"/v1/principals/{me}", json={"suspended": True}),
    ]
    assert {_code(answer) for answer in answers} == {(409, "would_lock_out")}


async def test_two_administrators_over_http_do_not_remove_each_other(stack: Stack, company: Company) -> None:
    deputy = await company.person("tenant_admin")
    me = (await company.admin.got("/v1/me"))["principal"]["id"]
    answers = await asyncio.gather(
        company.admin.delete(f"/v1/principals/{deputy.id}"), deputy.api.delete(f"/v1/principals/{me}")
    )
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses in ([204, 401], [204, 409])


async def test_settings_hold_a_rate_limit_that_binds(stack: Stack) -> None:
    company = await stack.company()
    assert (await company.admin.got("/v1/settings"))["rate_limits"] == {"requests_per_minute": None}
    for limits in ({"requests_per_minute": 0}, {"requests_per_minute": "5"}, {"per_hour": 5}, None):
        answer = await company.admin.patch("/v1/settings", json={"rate_limits": limits})
        assert answer.status_code == 422
    assert _faults(await company.admin.patch("/v1/settings", json={"quota": True})) == [
        ("quota", "extra_forbidden")
    ]
    read = await company.admin.get("/v1/settings")
    body = {"rate_limits": {"requests_per_minute": 100}}
    changed = await company.admin.patch("/v1/settings", json=body, headers={"if-match": read.headers["etag"]})
    assert changed.json()["rate_limits"] == {"requests_per_minute": 100}
    stale = await company.admin.patch("/v1/settings", json=body, headers={"if-match": read.headers["etag"]})
    assert _code(stale) == (412, "precondition_failed")


@pytest.mark.parametrize(
    "credential",
    [
        "eai_' OR '1'='1_x",
        "'; SELECT pg_sleep(10); --",
        "eai_0123456789abcdef_" + "0" * 64,
        "eai_0123456789abcdef",
        "eai_" + "a" * 500,
        "*",
    ],
)
async def test_a_credential_that_is_none_is_refused_quickly(stack: Stack, credential: str) -> None:
    before = datetime.now(UTC)
    answer = await stack.caller(credential).get("/v1/me")
    assert answer.status_code in {401, 429}
    assert datetime.now(UTC) - before < timedelta(seconds=2)


async def test_the_tenant_comes_from_the_credential_only(stack: Stack, company: Company) -> None:
    other = await stack.company()
    headers = {"x-tenant-id": other.id, "x-forwarded-for": "10.0.0.1", "x-forwarded-host": "other"}
    answer = await company.admin.get("/v1/me", headers=headers)
    assert answer.json()["tenant"]["id"] == company.id
    both = await company.admin.get("/v1/me", headers={"x-api-key": str(other.admin.key)})
    assert _code(both) == (400, "ambiguous_credentials")
