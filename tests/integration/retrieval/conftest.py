"""The query path on a real database and a real engine."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eai.audit.details import Details
from eai.audit.service import Audit
from eai.integrations.qdrant import connect
from eai.kernel.clock import SystemClock
from eai.kernel.ids import TenantId
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.platform.keys import Keyring
from eai.retrieval.repository import QueryRows
from eai.retrieval.service import Retrieval
from tests.engine import running_engine
from tests.factories.retrieval import MASTER, PEPPERS, Library, local_gateway


@pytest.fixture(scope="session")
async def vectors() -> AsyncIterator[Vectors]:
    with tempfile.TemporaryDirectory(prefix="eai-engine-") as home:
        async with running_engine(Path(home)) as engine:
            connected = connect(None, None, engine.socket)
            yield connected
            await connected.close()


@pytest.fixture(scope="session")
async def audit(database: Database) -> AsyncIterator[Audit]:
    opened = Audit(database, Details(database, Keyring(MASTER, database)), SystemClock())
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
async def retrieval(database: Database, vectors: Vectors, audit: Audit) -> Retrieval:
    return Retrieval(
        QueryRows(database, PEPPERS), local_gateway(database, audit), vectors, audit, store="embedded"
    )


@pytest.fixture
async def library(database: Database, vectors: Vectors, tenant: TenantId) -> Library:
    return Library(database, vectors, tenant)


@pytest.fixture
async def other_library(database: Database, vectors: Vectors, other_tenant: TenantId) -> Library:
    return Library(database, vectors, other_tenant)
