"""The gateway on a real database."""

from collections.abc import AsyncIterator

import pytest

from eai.audit.details import Details
from eai.audit.service import Audit
from eai.kernel.clock import SystemClock
from eai.platform.database import Database
from eai.platform.keys import Keyring
from tests.factories.retrieval import MASTER


@pytest.fixture(scope="session")
async def audit(database: Database) -> AsyncIterator[Audit]:
    opened = Audit(database, Details(database, Keyring(MASTER, database)), SystemClock())
    yield opened
    await opened.close()
