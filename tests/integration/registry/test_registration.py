import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.gateway.errors import ModelInUse, ModelNotFound
from eai.gateway.registry import Capability
from eai.gateway.repository import ModelRows
from eai.identity.errors import NameTaken, ScopeMissing
from eai.kernel.errors import InvalidInput, PreconditionFailed
from eai.kernel.paging import PageRequest
from tests.factories.registry import Registry

Run = Callable[..., Awaitable[list[Any]]]


def code_of(refused: pytest.ExceptionInfo[InvalidInput]) -> object:
    return [(fault["path"], fault["code"]) for fault in refused.value.details["fields"]]  # type: ignore[index, union-attr]


BASE = """
    INSERT INTO eai.knowledge_bases
           (tenant_id, id, alias, name, classification, embedding_model, dimensions, chunk_size,
            chunk_overlap, vector_generation, vector_collection)
    VALUES (:tenant, :base, CAST(:base AS text), 'Base', 1, :model, 8, 100, 0, :base, 'space_x')"""
GENERATION = """
    INSERT INTO eai.kb_generations
           (tenant_id, id, base_id, state, embedding_model, dimensions, collection, average_length)
    VALUES (:tenant, :base, :base, 'serving', :model, 8, 'space_x', 10)"""


async def _use(run: Run, by: Subject, model: str) -> None:
    """A base of the tenant that holds vectors of `model`."""
    values = {"tenant": by.tenant, "base": uuid4(), "model": model}
    for statement in (BASE, GENERATION):
        await run(by.tenant, statement, **values)


