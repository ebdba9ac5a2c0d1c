from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy.exc import ProgrammingError

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.gateway.errors import EndpointInUse
from eai.identity.errors import NameTaken
from eai.kernel.errors import InvalidInput, NotFound, PreconditionFailed
from eai.kernel.ids import PLATFORM_TENANT
from eai.kernel.paging import PageRequest
from eai.platform.keys import SealBroken
from tests.factories.identity import OPERATOR
from tests.factories.registry import Registry

Run = Callable[..., Awaitable[list[Any]]]

SEALED = "SELECT sealed_key FROM eai.provider_endpoints WHERE id = :id"
LAST = """
    SELECT convert_from(body, 'UTF8') FROM eai.audit_events
     WHERE resource_id = :id ORDER BY seq DESC LIMIT 1"""


def code_of(refused: pytest.ExceptionInfo[InvalidInput]) -> object:
    return [(fault["path"], fault["code"]) for fault in refused.value.details["fields"]]  # type: ignore[index, union-attr]


async def test_a_key_is_sealed_for_its_endpoint_and_never_shown(registry: Registry, run: Run) -> None:
    made = await registry.endpoint(api_key="sk-canary")
    other = await registry.endpoint()
    assert (made.has_api_key, other.has_api_key) == (True, False)
    assert "canary" not in made.model_dump_json()
    ((sealed,),) = await run(PLATFORM_TENANT, SEALED, id=made.id)
    assert b"canary" not in sealed
    assert registry.keys.open(made.id, sealed) == "sk-canary"
    with pytest.raises(SealBroken):
        registry.keys.open(other.id, sealed)
    ((told,),) = await run(PLATFORM_TENANT, LAST, id=str(made.id))
    assert ("canary" in told, '"has_api_key":true' in told) == (False, True)


async def test_a_key_can_be_replaced_and_taken_away(registry: Registry, run: Run) -> None:
    made = await registry.endpoint(api_key="sk-1")
    assert (await registry.change_endpoint(made.id, api_key="sk-2")).has_api_key
    ((sealed,),) = await run(PLATFORM_TENANT, SEALED, id=made.id)
    assert registry.keys.open(made.id, sealed) == "sk-2"
    assert (await registry.change_endpoint(made.id, region="us")).has_api_key
    assert not (await registry.change_endpoint(made.id, api_key=None)).has_api_key


async def test_a_key_does_not_follow_its_endpoint_to_another_host(registry: Registry) -> None:
    made = await registry.endpoint(api_key="sk-1")
    with pytest.raises(InvalidInput) as refused:
        await registry.change_endpoint(made.id, url="https://elsewhere.example/v1")
    assert code_of(refused) == [("api_key", "key_of_another_host")]
    same_host = await registry.change_endpoint(made.id, url="https://models.example/v2")
    assert (same_host.url, same_host.has_api_key) == ("https://models.example/v2", True)
    moved = await registry.change_endpoint(made.id, url="https://elsewhere.example/v1", api_key="sk-2")
    assert (moved.url, moved.has_api_key) == ("https://elsewhere.example/v1", True)


async def test_a_name_is_one_endpoints_alone(registry: Registry) -> None:
    made = await registry.endpoint()
    with pytest.raises(NameTaken):
        await registry.endpoint(name=made.name)


async def test_a_repeated_creation_has_one_effect(registry: Registry) -> None:
    endpoint = uuid4()
    first = await registry.endpoint(id=endpoint, name=f"e-{endpoint.hex}")
    assert await registry.endpoint(id=endpoint, name=f"e-{endpoint.hex}") == first


async def test_only_tenants_that_exist_are_served(registry: Registry, officer: Subject) -> None:
    for unknown in (uuid4(), PLATFORM_TENANT):
        with pytest.raises(InvalidInput) as refused:
            await registry.endpoint(officer.tenant, unknown)
        assert code_of(refused) == [("tenants.1", "tenant_unknown")]
    made = await registry.endpoint(officer.tenant)
    assert made.tenants == (officer.tenant,)
    assert (await registry.change_endpoint(made.id, tenants=())).tenants == ()
    assert (await registry.change_endpoint(made.id, tenants=None)).tenants is None


