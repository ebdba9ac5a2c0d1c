from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import text

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.factories.identity import Identity, Person

Actions = Callable[[TenantId], Awaitable[list[str]]]
Run = Callable[..., Awaitable[list[Any]]]


@pytest.fixture(scope="session")
async def identity(database: Database) -> AsyncIterator[Identity]:
    made = Identity.over(database)
    yield made
    await made.audit.close()


@pytest.fixture
async def admin(identity: Identity) -> Person:
    """The bootstrap administrator of a tenant of this test alone."""
    return await identity.administrator()


@pytest.fixture
def actions(database: Database) -> Actions:
    """What a tenant's audit chain tells, in order."""

    async def told(tenant: TenantId) -> list[str]:
        async with database.transaction(tenant) as session:
            found = await session.scalars(text("SELECT action FROM eai.audit_events ORDER BY seq"))
            return list(found)

    return told


@pytest.fixture
def run(database: Database) -> Run:
    """Run raw SQL bound to a tenant, as time passing or somebody meddling would leave it."""

    async def execute(tenant: TenantId, statement: str, **parameters: Any) -> list[Any]:
        async with database.transaction(tenant) as session:
            result = await session.execute(text(statement), parameters)
            return list(result.all()) if result.returns_rows else []

    return execute