async def test_a_model_takes_over_what_it_leaves_open(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint(officer.tenant, retention="days:30")
    made = await registry.model(officer, endpoint.name, capability="chat", dimensions=None)
    assert (made.provider_model, made.endpoint, made.provider) == (made.name, endpoint.name, endpoint.name)
    assert made.classification_ceiling is Classification.RESTRICTED
    assert (made.region, made.retention) == ("eu-west", "days:30")
    assert (made.capability, made.enabled, made.is_shipped) == (Capability.CHAT, True, False)
    assert await registry.read_model(officer, made.name) == made


async def test_a_model_narrows_its_endpoint(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name, classification_ceiling="internal", region="eu-west-1")
    assert (made.classification_ceiling, made.region) == (Classification.INTERNAL, "eu-west-1")


async def test_a_model_widens_nothing(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    wide = {"classification_ceiling": "secret", "region": "eu"}
    refusals = [("classification_ceiling", "above_endpoint"), ("region", "outside_endpoint")]
    with pytest.raises(InvalidInput) as refused:
        await registry.model(officer, endpoint.name, **wide)
    assert code_of(refused) == refusals
    made = await registry.model(officer, endpoint.name)
    with pytest.raises(InvalidInput) as refused:
        await registry.change_model(officer, made.name, **wide)
    assert code_of(refused) == refusals


async def test_a_narrow_model_cannot_move_to_a_narrower_endpoint(
    registry: Registry, officer: Subject
) -> None:
    wide, narrow = await registry.endpoint(), await registry.endpoint(classification_ceiling="public")
    made = await registry.model(officer, wide.name, classification_ceiling="internal")
    with pytest.raises(InvalidInput) as refused:
        await registry.change_model(officer, made.name, endpoint=narrow.name)
    assert code_of(refused) == [("classification_ceiling", "above_endpoint")]
    moved = await registry.change_model(officer, made.name, endpoint=narrow.name, classification_ceiling=None)
    assert (moved.endpoint, moved.classification_ceiling) == (narrow.name, Classification.PUBLIC)


async def test_an_endpoint_that_is_narrowed_later_narrows_its_models(
    registry: Registry, officer: Subject
) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name, classification_ceiling="confidential")
    await registry.change_endpoint(endpoint.id, classification_ceiling="public", region="us")
    now = await registry.read_model(officer, made.name)
    assert (now.classification_ceiling, now.region) == (Classification.PUBLIC, "us")


async def test_an_endpoint_that_serves_others_does_not_exist(
    registry: Registry, officer: Subject, stranger: Subject
) -> None:
    theirs = await registry.endpoint(stranger.tenant)
    refusals = []
    for name in (theirs.name, "no-such-endpoint"):
        with pytest.raises(InvalidInput) as refused:
            await registry.model(officer, name)
        refusals.append(refused.value.details)
    assert refusals[0] == refusals[1]
    assert code_of(refused) == [("endpoint", "endpoint_unknown")]


async def test_a_model_whose_endpoint_stops_serving_the_tenant_is_disabled(
    registry: Registry, officer: Subject, stranger: Subject
) -> None:
    endpoint = await registry.endpoint(officer.tenant)
    made = await registry.model(officer, endpoint.name)
    await registry.change_endpoint(endpoint.id, tenants=(stranger.tenant,))
    now = await registry.read_model(officer, made.name)
    assert (now.enabled, now.endpoint) == (False, None)
    await registry.change_endpoint(endpoint.id, tenants=None)
    assert (await registry.read_model(officer, made.name)).enabled


async def test_models_of_this_process_are_not_registered(registry: Registry, officer: Subject) -> None:
    local = await registry.endpoint(kind="local", url=None)
    with pytest.raises(InvalidInput) as refused:
        await registry.model(officer, local.name)
    assert code_of(refused) == [("endpoint", "endpoint_is_local")]


async def test_dimensions_and_sides_are_for_embeddings(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    for fields, fault in (
        ({"dimensions": None}, [("dimensions", "missing")]),
        ({"capability": "rerank"}, [("dimensions", "embeddings_only")]),
        (
            {"capability": "chat", "dimensions": None, "roles": {"query": {"input_type": "x"}}},
            [("roles", "embeddings_only")],
        ),
    ):
        with pytest.raises(InvalidInput) as refused:
            await registry.model(officer, endpoint.name, **fields)
        assert code_of(refused) == fault


@pytest.mark.parametrize("name", ["local-hash-256", "bge-m3-vllm", "local-use-512"])
async def test_the_name_of_a_shipped_model_is_taken(registry: Registry, officer: Subject, name: str) -> None:
    endpoint = await registry.endpoint()
    with pytest.raises(NameTaken):
        await registry.model(officer, endpoint.name, name=name)


async def test_a_name_is_taken_within_its_tenant_only(
    registry: Registry, officer: Subject, stranger: Subject
) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name)
    with pytest.raises(NameTaken):
        await registry.model(officer, endpoint.name, name=made.name)
    await registry.model(stranger, endpoint.name, name=made.name)


async def test_a_repeated_creation_has_one_effect(registry: Registry, officer: Subject) -> None:
    endpoint, model = await registry.endpoint(), uuid4()
    first = await registry.model(officer, endpoint.name, id=model, name="once")
    assert await registry.model(officer, endpoint.name, id=model, name="once") == first


async def test_another_tenants_model_does_not_exist(
    registry: Registry, officer: Subject, stranger: Subject
) -> None:
    endpoint = await registry.endpoint()
    theirs = await registry.model(stranger, endpoint.name)
    for name in (theirs.name, "no-such-model", "a\0b", "\ud800", "a/b"):
        with pytest.raises(ModelNotFound):
            await registry.read_model(officer, name)
        with pytest.raises(ModelNotFound):
            await registry.change_model(officer, name, enabled=False)


async def test_what_is_not_named_stays(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(
        officer,
        endpoint.name,
        dimensions=(8, 4),
        context_tokens=512,
        classification_ceiling="internal",
        price={"input_micros": 3},
        roles={"query": {"input_type": "search_query"}, "document": {"text_prefix": "passage: "}},
        fusion={"dense_weight": 0.25},
    )
    changed = await registry.change_model(officer, made.name, enabled=False)
    expected = {**made.model_dump(), "enabled": False, "updated_at": changed.updated_at}
    assert changed.model_dump() == expected
    freed = await registry.change_model(
        officer, made.name, context_tokens=None, classification_ceiling=None, dimensions=None, price=None
    )
    assert (freed.context_tokens, freed.classification_ceiling) == (None, Classification.RESTRICTED)
    assert (freed.dimensions, freed.price) == (made.dimensions, made.price)


@pytest.mark.parametrize(
    "change",
    [
        {"provider_model": "another"},
        {"dimensions": (8, 4)},
        {"revision": "2"},
        {"roles": {"query": {"input_type": "x"}}},
        {"endpoint": None},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_what_decides_vectors_stays_while_a_base_holds_any(
    registry: Registry, officer: Subject, stranger: Subject, run: Run, change: dict[str, Any]
) -> None:
    endpoint, other = await registry.endpoint(), await registry.endpoint()
    if "endpoint" in change:
        change = {"endpoint": other.name}
    made = await registry.model(officer, endpoint.name)
    await registry.model(stranger, endpoint.name, name=made.name)
    await _use(run, stranger, made.name)
    await registry.change_model(officer, made.name, **change)
    with pytest.raises(ModelInUse) as refused:
        await registry.change_model(stranger, made.name, **change)
    assert refused.value.details == {"model": made.name}


async def test_a_base_that_is_being_made_is_waited_for(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name)
    values = {"tenant": officer.tenant, "base": uuid4(), "model": made.name}
    async with registry.database.transaction(officer.tenant) as session:
        await ModelRows(session, officer.tenant).keep(made.name)
        changing = asyncio.create_task(registry.change_model(officer, made.name, revision="2"))
        done, _ = await asyncio.wait([changing], timeout=0.2)
        assert not done
        for statement in (BASE, GENERATION):
            await session.execute(text(statement), values)
    with pytest.raises(ModelInUse):
        await changing


async def test_the_rest_changes_while_a_base_holds_vectors(
    registry: Registry, officer: Subject, run: Run
) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name)
    await _use(run, officer, made.name)
    changed = await registry.change_model(
        officer,
        made.name,
        endpoint=endpoint.name,
        provider_model=made.provider_model,
        dimensions=(8,),
        revision="1",
        price={"input_micros": 5},
        fusion={"dense_weight": 0.1},
        classification_ceiling="public",
        enabled=False,
    )
    assert (changed.price.input_micros, changed.enabled) == (5, False)


async def test_an_outdated_revision_changes_nothing(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name)
    await registry.change_model(officer, made.name, enabled=False, row_revision=made.row_revision)
    with pytest.raises(PreconditionFailed):
        await registry.change_model(officer, made.name, enabled=True, row_revision=made.row_revision)


async def test_an_operator_says_where_a_shipped_model_goes(
    registry: Registry, operator: Subject, officer: Subject
) -> None:
    first, second = await registry.endpoint(), await registry.endpoint(classification_ceiling="public")
    with pytest.raises(InvalidInput) as refused:
        await registry.change_model(operator, "gpt-4.1-mini", enabled=True)
    assert code_of(refused) == [("endpoint", "missing")]
    unbound = await registry.read_model(officer, "gpt-4.1-mini")
    assert (unbound.enabled, unbound.endpoint) == (False, None)
    bound = await registry.change_model(operator, "gpt-4.1-mini", endpoint=first.name)
    assert (bound.enabled, bound.endpoint) == (True, first.name)
    assert await registry.read_model(officer, "gpt-4.1-mini") == bound
    assert bound.classification_ceiling is Classification.CONFIDENTIAL
    moved = await registry.change_model(operator, "gpt-4.1-mini", endpoint=second.name)
    assert moved.classification_ceiling is Classification.PUBLIC
    off = await registry.change_model(
        operator, "gpt-4.1-mini", enabled=False, row_revision=moved.row_revision
    )
    assert (off.enabled, off.endpoint) == (False, second.name)
    with pytest.raises(PreconditionFailed):
        await registry.change_model(operator, "gpt-4.1-mini", enabled=True, row_revision=moved.row_revision)


async def test_a_shipped_model_is_nobody_elses_to_change(
    registry: Registry, operator: Subject, officer: Subject
) -> None:
    endpoint = await registry.endpoint()
    for name in ("bge-m3-vllm", "local-hash-256"):
        with pytest.raises(ScopeMissing) as missing:
            await registry.change_model(officer, name, endpoint=endpoint.name)
        assert missing.value.details == {"scopes": ["platform:admin"]}
    with pytest.raises(InvalidInput) as refused:
        await registry.change_model(operator, "local-hash-256", endpoint=endpoint.name)
    assert code_of(refused) == [("endpoint", "model_is_local")]
    with pytest.raises(InvalidInput) as refused:
        await registry.change_model(
            operator, "bge-m3-vllm", endpoint=endpoint.name, dimensions=(3,), revision="2"
        )
    assert code_of(refused) == [("dimensions", "model_is_shipped"), ("revision", "model_is_shipped")]


async def test_an_operator_has_no_models_of_its_own(
    registry: Registry, operator: Subject, officer: Subject
) -> None:
    endpoint = await registry.endpoint()
    made = await registry.model(officer, endpoint.name)
    with pytest.raises(ModelNotFound):
        await registry.change_model(operator, made.name, enabled=False)


async def test_all_that_can_be_named_is_listed_by_name(registry: Registry, officer: Subject) -> None:
    endpoint = await registry.endpoint()
    for name in ("zz", "Aa", "bge-own"):
        await registry.model(officer, endpoint.name, name=name)
    seen: list[str] = []
    key: tuple[str, ...] | None = None
    while True:
        async with registry.database.transaction(officer.tenant) as session:
            page = await registry.models.page(session, officer, PageRequest(2, key))
        seen.extend(model.name for model in page.items)
        if (key := page.next_key) is None:
            break
    assert seen == [
        "Aa", "bge-m3-vllm", "bge-own", "bge-reranker-v2-m3-vllm", "gpt-4.1-mini", "local-hash-256",
        "qwen3-8b-vllm", "rerank-v3.5", "text-embedding-3-small", "zz",
    ]  # fmt: skip


async def test_a_model_hangs_from_an_endpoint_that_is_there(officer: Subject, run: Run) -> None:
    adding = """
        INSERT INTO eai.models (tenant_id, id, name, endpoint_id, provider_model, capability)
        VALUES (:tenant, :id, 'm', :id, 'm', 'chat')"""
    with pytest.raises(IntegrityError):
        await run(officer.tenant, adding, tenant=officer.tenant, id=uuid4())
