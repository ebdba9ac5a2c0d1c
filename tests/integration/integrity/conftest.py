"""One tenant with everything that an examination looks at, in an instance whose worker the tests are."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from eai.platform.conninfo import libpq_conninfo
from tests.conftest import fresh_database
from tests.integration.integrity.seeded import Seeded
from tests.stack import running_stack, settings


@pytest.fixture(scope="package")
async def seeded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Seeded]:
    with fresh_database() as urls:
        chosen = settings(urls.app, tmp_path_factory.mktemp("home"))
        async with (
            running_stack(chosen, is_working=False) as stack,
            await psycopg.AsyncConnection.connect(libpq_conninfo(urls.admin), autocommit=True) as admin,
        ):
            await admin.execute("SET session_replication_role = replica")
            yield await Seeded.over(stack, admin)
