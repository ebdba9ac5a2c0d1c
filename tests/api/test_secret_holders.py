"""That whoever is told a secret is on record as its holder, for each answer that tells one."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.api.matrix.operations import document
from tests.conftest import DatabaseUrls
from tests.stack import Company, Json, Stack

SECRET = re.compile(r"(^|_)(api_key|secret|token|password|credential)$")
Way = Callable[[Stack, Company], Awaitable[tuple[str, str]]]


async def by_making_a_key(_stack: Stack, company: Company) -> tuple[str, str]:
    maker = await company.person("tenant_admin", "member")
    robot = await a_robot(company)
    await maker.api.made("/v1/api-keys", {"principal_id": robot})
    return robot, maker.id


async def by_rotating_a_key(_stack: Stack, company: Company) -> tuple[str, str]:
    rotating = await company.person("tenant_admin", "member")
    robot = await a_robot(company)
    key = await company.admin.made("/v1/api-keys", {"principal_id": robot})
    await rotating.api.made(f"/v1/api-keys/{key['id']}/rotate", {}, status=200)
    return robot, rotating.id


async def by_making_a_tenant(stack: Stack, company: Company) -> tuple[str, str]:
    founder = (await company.admin.got("/v1/me"))["principal"]["id"]
    return founder, (await stack.operator.got("/v1/me"))["principal"]["id"]


WAYS: Mapping[str, Way] = {
    "create_api_key": by_making_a_key,
    "rotate_api_key": by_rotating_a_key,
    "create_tenant": by_making_a_tenant,
}
"""Each operation that answers with a secret of a principal: whose it is, and who was told."""


NAMES_A_KEY = {"list_audit_events"}
"""Operations whose answers hold the id of a key, under the same name as keys themselves."""


async def a_robot(company: Company) -> str:
    robot = {"kind": "service", "name": f"robot {uuid4().hex[:8]}", "roles": ["member"]}
    return str((await company.admin.made("/v1/principals", robot))["id"])


def holders(urls: DatabaseUrls, company: Company) -> set[tuple[str, str]]:
    statement = "SELECT principal_id, holder_id FROM eai.principal_secret_holders WHERE tenant_id = %s"
    with psycopg.connect(urls.admin) as admin:
        found = admin.execute(statement, [company.id]).fetchall()
    return {(str(principal), str(holder)) for principal, holder in found}


def test_every_operation_that_tells_a_secret_is_tried_here() -> None:
    schema = document()
    telling = {
        operation["operationId"]
        for path in schema["paths"].values()
        for operation in path.values()
        for answer in operation["responses"].values()
        for content in answer.get("content", {}).values()
        if tells_a_secret(schema, content)
    }
    assert telling == set(WAYS) | NAMES_A_KEY


@pytest.mark.parametrize("operation", sorted(WAYS))
async def test_whoever_is_told_a_secret_is_on_record(
    stack: Stack, company: Company, stack_urls: DatabaseUrls, operation: str
) -> None:
    assert await WAYS[operation](stack, company) in holders(stack_urls, company)


async def test_whoever_makes_a_principal_is_on_record_before_it_has_a_key(
    company: Company, stack_urls: DatabaseUrls
) -> None:
    founder = (await company.admin.got("/v1/me"))["principal"]["id"]
    assert (await a_robot(company), founder) in holders(stack_urls, company)


async def test_a_record_outlives_the_principal_and_one_that_is_told_its_own_secret_adds_none(
    stack: Stack, company: Company, stack_urls: DatabaseUrls
) -> None:
    person = await company.person("member")
    before = holders(stack_urls, company)
    made = await person.api.made("/v1/api-keys", {"principal_id": person.id})
    own = stack.caller(made["api_key"])
    await own.made(f"/v1/api-keys/{made['id']}/rotate", {}, status=200)
    assert (await company.admin.delete(f"/v1/principals/{person.id}")).status_code == 204
    assert holders(stack_urls, company) == before


def tells_a_secret(schema: Json, part: Any) -> bool:
    return any(SECRET.search(name) and "string" in kinds for name, kinds in properties(schema, part, set()))


def properties(schema: Json, part: Any, seen: set[str]) -> Iterator[tuple[str, set[str | None]]]:
    """Names and types of all that an answer of this schema can hold, in whatever depth."""
    if isinstance(part, list):
        for each in part:
            yield from properties(schema, each, seen)
    elif isinstance(part, dict):
        reference = part.get("$ref")
        if reference is not None and reference not in seen:
            seen.add(reference)
            yield from properties(schema, schema["components"]["schemas"][reference.rpartition("/")[2]], seen)
        for name, each in part.get("properties", {}).items():
            yield name, {kind.get("type") for kind in (each, *each.get("anyOf", ()))}
        for each in part.values():
            yield from properties(schema, each, seen)