async def test_what_is_not_named_stays(registry: Registry) -> None:
    made = await registry.endpoint(api_key="sk-1")
    changed = await registry.change_endpoint(made.id, retention="days:7", classification_ceiling="public")
    expected = {**made.model_dump(), "retention": "days:7", "classification_ceiling": "public"}
    assert {**changed.model_dump(), "updated_at": made.updated_at} == expected
    assert changed.revision == made.revision + 1


async def test_an_outdated_revision_changes_nothing(registry: Registry) -> None:
    made = await registry.endpoint()
    await registry.change_endpoint(made.id, region="us", revision=made.revision)
    with pytest.raises(PreconditionFailed):
        await registry.change_endpoint(made.id, region="eu", revision=made.revision)
    with pytest.raises(NotFound):
        await registry.change_endpoint(uuid4(), region="eu")


async def test_an_endpoint_with_a_model_on_it_is_not_removed(
    registry: Registry, officer: Subject, operator: Subject
) -> None:
    own, shipped, free = [await registry.endpoint() for _ in range(3)]
    model = await registry.model(officer, own.name)
    await registry.change_model(operator, "rerank-v3.5", endpoint=shipped.name)
    for endpoint in (own, shipped):
        with pytest.raises(EndpointInUse) as refused:
            await registry.delete_endpoint(endpoint.id)
        assert refused.value.details == {"endpoint": endpoint.name}
    await registry.change_model(officer, model.name, endpoint=free.name)
    await registry.delete_endpoint(own.id)
    with pytest.raises(NotFound):
        await registry.delete_endpoint(own.id)


async def test_endpoints_are_listed_by_name(registry: Registry) -> None:
    prefix = f"z{uuid4().hex[:12]}"
    names = [(await registry.endpoint(name=f"{prefix}-{n}")).name for n in (2, 1, 3)]
    async with registry.database.transaction(PLATFORM_TENANT) as session:
        first = await registry.endpoints.page(session, PageRequest(2, (prefix,)))
        rest = await registry.endpoints.page(session, PageRequest(2, first.next_key))
    assert [endpoint.name for endpoint in first.items] == sorted(names)[:2]
    assert rest.items[0].name == sorted(names)[2]


async def test_a_tenant_sees_the_endpoints_that_serve_it_and_changes_none(
    registry: Registry, officer: Subject, stranger: Subject, run: Run
) -> None:
    mine, everybodys, theirs, nobodys = (
        await registry.endpoint(officer.tenant),
        await registry.endpoint(),
        await registry.endpoint(stranger.tenant),
        await registry.endpoint(tenants=()),
    )
    ids = [endpoint.id for endpoint in (mine, everybodys, theirs, nobodys)]
    seen = "SELECT name FROM eai.provider_endpoints WHERE id = ANY(:ids)"
    assert {n for (n,) in await run(officer.tenant, seen, ids=ids)} == {mine.name, everybodys.name}
    assert {n for (n,) in await run(PLATFORM_TENANT, seen, ids=ids)} == {
        mine.name, everybodys.name, theirs.name, nobodys.name,
    }  # fmt: skip
    for change in (
        "UPDATE eai.provider_endpoints SET url = 'https://evil.example' WHERE id = ANY(:ids) RETURNING id",
        "DELETE FROM eai.provider_endpoints WHERE id = ANY(:ids) RETURNING id",
    ):
        assert await run(officer.tenant, change, ids=ids) == []
    adding = """
        INSERT INTO eai.provider_endpoints (id, name, kind, region, retention, classification_ceiling)
        VALUES (:id, :name, 'openai', 'eu', 'none', 4)"""
    with pytest.raises(ProgrammingError, match="row-level security"):
        await run(officer.tenant, adding, id=uuid4(), name=f"e-{uuid4()}")


async def test_changes_are_in_the_platforms_chain(registry: Registry, run: Run) -> None:
    made = await registry.endpoint()
    await registry.change_endpoint(made.id, region="us")
    await registry.delete_endpoint(made.id)
    told = "SELECT action FROM eai.audit_events WHERE resource_id = :id ORDER BY seq"
    assert [action for (action,) in await run(OPERATOR.tenant, told, id=str(made.id))] == [
        AuditAction.PROVIDER_ENDPOINT_CREATE,
        AuditAction.PROVIDER_ENDPOINT_UPDATE,
        AuditAction.PROVIDER_ENDPOINT_DELETE,
    ]
