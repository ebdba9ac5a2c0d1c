from collections.abc import AsyncIterator

import pytest

from eai.integrations.qdrant.client import EngineVectors
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from tests.engine import Engine, running_engine
from tests.factories.identity import Identity, Person
from tests.factories.knowledge import Knowledge


@pytest.fixture(scope="session")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    async with running_engine(tmp_path_factory.mktemp("engine")) as running:
        yield running


@pytest.fixture(scope="session")
async def vectors(engine: Engine) -> AsyncIterator[Vectors]:
    client = EngineVectors(engine.socket)
    yield client
    await client.close()


@pytest.fixture(scope="session")
async def knowledge(database: Database, vectors: Vectors) -> AsyncIterator[Knowledge]:
    identity = Identity.over(database)
    yield Knowledge.over(database, vectors, identity)
    await identity.audit.close()


@pytest.fixture
async def admin(knowledge: Knowledge) -> Person:
    """The bootstrap administrator of a tenant of this test alone: clearance secret, `kb:admin`."""
    return await knowledge.identity.administrator()
