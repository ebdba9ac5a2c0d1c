from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import text

from eai.access.subject import Subject
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.factories.identity import OPERATOR, Identity
from tests.factories.registry import Registry

Run = Callable[..., Awaitable[list[Any]]]


@pytest.fixture(scope="session")
async def identity(database: Database) -> AsyncIterator[Identity]:
    made = Identity.over(database)
    await made.onboarding.first_start()
    yield made
    await made.audit.close()


@pytest.fixture(scope="session")
def registry(identity: Identity) -> Registry:
    return Registry.over(identity.database, identity.audit)


@pytest.fixture
async def officer(identity: Identity) -> Subject:
    """An administrator of models in a tenant of this test alone."""
    return (await identity.administrator()).subject


@pytest.fixture
async def stranger(identity: Identity) -> Subject:
    """The same in another tenant."""
    return (await identity.administrator()).subject


@pytest.fixture
def operator() -> Subject:
    return OPERATOR


@pytest.fixture
def run(database: Database) -> Run:
    """Run raw SQL bound to a tenant."""

    async def execute(tenant: TenantId, statement: str, /, **parameters: Any) -> list[Any]:
        async with database.transaction(tenant) as session:
            result = await session.execute(text(statement), parameters)
            return list(result.all()) if result.returns_rows else []

    return execute
